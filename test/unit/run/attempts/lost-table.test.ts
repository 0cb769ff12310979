/** A table whose items are gone: the run goes on from what the bucket and the launchers know. */

import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { reconcile } from '../../../../functions/run/attempts/reconcile.ts';
import { reportRun } from '../../../../functions/run/attempts/report-run.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { takeArrivals } from '../../../../functions/run/ingest/take-arrivals.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { launchOf, progressOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import type { JobScript } from '../../../support/fakes/training.ts';
import { created, type Ground, ground, message } from '../../../support/world/ground.ts';

const [RUN, NEXT] = ['digits-000001', 'digits-000002'];
const TRAINS: JobScript = [
  { at: 0, status: 'InProgress', secondary: 'Training' },
  { at: 37, status: 'Completed', secondary: 'Completed' },
];
const pool = { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' } as const;

let at: Ground;

beforeEach(() => {
  at = ground(TRAINS);
  at.declare();
});

async function close(): Promise<void> {
  at.drop('a.png');
  await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
  const first = await settleRun(at, { runId: RUN });
  at.pass(60);
  const observation = first.kind === 'wait' ? (first.observation ?? undefined) : undefined;
  expect(await settleRun(at, { runId: RUN, observation })).toMatchObject({ kind: 'settled' });
  await sealGeneration(at.store, RUN);
}

async function launch(attempt: number): Promise<void> {
  await at.placements.put(RUN, attempt, launchOf({ pool }));
  const deps = { ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') };
  await launchAttempt(deps, { runId: RUN, attempt, taskToken: `token-${attempt}` });
}

const save = (step: number) => {
  const progress = progressOf(step, { updatedAt: at.clock.now().toISOString() });
  at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progress));
  at.store.put(`${bucketKeys.checkpoints('digits', RUN)}step-${step}/COMPLETE.json`, '{}');
};

/** Attempt 1 is interrupted after step 20, attempt 2 trains on. */
async function twoAttempts(): Promise<void> {
  await close();
  await launch(1);
  at.pass(10);
  save(20);
  const [first] = await at.attempts.list(RUN);
  await at.attempts.update(RUN, 1, {
    recall: { at: at.clock.now().toISOString(), cause: 'capacity', why: 'lost its capacity' },
    updatedAt: at.clock.now().toISOString(),
  });
  await at.training.stop(first?.jobName ?? '');
  at.pass(30);
  expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
  await launch(2);
}

describe('a table that was lost while a run trained', () => {
  it('leaves the run its attempts, model and cost', async () => {
    await twoAttempts();
    at.pass(60);
    at.lose();
    at.executions.end(`${RUN}-x1`);
    await reconcile(at, { sweep: true });
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'done' });
    const report = await reportRun(at, RUN, { kind: 'done', reason: '' });
    expect(report.attempts).toMatchObject([
      { attempt: 1, fromStep: 0, toStep: 20, billableSeconds: 16 },
      { attempt: 2, outcome: 'completed', fromStep: 20, billableSeconds: 15 },
    ]);
    expect(report.attempts[0]?.outcome).toBe('recalled');
    expect(report).toMatchObject({
      status: 'succeeded',
      modelUri: expect.stringContaining(`${RUN}-a2-`) as unknown,
    });
  });

  it('numbers attempts on from those that were made', async () => {
    await twoAttempts();
    at.lose();
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    expect((await at.attempts.list(RUN)).map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'relaunch', attempt: 2 });
    expect(at.training.jobs.size).toBe(2);
  });

  it('takes no attempt from what its job may write', async () => {
    await twoAttempts();
    const folder = bucketKeys.attemptRecords('digits', RUN);
    const written = await at.store.readText(`${folder}2.json`);
    const forged = { ...(JSON.parse(written?.text ?? '') as object), attempt: 9, jobName: 'of-another' };
    at.store.put(`${folder}checkpoints/9.json`, JSON.stringify(forged));
    at.lose();
    await reconcile(at, { sweep: true });
    expect((await at.attempts.list(RUN)).map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('lets a waiting execution hear of the end', async () => {
    await twoAttempts();
    at.executions.wait(`${RUN}-x1`, 'token-2');
    at.pass(60);
    at.lose();
    await reconcile(at, { sweep: true });
    await reconcile(at, { sweep: false });
    expect(at.executions.answers.get('token-2')).toEqual({ attempt: 2, outcome: 'completed' });
  });

  it('keeps batch, deadline and declaration of the close', async () => {
    await close();
    const { declaration, closedAt } = (await at.runs.get(RUN)) ?? {};
    at.lose();
    at.declare('name: [broken');
    await reconcile(at, { sweep: true });
    expect(await at.runs.get(RUN)).toMatchObject({ declaration, closedAt, status: 'packing' });
    expect(await at.pipelines.get('digits')).toMatchObject({ openBatch: 2, closedAt });
  });

  it('takes new arrivals with the next batch', async () => {
    await twoAttempts();
    at.lose();
    at.drop('new.png');
    const event = created(`${bucketKeys.incoming('digits')}new.png`, at.clock.now());
    await takeArrivals(at, [message(event)]);
    expect([...at.executions.started.keys()]).toEqual([`${RUN}-x1`, `${NEXT}-x1`]);
    expect(await at.runs.get(NEXT)).toMatchObject({ status: 'settling' });
  });

  it('starts no run where nothing arrived meanwhile', async () => {
    await close();
    at.lose();
    expect((await reconcile(at, { sweep: true })).woken).toEqual([]);
    expect(await at.runs.get(NEXT)).toBeUndefined();
  });

  it('is noticed in five minutes, with an alarm', async () => {
    await twoAttempts();
    at.lose();
    at.store.put('pipelines/README.md', 'notes of a team');
    at.clock.advance(301);
    const pass = await reconcile(at, { sweep: false });
    expect(pass.failures).toEqual(['digits: the table has lost it, and it is restored']);
    expect(await at.runs.listOpen()).toMatchObject([{ runId: RUN }]);
    expect((await reconcile(at, { sweep: false })).failures).toEqual([]);
  });

  it('stops no repair where it cannot be seen', async () => {
    await close();
    at.executions.end(`${RUN}-x1`);
    const list = () => Promise.reject(new Error('DynamoDB is away'));
    const pass = await reconcile({ ...at, pipelines: { ...at.pipelines, list } }, { sweep: false });
    expect(pass).toMatchObject({
      resumed: [RUN],
      failures: ['lost pipelines are not looked for: DynamoDB is away'],
    });
  });

  it('continues behind a run that has a report', async () => {
    await close();
    await reportRun(at, RUN, { kind: 'failed', reason: 'tried' });
    at.lose();
    await reconcile(at, { sweep: true });
    expect(await at.runs.list('digits', 9)).toMatchObject([{ status: 'failed', failure: 'tried' }]);
    expect(await at.runs.listOpen()).toEqual([]);
    expect(await at.pipelines.get('digits')).toMatchObject({ openBatch: 2 });
  });

  it('has its ended runs again, however often it dies', async () => {
    await close();
    const report = {
      ...(await reportRun(at, RUN, { kind: 'done', reason: '' })),
      costUsd: 7,
      modelUri: 's3://m',
    };
    const [all, damaged] = [60, 33];
    for (let batch = 1; batch <= all; batch += 1) {
      const runId = runIdOf('digits', batch);
      const content = batch === damaged ? '{' : JSON.stringify({ ...report, runId });
      at.store.put(bucketKeys.report('digits', runId), content);
    }
    at.lose();
    let creations = 0;
    const runs: Ground['runs'] = {
      ...at.runs,
      create: (run) => {
        creations += 1;
        return creations % 25 === 0 ? Promise.reject(new Error('died')) : at.runs.create(run);
      },
    };
    for (let pass = 0; pass < 4; pass += 1) {
      await reconcile({ ...at, runs }, { sweep: true });
      at.clock.advance(3_600 * 2 ** pass);
    }
    // The next run looks at incoming/ again.
    const restored = (await at.runs.list('digits', 99)).filter(({ batch }) => batch <= all);
    expect(restored).toHaveLength(all);
    expect(restored.filter(({ result }) => result?.costUsd === 7)).toHaveLength(all - 1);
    expect(restored[all - damaged]).toMatchObject({
      status: 'failed',
      failure: expect.stringContaining('no report of it') as unknown,
    });
  });
});

describe('a table restored to a time before the close', () => {
  const restore = async () => {
    await close();
    const { seen, closedAt } = (await at.pipelines.get('digits')) ?? {};
    at.lose();
    await at.pipelines.ensure('digits', { firstBatch: 1, at: at.clock.now().toISOString() });
    at.drop('new.png');
    return { openBatch: 2, seen, closedAt };
  };

  it('closes the batch as it was closed', async () => {
    const expected = await restore();
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    expect(await settleRun(at, { runId: RUN })).toMatchObject({ kind: 'settled' });
    expect(await at.pipelines.get('digits')).toMatchObject(expected);
  });

  it('is completed by the sweep', async () => {
    const expected = await restore();
    at.clock.advance(2 * 3_600);
    expect((await reconcile(at, { sweep: true })).woken).toEqual([NEXT]);
    expect(await at.pipelines.get('digits')).toMatchObject(expected);
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'packing' });
  });
});

describe('a job older than its attempt’s record', () => {
  it('is not taken for its own', async () => {
    await close();
    await launch(1);
    at.pass(100);
    at.lose();
    for (const key of at.store.keys('digits/runs/')) at.store.remove(key);
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    const run = await at.runs.get(RUN);
    if (run === undefined) throw new Error('no run');
    await settleRun(at, { runId: RUN });
    at.pass(600);
    await settleRun(at, { runId: RUN });
    await launch(1);
    const [attempt] = await at.attempts.list(RUN);
    expect(attempt?.outcome).toMatchObject({ kind: 'serviceError', billableSeconds: 0 });
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
  });
});
