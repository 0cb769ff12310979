/** The training left, the cost of a restart and the money spent: from attempts and checkpoints, else from priors. */

import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import { DEFAULT_LAUNCHER, type LauncherName } from '@tidewheel/declaration/launchers.ts';
import type { Expectations } from '../candidates/former-runs.ts';
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { type MeasuredThroughput, sameTopology } from '../candidates/throughput-estimate.ts';
import { assumed } from '../model/assumed.ts';
import {
  type AttemptOutcome,
  type AttemptStart,
  attemptCost,
  type PlacedAttempt,
  type Progress,
  startsOf,
} from '../records/attempts.ts';
import { type Placement, type Pool, samePool } from '../records/placement-records.ts';
import type { MetIn } from './met.ts';

export interface WorkEstimate {
  /** Training seconds still to do on the reference, whose throughput has the factor 1. */
  readonly workSeconds: number;
  /** measured: from a checkpoint; declared: by the pipeline or its former runs; assumed: not known yet. */
  readonly basis: 'measured' | 'declared' | 'assumed';
  /** Seconds from the start of billing to the first new progress, including work lost at the last interruption. */
  readonly restartSeconds: number;
  /**
   * The same for each launcher that may be chosen, without the download of shards, which each candidate adds.
   * `restartSeconds` is the longest, with the shortest download.
   */
  readonly restartOn?: Readonly<Partial<Record<LauncherName, number>>> | undefined;
  /**
   * Seconds from the request to the start of billing. Measured restarts do not include them; the priors do, so this is
   * 0 beside them.
   */
  readonly provisioningSeconds?: number | undefined;
}

/** Seconds of a restart in this pool, including the download of its shards. */
export const restartSecondsIn = (
  { pool, download }: { readonly pool: Pick<Pool, 'launcher'> } & Pick<Candidate, 'download'>,
  { restartOn, restartSeconds }: Pick<WorkEstimate, 'restartOn' | 'restartSeconds'>,
): number => (restartOn?.[pool.launcher] ?? restartSeconds) + (download?.seconds ?? 0);

export const costUsd = (hourlyUsd: number, seconds: number): number => (hourlyUsd * seconds) / 3_600;

/** An hour of the whole gang, helpers included. */
export const gangUsd = (candidate: Candidate, hourlyUsd = candidate.hourlyUsd): number =>
  unitUsd(candidate, hourlyUsd) / candidate.throughput.factor;

/** The 0.9 quantile of the normal distribution. */
const ONCE_IN_TEN = 1.282;

export const workOf = ({ throughput }: Candidate, { workSeconds }: WorkEstimate): number =>
  workSeconds * throughput.factor;

/** For a deadline, an unmeasured topology counts only at the slow end of its estimate. */
export const safeWorkOf = (candidate: Candidate, work: WorkEstimate): number =>
  workOf(candidate, work) * Math.exp(ONCE_IN_TEN * candidate.throughput.uncertainty);

/** Seconds until the first new progress here, including the transfer of shards and checkpoints to its region. */
export const restartOf = (candidate: Candidate, work: WorkEstimate): number =>
  restartSecondsIn(candidate, work) + (candidate.transfer?.seconds ?? 0);

/** What an hour sooner is worth where the pipeline does not say. */
export function assumedTimeUsd(candidates: readonly Candidate[]): number {
  const open = candidates.filter(({ closed }) => closed === undefined);
  if (open.length === 0) return 0;
  const onDemandUsd = Math.min(...open.map((each) => gangUsd(each, each.onDemandHourlyUsd)));
  return Math.max(assumed.leastTimeUsd, assumed.timeShare * onDemandUsd);
}

/** Seconds in which each host of a start there downloads its shards. */
type DownloadSeconds = (placement: Pick<Placement, 'pool' | 'topology'>) => number;

/** A loss of the platform's own, such as a host without S3, says nothing of the next start. */
const TELLING: ReadonlySet<AttemptOutcome['kind']> = new Set([
  'completed',
  'interrupted',
  'recalled',
  'timeLimit',
]);

/**
 * How much longer the run's starts take than expected: the median until their script began. A start that was lost
 * before takes at least as long as it lived, which says something only where that is longer than expected.
 */
export function startRatioOf(attempts: readonly PlacedAttempt[], downloadSeconds: DownloadSeconds): number {
  const ratios = attempts.flatMap(({ launcher, placement, outcome }) => {
    if (outcome === undefined || !TELLING.has(outcome.kind)) return [];
    const { scriptStartedAt, endedBeforeScript, startedAt, trainingSeconds } = outcome;
    const expected = launcherFacts[launcher].restartSeconds + downloadSeconds(placement);
    if (endedBeforeScript) return trainingSeconds > expected ? [trainingSeconds / expected] : [];
    const seconds = (Date.parse(scriptStartedAt ?? '') - Date.parse(startedAt ?? '')) / 1_000;
    return seconds >= 0 ? [seconds / expected] : [];
  });
  return lowerMedian(ratios) ?? 1;
}

function lowerMedian(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

/** With the download that every start at least makes: that of the candidate whose shards are there first. */
export function withDownloads(work: WorkEstimate, candidates: readonly Candidate[]): WorkEstimate {
  const open = candidates.filter(({ closed }) => closed === undefined);
  const least = Math.min(...open.map(({ download }) => download?.seconds ?? 0));
  if (open.length === 0 || least === 0) return work;
  return { ...work, restartSeconds: work.restartSeconds + least };
}

interface WorkInput extends Pick<Expectations, 'formerStarts' | 'expectedSeconds'> {
  readonly attempts: readonly PlacedAttempt[];
  readonly progress?: Progress | undefined;
  /** The launchers that may be chosen. */
  readonly launchers?: readonly LauncherName[] | undefined;
  /** For which a start there downloads; absent where nothing is known of the dataset. */
  readonly downloadSeconds?: DownloadSeconds | undefined;
  /** As `startRatioOf` gives it; default: 1. */
  readonly startRatio?: number | undefined;
  /** What the attempts showed, oldest first; where their topologies differ, the last one's throughput counts. */
  readonly throughputs?: readonly MeasuredThroughput[] | undefined;
  readonly maximumRunSeconds: number;
  /** From the close of the batch to the deadline. */
  readonly campaignSeconds: number;
}

/**
 * A script that trains until it is stopped may report any number of steps. Dates and timers do not reach that far:
 * Step Functions waits at most 99,999,999 s, and without a deadline a plan looks three times the work ahead.
 */
const LONGEST_WORK_SECONDS = 365 * 86_400;

export function estimateWork(input: WorkInput): WorkEstimate {
  const restart = restartCosts(input);
  const { progress, expectedSeconds } = input;
  const measured = progress && remainingFrom(progress, paceOfLast(input.throughputs ?? []));
  if (measured !== undefined) {
    const workSeconds = afterBurst(measured, input);
    return { workSeconds: Math.min(workSeconds, LONGEST_WORK_SECONDS), basis: 'measured', ...restart };
  }
  const share =
    progress && progress.totalSteps > 0 ? 1 - Math.min(1, progress.step / progress.totalSteps) : 1;
  if (expectedSeconds !== undefined)
    return { workSeconds: expectedSeconds * share, basis: 'declared', ...restart };
  // Not known: assume half of the available time, so that Spot is tried first; the first checkpoint replaces
  // the assumption.
  const assumed = Math.min(input.maximumRunSeconds, input.campaignSeconds / 2);
  return { workSeconds: assumed * share, basis: 'assumed', ...restart };
}

/**
 * Seconds a step on the topology measured last; undefined where all ran on the same one, for which the overall mean is
 * as good.
 */
function paceOfLast(paces: readonly MeasuredThroughput[]): number | undefined {
  const last = paces.at(-1);
  const own = paces.filter((each) => last !== undefined && sameTopology(each, last));
  if (own.length === paces.length) return undefined;
  const steps = own.reduce((sum, each) => sum + each.steps, 0);
  return own.reduce((sum, each) => sum + each.steps * each.stepSeconds, 0) / steps;
}

/**
 * A burst of network or EBS lasts 5 to 60 minutes, by AWS's best effort. The least counts, so that no deadline stands on
 * more.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
 */
const LEAST_BURST_SECONDS = 300;

/** The rest of the work at the pace that stays when a burst has ended. */
function afterBurst(workSeconds: number, { throughputs = [], attempts }: WorkInput): number {
  const last = throughputs.at(-1);
  if (last?.laterStepSeconds === undefined) return workSeconds;
  const trained = attempts.at(-1)?.outcome?.trainingSeconds ?? last.steps * last.stepSeconds;
  const inBurst = Math.min(workSeconds, Math.max(0, LEAST_BURST_SECONDS - trained));
  return inBurst + (workSeconds - inBurst) * (last.laterStepSeconds / last.stepSeconds);
}

function remainingFrom(
  { step, totalSteps, trainingSeconds }: Progress,
  stepSeconds: number | undefined,
): number | undefined {
  if (totalSteps > 0 && step >= totalSteps) return 0;
  if (stepSeconds !== undefined && totalSteps > 0) return stepSeconds * (totalSteps - step);
  if (trainingSeconds === undefined || trainingSeconds <= 0 || step <= 0 || totalSteps <= 0) return undefined;
  return (trainingSeconds / step) * (totalSteps - step);
}

function restartCosts({
  attempts,
  formerStarts = [],
  launchers = [DEFAULT_LAUNCHER],
  downloadSeconds = () => 0,
  startRatio = 1,
}: WorkInput): Pick<WorkEstimate, 'restartSeconds' | 'restartOn' | 'provisioningSeconds'> {
  const costs = launchers.map((name) => {
    // Starts of former runs count until an attempt of this one has shown what a start takes.
    for (const all of [startsOf(attempts), formerStarts]) {
      const starts = all.filter((each) => each.launcher === name);
      const seconds = restartCost(starts, downloadSeconds);
      if (seconds !== undefined) return { name, seconds, provisioning: provisioningSecondsOf(starts) };
    }
    return { name, seconds: launcherFacts[name].restartSeconds * Math.max(1, startRatio), provisioning: 0 };
  });
  return {
    restartSeconds: Math.max(...costs.map(({ seconds }) => seconds)),
    restartOn: Object.fromEntries(costs.map(({ name, seconds }) => [name, seconds])),
    provisioningSeconds: Math.max(...costs.map(({ provisioning }) => provisioning)),
  };
}

/**
 * The median over the attempts that got their capacity before patience ended. It is not billed, but a deadline must
 * include it.
 */
const provisioningSecondsOf = (starts: readonly AttemptStart[]): number =>
  lowerMedian(
    starts.flatMap(({ provisioningSeconds: seconds = -1 }) =>
      seconds >= 0 && seconds <= assumed.patienceSeconds ? [seconds] : [],
    ),
  ) ?? 0;

/** Waits of On-Demand starts, the shortest first; none while none was seen. */
export const waitsWithPrior = (waits: readonly number[]): readonly number[] =>
  waits.length === 0
    ? []
    : [...Array.from({ length: Math.round(assumed.promptStarts) }, () => 0), ...waits].toSorted(
        (a, b) => a - b,
      );

/** The wait that nine in ten of those starts stay below. */
export function longWaitOf(sorted: readonly number[]): number {
  const place = 0.9 * Math.max(0, sorted.length - 1);
  const [below = 0, above = below] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return below + (above - below) * (place % 1);
}

/**
 * Seconds of training that no checkpoint proves, without the download: the median over the attempts that proved new
 * work. Where some of them resumed, over those: a script may skip data for long when it resumes.
 */
function restartCost(starts: readonly AttemptStart[], downloadSeconds: DownloadSeconds): number | undefined {
  const costs = starts.flatMap(({ placement, isResumed, unprovenSeconds }) =>
    unprovenSeconds === undefined
      ? []
      : [{ isResumed, seconds: Math.max(0, unprovenSeconds - downloadSeconds(placement)) }],
  );
  const resumed = costs.filter(({ isResumed }) => isResumed);
  return lowerMedian((resumed.length > 0 ? resumed : costs).map(({ seconds }) => seconds));
}

/** Price of one node in the chosen pool. */
export function hourlyUsdOf(placement: Placement): number {
  const { pool, considered } = placement;
  const row = considered.find((each) => samePool(each.pool, pool));
  return row?.hourlyUsd ?? placement.onDemandHourlyUsd;
}

/** As the report counts: SageMaker's billable seconds are after the Spot discount, so On-Demand's price applies. */
export const spentUsd = (attempts: readonly PlacedAttempt[]): number =>
  attempts.reduce((sum, attempt) => sum + attemptCost(attempt), 0);

/** What can be fallen back on, and the margin for noticing a loss and for On-Demand without capacity at first. */
interface Moment {
  readonly candidates: readonly Candidate[];
  readonly met: MetIn;
  readonly marginSeconds: number;
}

/** The most fallbacks that are planned for: the cheapest, the fastest and one between. */
const MAXIMUM_FALLBACKS = 3;

/**
 * The same moment with this work and time left. A Spot attempt may make no progress and cost a whole restart; then one of
 * the fallbacks must still end in time. The more expensive of two counts only if it is faster.
 * @param secondsLeft until the deadline
 */
export function withLeft<M extends Moment>(moment: M, work: WorkEstimate, secondsLeft: number) {
  const slackOf = (each: Candidate): number => secondsLeft - safeWorkOf(each, work) - restartOf(each, work);
  // What is reserved makes the work shorter (reserved.ts); nothing falls back on it.
  const open = moment.candidates.filter(
    ({ closed, pool }) => closed === undefined && pool.purchaseOption !== 'reserved',
  );
  const bought = open.filter(({ pool }) => pool.purchaseOption === 'on-demand');
  // It is unknown when a quota will be raised: waiting for a fast pool of one would make the slower ones too late.
  const sure = bought.filter((each) => !moment.met(each).isQuota && slackOf(each) >= 0);
  const onDemand = sure.length > 0 ? sure : bought;
  const counted = onDemand.length > 0 ? onDemand : open;
  const least = secondsLeft - work.workSeconds - work.restartSeconds;
  const front: Candidate[] = [];
  for (const each of onDemand.toSorted((a, b) => unitUsd(a) - unitUsd(b) || slackOf(b) - slackOf(a))) {
    const before = front.at(-1);
    const isFaster = before === undefined || slackOf(each) > slackOf(before) + 1;
    if (isFaster && slackOf(each) >= work.restartSeconds + moment.marginSeconds) front.push(each);
  }
  const last =
    front.at(-1) ?? onDemand.toSorted((a, b) => slackOf(b) - slackOf(a) || unitUsd(a) - unitUsd(b))[0];
  return {
    ...moment,
    work,
    secondsLeft,
    /** How long an On-Demand start in the fastest pool can still be put off; below 0 the deadline is already lost. */
    slackSeconds: counted.length > 0 ? Math.max(...counted.map(slackOf)) : least,
    /** On-Demand pools that a Spot attempt may fall back on, cheapest first, fastest last; none where none is allowed. */
    fallbacks: last === undefined ? [] : [...front.slice(0, -1).slice(0, MAXIMUM_FALLBACKS - 1), last],
  };
}
