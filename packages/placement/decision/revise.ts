/**
 * Decides whether to recall a job that runs well: a Spot job that turned out too slow to risk another loss, or any job
 * whose remaining work is expected to be clearly cheaper in a Spot pool that is up again. It starts from the newest
 * checkpoint and uses placement's own code. The stop lets the script save, and `place` decides where the run goes on.
 */

import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { assumed, dollars, hours, NEXT_LOOK_SECONDS } from '../model/assumed.ts';
import { ON_DEMAND } from '../policy/plan-pass.ts';
import type { PlacedAttempt, Progress, StopReason } from '../records/attempts.ts';
import { nameOfPool, nameOfReservation, samePool } from '../records/placement-records.ts';
import { assessPools, isSpot, unitOf } from './assess.ts';
import { cheaperPool } from './cheaper-pool.ts';
import { idleSpan, isReserved, paidRest, secondsUntilGone, spansAhead } from './reserved.ts';
import { cheapestPool, whyNotAllowed } from './rules.ts';
import { type PlacementInput, type Situation, situationOf, withWorkDone } from './situation.ts';
import { spotValue } from './spot-value.ts';
import { costUsd, gangUsd, restartOf, restartSecondsIn, safeWorkOf, workOf } from './work.ts';

export interface RunningCampaign {
  readonly attempt: PlacedAttempt;
  /** The newest complete checkpoint; for an On-Demand job an earlier attempt's will do. */
  readonly progress: Progress;
  /** Since when it has been training, start-up left out. */
  readonly trainingSince: Date;
  readonly now: Date;
  /**
   * The input that `place` would get now without this attempt: the attempts before it, the newest prices and scores.
   */
  readonly question: PlacementInput;
}

export function revise(campaign: RunningCampaign): StopReason {
  const standing = standingOf(campaign);
  if (standing === undefined) return undefined;
  switch (campaign.attempt.placement.pool.purchaseOption) {
    case 'spot':
      return intoReservation(standing) ?? tooSlow(besideReservations(standing)) ?? cheaperElsewhere(standing);
    case 'on-demand':
      return intoReservation(standing) ?? cheaperOnSpot(standing);
    case 'reserved':
      return endsInside(standing) || !isSlower(standing) ? undefined : tooSlow(standing);
  }
}

/** The work that reservations do later needs no On-Demand. */
const besideReservations = ({ situation, here }: Standing): Standing => ({
  situation: paidRest(situation, spansAhead(situation)).situation,
  here,
});

/** Whether the reservation lasts until the work is done, even at the slow end of its estimate. */
const endsInside = ({ situation, here }: Standing): boolean =>
  safeWorkOf(here, situation.work) <= secondsUntilGone(here, situation);

/** Beside the fallbacks. Slack does not shrink in a reservation that is as fast, and none of its hosts are lost. */
const isSlower = ({ situation: { fallbacks, work }, here }: Standing): boolean =>
  fallbacks.some((each) => safeWorkOf(each, work) < safeWorkOf(here, work));

/**
 * Moves a job that is paid for into a reservation that is idle, and stops one whose rest the reservations do that begin
 * later, where that saves more than the save costs.
 */
function intoReservation({ situation: now, here }: Standing): StopReason {
  if (!hasAttemptToSpare(now)) return undefined;
  const situation = { ...now, secondsLeft: now.secondsLeft - assumed.saveSeconds };
  const idle = situation.candidates.flatMap((each) =>
    // What refused the run is tried by `place`: a job that is paid for is not stopped for it.
    isReserved(each) && situation.met(each).capacityErrors === 0 ? (idleSpan(each, situation) ?? []) : [],
  );
  const rest = paidRest(situation, [...idle, ...spansAhead(situation)]);
  const [first] = rest.used;
  if (first === undefined) return undefined;
  const isIdle = first.fromSeconds === 0;
  if (!isIdle && rest.situation.work.workSeconds > 0) return undefined;
  const hourlyUsd = gangUsd(here);
  // Until the reservation begins, or for the work that it does, this job would be paid for.
  const sparedSeconds = isIdle ? first.workSeconds * here.throughput.factor : first.fromSeconds;
  const heldSeconds = isIdle ? restartSecondsIn(first.candidate, situation.work) : first.fromSeconds;
  const savedUsd =
    costUsd(hourlyUsd, Math.min(sparedSeconds, workOf(here, situation.work)) - assumed.saveSeconds) -
    costUsd(situation.timeUsd, heldSeconds);
  if (savedUsd <= 0) return undefined;
  const name = nameOfReservation(first.candidate.pool.reservation);
  const goes = isIdle
    ? `is moved into ${name}, which is idle`
    : `leaves the rest to ${name}, which begins in ${hours(first.fromSeconds)}`;
  const why = `${goes} and has been paid for: stopped after a save, which saves about ${dollars(savedUsd)}`;
  return { cause: 'reservation', why };
}

/** Whether news of Spot could move a run that is on demand. */
export function mayMoveToSpot(campaign: RunningCampaign): boolean {
  const standing = standingOf(campaign);
  return standing?.situation.candidates.some(isOnSpot) === true && canMove(standing.situation);
}

/** The campaign's state if the job is stopped now and saves. */
interface Standing {
  readonly situation: Situation;
  /** What it runs on. */
  readonly here: Candidate;
}

function standingOf(campaign: RunningCampaign): Standing | undefined {
  const { attempt, question } = campaign;
  const { compute } = question;
  if (compute.purchaseOption === 'on-demand' && compute.reserved === undefined) return undefined;
  const situation = situationOf(asIfEnded(campaign));
  const here = situation.candidates.find(
    ({ pool, topology }) =>
      samePool(pool, attempt.placement.pool) && topology.nodes === attempt.placement.topology.nodes,
  );
  if (here === undefined || situation.work.basis !== 'measured') return undefined;
  const unsaved = unsavedSeconds(campaign, restartSecondsIn(here, situation.work));
  return { situation: withWorkDone(situation, unsaved / here.throughput.factor), here };
}

/** The input of `place` if the job had just been stopped and had saved. */
export function asIfEnded(
  campaign: Omit<RunningCampaign, 'progress'> & Pick<PlacementInput, 'progress'>,
): PlacementInput {
  const { attempt, progress, trainingSince, now, question } = campaign;
  const ran = (now.getTime() - trainingSince.getTime()) / 1_000;
  const ended: PlacedAttempt = {
    ...attempt,
    progressAfter: progress,
    outcome: {
      kind: 'recalled',
      message: '',
      startedAt: trainingSince.toISOString(),
      endedAt: now.toISOString(),
      // The cost of this start is not known yet, so it does not count as a measured restart.
      trainingSeconds: 0,
      billableSeconds: ran,
      interruptions: 0,
    },
  };
  return {
    ...question,
    now: now.toISOString(),
    attempts: [...question.attempts, ended],
    progress,
    runningSeconds: ran,
  };
}

/** Work since the checkpoint, which a stop saves; without a checkpoint of its own, since the start. */
function unsavedSeconds({ progress, trainingSince, now }: RunningCampaign, restartSeconds: number): number {
  const savedAt = Date.parse(progress.updatedAt);
  const begun = trainingSince.getTime();
  const since = savedAt > begun ? savedAt : begun + restartSeconds * 1_000;
  return Math.min(assumed.unsavedSeconds, Math.max(0, now.getTime() - since) / 1_000);
}

/**
 * Slack does not shrink while the work goes as fast as estimated. Once an On-Demand start after the next look could no
 * longer end in time, the run could not survive a loss, so it changes to On-Demand now.
 */
function tooSlow({ situation, here }: Standing): StopReason {
  const { work, marginSeconds, secondsLeft } = situation;
  if (situation.input.compute.purchaseOption === 'spot') return undefined;
  const left = safeWorkOf(here, work);
  const slack = situation.slackSeconds - assumed.saveSeconds;
  // Too late for On-Demand, or nearly done: going on is best.
  if (slack < 0 || left <= work.restartSeconds + assumed.saveSeconds) return undefined;
  if (slack > Math.min(NEXT_LOOK_SECONDS, marginSeconds)) return undefined;
  // A pool that cools down for longer than the save takes would not be tried after it, and the stop would
  // only lose what runs.
  const canChange = situation.candidates.some(
    (each) =>
      each.pool.purchaseOption === 'on-demand' &&
      each.closed === undefined &&
      safeWorkOf(each, work) + restartOf(each, work) + assumed.saveSeconds <= secondsLeft &&
      situation.met(each).coolsSeconds <= assumed.saveSeconds,
  );
  if (!canChange) return undefined;
  const slow = isReserved(here)
    ? `is slower than On-Demand would be: ${hours(left)} of work are left, and a later start there would be late`
    : `is slower than it was believed: ${hours(left)} of work are left, and a loss of Spot could not be borne any more`;
  return { cause: 'deadline', why: `${slow}: stopped after a save, for On-Demand` };
}

/** Beside the one that a move takes. The running one is among them. */
const hasAttemptToSpare = ({ input: { attempts, limits } }: Situation): boolean =>
  attempts.length + 1 < limits.attempts;

function canMove(situation: Situation): boolean {
  const { work, slackSeconds, marginSeconds } = situation;
  if (!hasAttemptToSpare(situation)) return false;
  if (slackSeconds - work.restartSeconds - marginSeconds < assumed.saveSeconds) return false;
  // Nearly done: ticks are too coarse to show what a move would save.
  return work.workSeconds > 2 * (work.restartSeconds + assumed.saveSeconds);
}

/**
 * Uses the same values as the choice of an attempt: asking for Spot now, including the save and both starts, against
 * going on here until Spot is up another time.
 */
function cheaperOnSpot({ situation, here }: Standing): StopReason {
  if (!canMove(situation)) return undefined;
  const open = assessPools(situation).filter((each) => isSpot(each) && each.coolsSeconds <= 0);
  const there = cheapestPool(open, situation);
  if (there === undefined || there.outlook.chanceUp < assumed.leastChance) return undefined;
  const { candidate, outlook } = there;
  const value = spotValue(here, unitOf(there), situation);
  const { ask, onDemand } = value.expectedUsd(outlook.belief, ON_DEMAND);
  const movedUsd = ask + costUsd(value.onDemandUsd, assumed.saveSeconds);
  if (movedUsd >= onDemand) return undefined;
  const why = `is moved to Spot (${nameOfPool(candidate.pool)}), where the rest is expected to cost $${movedUsd.toFixed(2)} instead of $${onDemand.toFixed(2)}: stopped after a save`;
  return { cause: 'spot', why };
}

const isOnSpot = ({ pool, closed }: Candidate): boolean =>
  pool.purchaseOption === 'spot' && closed === undefined;

/**
 * Moves as the simulator's policy moves between zones: another Spot pool is up again and cheap enough to pay for the
 * start.
 */
function cheaperElsewhere({ situation, here }: Standing): StopReason {
  if (!canMove(situation)) return undefined;
  // Most runs are already in the cheapest pool, and need no comparison.
  if (!situation.candidates.some((each) => isOnSpot(each) && unitUsd(each) < unitUsd(here))) return undefined;
  const spot = assessPools(situation).filter(isSpot);
  const atHand = spot.find(({ candidate }) => candidate === here);
  if (atHand === undefined) return undefined;
  const allowed = spot.filter((each) => whyNotAllowed(each, situation) === undefined);
  const cheaper = cheaperPool(atHand, allowed, { situation, inUse: true });
  if (cheaper?.kind !== 'ask') return undefined;
  const savedUsd = cheaper.savedUsd - costUsd(gangUsd(here), assumed.saveSeconds);
  if (savedUsd <= 0) return undefined;
  const why = `is moved to cheaper Spot (${nameOfPool(cheaper.pool.candidate.pool)}), which saves about $${savedUsd.toFixed(2)}: stopped after a save`;
  return { cause: 'spot', why };
}
