/** What each pool would probably cost and when it would be done, the change to On-Demand at the end included. */
import { type Pool, samePool } from '../records.ts';
import type { BeliefModel, Outlook, Sighting } from './beliefs.ts';
import { outlookOf, trustOf } from './beliefs.ts';
import type { PoolRecords } from './pool-records.ts';
import { type Candidate, unitUsd } from './pools.ts';
import type { ScoreTrust } from './score-trust.ts';
import { planSpot, type SpotPlan } from './spot-plan.ts';
import { restartSecondsOn, type WorkEstimate } from './work.ts';

export interface Assessed {
  readonly candidate: Candidate;
  readonly outlook: Outlook;
  readonly expectedCostUsd: number;
  readonly expectedSeconds: number;
  /** Of the work left here, restarts left out: as expected, and so long that it takes more only once in ten times. */
  readonly workSeconds: number;
  readonly safeWorkSeconds: number;
  /** Of an On-Demand pool: by how much its cost is lower because the job can go back to Spot. */
  readonly returnUsd?: number | undefined;
  /** The last refusals in a row that this very pool gave us, and when. */
  readonly refusals: number;
  /** The last was for a limit of the account, which waiting for capacity does not lift. */
  readonly quota: boolean;
  readonly lastRefusalMilliseconds?: number | undefined;
  /** When capacity of this very pool was last taken from us. */
  readonly lastLossMilliseconds?: number | undefined;
}

export interface AssessInput {
  readonly model: BeliefModel;
  readonly sightings: readonly Sighting[];
  /** What the weeks before them say of each pool. */
  readonly records?: PoolRecords | undefined;
  /** Stated for the reference topology; each candidate has its own pace. */
  readonly work: WorkEstimate;
  /** The On-Demand pools that a Spot attempt may fall back on; none where the pipeline allows none. */
  readonly fallbacks: readonly Candidate[];
  /** Until the deadline. */
  readonly secondsLeft: number;
  /** Until the work must be done on Spot or have been given to On-Demand. */
  readonly spotSeconds: number;
  readonly nowMilliseconds: number;
  /** What an hour until the end is worth, whatever runs in it. It is part of every expected cost. */
  readonly timeUsd?: number | undefined;
}

export function assess(candidates: readonly Candidate[], input: AssessInput): readonly Assessed[] {
  // What a limit of the account forbids is no Spot that a plan could come back to.
  const spot = candidates.filter(
    (each) =>
      each.pool.market === 'spot' && each.closed === undefined && !refusalsOf(each, input.sightings).quota,
  );
  const cheapest = Math.min(...spot.map((each) => unitUsd(each, each.hourlyUsd)));
  const fallbacks = Number.isFinite(cheapest)
    ? input.fallbacks.map((each) => fallbackOf(each, cheapest, input))
    : [];
  const trust = trustOf(input.sightings);
  const onSpot = new Map(
    candidates
      .filter(({ pool }) => pool.market === 'spot')
      .map((each) => [each, assessSpot(each, input, { fallbacks, trust })]),
  );
  const returnUsd = worthOfReturn([...onSpot.values()], fallbacks);
  return candidates.map((each) => onSpot.get(each) ?? assessOnDemand(each, input, returnUsd));
}

/**
 * What it is worth on demand that the job can go back to Spot, as the plan has it: by the belief of the pool that would
 * be asked first. Nothing where no score would tell that Spot is back.
 */
function worthOfReturn(onSpot: readonly Assessed[], fallbacks: readonly Fallback[]): number {
  const plan = fallbacks[0]?.plan;
  const best = onSpot
    .filter(
      ({ candidate: { closed, score }, quota }) => closed === undefined && score !== undefined && !quota,
    )
    .reduce<Assessed | undefined>(
      (least, each) => (least && least.expectedCostUsd <= each.expectedCostUsd ? least : each),
      undefined,
    );
  if (plan === undefined || best === undefined) return 0;
  return Math.max(0, plan.surelyUsd - plan.expectedUsd(best.outlook.belief).onDemand);
}

/** The change to On-Demand that a Spot attempt can count on. Prices are of the gang. */
interface Fallback {
  readonly hourlyUsd: number;
  readonly workSeconds: number;
  readonly restartSeconds: number;
  /** Of the cheapest Spot pool, for an hour of the reference's work. */
  readonly spotUnitUsd: number;
  readonly plan: SpotPlan | undefined;
}

/** One plan for all Spot pools, or for one, in seconds of the fallback's own work: its price, and the cheapest Spot beside it. */
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
    // What it may take longer is no cost that is expected, but slack that cannot be used.
    secondsLeft: secondsLeft - (workSeconds - expected),
    work: { ...work, workSeconds: expected, restartSeconds },
    spotUsd: spotUnitUsd / fallback.pace.factor,
    onDemandUsd: hourlyUsd,
    timeUsd,
  });
  return { hourlyUsd, workSeconds, restartSeconds, spotUnitUsd, plan };
}

const costUsd = (unit: number, seconds: number): number => (unit * seconds) / 3_600;

/** Of a normal distribution, below which it lies nine times out of ten. */
const ONCE_IN_TEN = 1.282;

export const workOf = ({ pace }: Candidate, { workSeconds }: WorkEstimate): number =>
  workSeconds * pace.factor;

/** A topology that nobody has measured is trusted with a deadline only at the slow end of what it may be. */
export const safeWorkOf = (candidate: Candidate, work: WorkEstimate): number =>
  workOf(candidate, work) * Math.exp(ONCE_IN_TEN * candidate.pace.uncertainty);

/** Until the first new progress here, shards and checkpoints being brought there first. */
export const restartOf = ({ pool, transfer }: Candidate, work: WorkEstimate): number =>
  restartSecondsOn(pool, work) + (transfer?.seconds ?? 0);

/** On-Demand is taken to be there, unless it was refused lately: then as long again as it has been refusing. */
function assessOnDemand(candidate: Candidate, input: AssessInput, returnUsd: number): Assessed {
  const refused = refusalsOf(candidate, input.sightings);
  const workSeconds = workOf(candidate, input.work);
  const billed = workSeconds + restartSecondsOn(candidate.pool, input.work);
  const waitSeconds = refused.refusals === 0 ? 0 : backoffSeconds(refused);
  const expectedSeconds = waitSeconds + billed + (candidate.transfer?.seconds ?? 0);
  return {
    candidate,
    outlook: {
      belief: [],
      chanceUp: refused.refusals === 0 ? 1 : 0.5,
      waitSeconds,
      upSeconds: Number.POSITIVE_INFINITY,
    },
    expectedCostUsd:
      costUsd(gangUsd(candidate, candidate.hourlyUsd), billed) +
      (candidate.transfer?.usd ?? 0) +
      costUsd(input.timeUsd ?? 0, expectedSeconds) -
      returnUsd,
    returnUsd,
    expectedSeconds,
    workSeconds,
    safeWorkSeconds: safeWorkOf(candidate, input.work),
    ...refused,
  };
}

/** An hour of the whole gang, helpers included. */
const gangUsd = (candidate: Candidate, hourlyUsd: number): number =>
  unitUsd(candidate, hourlyUsd) / candidate.pace.factor;

/**
 * The time comes from spells of capacity, one after the other, each paying a restart before it brings progress; what
 * does not fit before the latest safe moment is done on demand. The cost is the plan's, made once at the price of the
 * cheapest pool, plus what this pool asks more for the work if all of it is done here.
 */
function assessSpot(
  candidate: Candidate,
  input: AssessInput,
  { fallbacks, trust }: { readonly fallbacks: readonly Fallback[]; readonly trust: ScoreTrust },
): Assessed {
  const { work, model } = input;
  const restartSeconds = restartSecondsOn(candidate.pool, work);
  const { transfer } = candidate;
  const outlook = outlookOf(model, candidate.pool, {
    sightings: input.sightings,
    score: candidate.score,
    scoreAgeSeconds: candidate.scoreAgeSeconds,
    trust,
    records: input.records,
    nowMilliseconds: input.nowMilliseconds,
  });
  const workSeconds = workOf(candidate, work);
  const useful = Math.max(outlook.upSeconds - restartSeconds, outlook.upSeconds / 10);
  const spells = Math.max(1, workSeconds / useful);
  const billed = workSeconds + spells * restartSeconds;
  const running = billed + (spells - 1) * model.waitAfterLossSeconds;
  const onDemand = fallbacks[0];
  const share = onDemand === undefined ? 1 : shareOnSpot(outlook, running, input.spotSeconds);
  const restSeconds =
    (1 - share) * ((onDemand?.workSeconds ?? 0) + (onDemand?.restartSeconds ?? restartSeconds));
  const spotUsd = share * costUsd(gangUsd(candidate, candidate.hourlyUsd), billed);
  const unit = unitUsd(candidate, candidate.hourlyUsd);
  const expectedSeconds =
    (transfer?.seconds ?? 0) +
    share * (Math.min(outlook.waitSeconds, Math.max(0, input.spotSeconds)) + running) +
    restSeconds;
  const timeUsd = input.timeUsd ?? 0;
  const unplannedUsd = spotUsd + costUsd(timeUsd, expectedSeconds);
  // A plan holds the value of time already.
  // The plan's starts are the fallback's: another launcher's take longer or shorter.
  const startsUsd = (fallback: Fallback): number =>
    costUsd(gangUsd(candidate, candidate.hourlyUsd), spells * (restartSeconds - fallback.restartSeconds));
  const options = fallbacks.map((fallback) => {
    const { plan, hourlyUsd, spotUnitUsd } = fallback;
    return plan === undefined
      ? unplannedUsd + costUsd(hourlyUsd, restSeconds)
      : plan.expectedUsd(outlook.belief).ask +
          costUsd((unit - spotUnitUsd) / candidate.pace.factor, billed) +
          startsUsd(fallback);
  });
  return {
    candidate,
    outlook,
    expectedCostUsd: (transfer?.usd ?? 0) + (options.length > 0 ? Math.min(...options) : unplannedUsd),
    expectedSeconds,
    workSeconds,
    safeWorkSeconds: safeWorkOf(candidate, work),
    ...refusalsOf(candidate, input.sightings),
  };
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

/** 1, 2, 4, ... minutes, a quarter of an hour at most; for a limit of the account 15, 30, 60, ... minutes, four hours at most. */
export const backoffSeconds = ({ refusals, quota }: Pick<Assessed, 'refusals' | 'quota'>): number =>
  quota
    ? Math.min(LONGEST_QUOTA_REST_SECONDS, 900 * 2 ** (refusals - 1))
    : Math.min(900, 60 * 2 ** (refusals - 1));

/** Of a limit that is in use by other jobs; one that is 0 is raised by people. */
const LONGEST_QUOTA_REST_SECONDS = 4 * 3_600;

/** A limit of the account holds for the type in every zone of the region, apart for each market and launcher. */
const concerns = (sighting: Sighting, pool: Pool): boolean =>
  samePool(sighting.quota === true ? { ...sighting, zoneId: pool.zoneId } : sighting, pool);

function refusalsOf(
  { pool }: Candidate,
  sightings: readonly Sighting[],
): Pick<Assessed, 'refusals' | 'quota' | 'lastRefusalMilliseconds' | 'lastLossMilliseconds'> {
  let refusals = 0;
  let quota = false;
  let lastRefusalMilliseconds: number | undefined;
  let lastLossMilliseconds: number | undefined;
  for (const sighting of sightings) {
    if (!concerns(sighting, pool)) continue;
    const refused = sighting.seen === 'refused';
    refusals = refused ? refusals + 1 : 0;
    quota = refused && sighting.quota === true;
    lastRefusalMilliseconds = refused ? sighting.atMilliseconds : undefined;
    if (sighting.seen === 'lost') lastLossMilliseconds = sighting.atMilliseconds;
  }
  return { refusals, quota, lastRefusalMilliseconds, lastLossMilliseconds };
}
