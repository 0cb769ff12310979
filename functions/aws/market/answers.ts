/** Returns failures of the market's APIs as values, and keeps answers for a while. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import type { MarketAnswer, MarketFailure } from '@tidewheel/placement/market.ts';
import { awsErrorClass } from '../../records/aws-error-class.ts';

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/work-with-spot-placement-score.html: the limit is per 24 hours */
function failureOf(error: Error): MarketFailure {
  if (error.name.startsWith('MaxConfigLimitExceeded')) return 'configurationLimit';
  const kind = awsErrorClass(error);
  if (kind === 'throttle') return 'throttled';
  return kind === 'access' || kind === 'credentials' ? 'notAuthorised' : 'unavailable';
}

const REMEDY: Readonly<Record<MarketFailure, string>> = {
  configurationLimit: 'only questions asked before are answered today; use the same families and node counts',
  throttled: 'asked again at the next placement',
  notAuthorised: 'allow this function the call in its role',
  unavailable: 'asked again at the next placement',
};

export async function answered<T>(
  ask: () => Promise<T>,
  notes: readonly string[] = [],
): Promise<MarketAnswer<T>> {
  try {
    return { kind: 'known', value: await ask(), notes };
  } catch (error: unknown) {
    const cause = error instanceof Error ? error : new Error(String(error));
    const failure = failureOf(cause);
    return { kind: 'unknown', failure, message: `${cause.name}: ${cause.message} (${REMEDY[failure]})` };
  }
}

/** An equal question within the time gets the same answer. Failures are not kept. */
export function reuse<T>(clock: Clock, seconds: number) {
  const kept = new Map<string, { readonly until: number; readonly answer: MarketAnswer<T> }>();
  return async (question: string, ask: () => Promise<MarketAnswer<T>>): Promise<MarketAnswer<T>> => {
    const now = clock.now().getTime();
    const known = kept.get(question);
    if (known && known.until > now) return known.answer;
    const answer = await ask();
    if (answer.kind === 'known') kept.set(question, { until: now + seconds * 1_000, answer });
    return answer;
  };
}
