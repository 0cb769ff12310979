/**
 * Campaigns of 24 hours decided by `place`, `whyStop` and `reviseAttempt` themselves, attempt by attempt, on traces drawn
 * from the fitted chain, beside what the simulator's policy pays for the same trace by the same rules of billing. The
 * simulator sees every tick whether Spot is there; `place` sees it by asking, or by placement scores.
 */
import { describe, expect, it } from 'vitest';
import { tidewheel } from '../../../bench/sim/tidewheel.ts';
import { type Setting, simulate } from '../../../bench/sim/world.ts';
import type { Launcher } from '../../../functions/core/launch/launcher.ts';
import type { TrainingJobDescription } from '../../../functions/core/launch/port.ts';
import { layout } from '../../../functions/core/layout.ts';
import { place } from '../../../functions/core/placement/place.ts';
import type { MarketSource } from '../../../functions/core/placement/port.ts';
import { questionKey } from '../../../functions/core/placement/score-plan.ts';
import { drawTrace } from '../../../functions/core/policy/lattice.ts';
import { seeded } from '../../../functions/core/policy/random.ts';
import { fittedRegimes } from '../../../functions/core/policy/regimes.ts';
import { whyStop } from '../../../functions/core/policy/running.ts';
import type { Clock } from '../../../functions/core/ports.ts';
import type { AttemptOutcome, AttemptRecord } from '../../../functions/core/records.ts';
import { reviseAttempt } from '../../../functions/core/revise-attempt.ts';
import { fakeClock } from '../../fakes/clock.ts';
import { memoryExecutions } from '../../fakes/executions.ts';
import { memoryNotifier } from '../../fakes/notifier.ts';
import { type MemoryObjectStore, memoryObjectStore } from '../../fakes/object-store.ts';
import { memoryRunStore } from '../../fakes/run-store.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
} from '../../suites/records.ts';

const HOUR = 3_600;
const TICK = 600;
const setting: Setting = {
  tickSeconds: TICK,
  workSeconds: 16 * HOUR,
  deadlineSeconds: 24 * HOUR,
  restartSeconds: 300,
  spotUsd: [0.9731],
  onDemandUsd: 3.06,
};
const RUN = 'camp-000002';
const ZONE = 'use1-az1';

const TYPES = ['p3.2xlarge'];
const known = <T>(value: T) => Promise.resolve({ kind: 'known' as const, value, notes: [] });

/** What EC2 says of the zone, or nothing. */
type Scores = (tick: number) => number | undefined;

const noScores: Scores = () => undefined;

/** 8 with capacity and 3 without: who trusts them knows in every tick what the simulator's policy knows. */
const rightScores =
  (trace: readonly boolean[]): Scores =>
  (tick) =>
    (trace[tick] ?? false) ? 8 : 3;

/** The same, but every tenth time the other way round. */
function scoresOf(trace: readonly boolean[], seed: number): Scores {
  const draw = seeded(seed);
  const wrong = trace.map(() => draw() < 0.1);
  return (tick) => ((trace[tick] ?? false) === (wrong[tick] ?? false) ? 3 : 8);
}

function marketOf(clock: Clock, scores: Scores): MarketSource {
  const score = (): number | undefined => scores((clock.now().getTime() - Date.parse(AT)) / 1_000 / TICK);
  return {
    region: 'us-east-1',
    scores: () => {
      const now = score();
      return known(now === undefined ? [] : [{ zoneId: ZONE, score: now }]);
    },
    spotPrices: () =>
      known([{ instanceType: 'p3.2xlarge', zoneId: ZONE, hourlyUsd: 0.9731, basis: 'asked' as const }]),
    onDemandPrices: () =>
      known([
        {
          instanceType: 'p3.2xlarge',
          hourlyUsd: 3.06,
          basis: 'listed' as const,
          note: '',
          ec2HourlyUsd: 3.06,
        },
      ]),
    zones: () => known([]),
  };
}

async function open() {
  const runs = memoryRunStore();
  const compute = {
    instanceTypes: ['p3.2xlarge'],
    nodes: 1,
    vpc: { securityGroupIds: ['sg-1'], subnets: [{ id: 'subnet-1', zoneId: ZONE }] },
  };
  const declaration = declarationOf('camp', { compute, limits: { deadlineHours: 24, attempts: 500 } });
  // A former run tells how long the work is, as the simulator's policy knows it.
  await runs.createRun(runOf('camp', 1, { status: 'succeeded', declaration }));
  const outcome = outcomeOf('completed', {
    trainingSeconds: setting.workSeconds,
    endedAt: '2026-10-01T00:00:00Z',
  });
  const placement = placementOf({
    pool: { instanceType: 'p3.2xlarge', zoneId: ZONE, market: 'spot' },
    topology: { nodes: 1, acceleratorsPerNode: 1 },
  });
  await runs.createAttempt(attemptOf('camp-000001', 1, { outcome, placement }));
  await runs.createRun(runOf('camp', 2, { declaration, closedAt: AT }));
  return runs;
}

interface Job {
  readonly attempt: AttemptRecord;
  readonly askedAt: Date;
  readonly doneBefore: number;
  startedAt?: Date;
  debt: number;
  ran: number;
}

interface World {
  readonly runs: Awaited<ReturnType<typeof open>>;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly store: MemoryObjectStore;
  readonly market: MarketSource;
  job: Job | undefined;
  /** Seconds of work. */
  done: number;
  costUsd: number;
}

const progressAt = (seconds: number) =>
  progressOf(seconds, { totalSteps: setting.workSeconds, trainingSeconds: seconds });

async function end({ runs, clock, done }: World, job: Job, kind: AttemptOutcome['kind']): Promise<void> {
  const { attempt, startedAt, ran, doneBefore } = job;
  const endedAt = clock.now().toISOString();
  await runs.updateAttempt(RUN, attempt.attempt, {
    outcome: outcomeOf(kind, { startedAt: startedAt?.toISOString(), endedAt, trainingSeconds: ran }),
    progressAfter: progressAt(done),
    progressBefore: progressAt(doneBefore),
    updatedAt: endedAt,
  });
}

async function launch({ runs, clock, done, market }: World): Promise<Job | undefined> {
  const decided = await place({ runs, market, clock }, { runId: RUN });
  if (decided.kind === 'giveUp') throw new Error(decided.reason);
  if (decided.kind === 'wait') return undefined;
  const stored = (await runs.listPlacements(RUN)).at(-1)?.decision;
  if (stored?.kind !== 'launch') throw new Error('nothing stored');
  const { placement } = stored;
  const askedAt = clock.now();
  const at = askedAt.toISOString();
  const attempt = attemptOf(RUN, decided.attempt, {
    placement,
    createdAt: at,
    updatedAt: at,
    progressBefore: done > 0 ? progressAt(done) : undefined,
  });
  await runs.createAttempt(attempt);
  return { attempt, askedAt, doneBefore: done, debt: setting.restartSeconds, ran: 0 };
}

const isSpot = (job: Job): boolean => job.attempt.placement.pool.market === 'spot';

/** What a tick without capacity does to a Spot job: a running one is lost, a waiting one is asked about. */
async function starve(world: World, job: Job): Promise<void> {
  const kind = job.startedAt ? 'interrupted' : 'capacity';
  if (kind === 'capacity' && !whyStop({ ...asSeen(job), now: world.clock.now(), others: [] })) return;
  await end(world, job, kind);
  world.job = undefined;
}

function work(world: World, job: Job): void {
  job.startedAt ??= world.clock.now();
  const gain = Math.max(0, TICK - job.debt);
  job.debt = Math.max(0, job.debt - TICK);
  job.ran += TICK;
  world.done = Math.min(setting.workSeconds, world.done + gain);
  world.costUsd += ((isSpot(job) ? 0.9731 : 3.06) * TICK) / HOUR;
}

/** What the agent and the schedules do between two ticks: a checkpoint, a sample of the market, a look at the job. */
async function lookAt(world: World): Promise<void> {
  const { runs, clock, store, market, job } = world;
  const now = clock.now().toISOString();
  const scores = await market.scores(TYPES, 1);
  const told = scores.kind === 'known' ? scores.value[0]?.score : undefined;
  await runs.putSample({
    family: 'p3',
    zoneId: ZONE,
    at: now,
    scores: told === undefined ? {} : { [questionKey(TYPES, 1)]: told },
    spotUsd: { 'p3.2xlarge': 0.9731 },
    onDemandUsd: {},
  });
  if (job?.startedAt === undefined || world.done <= job.doneBefore) return;
  const progress = {
    ...progressAt(world.done),
    checkpoint: `step-${Math.floor(world.done)}`,
    updatedAt: now,
  };
  store.put(layout.progress('camp', RUN), JSON.stringify(progress));
  store.put(`${layout.checkpoints('camp', RUN)}${progress.checkpoint}/COMPLETE.json`, '{}');
  const seen = training(job, job.startedAt);
  const deps = {
    runs,
    clock,
    store,
    market,
    launcher: deadLauncher,
    executions: noExecutions,
    notifier: noNotifier,
  };
  if ((await reviseAttempt(deps, job.attempt, seen)) === 'left') return;
  await end(world, job, 'recalled');
  world.job = undefined;
}

/** One campaign, tick by tick: capacity as the trace says, whole ticks billed, a start paid for as in the simulator. */
async function campaign(trace: readonly boolean[], scores: Scores) {
  const clock = fakeClock(AT);
  const world: World = {
    runs: await open(),
    clock,
    store: memoryObjectStore(clock),
    market: marketOf(clock, scores),
    job: undefined,
    done: 0,
    costUsd: 0,
  };
  for (let tick = 0; tick < 200 && world.done < setting.workSeconds; tick += 1, world.clock.advance(TICK)) {
    const up = trace[tick] ?? false;
    if (world.job && isSpot(world.job) && !up) await starve(world, world.job);
    await lookAt(world);
    world.job ??= await launch(world);
    if (world.job && (up || !isSpot(world.job))) work(world, world.job);
  }
  const finishSeconds = (world.clock.now().getTime() - Date.parse(AT)) / 1_000;
  return { costUsd: world.costUsd, finishSeconds };
}

const training = ({ attempt, askedAt }: Job, startedAt: Date): TrainingJobDescription => ({
  TrainingJobName: attempt.jobName,
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: 'Training',
  CreationTime: askedAt,
  TrainingStartTime: startedAt,
  SecondaryStatusTransitions: [{ Status: 'Training', StartTime: startedAt }],
});

const asSeen = ({ attempt, askedAt }: Job): { attempt: AttemptRecord; job: TrainingJobDescription } => ({
  attempt,
  job: {
    TrainingJobName: attempt.jobName,
    TrainingJobStatus: 'InProgress',
    SecondaryStatus: 'Starting',
    CreationTime: askedAt,
    SecondaryStatusTransitions: [{ Status: 'Starting', StartTime: askedAt }],
  },
});

const noNotifier = memoryNotifier();
const noExecutions = memoryExecutions();
/** The world of this test stops its jobs itself. */
const deadLauncher: Launcher = {
  start: () => Promise.resolve({ kind: 'created', arn: '' }),
  describe: () => Promise.resolve(undefined),
  stop: () => Promise.resolve('stopping'),
  askToSave: () => Promise.resolve(),
  refill: () => Promise.resolve({ kind: 'none' }),
  release: () => Promise.resolve(),
  remains: () => Promise.resolve([]),
  jobsOf: () => Promise.resolve(new Map()),
};

interface Row {
  readonly seed: number;
  readonly ratio: number;
  readonly costUsd: number;
  readonly simUsd: number;
  readonly finishSeconds: number;
}

const SEEDS = Array.from({ length: Number(process.env['CAMPAIGNS'] ?? 20) }, (_, k) => k + 1);

async function play(scoresFor: (trace: readonly boolean[], seed: number) => Scores): Promise<readonly Row[]> {
  const policy = tidewheel();
  const rows: Row[] = [];
  for (const seed of SEEDS) {
    const trace = drawTrace(fittedRegimes, TICK, { ticks: 160, seed });
    const simUsd = simulate(policy, setting, [trace]).costUsd;
    const { costUsd, finishSeconds } = await campaign(trace, scoresFor(trace, seed));
    rows.push({ seed, ratio: costUsd / simUsd, costUsd, simUsd, finishSeconds });
  }
  return rows;
}

const summaryOf = (rows: readonly Row[]) => {
  const total = (pick: (row: Row) => number) => rows.reduce((sum, row) => sum + pick(row), 0);
  return {
    late: rows.filter(({ finishSeconds }) => finishSeconds > setting.deadlineSeconds).length,
    near: rows.filter(({ ratio }) => Math.abs(ratio - 1) <= 0.05).length,
    together: total(({ costUsd }) => costUsd) / total(({ simUsd }) => simUsd),
    worst: Math.max(...rows.map(({ ratio }) => ratio)),
  };
};

describe('a campaign of 24 hours, decided attempt by attempt', () => {
  it('costs what the simulator says where scores tell what the simulator sees', async () => {
    const { late, near, together } = summaryOf(await play(rightScores));
    expect(late).toBe(0);
    // Of 20, with the one that is off by more: the last ticks of slack are kept for On-Demand being refused.
    expect(near).toBeGreaterThanOrEqual(SEEDS.length - 1);
    expect(Math.abs(together - 1)).toBeLessThan(0.02);
  });

  it('costs a little more where scores are wrong once in ten times', async () => {
    const { late, near, together, worst } = summaryOf(await play(scoresOf));
    expect(late).toBe(0);
    expect(near).toBeGreaterThanOrEqual(16);
    expect(together).toBeLessThan(1.05);
    expect(worst).toBeLessThan(1.35);
  });

  it('meets every deadline and costs somewhat more where it sees Spot only by asking', async () => {
    const { late, near, together, worst } = summaryOf(await play(() => noScores));
    expect(late).toBe(0);
    expect(near).toBeGreaterThanOrEqual(16);
    expect(together).toBeLessThan(1.08);
    expect(worst).toBeLessThan(1.7);
  });
});
