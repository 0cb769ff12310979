/** Turns the input of the Report state into the run's verdict, with a readable reason. */
import { parseJson } from '@tidewheel/kit/json.ts';
import type { Verdict } from './report-run.ts';

export interface StateMachineResult {
  readonly judgement?: { readonly kind: string; readonly reason: string } | undefined;
  readonly error?: { readonly Error: string; readonly Cause?: string | undefined } | undefined;
}

const ENDS = ['done', 'failed', 'stopped', 'empty'] as const;

/** An error of a state overrides an earlier judgement. */
export function verdictOf({ judgement, error }: StateMachineResult): Verdict {
  if (error !== undefined) return { kind: 'failed', reason: errorText(error) };
  const kind = ENDS.find((end) => end === judgement?.kind);
  if (kind === undefined || judgement === undefined) {
    return { kind: 'failed', reason: 'the run ended without a judgement' };
  }
  return { kind, reason: judgement.reason };
}

/** Lambda's Cause is JSON with the message inside. The stack belongs in the log, not in the report. */
function errorText({ Error: name, Cause: cause }: NonNullable<StateMachineResult['error']>): string {
  // Not every service answers with JSON.
  const parsed = parseJson(cause ?? '');
  if (typeof parsed === 'object' && parsed !== null && 'errorMessage' in parsed)
    return `${name}: ${String(parsed.errorMessage)}`;
  return cause ? `${name}: ${cause.slice(0, 1_000)}` : name;
}
