/** What each pool would probably cost and when it would be done, the change to On-Demand at the end included. */
import type { BeliefModel, Outlook, Sighting } from './beliefs.ts';
import { outlookOf } from './beliefs.ts';
import type { Candidate } from './pools.ts';
import { planSpot, type SpotPlan } from './spot-plan.ts';
import type { WorkEstimate } from './work.ts';

export interface Assessed {
  readonly candidate: Candidate;
  readonly outlook: Outlook;
  readonly expectedCostUsd: number;
  readonly expectedSeconds: number;
  /** The last refusals in a row that this very pool gave us, and when. */
  readonly refusals: number;
  readonly lastRefusalMilliseconds?: number | undefined;
  /** When capacity of this very pool was last taken from us. */
  readonly lastLossMilliseconds?: number | undefined;
}

export interface AssessInput {
  readonly model: BeliefModel;
  readonly sightings: readonly Sighting[];
  readonly work: WorkEstimate;
  readonly nodes: number;
  /** Of all helper groups together, which are always on demand. */
  readonly helpersHourlyUsd: number;
  /** Until the deadline. */
  readonly secondsLeft: number;
  /** Until the work must be done on Spot or have been given to On-Demand. */
  readonly spotSeconds: number;
  readonly nowMilliseconds: number;
}

export function assess(candidates: readonly Candidate[], input: AssessInput): readonly Assessed[] {
  const cheapest = (market: Candidate['pool']['market']): number =>
    Math.min(...candidates.filter((each) => each.pool.market === market).map((each) => each.hourlyUsd));
  const fallback = fallbackOf(cheapest('spot'), cheapest('on-demand'), input);
  return candidates.map((candidate) =>
    candidate.pool.market === 'on-demand'
      ? assessOnDemand(candidate, input)
      : assessSpot(candidate, input, fallback),
  );
}

/** The change to On-Demand that a Spot attempt can count on; undefined where the pipeline allows none. */
interface Fallback {
  readonly hourlyUsd: number;
  readonly spotHourlyUsd: number;
  readonly plan: SpotPlan | undefined;
}

function fallbackOf(spotHourly: number, onDemandHourly: number, input: AssessInput): Fallback | undefined {
  if (!Number.isFinite(onDemandHourly) || !Number.isFinite(spotHourly)) return undefined;
  const { work, nodes, secondsLeft, helpersHourlyUsd } = input;
  const plan = planSpot({
    secondsLeft,
    work,
    spotUsd: spotHourly * nodes + helpersHourlyUsd,
    onDemandUsd: onDemandHourly * nodes + helpersHourlyUsd,
  });
  return { hourlyUsd: onDemandHourly, spotHourlyUsd: spotHourly, plan };
}

const costUsd = (hourlyUsd: number, gang: Gang, seconds: number): number =>
  ((hourlyUsd * gang.nodes + gang.helpersHourlyUsd) * seconds) / 3_600;

type Gang = Pick<AssessInput, 'nodes' | 'helpersHourlyUsd'>;

/** On-Demand is taken to be there, unless it was refused lately: then as long again as it has been refusing. */
function assessOnDemand(candidate: Candidate, input: AssessInput): Assessed {
  const refused = refusalsOf(candidate, input.sightings);
  const billed = input.work.workSeconds + input.work.restartSeconds;
  const waitSeconds = refused.refusals === 0 ? 0 : backoffSeconds(refused.refusals);
  return {
    candidate,
    outlook: {
      belief: [],
      chanceUp: refused.refusals === 0 ? 1 : 0.5,
      waitSeconds,
      upSeconds: Number.POSITIVE_INFINITY,
    },
    expectedCostUsd: costUsd(candidate.hourlyUsd, input, billed),
    expectedSeconds: waitSeconds + billed,
    ...refused,
  };
}

/**
 * The time comes from spells of capacity, one after the other, each paying a restart before it brings progress; what
 * does not fit before the latest safe moment is done on demand. The cost is the plan's, made once at the price of the
 * cheapest pool, plus what this pool asks more for the work if all of it is done here.
 */
function assessSpot(candidate: Candidate, input: AssessInput, fallback: Fallback | undefined): Assessed {
  const { work, nodes, model } = input;
  const outlook = outlookOf(model, candidate.pool, {
    sightings: input.sightings,
    score: candidate.score,
    nowMilliseconds: input.nowMilliseconds,
  });
  const useful = Math.max(outlook.upSeconds - work.restartSeconds, outlook.upSeconds / 10);
  const spells = Math.max(1, work.workSeconds / useful);
  const billed = work.workSeconds + spells * work.restartSeconds;
  const running = billed + (spells - 1) * model.waitAfterLossSeconds;
  const share = fallback === undefined ? 1 : shareOnSpot(outlook, running, input.spotSeconds);
  const restSeconds = (1 - share) * (work.workSeconds + work.restartSeconds);
  const spotUsd = share * costUsd(candidate.hourlyUsd, input, billed);
  const dearer = candidate.hourlyUsd - (fallback?.spotHourlyUsd ?? candidate.hourlyUsd);
  const planned = fallback?.plan?.costUsd(outlook.belief);
  const vainSeconds = Math.min(ASKED_IN_VAIN_SECONDS, billed);
  const inVain = (1 - outlook.chanceUp) * costUsd(candidate.onDemandHourlyUsd, input, vainSeconds);
  return {
    candidate,
    outlook,
    expectedCostUsd:
      inVain +
      (planned === undefined
        ? spotUsd + costUsd(fallback?.hourlyUsd ?? 0, input, restSeconds)
        : planned + (dearer * nodes * billed) / 3_600),
    expectedSeconds:
      share * (Math.min(outlook.waitSeconds, Math.max(0, input.spotSeconds)) + running) + restSeconds,
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

/**
 * Asking where nothing is costs so much time (the patience of a waiting job), which no price of an hour shows. It is
 * counted as if On-Demand had run instead, but never as more than all that is left: a stated value, not a fit.
 */
const ASKED_IN_VAIN_SECONDS = 600;

/** 1, 2, 4, ... minutes, a quarter of an hour at most. */
export const backoffSeconds = (refusals: number): number => Math.min(900, 60 * 2 ** (refusals - 1));

function refusalsOf(
  { pool }: Candidate,
  sightings: readonly Sighting[],
): Pick<Assessed, 'refusals' | 'lastRefusalMilliseconds' | 'lastLossMilliseconds'> {
  let refusals = 0;
  let lastRefusalMilliseconds: number | undefined;
  let lastLossMilliseconds: number | undefined;
  for (const sighting of sightings) {
    const same =
      sighting.market === pool.market &&
      sighting.instanceType === pool.instanceType &&
      sighting.zoneId === pool.zoneId;
    if (!same) continue;
    const refused = sighting.seen === 'refused';
    refusals = refused ? refusals + 1 : 0;
    lastRefusalMilliseconds = refused ? sighting.atMilliseconds : undefined;
    if (sighting.seen === 'lost') lastLossMilliseconds = sighting.atMilliseconds;
  }
  return { refusals, lastRefusalMilliseconds, lastLossMilliseconds };
}
