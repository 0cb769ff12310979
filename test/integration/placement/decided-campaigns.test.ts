/**
 * Campaigns of 24 hours decided by `place` and `whyStop` themselves, attempt by attempt, on traces drawn from the fitted
 * chain, beside what the simulator's policy pays for the same trace by the same rules of billing.
 */
import { describe, expect, it } from 'vitest';
import { tidewheel } from '../../../bench/sim/tidewheel.ts';
import { type Setting, simulate } from '../../../bench/sim/world.ts';
import type { TrainingJobDescription } from '../../../functions/core/launch/port.ts';
import { place } from '../../../functions/core/placement/place.ts';
import type { MarketSource } from '../../../functions/core/placement/port.ts';
import { drawTrace } from '../../../functions/core/policy/lattice.ts';
import { fittedRegimes } from '../../../functions/core/policy/regimes.ts';
import { whyStop } from '../../../functions/core/policy/running.ts';
import type { AttemptOutcome, AttemptRecord } from '../../../functions/core/records.ts';
import { fakeClock } from '../../fakes/clock.ts';
import { memoryRunStore } from '../../fakes/run-store.ts';
import { AT, attemptOf, declarationOf, outcomeOf, placementOf, progressOf, runOf } from '../../suites/records.ts';

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

const known = <T>(value: T) => Promise.resolve({ kind: 'known' as const, value, notes: [] });
const market: MarketSource = {
  region: 'us-east-1',
  scores: () => known([]),
  spotPrices: () =>
    known([{ instanceType: 'p3.2xlarge', zoneId: ZONE, hourlyUsd: 0.9731, basis: 'asked' as const }]),
  onDemandPrices: () =>
    known([
      { instanceType: 'p3.2xlarge', hourlyUsd: 3.06, basis: 'listed' as const, note: '', ec2HourlyUsd: 3.06 },
    ]),
  zones: () => known([]),
};

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

async function launch({ runs, clock, done }: World): Promise<Job | undefined> {
  const decided = await place({ runs, market, clock }, { runId: RUN });
  if (decided.kind === 'giveUp') throw new Error(decided.reason);
  if (decided.kind === 'wait') return undefined;
  const stored = (await runs.listPlacements(RUN)).at(-1)?.decision;
  if (stored?.kind !== 'launch') throw new Error('nothing stored');
  const { placement } = stored;
  const askedAt = clock.now();
  const at = askedAt.toISOString();
  const attempt = attemptOf(RUN, decided.attempt, { placement, createdAt: at, updatedAt: at });
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

/** One campaign, tick by tick: capacity as the trace says, whole ticks billed, a start paid for as in the simulator. */
async function campaign(trace: readonly boolean[]) {
  const world: World = { runs: await open(), clock: fakeClock(AT), job: undefined, done: 0, costUsd: 0 };
  for (let tick = 0; tick < 200 && world.done < setting.workSeconds; tick += 1, world.clock.advance(TICK)) {
    const up = trace[tick] ?? false;
    if (world.job && isSpot(world.job) && !up) await starve(world, world.job);
    world.job ??= await launch(world);
    if (world.job && (up || !isSpot(world.job))) work(world, world.job);
  }
  const finishSeconds = (world.clock.now().getTime() - Date.parse(AT)) / 1_000;
  return { costUsd: world.costUsd, finishSeconds };
}

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

interface Row {
  readonly seed: number;
  readonly ratio: number;
  readonly costUsd: number;
  readonly simUsd: number;
  readonly finishSeconds: number;
}

describe('a campaign of 24 hours, decided attempt by attempt', () => {
  const seeds = Array.from({ length: 20 }, (_, k) => k + 1);

  it('meets every deadline and costs what the simulator says, where Spot came back in time', async () => {
    const policy = tidewheel();
    const rows: Row[] = [];
    for (const seed of seeds) {
      const trace = drawTrace(fittedRegimes, TICK, { ticks: 160, seed });
      const expected = simulate(policy, setting, [trace]);
      const { costUsd, finishSeconds } = await campaign(trace);
      rows.push({
        seed,
        ratio: costUsd / expected.costUsd,
        costUsd,
        simUsd: expected.costUsd,
        finishSeconds,
      });
    }
    expect(rows.filter(({ finishSeconds }) => finishSeconds > setting.deadlineSeconds)).toEqual([]);
    // The simulator sees each tick whether Spot is there; a run that has gone over to On-Demand does not, and stays.
    const ratios = rows.map(({ ratio }) => ratio).sort((a, b) => a - b);
    expect(ratios[10]).toBeLessThan(1.05);
    expect(ratios.filter((ratio) => ratio < 1.05).length).toBeGreaterThanOrEqual(16);
    const total = (pick: (row: Row) => number) => rows.reduce((sum, row) => sum + pick(row), 0);
    expect(total(({ costUsd }) => costUsd) / total(({ simUsd }) => simUsd)).toBeLessThan(1.1);
  });
});
