/**
 * What the account has reserved costs nothing more, so it makes the work that has to be paid for shorter: the rest of the
 * policy decides on the work and the time that are left beside the hours of the reservations.
 */

import type { Candidate } from '../candidates/pools.ts';
import { hostWindows } from '../candidates/reserved-pools.ts';
import { assumed, NEXT_LOOK_SECONDS } from '../model/assumed.ts';
import type { ReservedSpan, Situation } from './situation.ts';
import { restartSecondsIn, safeWorkOf, withLeft } from './work.ts';

/** The run is stopped at the last look before the end, and saves. */
export const LEAVES_SECONDS = NEXT_LOOK_SECONDS + assumed.saveSeconds;
/** A start that has less time than this for its training only delays the next one. */
const LEAST_SECONDS = 2 * NEXT_LOOK_SECONDS;

export const isReserved = ({ pool }: Pick<Candidate, 'pool'>): boolean => pool.purchaseOption === 'reserved';

type Time = Pick<Situation, 'nowMilliseconds'>;

/** When its hosts may run, in seconds from now; the first is open where it begins in the past. */
const windowsOf = ({ reservation }: Candidate, { nowMilliseconds }: Time) =>
  (reservation === undefined ? [] : hostWindows(reservation))
    .map(({ fromMilliseconds, untilMilliseconds }) => ({
      fromSeconds: (fromMilliseconds - nowMilliseconds) / 1_000,
      untilSeconds: (untilMilliseconds - nowMilliseconds) / 1_000,
    }))
    .filter(({ untilSeconds }) => untilSeconds > 0);

/** Seconds until it begins, or until its hosts may be free again; 0: its capacity is there now. */
export function secondsUntilRoom(candidate: Candidate, time: Time): number {
  const { reservation, topology } = candidate;
  if (reservation === undefined) return 0;
  const [{ fromSeconds } = { fromSeconds: Number.POSITIVE_INFINITY }] = windowsOf(candidate, time);
  if (fromSeconds > 0) return fromSeconds;
  return reservation.availableInstances < topology.nodes ? NEXT_LOOK_SECONDS : 0;
}

/** Seconds until a start of now has to be gone; infinite where nothing ends it. */
export const secondsUntilGone = (candidate: Candidate, time: Time): number =>
  windowsOf(candidate, time)[0]?.untilSeconds ?? Number.POSITIVE_INFINITY;

/** The hours of now that an idle reservation offers; undefined where it is in use, or hardly any are left. */
export function idleSpan(candidate: Candidate, situation: Situation): ReservedSpan | undefined {
  if (!isOpen(candidate) || secondsUntilRoom(candidate, situation) > 0) return undefined;
  if (situation.met(candidate).coolsSeconds > 0) return undefined;
  return spansIn(candidate, situation).find(({ fromSeconds }) => fromSeconds === 0);
}

/** The hours of reservations that have not begun. */
export const spansAhead = (situation: Situation): readonly ReservedSpan[] =>
  situation.candidates
    .filter((each) => isReserved(each) && isOpen(each))
    .flatMap((each) => spansIn(each, situation).filter(({ fromSeconds }) => fromSeconds > 0));

/** Whether the run could do all of its work in reservations, from now on. */
export function needsNothingPaid(situation: Situation): boolean {
  const reserved = situation.candidates.filter(isReserved);
  const idle = reserved.flatMap((each) => idleSpan(each, situation) ?? []);
  return paidRest(situation, [...idle, ...spansAhead(situation)]).situation.work.workSeconds <= 0;
}

const isOpen = ({ closed }: Candidate): boolean => closed === undefined;

function spansIn(candidate: Candidate, situation: Situation): readonly ReservedSpan[] {
  const { secondsLeft, marginSeconds } = situation;
  return windowsOf(candidate, situation).flatMap((window) => {
    const fromSeconds = Math.max(0, window.fromSeconds);
    // What begins later may begin late; what is idle ends as surely as On-Demand.
    const untilDeadline = secondsLeft - (fromSeconds > 0 ? marginSeconds : 0);
    const untilSeconds = Math.min(window.untilSeconds - LEAVES_SECONDS, untilDeadline);
    return spanOf(candidate, { fromSeconds, untilSeconds }, situation);
  });
}

function spanOf(
  candidate: Candidate,
  { fromSeconds, untilSeconds }: Pick<ReservedSpan, 'fromSeconds' | 'untilSeconds'>,
  { work }: Pick<Situation, 'work'>,
): readonly ReservedSpan[] {
  const trains = untilSeconds - fromSeconds - restartSecondsIn(candidate, work);
  if (trains < LEAST_SECONDS) return [];
  const paceHere = safeWorkOf(candidate, { ...work, workSeconds: 1 });
  return [{ candidate, fromSeconds, untilSeconds, workSeconds: trains / paceHere }];
}

/** What is left to be paid for beside reserved hours, and those of them that the run will use. */
interface PaidRest {
  readonly situation: Situation;
  /** In order, without overlaps. */
  readonly used: readonly ReservedSpan[];
}

/**
 * A run is in one reservation at a time. Hours after which the rest could not end in time on demand are left out, unless
 * they finish the work. A planned return needs less slack than a loss: no more than a job that runs on Spot keeps.
 */
export function paidRest(whole: Situation, spans: readonly ReservedSpan[]): PaidRest {
  let rest: PaidRest = { situation: whole, used: [] };
  for (const span of spans.toSorted(
    (a, b) => a.fromSeconds - b.fromSeconds || b.workSeconds - a.workSeconds,
  )) {
    const before = rest.used.at(-1)?.untilSeconds ?? 0;
    const fromSeconds = Math.max(span.fromSeconds, before);
    const [found] = spanOf(span.candidate, { ...span, fromSeconds }, whole);
    if (found === undefined || rest.situation.work.workSeconds <= 0) continue;
    const next = withSpan(rest.situation, found);
    if (isSafe(next.situation)) rest = { situation: next.situation, used: [...rest.used, next.used] };
  }
  return rest;
}

const isSafe = ({ work, slackSeconds, marginSeconds }: Situation): boolean =>
  work.workSeconds <= 0 || slackSeconds >= Math.min(NEXT_LOOK_SECONDS, marginSeconds) + assumed.saveSeconds;

function withSpan(situation: Situation, span: ReservedSpan) {
  const share = Math.min(1, situation.work.workSeconds / span.workSeconds);
  const starts = restartSecondsIn(span.candidate, situation.work);
  const trains = (span.untilSeconds - span.fromSeconds - starts) * share;
  const used = {
    ...span,
    untilSeconds: span.fromSeconds + starts + trains,
    workSeconds: span.workSeconds * share,
  };
  const work = { ...situation.work, workSeconds: situation.work.workSeconds - used.workSeconds };
  // A rest on both sides has a start on both.
  const startsAgain = span.fromSeconds > 0 ? work.restartSeconds : 0;
  const returns = work.workSeconds > 0 ? assumed.saveSeconds + startsAgain : 0;
  const secondsLeft = situation.secondsLeft - (used.untilSeconds - used.fromSeconds) - returns;
  return { used, situation: withLeft(situation, work, secondsLeft) };
}
