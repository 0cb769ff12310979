/** A run that has failed or was stopped goes on from its checkpoint. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../../functions/api/answer.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { reportRun } from '../../../../functions/run/attempts/report-run.ts';
import { restoreRuns } from '../../../../functions/run/ingest/restore-runs.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { attemptOf, outcomeOf, progressOf } from '../../../support/builders/records.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
const ADA = 'arn:aws:iam::123456789012:user/ada';
let at: Ground;

beforeEach(async () => {
  at = ground();
  at.declare();
  at.drop('a.png');
  await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
});

const retry = (body: unknown = {}, runId = RUN) =>
  answer(at, {
    route: 'POST /runs/{runId}/retry',
    parameters: { runId },
    query: {},
    body: typeof body === 'string' ? body : JSON.stringify(body),
    caller: ADA,
  });
const now = () => at.clock.now().toISOString();

/** The script fails in attempt 2, behind a checkpoint of attempt 1. */
async function fail(): Promise<void> {
  at.pass(700);
  await settleRun(at, { runId: RUN });
  at.pass(700);
  expect(await settleRun(at, { runId: RUN })).toMatchObject({ kind: 'settled' });
  await at.runs.update(RUN, { status: 'training', sealedAt: now(), updatedAt: now() });
  at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(40)));
  await at.attempts.create(attemptOf(RUN, 1, { outcome: outcomeOf('interrupted'), status: 'interrupted' }));
  await at.attempts.create(attemptOf(RUN, 2, { outcome: outcomeOf('userError'), status: 'failed' }));
  at.store.put(bucketKeys.pinnedSource('digits', RUN), '{}');
  at.executions.end(`${RUN}-x1`);
  await reportRun(at, RUN, { kind: 'failed', reason: 'the training script failed' });
}

describe('the limits of a run', () => {
  const put = (body: string) =>
    answer(at, {
      route: 'PUT /runs/{runId}/limits',
      parameters: { runId: RUN },
      query: {},
      body,
      caller: ADA,
    });
  const limits = async () => (await at.runs.get(RUN))?.declaration?.limits;

  it('change while it is open', async () => {
    expect(await put('{"budgetUsd":9}')).toMatchObject({ status: 409 });
    await fail();
    expect(await put('{"budgetUsd":9}')).toMatchObject({ status: 409 });
    await retry();
    for (let turn = 0; turn < 2; turn += 1)
      expect(await put('{"budgetUsd":9,"deadlineHours":72}')).toMatchObject({
        status: 200,
        body: { limits: { budgetUsd: 9, deadlineHours: 72 } },
      });
    expect(await limits()).toMatchObject({ budgetUsd: 9, deadlineHours: 72 });
    const entries = (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'LimitsChanged');
    expect(entries.map(({ text }) => text)).toEqual([
      `limits are now deadlineHours 72, budgetUsd 9, as ${ADA} asked`,
    ]);
    at.lose();
    await restoreRuns(at, 'digits');
    expect(await limits()).toMatchObject({ budgetUsd: 9 });
  });

  it('stay as they were after wrong ones', async () => {
    await fail();
    await retry();
    const before = await limits();
    expect(await put('{"budgetUsd":-1,"colour":"red"}')).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'limits.budgetUsd' }, { path: 'limits' }] },
    });
    for (const hostile of ['{}, "training": {}', '{"training":{"source":"s3://other/"}}', '[]', '7'])
      expect(await put(hostile)).toMatchObject({ status: 400 });
    expect(await limits()).toEqual(before);
  });
});

describe('a retry', () => {
  it('goes on in the next execution', async () => {
    await fail();
    expect(await retry()).toMatchObject({
      status: 202,
      body: { runId: RUN, status: 'placing', retry: { number: 1, attempts: 2, requestedBy: ADA } },
    });
    expect([...at.executions.started.keys()]).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
    expect(await settleRun(at, { runId: RUN })).toEqual({ kind: 'packed', draws: false });
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
    const entry = (await at.timeline.list(RUN)).find(({ kind }) => kind === 'RetryRequested');
    expect(entry?.text).toBe(`retry requested by ${ADA}`);
  });

  it('judges only its own attempts', async () => {
    await fail();
    await retry();
    await at.attempts.create(attemptOf(RUN, 3, { outcome: outcomeOf('interrupted'), status: 'interrupted' }));
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
    await at.attempts.create(attemptOf(RUN, 4, { outcome: outcomeOf('completed'), status: 'done' }));
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'done' });
    const report = await reportRun(at, RUN, { kind: 'done', reason: 'training completed' });
    expect(report).toMatchObject({ status: 'succeeded', retry: { number: 1 } });
    expect(report.attempts).toHaveLength(4);
    const ends = at.notifier.notices
      .map(({ notice }) => notice.type)
      .filter((type) => type.startsWith('Run'));
    expect(ends).toEqual(['RunFailed', 'RunFinished']);
  });

  it('trains with the source as it is now', async () => {
    await fail();
    await retry({ source: 'pinned' });
    expect(at.store.keys(bucketKeys.pinnedSource('digits', RUN))).toHaveLength(1);
    await reportRun(at, RUN, { kind: 'failed', reason: 'again' });
    await retry();
    expect(at.store.keys(bucketKeys.pinnedSource('digits', RUN))).toEqual([]);
    expect(await at.runs.get(RUN)).toMatchObject({ retry: { number: 2 }, execution: 3 });
  });

  it('takes the same changes twice', async () => {
    await fail();
    const change = { limits: { budgetUsd: 9 }, training: { hyperparameters: { lr: 0.1 } } };
    const first = await retry(change);
    expect(first).toMatchObject({ status: 202 });
    expect(await retry(change)).toEqual(first);
  });

  it('changes fields of the declaration', async () => {
    await fail();
    const body = '{"training":{"hyperparameters":{"lr":0.0,"epochs":3}},"limits":{"deadlineHours":48}}';
    expect(await retry(body)).toMatchObject({ status: 202 });
    const { declaration } = (await at.runs.get(RUN)) ?? {};
    expect(declaration?.training.strategy).toBe('ddp');
    expect(declaration?.limits.deadlineHours).toBe(48);
    expect(JSON.stringify(declaration?.training.hyperparameters)).toContain('0.0');
    const entry = (await at.timeline.list(RUN)).find(({ kind }) => kind === 'RetryRequested');
    expect(entry?.text).toContain(
      'with another training.hyperparameters.lr, training.hyperparameters.epochs, limits.deadlineHours',
    );
  });

  it('with wrong changes names each of them', async () => {
    await fail();
    const wrong = { packing: { shuffle: false }, limits: { budgetUsd: -1 }, compute: { nodes: 0 } };
    const { status, body } = await retry(wrong);
    expect(status).toBe(400);
    const { problems } = body as { problems: { path: string }[] };
    expect(problems.map(({ path }) => path).sort()).toEqual(['compute.nodes', 'limits.budgetUsd', 'packing']);
    expect(await retry({ source: 'old' })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'source' }] },
    });
    expect(await retry('[1')).toMatchObject({ status: 400 });
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'failed', execution: 1 });
  });

  it('can be stopped like the first try', async () => {
    await fail();
    const stop = () =>
      answer(at, {
        route: 'POST /runs/{runId}/stop',
        parameters: { runId: RUN },
        query: {},
        body: '',
        caller: ADA,
      });
    for (const execution of [2, 4]) {
      await retry();
      expect(await stop()).toMatchObject({ status: 202, body: { stop: { execution } } });
      expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'stopped' });
      await reportRun(at, RUN, { kind: 'stopped', reason: 'stopped' });
    }
    const kinds = (await at.timeline.list(RUN)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'StopRequested')).toHaveLength(2);
    expect(kinds.filter((kind) => kind === 'RunStopped')).toHaveLength(2);
  });

  it('repeated opens the run once', async () => {
    await fail();
    const [first, second] = [await retry(), await retry()];
    expect(second).toEqual(first);
    const other = await retry({ limits: { deadlineHours: 99 } });
    expect(other).toMatchObject({ status: 409 });
    expect([...at.executions.started.keys()]).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
  });

  it('is refused with what to do instead', async () => {
    expect(await retry()).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('stop it first') as string },
    });
    await reportRun(at, RUN, { kind: 'failed', reason: 'the declaration is not valid' });
    expect(await retry()).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('POST /pipelines/digits/runs') as string },
    });
    expect(await retry({}, 'digits-000009')).toMatchObject({ status: 404 });
  });

  it('survives the loss of the table', async () => {
    await fail();
    await retry();
    at.lose();
    await restoreRuns(at, 'digits');
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'placing', retry: { number: 1, attempts: 2 } });
    expect(await settleRun(at, { runId: RUN })).toEqual({ kind: 'packed', draws: false });
  });

  it('survives it beside a damaged report', async () => {
    await fail();
    await retry();
    at.lose();
    at.store.put(bucketKeys.report('digits', RUN), '{"runId": "dig');
    await restoreRuns(at, 'digits');
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'placing', retry: { number: 1 } });
  });

  it('has a deadline of its own', async () => {
    await fail();
    at.pass(7 * 86_400);
    await retry({ limits: { deadlineHours: 2 } });
    await at.attempts.create(attemptOf(RUN, 3, { outcome: outcomeOf('completed'), status: 'done' }));
    const report = await reportRun(at, RUN, { kind: 'done', reason: 'training completed' });
    expect(report.deadline.met).toBe(true);
  });
});
