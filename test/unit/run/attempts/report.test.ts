/** What a run cost: every figure here was worked out by hand. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { attemptCost } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import { answer } from '../../../../functions/api/answer.ts';
import { spentOf } from '../../../../functions/records/ended.ts';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import {
  lostTraining,
  makeReport,
  type ReportInput,
  readReport,
} from '../../../../functions/run/attempts/make-report.ts';
import { endRun } from '../../../../functions/run/attempts/report-run.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../../support/builders/records.ts';
import { ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';

/** 2 nodes at 1.50 USD: interrupted after 1,000 s of training, of which the last 250 s were not saved; 400 s billed. */
const interrupted = attemptOf(RUN, 1, {
  progressAfter: progressOf(40, { updatedAt: secondsAfter(1_000 + 750), metrics: { loss: 0.5 } }),
  outcome: outcomeOf('interrupted', {
    startedAt: secondsAfter(1_000),
    endedAt: secondsAfter(2_000),
    trainingSeconds: 1_000,
    billableSeconds: 400,
    interruptions: 1,
  }),
});

/** 3 nodes at 2.00 USD: 1,200 s of training, 540 s billed. */
const completed = attemptOf(RUN, 2, {
  placement: placementOf({ topology: { nodes: 3, acceleratorsPerNode: 1 }, onDemandHourlyUsd: 2 }),
  progressBefore: progressOf(40),
  progressAfter: progressOf(100, { metrics: { loss: 0.1, accuracy: 0.97 } }),
  outcome: outcomeOf('completed', {
    endedAt: secondsAfter(5_000),
    trainingSeconds: 1_200,
    billableSeconds: 540,
    modelUri: 's3://bucket/model.tar.gz',
  }),
});

const report = (over: Partial<ReportInput> = {}) =>
  makeReport({
    run: runOf('digits', 1, {
      closedAt: AT,
      declaration: declarationOf('digits', { limits: { deadlineHours: 2 } }),
      generations: ['digits-000001'],
    }),
    attempts: [interrupted, completed],
    timeline: [],
    status: 'succeeded',
    finishedAt: secondsAfter(6_000),
    ...over,
  });

it('sums of money and the run lose alike', () => {
  const attempts = [interrupted, completed];
  // 250 of 1,000 s of training, on 2 nodes that were billed 400 s at 1.50 USD.
  expect(lostTraining(attempts).usd).toBeCloseTo((0.25 * (2 * 1.5 * 400)) / 3_600, 4);
  const inSums = spentOf(report()).pools.reduce((usd, pool) => usd + pool.lostUsd, 0);
  expect(inSums).toBeCloseTo(lostTraining(attempts).usd, 4);
});

it('a run keeps its promises and its misses', async () => {
  const at = ground();
  const between = { low: secondsAfter(0), expected: secondsAfter(1_000), high: secondsAfter(2_000) };
  const promise = {
    share: 0,
    finishAt: between,
    usd: { low: 0, expected: 1, high: 2 },
    widths: { end: 1, cost: 1 },
  };
  await at.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await at.runs.create(runOf('digits', 1, { promises: [promise] }));
  await at.attempts.create(completed);
  await endRun({ ...at, clock: at.clock }, { runId: RUN, judgement: { kind: 'done', reason: 'done' } });
  expect((await at.runs.get(RUN))?.result?.misses).toEqual([
    { share: 0, end: expect.any(Number) as number, cost: expect.closeTo(0.1) as number },
  ]);
  expect(await readReport(at.store, runOf('digits', 1))).toMatchObject({ promises: [promise] });
});

it('a report has the digest of its model', async () => {
  const at = ground();
  const model = 'digits/runs/digits-000001/models/model.tar.gz';
  at.store.put(model, 'weights');
  const outcome = outcomeOf('completed', { modelUri: `s3://${at.store.bucket}/${model}` });
  await at.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await at.runs.create(runOf('digits', 1));
  await at.attempts.create(attemptOf(RUN, 1, { outcome }));
  await endRun(at, { runId: RUN, judgement: { kind: 'done', reason: 'done' } });
  const etag = (await at.store.readText(model))?.etag;
  expect(await readReport(at.store, runOf('digits', 1))).toMatchObject({ modelEtag: etag });
});

it('sums of money need no report of a run', async () => {
  const at = ground();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await at.runs.create(runOf('digits', 1));
  await at.attempts.create(interrupted);
  await at.attempts.create(completed);
  await endRun(at, { runId: RUN, judgement: { kind: 'done', reason: 'done' } });
  const month = (await at.runs.get(RUN))?.updatedAt.slice(0, 7) ?? '';
  const asked = { route: 'GET /money', parameters: {}, query: { month }, body: '' };
  const summed = await answer(at, asked);
  expect(summed).toMatchObject({ status: 200, body: { total: { runs: 1 } } });
  // As a run of an earlier release, of which the report alone has the figures.
  const run = await at.runs.get(RUN);
  await at.runs.update(RUN, { updatedAt: run?.updatedAt ?? '', result: undefined });
  expect(await answer(at, asked)).toEqual(summed);
  at.store.remove(bucketKeys.report('digits', RUN));
  await at.runs.update(RUN, { updatedAt: run?.updatedAt ?? '', ...(run?.result && { result: run.result }) });
  expect(await answer(at, asked)).toEqual(summed);
});

describe('the cost of an attempt', () => {
  it('is the billed time of all nodes at On-Demand', () => {
    // 400 s / 3,600 s x 1.50 USD x 2 nodes
    expect(attemptCost(interrupted)).toBeCloseTo(1 / 3, 12);
    // 540 s / 3,600 s x 2.00 USD x 3 nodes
    expect(attemptCost(completed)).toBeCloseTo(0.9, 12);
  });

  it('is nothing before it has ended', () => {
    expect(attemptCost(attemptOf(RUN, 1))).toBe(0);
  });
});

describe('a report', () => {
  it('adds up what was paid', () => {
    expect(report().costUsd).toBeCloseTo(1 / 3 + 0.9, 12);
  });

  it('gives the On-Demand cost of the useful work', () => {
    // (1,000 - 250) s / 3,600 x 1.50 x 2 = 0.625; 1,200 s / 3,600 x 2.00 x 3 = 2.00
    expect(report().onDemandUsd).toBeCloseTo(2.625, 12);
    expect(report().savedUsd).toBeCloseTo(2.625 - 1.2333333333333334, 12);
    expect(report().savedPercent).toBe(53);
  });

  it.each(['userError', 'serviceError', 'timeLimit', 'stopped'] as const)(
    'counts a %s on both sides',
    (kind) => {
      const outcome = outcomeOf(kind, { trainingSeconds: 1_200, billableSeconds: 540 });
      const made = report({ attempts: [interrupted, { ...completed, progressAfter: undefined, outcome }] });
      expect(made.onDemandUsd).toBeCloseTo(2.625, 12);
    },
  );

  it('counts a stop on both sides, but no move', () => {
    const outcome = outcomeOf('recalled', { trainingSeconds: 1_200, billableSeconds: 540 });
    const recalled = (cause: 'request' | 'spot') => {
      const last = { ...completed, progressAfter: undefined, outcome, recall: { at: AT, cause, why: '' } };
      return report({ attempts: [last] }).onDemandUsd;
    };
    expect(recalled('request')).toBeCloseTo(2, 12);
    expect(recalled('spot')).toBe(0);
  });

  it('compares an On-Demand attempt with its own cost', () => {
    const pool = { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' } as const;
    const alone = { ...completed, placement: placementOf({ pool, onDemandHourlyUsd: 0.0039 }) };
    const { costUsd, onDemandUsd, savedUsd, savedPercent } = report({ attempts: [alone] });
    expect([costUsd, onDemandUsd, savedUsd, savedPercent]).toEqual([costUsd, costUsd, 0, 0]);
    expect(costUsd).toBeGreaterThan(0);
  });

  it('counts the time since the last checkpoint as lost', () => {
    expect(report().lostSeconds).toBe(250);
    expect(report().attempts.map(({ lostSeconds }) => lostSeconds)).toEqual([250, 0]);
  });

  it('counts an attempt without progress as lost', () => {
    const lost = { ...interrupted, progressBefore: progressOf(40) };
    expect(report({ attempts: [lost] })).toMatchObject({
      lostSeconds: 1_000,
      onDemandUsd: 0,
      savedPercent: 0,
    });
  });

  it('bounds the lost time by the trained time', () => {
    const early = { ...interrupted, progressAfter: progressOf(40, { updatedAt: secondsAfter(-9_000) }) };
    expect(report({ attempts: [early] }).lostSeconds).toBe(1_000);
    const late = { ...interrupted, progressAfter: progressOf(40, { updatedAt: secondsAfter(2_600) }) };
    expect(report({ attempts: [late] }).lostSeconds).toBe(0);
  });

  it("shows each attempt's steps and the newest metrics", () => {
    const { attempts, metrics, modelUri, interruptions } = report();
    expect(attempts.map(({ fromStep, toStep }) => [fromStep, toStep])).toEqual([
      [0, 40],
      [40, 100],
    ]);
    expect(metrics).toEqual({ loss: 0.1, accuracy: 0.97 });
    expect(modelUri).toBe('s3://bucket/model.tar.gz');
    expect(interruptions).toBe(1);
  });

  it('counts an interruption seen by SageMaker and Tidewheel once', () => {
    const unseen = attemptOf(RUN, 1, { outcome: outcomeOf('interrupted', { interruptions: 0 }) });
    const restarted = attemptOf(RUN, 2, { outcome: outcomeOf('completed', { interruptions: 2 }) });
    expect(report({ attempts: [unseen, restarted] }).interruptions).toBe(3);
    expect(report({ attempts: [attemptOf(RUN, 1, { outcome: outcomeOf('capacity') })] }).interruptions).toBe(
      0,
    );
  });

  it('splits each restart and sums the parts', () => {
    const next = (attempt: number, over: Partial<AttemptRecord>) =>
      attemptOf(RUN, attempt, {
        placement: placementOf({ decidedAt: secondsAfter(2_010) }),
        createdAt: secondsAfter(2_013),
        ...over,
      });
    const start = { requirements: 5, resume: 20, firstStep: 3 };
    const startUp = { hosts: 60, download: 9, image: 40 };
    const second = next(2, {
      outcome: outcomeOf('interrupted', { startUp, endedAt: secondsAfter(2_004) }),
      diagnosis: { at: AT, start, verdicts: [] },
    });
    const third = next(3, { outcome: outcomeOf('completed') });
    const { attempts, restarts } = report({ attempts: [interrupted, second, third] });
    const { hosts: capacity, download, image } = startUp;
    expect(attempts.map(({ restart }) => restart)).toEqual([
      undefined,
      { detect: 10, place: 3, capacity, download, image, ...start },
      { detect: 6, place: 3 },
    ]);
    expect(restarts).toEqual({ detect: 16, place: 6, capacity, download, image, ...start });
  });

  it('keeps the deadline that counts from the close', () => {
    const at = '2026-11-20T02:00:00.000Z';
    expect(report().deadline).toEqual({ at, met: true });
    expect(report({ finishedAt: secondsAfter(7_200) }).deadline.met).toBe(true);
    expect(report({ finishedAt: secondsAfter(7_201) }).deadline.met).toBe(false);
    expect(report({ status: 'failed' }).deadline.met).toBe(false);
    expect(report({ status: 'empty' }).deadline).toEqual({ at, met: null });
    expect(report({ run: runOf('digits', 1) }).deadline).toEqual({ at: undefined, met: null });
  });

  it('of a run without training has zero cost', () => {
    expect(report({ attempts: [], status: 'empty' })).toMatchObject({
      costUsd: 0,
      onDemandUsd: 0,
      savedUsd: 0,
      savedPercent: 0,
      interruptions: 0,
      attempts: [],
      metrics: {},
    });
  });
});

describe('the verdict', () => {
  const ended = async (result: Omit<Parameters<typeof endRun>[1], 'runId'>) => {
    const at = ground();
    await at.runs.create(runOf('digits', 1, { closedAt: AT }));
    await endRun(at, { runId: RUN, ...result });
    const [finished] = await at.timeline.list(RUN);
    return [finished?.kind, finished?.text];
  };

  it.each([
    ['done', 'RunFinished'],
    ['failed', 'RunFailed'],
    ['empty', 'NothingNew'],
  ] as const)('is the judgement %s', async (kind, entry) => {
    expect(await ended({ judgement: { kind, reason: 'because' } })).toEqual([entry, 'because']);
  });

  it.each([
    ['tidewheel-series/1.jsonl', false],
    ['model.pt', true],
  ])('has a model where the script saved: %s', async (file, isModel) => {
    const at = ground();
    const declaration = declarationOf('digits', { training: { strategy: 'ddp', model: 'none' } });
    await at.runs.create(runOf('digits', 1, { closedAt: AT, declaration }));
    await at.attempts.create(completed);
    await at.store.writeText(`digits/runs/${RUN}/checkpoints/${file}`, 'x');
    await endRun(at, { runId: RUN, judgement: { kind: 'done', reason: 'because' } });
    expect((await at.runs.get(RUN))?.modelUri !== undefined).toBe(isModel);
    const kinds = (await at.timeline.list(RUN)).map(({ kind }) => kind);
    expect(kinds.includes('SavedNothing')).toBe(!isModel);
  });

  it("is the state's error without its stack", async () => {
    const Cause = JSON.stringify({ errorType: 'X', errorMessage: 'no role', trace: ['at secret.ts:1'] });
    const result = { judgement: { kind: 'done', reason: '' }, error: { Error: 'X', Cause } };
    expect(await ended(result)).toEqual(['RunFailed', 'X: no role']);
  });

  it('keeps a shortened cause that is not JSON', async () => {
    expect(await ended({ error: { Error: 'States.Timeout' } })).toEqual(['RunFailed', 'States.Timeout']);
    expect(await ended({ error: { Error: 'E', Cause: 'plain' } })).toEqual(['RunFailed', 'E: plain']);
    const [, text = ''] = await ended({ error: { Error: 'E', Cause: 'x'.repeat(9_999) } });
    expect(text.length).toBeLessThan(1_100);
  });

  it('is a failure with a reason without a judgement', async () => {
    const failed = ['RunFailed', 'the run ended without a judgement'];
    expect(await ended({})).toEqual(failed);
    expect(await ended({ judgement: { kind: 'place', reason: '' } })).toEqual(failed);
  });
});

describe('work done again', () => {
  const resume = {
    checkpoint: { name: 'last.ckpt', step: 40 },
    repairs: [],
    verdict: { kind: 'beganAgain', evidence: 'log', position: 0, beganAt: 0 },
  } as const;

  it('is lost whole where the script began again', () => {
    const again = { ...completed, resume };
    const made = report({ attempts: [interrupted, again] });
    expect(made.attempts.map(({ lostSeconds }) => lostSeconds)).toEqual([1_000, 0]);
    expect(made.attempts.map(({ fromStep }) => fromStep)).toEqual([0, 0]);
    // 1,200 s of 3 nodes at 2.00 USD, and nothing of the first attempt.
    expect(made.onDemandUsd).toBeCloseTo((1_200 / 3_600) * 2 * 3, 6);
  });

  it('is counted by positions where the files are unknown', () => {
    const unsaved = { ...interrupted, progressAfter: undefined };
    const verdict = { kind: 'resumed', evidence: 'log', position: 95, beganAt: 0, stood: 100 } as const;
    const next = { ...completed, resume: { repairs: [], verdict } };
    expect(report({ attempts: [unsaved, next] }).attempts[0]?.lostSeconds).toBe(50);
    expect(report({ attempts: [unsaved, completed] }).attempts[0]?.lostSeconds).toBe(1_000);
  });

  it('by a replay is lost, completed or not', () => {
    const replayed = { ...completed, resume: { repairs: [], replaySeconds: 240 } };
    const made = report({ attempts: [interrupted, replayed] });
    expect(made.attempts.map(({ lostSeconds }) => lostSeconds)).toEqual([250, 240]);
    const without = report({ attempts: [interrupted, completed] });
    expect(made.onDemandUsd).toBeLessThan(without.onDemandUsd);
  });

  it('is lost in part behind a restored checkpoint', () => {
    const repairs = [{ name: 'ckpt.pt', problem: 'cut off', instead: 'its copy', step: 10 }];
    const back = { ...completed, resume: { checkpoint: { name: 'ckpt.pt', step: 10 }, repairs } };
    const made = report({ attempts: [interrupted, back] });
    // 250 s that no checkpoint covers, and 30 of 40 steps of the other 750 s.
    expect(made.attempts[0]?.lostSeconds).toBe(250 + 750 * 0.75);
  });
});
