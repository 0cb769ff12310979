/** The input of a placement, and what is derived from it. */

import type { DatasetSize } from '@tidewheel/catalog/data-on-hosts.ts';
import { factsWith, type ReadFacts } from '@tidewheel/catalog/hardware.ts';
import { launchersOf } from '@tidewheel/declaration/launchers.ts';
import { deadlineHoursOf, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { storedOrThrow } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import {
  type Observation,
  observationsOf,
  type PoolRecords,
  recordsOf,
} from '../belief/attempt-observations.ts';
import { recentObservations } from '../belief/beliefs.ts';
import { type Expectations, onDemandWaitsOf } from '../candidates/former-runs.ts';
import {
  type DownloadIn,
  downloadsOf,
  type FileSystems,
  fileSystemsOf,
  slowedBy,
} from '../candidates/pool-costs.ts';
import { type Candidate, type Pruned, poolsOf, type RegionView } from '../candidates/pools.ts';
import type { TrainedTopology, Workload } from '../candidates/throughput.ts';
import {
  type MeasuredThroughput,
  measuredThroughputs,
  type ThroughputModel,
  throughputModel,
  withoutBurst,
} from '../candidates/throughput-estimate.ts';
import { type GangTopology, topologiesOf } from '../candidates/topologies.ts';
import { assumed } from '../model/assumed.ts';
import type { PlacedAttempt, Progress } from '../records/attempts.ts';
import type { MarketView } from '../records/market-history.ts';
import type { StoredDecision } from '../records/placement-records.ts';
import { type MetIn, metIn } from './met.ts';
import {
  assumedTimeUsd,
  type DownloadSeconds,
  estimateWork,
  fallbacksOf,
  longWaitOf,
  spentUsd,
  startRatioOf,
  type WorkEstimate,
  waitsWithPrior,
  withDownloads,
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

export const storedPart = (input: PlacementInput): StoredQuestion => ({
  version: QUESTION_VERSION,
  market: input.market,
  elsewhere: input.elsewhere,
  closedAt: input.closedAt,
  sealedAt: input.sealedAt,
  now: input.now,
  ...(input.dataset === undefined ? {} : { dataset: input.dataset }),
  expectedSeconds: input.expectedSeconds,
  formerSeconds: input.formerSeconds,
  formerStarts: input.formerStarts,
  widths: input.widths,
  onDemandWaits: input.onDemandWaits,
  expectedOn: input.expectedOn,
  formerThroughputs: input.formerThroughputs,
  hardware: input.hardware,
});

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
export interface Situation {
  readonly input: PlacementInput;
  readonly nowMilliseconds: number;
  readonly secondsLeft: number;
  /** Stated for `reference`. */
  readonly work: WorkEstimate;
  /** Hours of reservations that begin later, whose part of the work is no part of `work`. */
  readonly planned?: readonly ReservedSpan[];
  readonly reference: TrainedTopology | undefined;
  /** What a step asks of accelerators and hosts, where that was measured. */
  readonly workload: Workload | undefined;
  readonly candidates: readonly Candidate[];
  readonly pruned: readonly Pruned[];
  readonly observations: readonly Observation[];
  readonly records: PoolRecords;
  readonly met: MetIn;
  /** On-Demand pools that a Spot attempt may fall back on, cheapest first, fastest last. */
  readonly fallbacks: readonly Candidate[];
  /** How long an On-Demand start in the fastest pool can still be put off; below 0 the deadline is already lost. */
  readonly slackSeconds: number;
  /** Time reserved for noticing a loss, and for On-Demand without capacity at first. */
  readonly marginSeconds: number;
  /** Seconds that On-Demand starts waited for their hosts, the shortest first; none while none was seen. */
  readonly onDemandWaits: readonly number[];
  readonly spentUsd: number;
  /** What an hour until the end costs beside the gang: its value, declared or assumed, and the file systems. */
  readonly timeUsd: number;
  readonly fileSystems: FileSystems;
}

export function situationOf(input: PlacementInput): Situation {
  const nowMilliseconds = Date.parse(input.now);
  const deadlineHours = deadlineHoursOf(input.limits);
  const campaignSeconds =
    deadlineHours === undefined ? input.limits.maximumRunSeconds : deadlineHours * 3_600;
  const paces = measuredThroughputs(input.attempts).map(withoutBurst(factsWith(input.hardware)));
  const downloadIn = downloadsFor(input);
  const reference = referenceOf(input, paces, downloadIn);
  const downloadSeconds: DownloadSeconds = ({ pool, topology }) => {
    const download = downloadIn?.(pool, topology);
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
  const model = throughputModel(
    reference,
    paces.length > 0 ? paces : (input.formerThroughputs ?? []),
    input.compute.helpers,
    factsWith(input.hardware),
  );
  const { candidates, pruned } = poolsFor(input, model, downloadIn && slowedBy(startRatio, downloadIn));
  const work = withDownloads(estimated, candidates);
  const seen = [...(input.observations ?? []), ...ownObservations(input.attempts, nowMilliseconds)];
  const observations = recentObservations(seen, nowMilliseconds);
  const onDemandWaits = waitsWithPrior([...(input.onDemandWaits ?? []), ...onDemandWaitsOf(input.attempts)]);
  const marginSeconds =
    Math.min(assumed.marginSeconds, assumed.marginShare * campaignSeconds) +
    Math.max(work.provisioningSeconds ?? 0, longWaitOf(onDemandWaits));
  const secondsLeft = secondsLeftOf(input, { work, marginSeconds, nowMilliseconds });
  const base = { work, secondsLeft, marginSeconds };
  const met = metIn(observations, nowMilliseconds);
  const fileSystems = fileSystemsOf(input.training);
  return {
    ...base,
    onDemandWaits,
    input,
    nowMilliseconds,
    timeUsd: (input.limits.valueOfTimeUsdPerHour ?? assumedTimeUsd(candidates)) + fileSystems.hourlyUsd,
    fileSystems,
    reference,
    workload: model.workload,
    candidates,
    pruned,
    observations,
    records: recordsOf(seen, nowMilliseconds),
    met,
    spentUsd: spentUsd(input.attempts),
    ...fallbacksOf(candidates, met, base),
  };
}

/** AWS stamps the end of an attempt by a clock that may be ahead of ours: an end is never in the future. */
const ownObservations = (
  attempts: readonly PlacedAttempt[],
  nowMilliseconds: number,
): readonly Observation[] =>
  observationsOf(attempts).map((each) => ({
    ...each,
    atMilliseconds: Math.min(each.atMilliseconds, nowMilliseconds),
  }));

/** The same moment with `seconds` more of the reference's work proven. */
export function withWorkDone(situation: Situation, seconds: number): Situation {
  const { candidates, met, input, marginSeconds, nowMilliseconds } = situation;
  const workSeconds = Math.max(0, situation.work.workSeconds - seconds);
  const work = { ...situation.work, workSeconds };
  const secondsLeft = secondsLeftOf(input, { work, marginSeconds, nowMilliseconds });
  const base = { work, secondsLeft, marginSeconds };
  return { ...situation, ...base, ...fallbacksOf(candidates, met, base) };
}

/**
 * Seconds until the deadline. Patience is a moving deadline: the remaining patience plus the remaining work. It keeps
 * its distance while the run trains and comes nearer while the run waits.
 */
function secondsLeftOf(
  { limits, closedAt, sealedAt = closedAt, attempts, runningSeconds = 0 }: PlacementInput,
  given: {
    readonly work: WorkEstimate;
    readonly marginSeconds: number;
    readonly nowMilliseconds: number;
  },
): number {
  const { workSeconds, restartSeconds } = given.work;
  const since = (at: string): number => (given.nowMilliseconds - Date.parse(at)) / 1_000;
  const deadlineHours = deadlineHoursOf(limits);
  const untilDeadline = deadlineHours === undefined ? [] : [deadlineHours * 3_600 - since(closedAt)];
  const trained = attempts.reduce(
    (sum, { outcome }) => sum + (outcome?.trainingSeconds ?? 0),
    runningSeconds,
  );
  const patience =
    limits.patienceHours === undefined
      ? []
      : [
          Math.max(0, limits.patienceHours * 3_600 - (since(sealedAt) - trained)) +
            workSeconds +
            restartSeconds,
        ];
  if (untilDeadline.length + patience.length > 0) return Math.min(...untilDeadline, ...patience);
  return assumed.openWorks * workSeconds + 2 * (restartSeconds + given.marginSeconds);
}

/**
 * The topology that the work is stated for: the one measured last, else that of former runs, else the first declared
 * whose disk holds the data: a guess is stated for what can train.
 */
function referenceOf(
  input: PlacementInput,
  paces: readonly MeasuredThroughput[],
  downloadIn: DownloadIn | undefined,
): TrainedTopology | undefined {
  const known = paces.at(-1) ?? input.expectedOn;
  if (known !== undefined) return known;
  const possible = launchersOf(input.compute).flatMap((launcher) =>
    topologiesOf({
      compute: input.compute,
      training: input.training,
      region: input.market.region,
      launcher,
      hardware: factsWith(input.hardware),
    }).topologies.map((topology) => ({ topology, launcher })),
  );
  const holding = possible.find(({ topology, launcher }) => {
    const pool = { launcher, instanceType: topology.instanceType, purchaseOption: 'on-demand' } as const;
    return typeof downloadIn?.(pool, topology) !== 'string';
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

function downloadsFor({
  compute,
  training,
  limits,
  dataset,
  closedAt,
  now,
}: PlacementInput): DownloadIn | undefined {
  if (dataset === undefined) return undefined;
  const deadlineHours = deadlineHoursOf(limits);
  const since = (Date.parse(now) - Date.parse(closedAt)) / 1_000;
  return downloadsOf({
    compute,
    training,
    dataset,
    maximumRunSeconds: limits.maximumRunSeconds,
    ...(deadlineHours === undefined ? {} : { secondsUntilDeadline: deadlineHours * 3_600 - since }),
  });
}

const poolsFor = (
  input: PlacementInput,
  model: ThroughputModel,
  downloadIn: DownloadIn | undefined,
): ReturnType<typeof poolsOf> =>
  poolsOf({
    ...input,
    downloadIn,
    savedOn: savedOn(input),
    throughputOf: (topology) => model.throughputOf(topology),
    workload: model.workload,
    hardware: factsWith(input.hardware),
  });
