/** What the work probably costs in a Spot pool, the change to On-Demand at the end included. */

import type { Outlook } from '../belief/beliefs.ts';
import type { Candidate } from '../candidates/pools.ts';
import { PATIENCE_SECONDS } from '../model/timings.ts';
import type { Assessed, AssessInput } from './assessment.ts';
import { type CapacityErrors, isLimited } from './capacity-errors.ts';
import { costUsd, gangUsd, safeWorkOf, workOf } from './gang-cost.ts';
import { planSpot, type SpotPlan } from './spot-plan.ts';
import { restartSecondsOn, type WorkEstimate } from './work.ts';

/** The change to On-Demand that a Spot attempt can count on. Prices are of the gang. */
export interface Fallback {
  readonly hourlyUsd: number;
  readonly workSeconds: number;
  readonly restartSeconds: number;
  /** Of the cheapest Spot pool, for an hour of the reference's work. */
  readonly spotUnitUsd: number;
  readonly plan: SpotPlan | undefined;
}

/**
 * The plan of a campaign on Spot that may change to this On-Demand pool. Its times are seconds of the fallback's own work.
 * @param spotUnitUsd what an hour of the reference's work costs in the Spot pool that is planned for, the cheapest of several
 */
export function fallbackOf(
  fallback: Candidate,
  spotUnitUsd: number,
  { work, secondsLeft, timeUsd }: Pick<AssessInput, 'work' | 'secondsLeft' | 'timeUsd'>,
): Fallback {
  const hourlyUsd = gangUsd(fallback, fallback.hourlyUsd);
  const workSeconds = safeWorkOf(fallback, work);
  const expected = workOf(fallback, work);
  const restartSeconds = restartSecondsOn(fallback.pool, work);
  const plan = planSpot({
    // That the work may take longer is no expected cost, but the slack for it must stay unused.
    secondsLeft: secondsLeft - (workSeconds - expected),
    work: { ...work, workSeconds: expected, restartSeconds },
    spotUsd: spotUnitUsd / fallback.throughput.factor,
    onDemandUsd: hourlyUsd,
    timeUsd,
  });
  return { hourlyUsd, workSeconds, restartSeconds, spotUnitUsd, plan };
}

/**
 * The time comes from spells of capacity, one after the other, each paying a restart before it brings progress; what
 * does not fit before the latest safe moment is done on demand. The cost is the plan's, made once at the price of the
 * cheapest pool, plus what this pool asks more for the work if all of it is done here.
 */
export function assessSpot(
  candidate: Candidate,
  input: AssessInput,
  {
    outlook,
    premiumUsd,
    fallbacks,
    refused,
  }: {
    readonly outlook: Outlook;
    /** Of this pool, over the cheapest (premium.ts). */
    readonly premiumUsd: number;
    readonly fallbacks: readonly Fallback[];
    readonly refused: CapacityErrors;
  },
): Assessed {
  const { work, timeUsd = 0 } = input;
  const spells = spellsOf(candidate, outlook, input);
  const { expectedSeconds, restSeconds, spotUsd } = unplanned(candidate, spells, input, fallbacks[0]);
  const unplannedUsd = spotUsd + costUsd(timeUsd, expectedSeconds);
  // A plan holds the value of time already.
  const options = fallbacks.map(
    (fallback) =>
      plannedUsd(fallback, premiumUsd, { candidate, spells }) ?? {
        ask: unplannedUsd + costUsd(fallback.hourlyUsd, restSeconds),
      },
  );
  const transferUsd = candidate.transfer?.usd ?? 0;
  const doubtUsd = doubtOf(candidate, spells);
  const afterOnDemandUsd = options.map(({ onDemand = Number.POSITIVE_INFINITY }) => transferUsd + onDemand);
  const best = options.toSorted((a, b) => a.ask - b.ask)[0];
  return {
    candidate,
    outlook,
    expectedCostUsd: transferUsd + doubtUsd + (best?.ask ?? unplannedUsd),
    ...(best?.had !== undefined && { hadUsd: transferUsd + best.had }),
    askCostUsd: doubtUsd,
    ...(seesItBack(candidate, refused, input) && { afterOnDemandUsd }),
    expectedSeconds,
    workSeconds: spells.workSeconds,
    safeWorkSeconds: safeWorkOf(candidate, work),
    ...refused,
  };
}

/** Stated, not fitted: of what the gang would cost while it waits. Dearer waits would give Spot up too early. */
const WORTH_OF_WAITING = 0.1;

/**
 * What asking in vain is worth: the wait until the job is taken back, or as long as the work would have taken. Waiting costs
 * no money while there is slack, so without this a pool that is surely gone would be asked first for the last cent.
 */
const doubtOf = (candidate: Candidate, { outlook, billed }: Spells): number =>
  WORTH_OF_WAITING *
  (1 - outlook.chanceUp) *
  costUsd(gangUsd(candidate, candidate.hourlyUsd), Math.min(PATIENCE_SECONDS, billed));

/** The work on Spot: in how many spells, each with a start, and how long is paid in all. */
interface Spells {
  readonly outlook: Outlook;
  readonly workSeconds: number;
  readonly restartSeconds: number;
  readonly spells: number;
  readonly billed: number;
}

function spellsOf(candidate: Candidate, outlook: Outlook, { work }: Pick<AssessInput, 'work'>): Spells {
  const restartSeconds = restartSecondsOn(candidate.pool, work);
  const workSeconds = workOf(candidate, work);
  const useful = Math.max(outlook.upSeconds - restartSeconds, outlook.upSeconds / 10);
  const spells = Math.max(1, workSeconds / useful);
  return { outlook, workSeconds, restartSeconds, spells, billed: workSeconds + spells * restartSeconds };
}

/** Seconds that are paid for the work, the starts between its spells included. */
export const billedSeconds = (candidate: Candidate, outlook: Outlook, work: WorkEstimate): number =>
  spellsOf(candidate, outlook, { work }).billed;

/** Time and cost where no plan can be made: on Spot what fits before the latest safe moment, on demand the rest. */
function unplanned(
  candidate: Candidate,
  { outlook, restartSeconds, spells, billed }: Spells,
  { model, spotSeconds }: AssessInput,
  onDemand: Fallback | undefined,
): { readonly expectedSeconds: number; readonly restSeconds: number; readonly spotUsd: number } {
  const running = billed + (spells - 1) * model.waitAfterLossSeconds;
  const share = onDemand === undefined ? 1 : shareOnSpot(outlook, running, spotSeconds);
  const restSeconds =
    (1 - share) * ((onDemand?.workSeconds ?? 0) + (onDemand?.restartSeconds ?? restartSeconds));
  const waited = Math.min(outlook.waitSeconds, Math.max(0, spotSeconds));
  return {
    expectedSeconds: (candidate.transfer?.seconds ?? 0) + share * (waited + running) + restSeconds,
    restSeconds,
    spotUsd: share * costUsd(gangUsd(candidate, candidate.hourlyUsd), billed),
  };
}

/** A job on demand comes back only to a pool that may be used and whose score tells when it is there. */
const seesItBack = ({ closed, score }: Candidate, refused: CapacityErrors, moment: AssessInput): boolean =>
  closed === undefined && score !== undefined && !isLimited(refused, moment);

/**
 * By the plan, which is of the cheapest pool and of the fallback's own start: what this pool and its launcher cost more
 * is paid whenever the work is done here, at once or after On-Demand.
 */
function plannedUsd(
  { plan, restartSeconds: planned }: Fallback,
  premiumUsd: number,
  { candidate, spells }: { readonly candidate: Candidate; readonly spells: Spells },
): { readonly ask: number; readonly had?: number; readonly onDemand?: number } | undefined {
  if (plan === undefined) return undefined;
  const startsUsd = costUsd(
    gangUsd(candidate, candidate.hourlyUsd),
    spells.spells * (spells.restartSeconds - planned),
  );
  // Starts that are shorter here save no more than the plan counts for them: what is nearly done would cost less than nothing.
  const inAll = (plannedUsd: number): number => Math.max(0, plannedUsd + premiumUsd + startsUsd);
  const { ask, had, onDemand } = plan.expectedUsd(spells.outlook.belief);
  return { ask: inAll(ask), had: inAll(had), onDemand: inAll(onDemand) };
}

/**
 * How much of the work is probably done on Spot before the latest safe moment. Up and down are weighed apart: the mean
 * wait of a pool that is down has a long tail of days, which says nothing of one that is up.
 */
function shareOnSpot(
  { chanceUp, waitSeconds }: Outlook,
  runningSeconds: number,
  spotSeconds: number,
): number {
  const within = (elapsed: number) => Math.min(1, Math.max(0, spotSeconds) / Math.max(1, elapsed));
  const waitIfDown = chanceUp < 1 ? waitSeconds / (1 - chanceUp) : 0;
  return chanceUp * within(runningSeconds) + (1 - chanceUp) * within(waitIfDown + runningSeconds);
}
