/** What a stop means in every state of a run: the rows of the table in docs/steering.md. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../../functions/api/answer.ts';
import type { RunStatus } from '../../../../functions/records/run-records.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { reconcile } from '../../../../functions/run/attempts/reconcile.ts';
import { reportRun } from '../../../../functions/run/attempts/report-run.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { launchersOver } from '../../../support/builders/launchers.ts';
import { launchOf, placementOf, progressOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
const ADA = 'arn:aws:iam::123456789012:user/ada';
const BOTH = `
name: digits
settle: { quietSeconds: 60, maximumWaitSeconds: 600 }
training: { strategy: ddp }
compute:
  instanceTypes: [g5.xlarge]
  nodes: 2
  launcher: cheapest
  ec2: { image: ami-0123456789abcdef0 }
  vpc: { securityGroupIds: [sg-01234567], subnets: [{ id: subnet-01234567, zoneId: use1-az4 }] }
`;
let at: Ground;

beforeEach(async () => {
  at = ground();
  at.declare(BOTH);
  at.drop('a.png');
  await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
});

const stop = (body = '', runId = RUN) =>
  answer(at, { route: 'POST /runs/{runId}/stop', parameters: { runId }, query: {}, body, caller: ADA });
const retry = () =>
  answer(at, {
    route: 'POST /runs/{runId}/retry',
    parameters: { runId: RUN },
    query: {},
    body: '{ "source": "pinned" }',
    caller: ADA,
  });
const executions = () => [...at.executions.started.keys()];
const kinds = async () => (await at.timeline.list(RUN)).map(({ kind }) => kind);
const now = () => at.clock.now().toISOString();

/** Settles, and seals what arrived. */
async function pack(status: RunStatus = 'placing'): Promise<void> {
  at.pass(700);
  await settleRun(at, { runId: RUN });
  at.pass(700);
  expect(await settleRun(at, { runId: RUN })).toMatchObject({ kind: 'settled' });
  await sealGeneration(at.store, RUN);
  await at.runs.update(RUN, { status, updatedAt: now() });
}

const launching = () => ({ ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') });
async function launch(launcher: 'sagemaker' | 'ec2' = 'sagemaker'): Promise<string> {
  const { pool } = placementOf();
  await at.placements.put(RUN, 1, launchOf({ pool: { ...pool, launcher } }));
  at.executions.wait(`${RUN}-x1`, 'token');
  return (await launchAttempt(launching(), { runId: RUN, attempt: 1, taskToken: 'token' })).jobName;
}

/** The execution that follows the stop. */
async function conclude() {
  expect(await settleRun(at, { runId: RUN })).toEqual({ kind: 'stopped' });
  let judged = await judgeRun(at, { runId: RUN });
  for (let turn = 0; judged.kind === 'wait' && turn < 20; turn += 1) {
    at.pass(judged.seconds);
    judged = await judgeRun(at, { runId: RUN });
  }
  expect(judged).toMatchObject({ kind: 'stopped' });
  return reportRun(at, RUN, { kind: 'stopped', reason: 'reason' in judged ? judged.reason : '' });
}

describe('a stop', () => {
  it('of a settling run packs nothing', async () => {
    expect(await stop()).toMatchObject({
      status: 202,
      body: { runId: RUN, status: 'settling', stop: { mode: 'afterSave', requestedBy: ADA } },
    });
    expect(executions()).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
    expect(await at.executions.status(`${RUN}-x1`)).toBe('ended');
    expect(await conclude()).toMatchObject({ status: 'stopped', costUsd: 0, attempts: [] });
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'stopped' });
    expect(await kinds()).toEqual(['StopRequested', 'Resumed', 'RunStopped']);
    expect(at.notifier.notices.at(-1)?.notice).toEqual({ type: 'RunStopped', requestedBy: ADA, costUsd: 0 });
  });

  it('leaves unpacked arrivals to the next run', async () => {
    await stop();
    await conclude();
    at.pass(100);
    at.drop('b.png');
    const woken = await wakeRun(at, { pipeline: 'digits', trigger: 'arrival', eventTime: at.clock.now() });
    expect(woken).toEqual({ kind: 'started', runId: 'digits-000002' });
    at.pass(700);
    await settleRun(at, { runId: 'digits-000002' });
    at.pass(700);
    expect(await settleRun(at, { runId: 'digits-000002' })).toMatchObject({ kind: 'settled' });
    const settled = (await at.timeline.list('digits-000002')).find(({ kind }) => kind === 'Settled');
    expect(settled?.text).toContain('2 objects');
  });

  it('of a packing run waits for its seal', async () => {
    await pack('packing');
    expect(await stop()).toMatchObject({ status: 202, body: { status: 'packing' } });
    expect(executions()).toEqual([`${RUN}-x1`]);
    expect(await settleRun(at, { runId: RUN })).toMatchObject({ kind: 'settled' });
    expect(await judgeRun(at, { runId: RUN })).toEqual({ kind: 'stopped', reason: `stopped by ${ADA}` });
  });

  it('of a run without capacity ends its wait', async () => {
    await pack();
    await stop();
    expect(await at.executions.status(`${RUN}-x1`)).toBe('ended');
    expect(await conclude()).toMatchObject({ status: 'stopped', generations: [] });
  });

  it('before the job exists launches nothing', async () => {
    await pack();
    await stop();
    await launch();
    expect(at.training.jobs.size).toBe(0);
    expect(await at.attempts.list(RUN)).toEqual([]);
    expect(await conclude()).toMatchObject({ status: 'stopped', attempts: [] });
  });

  it('beside the creation of the job stops it', async () => {
    await pack();
    const training = {
      ...at.training,
      create: async (request: Parameters<typeof at.training.create>[0]) => {
        const created = await at.training.create(request);
        await at.runs.requestStop(RUN, { mode: 'now', requestedBy: ADA, at: now() });
        return created;
      },
    };
    const deps = { ...launching(), ...launchersOver({ ...at, training }) };
    await at.placements.put(RUN, 1, launchOf());
    await launchAttempt(deps, { runId: RUN, attempt: 1, taskToken: 'token' });
    const [jobName = ''] = at.training.jobs.keys();
    expect(await at.training.describe(jobName)).toMatchObject({ TrainingJobStatus: 'Stopping' });
  });

  it.each(['sagemaker', 'ec2'] as const)('of a training job on %s saves first', async (launcher) => {
    await pack();
    const jobName = await launch(launcher);
    at.pass(600);
    at.store.put(`digits/runs/${RUN}/checkpoints/.tidewheel/progress.json`, JSON.stringify(progressOf(40)));
    await at.attempts.update(RUN, 1, { status: 'running', updatedAt: now() });
    const answered = await stop();
    expect(answered).toMatchObject({
      status: 202,
      body: { unsaved: { seconds: expect.any(Number) as number } },
    });
    const report = await conclude();
    expect(report).toMatchObject({
      status: 'stopped',
      stop: { requestedBy: ADA },
      attempts: [{ outcome: 'recalled' }],
    });
    expect(at.training.running()).toEqual([]);
    expect(at.fleets.running()).toEqual([]);
    expect(await kinds()).toContain('AttemptRecalled');
    expect(report.timeline.find(({ kind }) => kind === 'AttemptRecalled')?.text).toBe(
      `attempt 1 was stopped by ${ADA}`,
    );
    expect(jobName).toContain(RUN);
  });

  it('now ends hosts on EC2 at once', async () => {
    await pack();
    await launch('ec2');
    at.pass(600);
    await stop('{ "mode": "afterSave" }');
    await judgeRun(at, { runId: RUN });
    expect(at.fleets.running()).toHaveLength(1);
    await stop('{ "mode": "now" }');
    await judgeRun(at, { runId: RUN });
    expect(at.fleets.running()).toEqual([]);
    expect(await kinds()).toContain('StopRequested');
    expect((await at.runs.get(RUN))?.stop).toMatchObject({ mode: 'now', execution: 1 });
  });

  it('repeated changes nothing', async () => {
    await pack();
    const first = await stop();
    at.pass(60);
    expect(await stop()).toEqual(first);
    expect(executions()).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
    await conclude();
    expect(await stop()).toMatchObject({ status: 202, body: { status: 'stopped' } });
  });

  it('is taken up by reconcile where the API died', async () => {
    await pack();
    await at.runs.requestStop(RUN, { mode: 'afterSave', requestedBy: ADA, at: now() });
    await reconcile(at, { sweep: false });
    expect(executions()).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
    await reconcile(at, { sweep: false });
    expect(executions()).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
  });

  it('of an ended run says so', async () => {
    await reportRun(at, RUN, { kind: 'failed', reason: 'no' });
    expect(await stop()).toEqual({
      status: 409,
      body: { message: `${RUN} has ended (failed): there is nothing to stop` },
    });
    expect(await stop('', 'digits-000009')).toMatchObject({ status: 404 });
  });

  it('with wrong fields names each of them', async () => {
    expect(await stop('{ "mode": "soon", "by": 1 }')).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'mode' }, { path: '' }] },
    });
    expect(await stop('{')).toMatchObject({ status: 400 });
    expect(executions()).toEqual([`${RUN}-x1`]);
  });
});

/** The last column of the table: a pause is a stop and a retry. */
describe('a retry after a stop', () => {
  /** What the execution of the retry does first. */
  async function goesOn() {
    expect(await retry()).toMatchObject({ status: 202, body: { status: 'placing', retry: { number: 1 } } });
    expect(await settleRun(at, { runId: RUN })).toEqual({ kind: 'packed', draws: false });
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
    expect(await kinds()).toContain('RetryRequested');
  }

  it('of a settling run is a new run', async () => {
    await stop();
    await conclude();
    expect(await retry()).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('which packs the same arrivals') as string },
    });
  });

  it('of a packing run trains on what was packed', async () => {
    await pack('packing');
    await stop();
    await at.runs.update(RUN, { sealedAt: now(), updatedAt: now() });
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'stopped' });
    await reportRun(at, RUN, { kind: 'stopped', reason: '' });
    await goesOn();
  });

  it('of a run without a job places it again', async () => {
    await pack();
    await at.runs.update(RUN, { sealedAt: now(), updatedAt: now() });
    await stop();
    await launch();
    await conclude();
    await goesOn();
    expect(at.training.jobs.size).toBe(0);
  });

  it.each(['sagemaker', 'ec2'] as const)('of a training on %s resumes its checkpoint', async (launcher) => {
    await pack();
    await launch(launcher);
    at.pass(600);
    at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(40)));
    at.store.put(`${bucketKeys.checkpoints('digits', RUN)}step-40/COMPLETE.json`, '{}');
    await at.attempts.update(RUN, 1, { status: 'running', updatedAt: now() });
    await stop();
    await conclude();
    at.pass(86_400);
    await goesOn();
    expect(await retry()).toMatchObject({ body: { checkpoint: { step: 40 }, retry: { attempts: 1 } } });
  });
});
