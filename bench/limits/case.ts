/** What every case of `npm run bench:limits` is and reports. */
import type { LimitProfile } from '@tidewheel/emulators/limits/profiles.ts';
import type { PricedRequests } from './prices.ts';

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
