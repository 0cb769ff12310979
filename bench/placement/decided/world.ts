/**
 * A world in which `place`, `whyStop` and `reviseAttempt` themselves decide a campaign, attempt by attempt: one type in one
 * or more zones whose capacity follows traces, and the simulator's rules of billing.
 */

import { reviseAttempt } from '../../../functions/core/attempts/revise-attempt.ts';
import { whyStop } from '../../../functions/core/attempts/stop-rules.ts';
import type {
  TrainingJobDescription,
  TrainingService,
} from '../../../functions/core/launch/job/training-service.ts';
import { place } from '../../../functions/core/placement/decision/place.ts';
import type { MarketSource } from '../../../functions/core/placement/model/market-source.ts';
import type { AttemptOutcome, AttemptRecord } from '../../../functions/core/runs/run-records.ts';
import type { Stores } from '../../../functions/core/runs/stores.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { launchersOver } from '../../../test/support/builders/launchers.ts';
import { AT, attemptOf, outcomeOf, progressOf } from '../../../test/support/builders/records.ts';
import { fakeClock } from '../../../test/support/fakes/clock.ts';
import { memoryExecutions } from '../../../test/support/fakes/executions.ts';
import { scriptedFleets } from '../../../test/support/fakes/fleets.ts';
import { memoryNotifier } from '../../../test/support/fakes/notifier.ts';
import { type MemoryObjectStore, memoryObjectStore } from '../../../test/support/fakes/object-store.ts';
import type { Setting } from '../../sim/world.ts';
import { marketOf, type PricedZone, sampleMarket, TICK, ZONE_IDS, type ZoneOfWorld } from './market.ts';
import { HOUR, openCampaign, RUN } from './runs.ts';

interface Job {
  readonly attempt: AttemptRecord;
  readonly requestedAt: Date;
  readonly doneBefore: number;
  startedAt?: Date;
  debt: number;
  ran: number;
}

interface World {
  readonly setting: Setting;
  readonly zones: readonly PricedZone[];
  readonly stores: Stores;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly store: MemoryObjectStore;
  readonly market: MarketSource;
  job: Job | undefined;
  /** Seconds of work. */
  done: number;
  costUsd: number;
}

const progressAt = ({ workSeconds }: Setting, seconds: number) =>
  progressOf(seconds, { totalSteps: workSeconds, trainingSeconds: seconds });

async function end(
  { stores, clock, done, setting }: World,
  job: Job,
  kind: AttemptOutcome['kind'],
): Promise<void> {
  const { attempt, startedAt, ran, doneBefore } = job;
  const endedAt = clock.now().toISOString();
  await stores.attempts.update(RUN, attempt.attempt, {
    outcome: outcomeOf(kind, { startedAt: startedAt?.toISOString(), endedAt, trainingSeconds: ran }),
    progressAfter: progressAt(setting, done),
    progressBefore: progressAt(setting, doneBefore),
    updatedAt: endedAt,
  });
}

async function launch({ stores, clock, done, market, setting }: World): Promise<Job | undefined> {
  const decided = await place({ ...stores, market, clock }, { runId: RUN });
  if (decided.kind === 'giveUp') throw new Error(decided.reason);
  if (decided.kind === 'wait') return undefined;
  const stored = (await stores.placements.list(RUN)).at(-1)?.decision;
  if (stored?.kind !== 'launch') throw new Error('nothing stored');
  const { placement } = stored;
  const requestedAt = clock.now();
  const at = requestedAt.toISOString();
  const attempt = attemptOf(RUN, decided.attempt, {
    placement,
    createdAt: at,
    updatedAt: at,
    progressBefore: done > 0 ? progressAt(setting, done) : undefined,
  });
  await stores.attempts.create(attempt);
  return { attempt, requestedAt, doneBefore: done, debt: setting.restartSeconds, ran: 0 };
}

/** The zone of a Spot job; On-Demand is everywhere. */
function spotZone({ zones }: World, { attempt }: Job): PricedZone | undefined {
  const { purchaseOption, zoneId } = attempt.placement.pool;
  return purchaseOption === 'spot' ? zones.find((each) => each.zoneId === zoneId) : undefined;
}

/** What a tick without capacity does to a Spot job: a running one is lost, a waiting one is asked about. */
async function starve(world: World, job: Job): Promise<void> {
  const kind = job.startedAt ? 'interrupted' : 'capacity';
  if (kind === 'capacity' && !whyStop({ ...asSeen(job), now: world.clock.now(), others: [] })) return;
  await end(world, job, kind);
  world.job = undefined;
}

function work(world: World, job: Job): void {
  const { setting, clock } = world;
  job.startedAt ??= clock.now();
  const gain = Math.max(0, TICK - job.debt);
  job.debt = Math.max(0, job.debt - TICK);
  job.ran += TICK;
  world.done = Math.min(setting.workSeconds, world.done + gain);
  world.costUsd += ((spotZone(world, job)?.spotUsd ?? setting.onDemandUsd) * TICK) / HOUR;
}

/** What the agent and the schedules do between two ticks: a checkpoint, a sample of the market, a look at the job. */
async function lookAt(world: World): Promise<void> {
  const { stores, clock, store, market, job, zones, setting } = world;
  const now = clock.now().toISOString();
  await sampleMarket({ marketSamples: stores.marketSamples, clock, market }, zones);
  if (job?.startedAt === undefined || world.done <= job.doneBefore) return;
  const progress = {
    ...progressAt(setting, world.done),
    checkpoint: `step-${Math.floor(world.done)}`,
    updatedAt: now,
  };
  store.put(bucketKeys.progress('camp', RUN), JSON.stringify(progress));
  store.put(`${bucketKeys.checkpoints('camp', RUN)}${progress.checkpoint}/COMPLETE.json`, '{}');
  const seen = training(job, job.startedAt);
  const deps = {
    ...stores,
    clock,
    store,
    market,
    ...launchersOver({ training: deadTraining, fleets: scriptedFleets(clock) }),
    executions: noExecutions,
    notifier: noNotifier,
  };
  if ((await reviseAttempt(deps, job.attempt, seen)) === 'left') return;
  await end(world, job, 'recalled');
  world.job = undefined;
}

export interface Lived {
  readonly costUsd: number;
  readonly finishSeconds: number;
  /** Attempts that trained. */
  readonly starts: number;
  /** A letter a tick: the number of the Spot zone, D on demand, - while a job waits, . while there is none. */
  readonly timeline: string;
}

/**
 * One campaign, tick by tick: capacity as the traces say, whole ticks billed, a start paid for as in the simulator.
 * @param given one for each of the setting's Spot prices, at most four
 */
export async function campaign(setting: Setting, given: readonly ZoneOfWorld[]): Promise<Lived> {
  const zones = given.map((zone, k) => ({
    ...zone,
    zoneId: ZONE_IDS[k] ?? '',
    spotUsd: setting.spotUsd[k] ?? 0,
  }));
  const clock = fakeClock(AT);
  const world: World = {
    setting,
    zones,
    stores: await openCampaign(setting, zones),
    clock,
    store: memoryObjectStore(clock),
    market: marketOf(clock, zones, setting.onDemandUsd),
    job: undefined,
    done: 0,
    costUsd: 0,
  };
  let timeline = '';
  for (let tick = 0; tick < 200 && world.done < setting.workSeconds; tick += 1, world.clock.advance(TICK)) {
    const hasCapacity = (job: Job): boolean => spotZone(world, job)?.trace[tick] ?? !isSpot(job);
    if (world.job && !hasCapacity(world.job)) await starve(world, world.job);
    await lookAt(world);
    world.job ??= await launch(world);
    const runs = world.job !== undefined && hasCapacity(world.job);
    if (world.job && runs) work(world, world.job);
    timeline += letterOf(world, runs);
  }
  const finishSeconds = (world.clock.now().getTime() - Date.parse(AT)) / 1_000;
  const attempts = await world.stores.attempts.list(RUN);
  const starts = attempts.filter(({ outcome }) => outcome === undefined || outcome.startedAt !== undefined);
  return { costUsd: world.costUsd, finishSeconds, starts: starts.length, timeline };
}

function letterOf(world: World, runs: boolean): string {
  if (world.job === undefined) return '.';
  if (!runs) return '-';
  const zone = spotZone(world, world.job);
  return zone === undefined ? 'D' : String(world.zones.indexOf(zone));
}

const isSpot = ({ attempt }: Job): boolean => attempt.placement.pool.purchaseOption === 'spot';

const training = ({ attempt, requestedAt }: Job, startedAt: Date): TrainingJobDescription => ({
  TrainingJobName: attempt.jobName,
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: 'Training',
  CreationTime: requestedAt,
  TrainingStartTime: startedAt,
  SecondaryStatusTransitions: [{ Status: 'Training', StartTime: startedAt }],
});

const asSeen = ({ attempt, requestedAt }: Job): { attempt: AttemptRecord; job: TrainingJobDescription } => ({
  attempt,
  job: {
    TrainingJobName: attempt.jobName,
    TrainingJobStatus: 'InProgress',
    SecondaryStatus: 'Starting',
    CreationTime: requestedAt,
    SecondaryStatusTransitions: [{ Status: 'Starting', StartTime: requestedAt }],
  },
});

const noNotifier = memoryNotifier();
const noExecutions = memoryExecutions();
/** The world of this test stops its jobs itself. */
const deadTraining: TrainingService = {
  create: () => Promise.resolve({ kind: 'created', arn: '' }),
  describe: () => Promise.resolve(undefined),
  stop: () => Promise.resolve('stopping'),
};
