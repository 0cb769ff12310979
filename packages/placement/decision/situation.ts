/** The input of a placement, and what is derived from it. */

import type { DatasetSize } from '@tidewheel/catalog/data-on-hosts.ts';
import { factsWith, type ReadFacts } from '@tidewheel/catalog/hardware.ts';
import { launchersOf } from '@tidewheel/declaration/launchers.ts';
import { deadlineHoursOf, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { storedOrThrow } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { type Observation, observationsOf, recordsOf } from '../belief/attempt-observations.ts';
import { recentObservations } from '../belief/beliefs.ts';
import { type Expectations, onDemandWaitsOf } from '../candidates/former-runs.ts';
import { downloadIn, fileSystemsOf } from '../candidates/pool-costs.ts';
import { type Candidate, poolsOf, type RegionView } from '../candidates/pools.ts';
import type { TrainedTopology } from '../candidates/throughput.ts';
import {
  type MeasuredThroughput,
  measuredThroughputs,
  throughputModel,
  withoutBurst,
} from '../candidates/throughput-estimate.ts';
import { type GangTopology, topologiesOf } from '../candidates/topologies.ts';
import { assumed } from '../model/assumed.ts';
import type { PlacedAttempt, Progress } from '../records/attempts.ts';
import type { MarketView } from '../records/market-history.ts';
import type { Placement, StoredDecision } from '../records/placement-records.ts';
import { metIn } from './met.ts';
import {
  assumedTimeUsd,
  estimateWork,
  longWaitOf,
  spentUsd,
  startRatioOf,
  type WorkEstimate,
  waitsWithPrior,
  withDownloads,
  withLeft,
} from './work.ts';

export interface PlacementInput extends Expectations {
  readonly compute: Pipeline['compute'];
  readonly limits: Pipeline['limits'];
  /** Its strategy and image rule topologies out. */
  readonly training: Pipeline['training'];
  readonly market: MarketView;
  /** The other regions that the pipeline names. */
  readonly elsewhere?: readonly RegionView[] | undefined;
  /** When the batch was closed: the deadline counts from here. */
  readonly closedAt: string;
  /** When its data was packed, if there was any; waiting for capacity counts from here. */
  readonly sealedAt?: string | undefined;
  readonly now: string;
  /** Of all shards that the run reads; absent where no manifest says. */
  readonly dataset?: DatasetSize | undefined;
  /** Of this run, oldest first. */
  readonly attempts: readonly PlacedAttempt[];
  readonly progress?: Progress | undefined;
  /** What other runs met in these pools. */
  readonly observations?: readonly Observation[] | undefined;
  /** Hardware as EC2 describes it, where that differs from the snapshot. */
  readonly hardware?: readonly ReadFacts[] | undefined;
  /** For an attempt that still runs: its training time so far, which no outcome records yet. */
  readonly runningSeconds?: number | undefined;
}

/** Format of the question that is stored with a decision. */
const QUESTION_VERSION = 1;

/** What is stored with a decision beside the run and its attempts; from both the decision can be replayed exactly. */
export type StoredQuestion = Omit<
  PlacementInput,
  'compute' | 'limits' | 'training' | 'attempts' | 'progress' | 'observations' | 'runningSeconds'
> & { readonly version: typeof QUESTION_VERSION };

export function storedPart(input: PlacementInput): StoredQuestion {
  const { compute: _compute, limits: _limits, training: _training, ...undeclared } = input;
  const { attempts: _attempts, progress: _progress, observations: _observations, ...own } = undeclared;
  const { runningSeconds: _runningSeconds, ...question } = own;
  return { version: QUESTION_VERSION, ...question };
}

/** Placement alone writes questions, so what it is made of is trusted; `damageIn` looks closer at one that a person reads. */
const QUESTION = {
  version: QUESTION_VERSION,
  schema: z.custom<StoredQuestion>((question) => typeof question === 'object' && question !== null),
};

/** @throws UnreadableRecordError */
export const storedQuestion = ({ question }: Pick<StoredDecision, 'question'>): StoredQuestion =>
  storedOrThrow('the question of this decision', QUESTION, Object(question));

/** Hours of a reservation that the run may use. Seconds count from now. */
export interface ReservedSpan {
  readonly candidate: Candidate;
  readonly fromSeconds: number;
  readonly untilSeconds: number;
  /** Work that they do, in seconds of the reference, even at the slow end of its estimate. */
  readonly workSeconds: number;
}

/** Everything the decision is made from, derived once. */
export type Situation = Readonly<ReturnType<typeof situationOf>> & {
  /** Hours of reservations that begin later, whose part of the work is no part of `work`. */
  readonly planned?: readonly ReservedSpan[];
};

export function situationOf(input: PlacementInput) {
  const nowMilliseconds = Date.parse(input.now);
  const deadlineHours = deadlineHoursOf(input.limits);
  const campaignSeconds =
    deadlineHours === undefined ? input.limits.maximumRunSeconds : deadlineHours * 3_600;
  const hardware = factsWith(input.hardware);
  const paces = measuredThroughputs(input.attempts).map(withoutBurst(hardware));
  const downloadSeconds = ({ pool, topology }: Pick<Placement, 'pool' | 'topology'>): number => {
    const download = downloadIn(input, pool, topology);
    return typeof download === 'object' ? download.seconds : 0;
  };
  const startRatio = startRatioOf(input.attempts, downloadSeconds);
  const estimated = estimateWork({
    ...input,
    launchers: launchersOf(input.compute),
    downloadSeconds: (placement) => startRatio * downloadSeconds(placement),
    startRatio,
    throughputs: paces,
    maximumRunSeconds: input.limits.maximumRunSeconds,
    campaignSeconds,
  });
  const measured = paces.length > 0 ? paces : (input.formerThroughputs ?? []);
  const model = throughputModel(referenceOf(input, paces), measured, input.compute.helpers, hardware);
  const { candidates, pruned } = poolsOf({
    ...input,
    ...model,
    startRatio,
    savedOn: savedOn(input),
    hardware,
  });
  const work = withDownloads(estimated, candidates);
  // AWS stamps the end of an attempt by a clock that may be ahead of ours: an end is never in the future.
  const own = observationsOf(input.attempts).map((each) => ({
    ...each,
    atMilliseconds: Math.min(each.atMilliseconds, nowMilliseconds),
  }));
  const seen = [...(input.observations ?? []), ...own];
  const observations = recentObservations(seen, nowMilliseconds);
  const onDemandWaits = waitsWithPrior([...(input.onDemandWaits ?? []), ...onDemandWaitsOf(input.attempts)]);
  const marginSeconds =
    Math.min(assumed.marginSeconds, assumed.marginShare * campaignSeconds) +
    Math.max(work.provisioningSeconds ?? 0, longWaitOf(onDemandWaits));
  const fileSystems = fileSystemsOf(input.training);
  const moment = {
    input,
    nowMilliseconds,
    marginSeconds,
    /** Seconds that On-Demand starts waited for their hosts, the shortest first; none while none was seen. */
    onDemandWaits,
    /** What an hour until the end costs beside the gang: its value, declared or assumed, and the file systems. */
    timeUsd: (input.limits.valueOfTimeUsdPerHour ?? assumedTimeUsd(candidates)) + fileSystems.hourlyUsd,
    fileSystems,
    candidates,
    pruned,
    observations,
    records: recordsOf(seen, nowMilliseconds),
    met: metIn(observations, nowMilliseconds),
    spentUsd: spentUsd(input.attempts),
  };
  return withLeft(moment, work, secondsLeftOf(moment, work));
}

/** The same moment with `seconds` more of the reference's work proven. */
export function withWorkDone(situation: Situation, seconds: number): Situation {
  const workSeconds = Math.max(0, situation.work.workSeconds - seconds);
  const work = { ...situation.work, workSeconds };
  return withLeft(situation, work, secondsLeftOf(situation, work));
}

/**
 * Seconds until the deadline. Patience is a moving deadline: the remaining patience plus the remaining work. It keeps
 * its distance while the run trains and comes nearer while the run waits.
 */
function secondsLeftOf(
  moment: Readonly<Record<'nowMilliseconds' | 'marginSeconds', number>> & { readonly input: PlacementInput },
  { workSeconds, restartSeconds }: WorkEstimate,
): number {
  const { limits, closedAt, sealedAt = closedAt, attempts, runningSeconds = 0 } = moment.input;
  const since = (at: string): number => (moment.nowMilliseconds - Date.parse(at)) / 1_000;
  const { patienceHours = Number.POSITIVE_INFINITY } = limits;
  const deadlineSeconds = (deadlineHoursOf(limits) ?? Number.POSITIVE_INFINITY) * 3_600;
  const trained = attempts.reduce(
    (sum, { outcome }) => sum + (outcome?.trainingSeconds ?? 0),
    runningSeconds,
  );
  const patience = Math.max(0, patienceHours * 3_600 - (since(sealedAt) - trained));
  const seconds = Math.min(deadlineSeconds - since(closedAt), patience + workSeconds + restartSeconds);
  return Number.isFinite(seconds)
    ? seconds
    : assumed.openWorks * workSeconds + 2 * (restartSeconds + moment.marginSeconds);
}

/**
 * The topology that the work is stated for: the one measured last, else that of former runs, else the first declared
 * whose disk holds the data: a guess is stated for what can train.
 */
function referenceOf(
  input: PlacementInput,
  paces: readonly MeasuredThroughput[],
): TrainedTopology | undefined {
  const known = paces.at(-1) ?? input.expectedOn;
  if (known !== undefined) return known;
  const asked = { ...input, region: input.market.region, hardware: factsWith(input.hardware) };
  const possible = launchersOf(input.compute).flatMap((launcher) =>
    topologiesOf({ ...asked, launcher }).topologies.map((topology) => ({ topology, launcher })),
  );
  const holding = possible.find(({ topology, launcher }) => {
    const pool = { launcher, instanceType: topology.instanceType, purchaseOption: 'on-demand' } as const;
    return typeof downloadIn(input, pool, topology) !== 'string';
  });
  return (holding ?? possible[0])?.topology;
}

/** The topology of the newest checkpoint. */
const savedOn = ({ attempts }: PlacementInput): GangTopology | undefined => {
  const saved = attempts.findLast(
    ({ progressBefore, progressAfter }) => (progressAfter?.step ?? 0) > (progressBefore?.step ?? 0),
  )?.placement;
  return saved && { instanceType: saved.pool.instanceType, ...saved.topology };
};
