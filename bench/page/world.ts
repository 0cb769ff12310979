/** A region in memory for the page: ten thousand runs, one with a hundred thousand points, one that trains. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { storedPart } from '@tidewheel/placement/choose.ts';
import { question } from '../../test/support/builders/placement.ts';
import {
  attemptOf,
  declarationOf,
  launchOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
} from '../../test/support/builders/records.ts';
import { type Ground, ground } from '../../test/support/world/ground.ts';
import { diagnosisAt, putEvidence } from './hosts.ts';
import { fillModels } from './models-of-drops.ts';
import { fillMarket, packDataset, putProbes, putReport } from './surroundings.ts';

export const RUNS = 10_000;
export const POINTS = 100_000;
/** Finished, with all the points. */
export const LONG_RUN = 'digits-010000';
/** Has a model, and a report. */
export const ENDED_RUN = 'digits-009996';
/** Trains, after an interruption. */
export const OPEN_RUN = 'digits-010001';
const logOf = (attempt: number) => ({ group: 'jobs', streamPrefix: `attempt-${attempt}/` });

const CURVES = 5;
const HOUR = 3_600;
const STATUSES = ['succeeded', 'succeeded', 'succeeded', 'failed', 'stopped', 'empty'] as const;

const earlier = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString();

export async function makeWorld(): Promise<Ground> {
  const at: Ground = { ...ground(), clock: { ...ground().clock, now: () => new Date() } };
  await at.pipelines.ensure('digits', { firstBatch: RUNS + 2, at: earlier(0) });
  await at.pipelines.ensure('letters', { firstBatch: 1, at: earlier(0) });
  await at.pipelines.setValidity('digits', { valid: true, updatedAt: earlier(0) });
  await at.pipelines.setValidity('letters', {
    valid: false,
    problems: [{ path: 'compute.instanceTypes', message: 'names g5.huge, which is no type: use g5.xlarge' }],
    updatedAt: earlier(0),
  });
  at.declare();
  const made = Array.from({ length: RUNS - 1 }, (_, place) => finishedRun(at, place + 1));
  const scored = made.filter(({ status }) => status === 'succeeded').slice(-SCORED);
  for (const run of made) if (!scored.includes(run)) await at.runs.create(run);
  await fillModels(at, scored);
  await endedRun(at);
  await longRun(at);
  await openRun(at);
  await packDataset(at);
  await fillMarket(at);
  await putProbes(at);
  return at;
}

/** The newest have models on record. */
const SCORED = 13;
/** The newest have reports. */
const REPORTED = 300;

function finishedRun(at: Ground, batch: number) {
  const began = (RUNS + 1 - batch) * HOUR;
  const status = STATUSES[(batch * 7_919) % STATUSES.length] ?? 'succeeded';
  return runOf('digits', batch, {
    status,
    createdAt: earlier(began),
    closedAt: earlier(began - 60),
    updatedAt: earlier(began - 1_800 - (batch % 900)),
    ...(status === 'succeeded' &&
      batch > RUNS - REPORTED && {
        result: resultOf(at, batch, began - 1_800),
        modelUri: `s3://data/digits/models/digits-${String(batch).padStart(6, '0')}/model.tar.gz`,
      }),
    ...(batch > RUNS - REPORTED && {
      declaration: declarationOf('digits', {
        training: { strategy: 'ddp', hyperparameters: parametersOf(batch) },
      }),
    }),
    ...(status === 'failed' && { failure: TRACEBACK }),
  });
}

const TRACEBACK = `the script ended with code 1
Traceback (most recent call last):
  File "/opt/ml/code/train.py", line 41, in <module>
    label = classes[name]
ValueError: no class 10`;

const parametersOf = (batch: number) => ({
  learning_rate: batch % 3 === 0 ? 0.001 : 0.002,
  epochs: 4 + (batch % 2),
});

function resultOf(at: Ground, batch: number, endedSeconds: number) {
  const report = putReport(at, batch, endedSeconds);
  const { finishedAt, interruptions, lostSeconds, costUsd, onDemandUsd } = report;
  const attempts = report.attempts.length;
  const value = 0.9 + 0.08 * (1 - (RUNS - batch) / REPORTED) + 0.004 * Math.sin(batch);
  const metrics = { val_accuracy: value, loss: 0.4 - value / 4 };
  const money = { interruptions, lostSeconds, costUsd, onDemandUsd };
  return {
    finishedAt,
    attempts,
    ...money,
    isDeadlineMet: null,
    metric: { name: 'val_accuracy', value },
    metrics,
  };
}

/** Its record and its report are those of the others; this is what it did. */
async function endedRun(at: Ground): Promise<void> {
  const began = 5 * HOUR;
  await at.runs.update(ENDED_RUN, { sealedAt: earlier(began - 100), updatedAt: earlier(began - 1_800) });
  await at.attempts.create(
    attemptOf(ENDED_RUN, 1, {
      createdAt: earlier(began - 120),
      status: 'done',
      progressAfter: progressOf(1_000, { totalSteps: 1_000, updatedAt: earlier(began - 1_780) }),
      outcome: outcomeOf('completed', {
        startedAt: earlier(began - 200),
        scriptStartedAt: earlier(began - 260),
        endedAt: earlier(began - 1_800),
        trainingSeconds: 1_600,
      }),
    }),
  );
  putSeries(at, ENDED_RUN, { attempt: 1, from: 0, to: 1_000, began: began - 260, ended: began - 1_780 });
  const entries = [
    [began - 100, 'Sealed', '40 shards of 120,000 samples are sealed'],
    [began - 1_800, 'RunFinished', 'training completed'],
  ] as const;
  for (const [ago, kind, text] of entries)
    await at.timeline.add(ENDED_RUN, { id: kind, at: earlier(ago), kind, text });
}

async function longRun(at: Ground): Promise<void> {
  const began = 5 * HOUR;
  await at.runs.create({
    ...finishedRun(at, RUNS),
    runId: LONG_RUN,
    status: 'stopped',
    createdAt: earlier(began),
    closedAt: earlier(began - 60),
    sealedAt: earlier(began - 100),
    updatedAt: earlier(HOUR),
    declaration: declarationOf('digits'),
  });
  await at.attempts.create(
    attemptOf(LONG_RUN, 1, {
      createdAt: earlier(began - 120),
      progressAfter: progressOf(18_000, { totalSteps: 20_000, updatedAt: earlier(HOUR + 600) }),
      outcome: outcomeOf('stopped', { endedAt: earlier(HOUR), trainingSeconds: 4 * HOUR }),
    }),
  );
  putSeries(at, LONG_RUN, { attempt: 1, from: 0, to: POINTS / CURVES, began: began - 200, ended: HOUR });
}

async function openRun(at: Ground): Promise<void> {
  const began = 2 * HOUR;
  await at.runs.create(
    runOf('digits', RUNS + 1, {
      status: 'training',
      createdAt: earlier(began),
      closedAt: earlier(began - 300),
      sealedAt: earlier(began - 700),
      updatedAt: earlier(60),
      declaration: declarationOf('digits', { limits: { deadlineHours: 4 } }),
    }),
  );
  await at.attempts.create(
    attemptOf(OPEN_RUN, 1, {
      log: logOf(1),
      createdAt: earlier(began - 760),
      progressAfter: progressOf(400, { totalSteps: 1_000, updatedAt: earlier(HOUR + 300) }),
      diagnosis: diagnosisAt(earlier(HOUR - 5)),
      outcome: outcomeOf('interrupted', {
        startedAt: earlier(began - 900),
        scriptStartedAt: earlier(began - 960),
        endedAt: earlier(HOUR),
        trainingSeconds: HOUR - 900,
        billableSeconds: HOUR - 900,
      }),
    }),
  );
  const pool = { ...placementOf().pool, zoneId: 'use1-az1', purchaseOption: 'on-demand' as const };
  await at.attempts.create(
    attemptOf(OPEN_RUN, 2, {
      log: logOf(2),
      createdAt: earlier(HOUR - 30),
      status: 'running',
      placement: placementOf({ pool, expectedSeconds: 8_000 }),
      startedAt: earlier(HOUR - 90),
      startUp: { hosts: 60, download: 20, image: 10 },
      progressBefore: progressOf(400, { totalSteps: 1_000, updatedAt: earlier(HOUR + 300) }),
      progressAfter: progressOf(700, { totalSteps: 1_000, updatedAt: earlier(240) }),
    }),
  );
  save(at, 700, earlier(240));
  await at.placements.put(OPEN_RUN, 1, launchOf());
  await at.placements.put(OPEN_RUN, 2, { ...launchOf({ pool }), question: storedPart(question()) });
  const entries = [
    [began, 'Waiting', 'waits until nothing has arrived for 60 s'],
    [began - 700, 'Sealed', '40 shards of 120,000 samples are sealed; 3 arrivals were rejected'],
    [
      HOUR + 20,
      'RebalanceRecommended',
      'attempt 1: EC2 expects to reclaim i-0a1b2c3d; a checkpoint is requested',
    ],
    [HOUR, 'AttemptInterrupted', 'attempt 1 was interrupted in use1-az4 at step 460, and goes on from 400'],
    [HOUR - 30, 'AttemptStarted', 'attempt 2 starts on 2 × g5.xlarge in use1-az1, On-Demand'],
  ] as const;
  for (const [ago, kind, text] of entries)
    await at.timeline.add(OPEN_RUN, { id: `${ago}`, at: earlier(ago), kind, text });
  for (let step = 0; step < 720; step += 1) {
    const attempt = step < 460 ? 1 : 2;
    const ago = step < 460 ? began - 1_000 - step * 10 : HOUR - 120 - (step - 460) * 12;
    const text = `step ${step} loss ${(2 / (1 + step / 100)).toFixed(3)}`;
    at.logs.print(logOf(attempt).streamPrefix, {
      at: Date.parse(earlier(ago)),
      host: `algo-${(step % 2) + 1}`,
      text,
    });
  }
  putEvidence(at, OPEN_RUN, { attempt: 1, began: began - 1_000, ended: HOUR, cpu: 0.92, gpu: 0.52 });
  putEvidence(at, OPEN_RUN, { attempt: 2, began: HOUR - 120, ended: 0, cpu: 0.6, gpu: 0.9 });
  putSeries(at, OPEN_RUN, { attempt: 1, from: 0, to: 460, began: began - 1_000, ended: HOUR });
  putSeries(at, OPEN_RUN, { attempt: 2, from: 400, to: 720, began: HOUR - 120, ended: 0 }, 400);
}

/** The open run has saved. */
export function save(at: Ground, step: number, updatedAt = earlier(0)): void {
  const saved = progressOf(step, { totalSteps: 1_000, updatedAt, trainingSeconds: 5_400, saveSeconds: 2 });
  at.store.put(bucketKeys.progress('digits', OPEN_RUN), JSON.stringify(saved));
}

interface Stretch {
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
  /** Seconds ago. */
  readonly began: number;
  readonly ended: number;
}

/** As the agent writes it. */
function putSeries(at: Ground, runId: string, stretch: Stretch, resumedFrom?: number): void {
  const { attempt, from, to, began, ended } = stretch;
  const now = Date.now() / 1_000;
  const lines: string[] = [
    JSON.stringify({
      startedAt: now - began,
      ...(resumedFrom !== undefined && { resumedFrom: { step: resumedFrom, savedAt: now - HOUR - 300 } }),
    }),
  ];
  for (let position = from; position < to; position += 1) {
    const seconds = now - began + ((began - ended) * (position - from)) / (to - from);
    const loss = 2.5 * Math.exp(-position / 6_000) + 0.2 * Math.sin(position * 12.9898) ** 2;
    const values = {
      loss,
      ...(position % 20 === 0 && {
        val_accuracy: 0.97 - 0.6 * Math.exp(-position / 300) + 0.01 * Math.sin(position),
      }),
      accuracy: 1 - loss / 3,
      learning_rate: 0.001 * (1 - position / 20_000),
      samples_per_second: 200 + 20 * Math.sin(position / 50),
      gradient_norm: 1 + Math.cos(position * 78.233) ** 4,
    };
    lines.push(JSON.stringify({ source: 'log', unit: 'step', position, at: seconds, values }));
  }
  at.store.put(`${bucketKeys.series('digits', runId)}attempt-${attempt}.jsonl`, lines.join('\n'));
}
