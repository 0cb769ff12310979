/** What every case of `npm run bench:limits` is and reports, and what cases share. */
import type { LimitProfile } from '@tidewheel/emulators/limits/profiles.ts';
import * as z from 'zod';
import { type FunctionName, functions } from '../../functions/handlers/functions.ts';
import type { FunctionDescription } from '../../serverless/describe/function-description.ts';
import type { PricedRequests } from './lambda-prices.ts';

export interface CaseOptions {
  readonly profile: LimitProfile;
  /** A tenth of the data, for a look or for CI. */
  readonly small: boolean;
}

export interface CaseResult {
  readonly ok: boolean;
  /** What happened, in a few words: `sealed`, or why not. */
  readonly outcome: string;
  /** From the drop to the end that the case is about, by its own clock. */
  readonly seconds: number | undefined;
  /** Functions that ran at once, at most. */
  readonly mostSlots?: number | undefined;
  /** Invocations that Lambda refused. */
  readonly throttled?: number | undefined;
  readonly retries?: number | undefined;
  /** Figures of this case alone. */
  readonly details?: Readonly<Record<string, number>> | undefined;
  readonly requests: readonly PricedRequests[];
}

export interface LimitCase {
  readonly name: string;
  readonly title: string;
  readonly run: (options: CaseOptions) => Promise<CaseResult>;
}

/** What a description without memoryMegabytes gets. */
const DEFAULT_MEGABYTES = 512;

/** Memory and time of the service's functions, as they are deployed. */
export function describedAs(name: FunctionName): { memoryMegabytes: number; timeoutSeconds: number } {
  const description: FunctionDescription = functions[name];
  const { memoryMegabytes = DEFAULT_MEGABYTES, timeoutSeconds } = description;
  return { memoryMegabytes, timeoutSeconds };
}

export const BUCKET = 'bench';
export const PIPELINE = 'tide';

/** What function.ts prints. */
export const spentSchema = z.object({
  outcome: z.string(),
  /** The longest invocation took them. */
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakMegabytes: z.number(),
});
export type Spent = z.infer<typeof spentSchema>;
