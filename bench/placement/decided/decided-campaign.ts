/**
 * A campaign that `place`, `whyStop` and `reviseAttempt` themselves decide, attempt by attempt, in the simulated market:
 * Spot of one type in one or more zones, and further types on demand.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { hourlyUsdOf } from '@tidewheel/placement/estimate.ts';
import {
  type MarketSampleStore,
  type MarketSource,
  type MarketView,
  questionKey,
  type Reservation,
  type ReservationSource,
} from '@tidewheel/placement/market.ts';
import { type AttemptOutcome, asSelected, namedPools, type Placement } from '@tidewheel/placement/records.ts';
import type {
  TrainingJobDescription,
  TrainingService,
} from '../../../functions/launch/job/training-service.ts';
import type { AttemptRecord } from '../../../functions/records/run-records.ts';
import type { Stores } from '../../../functions/records/stores.ts';
import { place } from '../../../functions/run/attempts/place.ts';
import { reviseAttempt } from '../../../functions/run/attempts/revise-attempt.ts';
import { whyStop } from '../../../functions/run/attempts/stop-rules.ts';
import { launchersOver } from '../../../test/support/builders/launchers.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
} from '../../../test/support/builders/records.ts';
import { fakeClock } from '../../../test/support/fakes/clock.ts';
import { memoryExecutions } from '../../../test/support/fakes/executions.ts';
import { scriptedFleets } from '../../../test/support/fakes/fleets.ts';
import { memoryNotifier } from '../../../test/support/fakes/notifier.ts';
import { type MemoryObjectStore, memoryObjectStore } from '../../../test/support/fakes/object-store.ts';
import { memoryStores } from '../../../test/support/fakes/stores.ts';
import { isDone, type Job, newJob, runTick, type Setting, start } from '../../../test/support/market/job.ts';
import { marketSource, type PricedZone, viewOf } from '../../../test/support/market/source.ts';
import type { Trace } from '../../../test/support/market/traces.ts';

/** With one A10G each, and EC2's prices over the first one's. */
const TYPES = {
  'g5.xlarge': 1,
  'g5.2xlarge': 1.2,
  'g5.4xlarge': 1.61,
  'g5.8xlarge': 2.43,
  'g5.16xlarge': 4.07,
};
export const MOST_TYPES = Object.keys(TYPES).length;
const TYPE = 'g5.xlarge';
export const ZONE_IDS = ['use1-az1', 'use1-az2', 'use1-az3', 'use1-az4'];

/** The score of a zone in a tick, or nothing. */
export type Scores = (tick: number) => number | undefined;

interface ZoneOfWorld {
  readonly trace: Trace;
  readonly scores: Scores;
}

/** What `collect-scores` does meanwhile. */
async function sampleMarket(
  samples: MarketSampleStore,
  clock: Clock,
  { zones, nodes }: { readonly zones: readonly PricedZone[]; readonly nodes: number },
): Promise<void> {
  const at = clock.now().toISOString();
  for (const { zoneId, spotUsd, score } of zones)
    await samples.put({
      family: 'g5',
      zoneId,
      at,
      readAt: at,
      scores: score === undefined ? {} : { [questionKey([TYPE], nodes)]: score },
      spotUsd: { [TYPE]: spotUsd },
      onDemandUsd: {},
    });
}

export const HOUR = 3_600;
/** Beyond the runs before it. */
const BATCH = 99;
const RUN = 'camp-000099';

/** The stores, as they know the run before its first attempt. */
async function openCampaign(
  { deadlineSeconds }: Setting,
  zoneIds: readonly string[],
  { formerSeconds, nodes, types, formerWait, plan }: Chosen,
) {
  const stores = memoryStores();
  const compute = {
    instanceTypes: Object.keys(TYPES).slice(0, types),
    nodes,
    ...(plan && { reserved: [PLAN_ARN] }),
    vpc: {
      securityGroupIds: ['sg-1'],
      subnets: zoneIds.map((zoneId, k) => ({ id: `subnet-${k + 1}`, zoneId })),
    },
  };
  const limits = { deadlineHours: deadlineSeconds / HOUR, attempts: 50 };
  const training = { strategy: 'ddp' };
  const declaration = declarationOf('camp', { training, compute, limits });
  const placement = placementOf({
    pool: {
      instanceType: TYPE,
      zoneId: ZONE_IDS[0] ?? '',
      launcher: 'sagemaker',
      purchaseOption: formerWait === undefined ? 'spot' : 'on-demand',
    },
    topology: { nodes, acceleratorsPerNode: 1 },
  });
  for (const [k, trainingSeconds] of formerSeconds.entries()) {
    const { runId } = runOf('camp', k + 1);
    const createdAt = '2026-09-01T00:00:00.000Z';
    const outcome = outcomeOf('completed', {
      trainingSeconds,
      endedAt: '2026-10-01T00:00:00Z',
      ...(formerWait && { startedAt: new Date(Date.parse(createdAt) + 1_000 * formerWait()).toISOString() }),
    });
    await stores.runs.create(runOf('camp', k + 1, { status: 'succeeded', declaration }));
    await stores.attempts.create(attemptOf(runId, 1, { createdAt, outcome, placement }));
  }
  await stores.runs.create(runOf('camp', BATCH, { declaration, closedAt: AT }));
  return stores;
}

/** With what is plainest where nothing else was given. */
type Chosen = Ways & Required<Pick<Ways, keyof typeof PLAINEST | 'formerSeconds'>>;

/** The attempt that runs or waits for capacity. */
interface Attempt {
  readonly record: AttemptRecord;
  readonly requestedAt: Date;
  readonly doneBefore: number;
  /** Its zone's place in the setting; undefined: On-Demand. */
  readonly spotZone: number | undefined;
  /** When On-Demand has its hosts, in seconds of the campaign. */
  readonly comesAt: number;
  startedAt?: Date;
  /** Seconds that a second of the work takes in it. */
  readonly pace: number;
}

/** In hours of the campaign. */
export interface Plan {
  readonly startsAt: number;
  readonly endsAt: number;
}

const PLAN_ARN = 'arn:aws:sagemaker:us-east-1:000000000000:training-plan/bench';

/** In the zone behind the others. */
const reservationOf =
  (
    { startsAt, endsAt }: Plan,
    { zone, nodes }: { readonly zone: number; readonly nodes: number },
  ): ReservationSource =>
  () => {
    const at = (hours: number): string => new Date(Date.parse(AT) + hours * HOUR * 1_000).toISOString();
    const plan: Reservation = {
      id: PLAN_ARN,
      kind: 'training-plan',
      instanceType: TYPE,
      zoneId: ZONE_IDS[zone] ?? '',
      instances: nodes,
      availableInstances: nodes,
      state: 'Active',
      windows: [{ startsAt: at(startsAt), endsAt: at(endsAt) }],
    };
    return Promise.resolve({ reservations: [plan], notes: [] });
  };

/** How a campaign differs from the plainest one. */
export interface Ways {
  /** Training seconds of the runs before it. Default: one run that took as long as this one will. */
  readonly formerSeconds?: readonly number[];
  /** Drawn for each attempt; default: 1. */
  readonly pace?: () => number;
  /** Beside it, drawn for each tick. */
  readonly tickPace?: () => number;
  readonly nodes?: number;
  /** How many types the run may use on demand. Default: 1. */
  readonly types?: number;
  /** When an On-Demand job of that moment and one type has its hosts, in seconds of the campaign. Default: at once. */
  readonly onDemandAt?: (requestedSeconds: number) => number;
  /** Seconds that former runs waited for On-Demand; default: they ran on Spot. */
  readonly formerWait?: (() => number) | undefined;
  /** Hours of a training plan in the last of the zones, whose price is 0; its hosts are there until half an hour before. */
  readonly plan?: Plan | undefined;
  /** At the start of each tick, once an attempt or a wait was decided. */
  readonly onTick?: (look: CampaignLook) => Promise<void>;
}

export interface CampaignLook extends Pick<World, 'stores' | 'store' | 'clock'> {
  readonly runId: string;
  readonly workDone: number;
}

interface World extends Pick<Chosen, 'pace' | 'tickPace' | 'nodes' | 'onDemandAt'> {
  readonly setting: Setting;
  readonly stores: Stores;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly store: MemoryObjectStore;
  /** As they are now. */
  readonly zones: () => readonly PricedZone[];
  readonly market: MarketSource;
  readonly reservations?: ReservationSource | undefined;
  readonly job: Job;
  /** Seconds of steps so far, whatever their pace. */
  trained: number;
  /** What will not be billed of the last tick. */
  unbilledUsd: number;
  attempt: Attempt | undefined;
}

/** A step is a second of the work at its plain pace. */
const progressAt = ({ setting, trained }: World, done: number) =>
  progressOf(Math.floor(done), { totalSteps: setting.workSeconds, trainingSeconds: trained });

async function end(world: World, attempt: Attempt, kind: AttemptOutcome['kind']): Promise<void> {
  const { stores, clock, job } = world;
  const { record, startedAt } = attempt;
  const endedAt = clock.now().toISOString();
  const trainingSeconds = startedAt ? (clock.now().getTime() - startedAt.getTime()) / 1_000 : 0;
  const share = hourlyUsdOf(record.placement) / record.placement.onDemandHourlyUsd;
  const billableSeconds = trainingSeconds * share;
  const started = startedAt?.toISOString();
  await stores.attempts.update(RUN, record.attempt, {
    outcome: outcomeOf(kind, { startedAt: started, endedAt, trainingSeconds, billableSeconds }),
    progressAfter: progressAt(world, job.workDone),
    updatedAt: endedAt,
  });
  world.attempt = undefined;
}

export class GivenUpError extends Error {
  override readonly name = 'GivenUpError';
}

async function launch(world: World): Promise<Attempt | undefined> {
  const { stores, clock, job, market, reservations } = world;
  const placed = { ...stores, store: memoryObjectStore(clock), market, reservations, clock };
  const decided = await place(placed, { runId: RUN });
  if (decided.kind === 'giveUp') throw new GivenUpError(decided.reason);
  if (decided.kind === 'wait') return undefined;
  const stored = (await stores.placements.get(RUN, decided.attempt))?.decision;
  if (stored?.kind !== 'launch') throw new Error('nothing stored');
  const requestedAt = clock.now();
  const { placement, comesAt } = selected(world, stored.placement);
  const { purchaseOption, zoneId } = placement.pool;
  const at = requestedAt.toISOString();
  const record = attemptOf(RUN, decided.attempt, {
    placement,
    createdAt: at,
    updatedAt: at,
    progressBefore: job.workDone > 0 ? progressAt(world, job.workDone) : undefined,
  });
  await stores.attempts.create(record);
  const spotZone = purchaseOption === 'on-demand' ? undefined : ZONE_IDS.indexOf(zoneId ?? '');
  return { record, requestedAt, doneBefore: job.workDone, spotZone, comesAt, pace: world.pace() };
}

/** Selects the type whose hosts come first, among those that an On-Demand request names. */
function selected({ clock, onDemandAt }: World, placement: Placement) {
  if (placement.pool.purchaseOption !== 'on-demand') return { placement, comesAt: 0 };
  const [first] = namedPools(placement)
    .map(({ instanceType }) => ({ instanceType, comesAt: onDemandAt(secondsOf(clock.now())) }))
    .toSorted((a, b) => a.comesAt - b.comesAt);
  return { placement: asSelected(placement, first?.instanceType), comesAt: first?.comesAt ?? 0 };
}

/** What a tick without capacity does to an attempt: a running one is lost, a waiting one meets the stop rules. */
async function starve(world: World, attempt: Attempt): Promise<void> {
  if (attempt.startedAt) return end(world, attempt, 'interrupted');
  const seen = { attempt: attempt.record, job: describe(attempt), now: world.clock.now(), others: [] };
  if (whyStop(seen)) await end(world, attempt, 'capacity');
}

/** The job counts in seconds at the attempt's own pace. */
async function work(world: World, attempt: Attempt): Promise<void> {
  const { setting, clock, job, stores } = world;
  const { spotZone, record } = attempt;
  const pace = attempt.pace * world.tickPace();
  if (attempt.startedAt === undefined) {
    start(job, setting);
    attempt.startedAt = clock.now();
    const startedAt = attempt.startedAt.toISOString();
    await stores.attempts.update(RUN, record.attempt, { status: 'running', startedAt, updatedAt: startedAt });
  }
  const before = job.workDone;
  const paced = { ...job, workDone: before * pace };
  const nowSeconds = secondsOf(clock.now());
  const billed = { spotUsd: [], onDemandUsd: hourlyUsdOf(record.placement) };
  const workSeconds = setting.workSeconds * pace;
  runTick(paced, { ...setting, ...billed, workSeconds }, { nowSeconds, spotZone });
  world.trained += paced.workDone - before * pace;
  const idle = Math.max(0, nowSeconds + setting.tickSeconds - paced.finishSeconds);
  world.unbilledUsd = (idle / setting.tickSeconds) * (paced.costUsd - job.costUsd);
  Object.assign(job, paced, { workDone: paced.workDone / pace });
}

/** What the agent and the schedules do between two ticks: a checkpoint, a sample of the market, a look at the job. */
async function lookAt(world: World): Promise<void> {
  const { stores, clock, store, market, reservations, attempt, job, zones, nodes } = world;
  await sampleMarket(stores.marketSamples, clock, { zones: zones(), nodes });
  if (attempt?.startedAt === undefined) return;
  const seen = { attempt: attempt.record, job: describe(attempt), now: clock.now(), others: [] };
  if (whyStop(seen)) return end(world, attempt, 'recalled');
  if (job.workDone <= attempt.doneBefore) return;
  const progress = {
    ...progressAt(world, job.workDone),
    checkpoint: `step-${Math.floor(job.workDone)}`,
    updatedAt: clock.now().toISOString(),
  };
  store.put(bucketKeys.progress('camp', RUN), JSON.stringify(progress));
  store.put(`${bucketKeys.checkpoints('camp', RUN)}${progress.checkpoint}/COMPLETE.json`, '{}');
  const deps = {
    ...stores,
    clock,
    store,
    market,
    reservations,
    ...launchersOver({ training: deadTraining, fleets: scriptedFleets(clock) }),
    executions: noExecutions,
    notifier: noNotifier,
  };
  if ((await reviseAttempt(deps, attempt.record, describe(attempt))) !== 'left')
    await end(world, attempt, 'recalled');
}

export interface Lived {
  /** By whole ticks. */
  readonly costUsd: number;
  /** To the second of its end. */
  readonly billedUsd: number;
  readonly finishSeconds: number;
  /** Attempts that trained. */
  readonly starts: number;
  /** A letter a tick: the number of the Spot zone, D on demand, - while a job waits, . while there is none. */
  readonly timeline: string;
}

const MOST_TICKS = 300;
const PLAINEST = {
  pace: () => 1,
  tickPace: () => 1,
  nodes: 1,
  types: 1,
  onDemandAt: (requestedSeconds: number) => requestedSeconds,
} as const;

/** @param given one for each of the setting's Spot prices, at most four */
export async function campaign(
  setting: Setting,
  given: readonly ZoneOfWorld[],
  ways: Ways = {},
): Promise<Lived> {
  const chosen: Chosen = { ...PLAINEST, formerSeconds: [setting.workSeconds], ...ways };
  const { plan, nodes, types, onTick } = chosen;
  const open = given.length - Number(plan !== undefined);
  const clock = fakeClock(AT);
  const tickNow = (): number => secondsOf(clock.now()) / setting.tickSeconds;
  const zones = () =>
    given.slice(0, open).map(({ scores }, k) => ({
      zoneId: ZONE_IDS[k] ?? '',
      spotUsd: setting.spotUsd[k] ?? 0,
      score: scores(tickNow()),
    }));
  const world: World = {
    ...chosen,
    setting,
    stores: await openCampaign(setting, ZONE_IDS.slice(0, given.length), chosen),
    clock,
    store: memoryObjectStore(clock),
    zones,
    market: marketSource(() => withOnDemand(viewOf(TYPE, zones(), setting), types)),
    reservations: plan && reservationOf(plan, { zone: open, nodes }),
    job: newJob(),
    trained: 0,
    unbilledUsd: 0,
    attempt: undefined,
  };
  let timeline = '';
  for (
    let tick = 0;
    tick < MOST_TICKS && !isDone(world.job, setting);
    tick += 1, clock.advance(setting.tickSeconds)
  ) {
    const hasCapacity = ({ spotZone, comesAt }: Attempt): boolean =>
      spotZone === undefined ? secondsOf(clock.now()) >= comesAt : (given[spotZone]?.trace[tick] ?? false);
    if (world.attempt && !hasCapacity(world.attempt)) await starve(world, world.attempt);
    await lookAt(world);
    world.attempt ??= await launch(world);
    await onTick?.({ ...world, runId: RUN, workDone: world.job.workDone });
    const runs = world.attempt !== undefined && hasCapacity(world.attempt);
    if (world.attempt && runs) await work(world, world.attempt);
    timeline += letterOf(world.attempt, runs);
  }
  const { costUsd, finishSeconds, starts } = world.job;
  const billedUsd = nodes * (costUsd - world.unbilledUsd);
  return { costUsd: nodes * costUsd, billedUsd, finishSeconds, starts, timeline };
}

/** Spot of the further types costs as much as On-Demand, so that none is of use. */
function withOnDemand(view: MarketView, types: number): MarketView {
  const further = Object.entries(TYPES).slice(1, types);
  return {
    ...view,
    onDemandPrices: view.onDemandPrices.flatMap((price) => [
      price,
      ...further.map(([instanceType, ratio]) => {
        const hourlyUsd = ratio * price.hourlyUsd;
        return { ...price, instanceType, hourlyUsd, ec2HourlyUsd: hourlyUsd };
      }),
    ]),
    spotPrices: view.spotPrices.flatMap((price) => [
      price,
      ...further.map(([instanceType, ratio]) => ({
        ...price,
        instanceType,
        hourlyUsd: ratio * (view.onDemandPrices[0]?.hourlyUsd ?? 0),
      })),
    ]),
  };
}

export const secondsOf = (now: Date): number => (now.getTime() - Date.parse(AT)) / 1_000;

function letterOf(attempt: Attempt | undefined, runs: boolean): string {
  if (attempt === undefined) return '.';
  if (!runs) return '-';
  return attempt.spotZone === undefined ? 'D' : String(attempt.spotZone);
}

function describe({ record, requestedAt, startedAt }: Attempt): TrainingJobDescription {
  const status = startedAt ? 'Training' : 'Starting';
  return {
    TrainingJobName: record.jobName,
    TrainingJobStatus: 'InProgress',
    SecondaryStatus: status,
    CreationTime: requestedAt,
    TrainingStartTime: startedAt,
    SecondaryStatusTransitions: [{ Status: status, StartTime: startedAt ?? requestedAt }],
  };
}

const noNotifier = memoryNotifier();
const noExecutions = memoryExecutions();
/** A campaign stops its jobs itself. */
const deadTraining: TrainingService = {
  create: () => Promise.resolve({ kind: 'created', arn: '' }),
  describe: () => Promise.resolve(undefined),
  stop: () => Promise.resolve('stopping'),
};
