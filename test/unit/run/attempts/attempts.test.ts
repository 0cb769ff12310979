/** Launch, look, judge, report: each can be tried again after a death at any point, and none of it happens twice. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { poolOutcomeOf } from '@tidewheel/placement/market.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { type LaunchDeps, launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { observeAttempt } from '../../../../functions/run/attempts/observe-attempt.ts';
import { reconcile } from '../../../../functions/run/attempts/reconcile.ts';
import { type ReportDeps, reportRun } from '../../../../functions/run/attempts/report-run.ts';
import { takeTrainingEvents } from '../../../../functions/run/attempts/take-events.ts';
import { launchersOver } from '../../../support/builders/launchers.ts';
import {
  AT,
  declarationOf,
  launchOf,
  outcomeOf,
  progressOf,
  runOf,
  waitOf,
} from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import type { JobScript } from '../../../support/fakes/training.ts';
import { type Ground, ground, message } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
let at: Ground;
let deps: LaunchDeps & ReportDeps;

async function prepare(script?: JobScript): Promise<void> {
  at = ground(script);
  deps = {
    ...at,
    region: 'us-east-1',
    publishAgent: () => Promise.resolve('agent/0a1b/'),
  };
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration: declarationOf('digits') });
  await at.placements.put(
    RUN,
    1,
    launchOf({
      pool: { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' },
    }),
  );
  await sealGeneration(at.store, RUN);
}

const launch = (taskToken = 'token-1') => launchAttempt(deps, { runId: RUN, attempt: 1, taskToken });
const attempt = async (): Promise<AttemptRecord> => {
  const found = await at.attempts.get(RUN, 1);
  if (found === undefined) throw new Error('no attempt');
  return found;
};
const noticeTypes = () => at.notifier.notices.map(({ notice }) => notice.type);

beforeEach(() => prepare());

describe('the interval between checkpoints', () => {
  const intervalAfter = async (saveSeconds?: number) => {
    await prepare();
    const progress = progressOf(9, { checkpoint: 'step-9', ...(saveSeconds && { saveSeconds }) });
    at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progress));
    at.store.put(`${bucketKeys.checkpoints('digits', RUN)}step-9/COMPLETE.json`, '{}');
    await launch();
    const [request] = at.training.jobs.values();
    return Number(request?.HyperParameters['tidewheel_checkpoint_seconds']);
  };

  it('follows from how long saves were measured to take', async () => {
    const [unknown, short, long] = [await intervalAfter(), await intervalAfter(2.5), await intervalAfter(40)];
    expect([short / unknown, long / unknown].map((ratio) => ratio.toFixed(1))).toEqual(['0.5', '2.0']);
  });
});

describe('a stall of the checkpoints of a running attempt', () => {
  const look = () => reconcile(at, { sweep: false });

  it('is announced once per checkpoint', async () => {
    await launch();
    at.pass(1_500);
    await look();
    expect(noticeTypes()).not.toContain('CheckpointStalled');
    at.pass(4_500);
    await look();
    await look();
    expect(noticeTypes().filter((type) => type === 'CheckpointStalled')).toHaveLength(1);
    const stalls = (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'CheckpointStalled');
    expect(stalls.map(({ id, text }) => [id, text.includes('6000 s')])).toEqual([['stalled-1-0', true]]);

    const updatedAt = at.clock.now().toISOString();
    at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(9, { updatedAt })));
    at.store.put(`${bucketKeys.checkpoints('digits', RUN)}step-9/COMPLETE.json`, '{}');
    at.pass(1_000);
    await look();
    expect(noticeTypes().filter((type) => type === 'CheckpointStalled')).toHaveLength(1);
    at.pass(3_000);
    await look();
    expect(at.notifier.notices.at(-1)?.notice).toMatchObject({ type: 'CheckpointStalled', step: 9 });
  });
});

describe('a launch', () => {
  it('creates one job and answers the newest token', async () => {
    await launch('token-1');
    await launch('token-2');
    expect(at.training.jobs.size).toBe(1);
    expect(await attempt()).toMatchObject({ taskToken: 'token-2', status: 'running' });
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'training', generations: [RUN] });
  });

  it('records attempt and token before the job exists', async () => {
    let known: AttemptRecord | undefined;
    deps = {
      ...deps,
      ...launchersOver({
        ...at,
        training: {
          ...at.training,
          create: async (request) => {
            known = await at.attempts.findByJob(request.TrainingJobName);
            return at.training.create(request);
          },
        },
      }),
    };
    await launch();
    expect(known).toMatchObject({ attempt: 1, taskToken: 'token-1', status: 'starting' });
  });

  it('announces a job whose creator crashed', async () => {
    const notifier = { notify: () => Promise.reject(new Error('the process ended')) };
    await expect(
      launchAttempt({ ...deps, notifier }, { runId: RUN, attempt: 1, taskToken: 't' }),
    ).rejects.toThrow();
    expect(noticeTypes()).toEqual([]);
    await launch('token-2');
    expect(noticeTypes()).toEqual(['AttemptStarted']);
  });

  it('answers at once when the job has ended', async () => {
    await prepare([{ at: 0, status: 'Completed', secondary: 'Completed' }]);
    await launch('token-1');
    at.pass(10);
    at.executions.wait('x', 'token-2');
    await launch('token-2');
    expect(at.executions.answers.get('token-2')).toEqual({ attempt: 1, outcome: 'completed' });
  });

  it.each(['quota', 'capacity'] as const)('costs nothing when it fails for %s', async (kind) => {
    at.failCreates({ kind, message: 'the limit is 0' });
    at.executions.wait('x', 'token-1');
    await launch();
    expect(await attempt()).toMatchObject({
      status: 'interrupted',
      outcome: { kind: 'capacity', message: 'the limit is 0', billableSeconds: 0 },
    });
    expect(at.executions.answers.get('token-1')).toEqual({ attempt: 1, outcome: 'capacity' });
  });

  it('records a capacity error once despite later changes', async () => {
    at.failCreates({ kind: 'capacity', message: 'none is left' });
    await launch();
    const remember = async () => {
      const met = poolOutcomeOf(await attempt());
      if (met !== undefined) await at.poolOutcomes.put(met);
    };
    await remember();
    at.pass(600);
    await launch('token-2');
    await remember();
    expect(await at.poolOutcomes.list('g5', AT)).toHaveLength(1);
  });

  it('that is throttled may be tried again', async () => {
    at.failCreates({ kind: 'throttled', message: 'slow down' });
    await expect(launch()).rejects.toMatchObject({ name: 'TransientError' });
  });

  it.each(['invalid', 'denied'] as const)('fails for good when it is %s', async (kind) => {
    at.failCreates({ kind, message: 'never' });
    await expect(launch()).rejects.toMatchObject({ name: 'LaunchRefusedError' });
  });

  it('needs a placement that says launch', async () => {
    await at.placements.put(RUN, 1, waitOf());
    await expect(launch()).rejects.toThrow('has no placement');
  });
});

describe('a look at a job', () => {
  it('recalls it without capacity and names its end', async () => {
    await prepare([
      { at: 0, status: 'InProgress', secondary: 'Training' },
      { at: 600, status: 'InProgress', secondary: 'Interrupted' },
    ]);
    await launch();
    const before = await attempt();
    at.pass(700);
    expect(await observeAttempt(deps, before)).toEqual({ kind: 'recalled' });
    at.pass(60);
    // An old copy of the record, as an index gives it, does not know who stopped the job.
    const seen = await observeAttempt(deps, before);
    expect(seen).toMatchObject({
      kind: 'ended',
      attempt: { status: 'interrupted', outcome: { kind: 'interrupted' } },
    });
    expect(noticeTypes()).toEqual(['AttemptStarted', 'AttemptInterrupted']);
  });

  it('takes a hang for no loss of capacity', async () => {
    const reason =
      'AlgorithmError: The script hung (no host computed or printed); step 4 is safe, exit code: 143';
    await prepare([
      { at: 0, status: 'InProgress', secondary: 'Training' },
      { at: 600, status: 'Failed', secondary: 'Failed', reason },
    ]);
    await launch();
    at.pass(700);
    await observeAttempt(deps, await attempt());
    expect((await attempt()).outcome).toMatchObject({ kind: 'recalled', message: reason });
    expect(poolOutcomeOf(await attempt())).toMatchObject({ end: 'kept' });
    expect(noticeTypes()).toEqual(['AttemptStarted']);
  });

  it('keeps the outcome that was recorded first', async () => {
    await launch();
    const before = await attempt();
    const outcome = outcomeOf('capacity');
    await at.attempts.update(RUN, 1, {
      outcome,
      status: 'interrupted',
      updatedAt: at.clock.now().toISOString(),
    });
    expect(await observeAttempt(deps, before)).toMatchObject({ attempt: { outcome: { kind: 'capacity' } } });
  });

  it('ignores events of foreign jobs', async () => {
    await launch();
    const body = (TrainingJobName: unknown) => JSON.stringify({ detail: { TrainingJobName } });
    const bodies = [body('other'), body(''), body(7), 'null', '{}', body('x'.repeat(64))];
    const { failed, notes } = await takeTrainingEvents(
      deps,
      bodies.map((each) => message(each)),
    );
    expect(failed).toEqual([]);
    expect(notes.every((note) => note.startsWith('ignored'))).toBe(true);
  });

  it('leaves a message without JSON to the dead letters', async () => {
    await launch();
    const { jobName } = await attempt();
    const good = JSON.stringify({ detail: { TrainingJobName: jobName } });
    const { failed, notes } = await takeTrainingEvents(deps, [message('rubbish', 'm1'), message(good, 'm2')]);
    expect(failed.map(({ messageId }) => messageId)).toEqual(['m1']);
    expect(notes).toEqual([`${jobName}: running`]);
  });
});

describe('the judge', () => {
  it('begins with a placement', async () => {
    expect(await judgeRun(deps, { runId: RUN })).toMatchObject({ kind: 'place' });
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'placing' });
  });

  it('takes up an attempt that another execution left open', async () => {
    await launch();
    expect(await judgeRun(deps, { runId: RUN })).toEqual({
      kind: 'relaunch',
      attempt: 1,
      timeoutSeconds: 7_200 + 1_800,
    });
  });

  it('stops an overdue job and resumes from its checkpoint', async () => {
    await launch();
    at.pass(10_000);
    expect(await judgeRun(deps, { runId: RUN, timedOut: true })).toMatchObject({ kind: 'wait' });
    at.pass(60);
    at.store.put(`${bucketKeys.checkpoints('digits', RUN)}step-9/COMPLETE.json`, '{}');
    at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(9)));
    expect(await judgeRun(deps, { runId: RUN, timedOut: true })).toMatchObject({ kind: 'place' });
    expect(await attempt()).toMatchObject({
      status: 'recalled',
      outcome: { kind: 'recalled', message: expect.stringContaining('ran out of its time') },
      progressAfter: { step: 9 },
    });
  });

  it('names the budget as cause of a stop everywhere', async () => {
    await prepare();
    const declaration = declarationOf('digits', { limits: { budgetUsd: 1 } });
    await at.runs.update(RUN, { declaration, updatedAt: at.clock.now().toISOString() });
    await launch();
    at.pass(3_000);
    await reconcile(at, { sweep: false });
    at.pass(200);
    await reconcile(at, { sweep: false });
    const ended = await attempt();
    expect(ended).toMatchObject({
      status: 'recalled',
      recall: { cause: 'budget' },
      outcome: { kind: 'recalled' },
    });
    const timeline = (await at.timeline.list(RUN)).map(({ kind, text }) => `${kind}: ${text}`).join('\n');
    expect(timeline).toMatch(/AttemptRecalled: attempt 1 would pass the budget of \$1\.00/);
    expect(timeline).toMatch(
      /AttemptEnded: attempt 1: recalled \(recalled by Tidewheel: it would pass the budget/,
    );
    expect(`${timeline}\n${JSON.stringify(ended)}`).not.toMatch(/taken away|AttemptInterrupted/);
    expect(noticeTypes()).not.toContain('AttemptInterrupted');
    expect(await judgeRun(deps, { runId: RUN })).toMatchObject({
      kind: 'place',
      reason: expect.stringContaining('budget of $1.00'),
    });
  });

  it('believes no note whose checkpoint is not complete', async () => {
    await prepare([{ at: 5, status: 'Failed', secondary: 'Failed', reason: 'InternalServerError' }]);
    await launch();
    at.pass(60);
    at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(9)));
    await judgeRun(deps, { runId: RUN });
    expect((await attempt()).progressAfter).toBeUndefined();
  });
});

describe('a report', () => {
  const done = { kind: 'done', reason: 'training completed' } as const;

  it('repeats the first verdict, whatever the second is', async () => {
    const first = await reportRun(deps, RUN, { kind: 'failed', reason: 'out of luck' });
    at.clock.advance(100);
    const second = await reportRun(deps, RUN, done);
    expect(second).toEqual(first);
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'failed', failure: 'out of luck' });
    expect(noticeTypes()).toEqual(['RunFailed']);
  });

  it('stays the same after a crash before the close', async () => {
    const runs = { ...at.runs, finish: () => Promise.reject(new Error('the process ended')) };
    await expect(reportRun({ ...deps, runs }, RUN, { kind: 'failed', reason: 'first' })).rejects.toThrow();
    at.clock.advance(100);
    await reportRun(deps, RUN, done);
    expect(at.store.json(bucketKeys.report('digits', RUN))).toMatchObject({
      status: 'failed',
      failure: 'first',
    });
    expect(new Set(noticeTypes())).toEqual(new Set(['RunFailed']));
  });

  it('announces an end that its recorder could not', async () => {
    await launch();
    await at.attempts.update(RUN, 1, {
      status: 'interrupted',
      outcome: {
        kind: 'interrupted',
        message: 'AWS reclaimed the capacity',
        trainingSeconds: 60,
        billableSeconds: 24,
        interruptions: 1,
      },
      updatedAt: at.clock.now().toISOString(),
    });
    await reportRun(deps, RUN, { kind: 'failed', reason: 'not allowed' });
    expect(noticeTypes()).toEqual(['AttemptStarted', 'AttemptInterrupted', 'RunFailed']);
    expect((await at.timeline.list(RUN)).map(({ id }) => id)).toContain('ended-1');
  });

  it('stops the running job, then counts its cost', async () => {
    await launch();
    at.pass(1_000);
    await expect(reportRun(deps, RUN, { kind: 'failed', reason: 'x' })).rejects.toMatchObject({
      name: 'TransientError',
    });
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'training' });
    at.pass(60);
    const report = await reportRun(deps, RUN, { kind: 'failed', reason: 'x' });
    expect(at.training.running()).toEqual([]);
    // Stopped after 1,000 s and 30 s of grace, of which 40 % are billed, on 2 nodes at 1.50 USD.
    expect(report.costUsd).toBeCloseTo((1_030 * 0.4 * 2 * 1.5) / 3_600, 9);
  });

  it('closes an attempt whose job was never created', async () => {
    at.failCreates({ kind: 'invalid', message: 'never' });
    await expect(launch()).rejects.toThrow();
    await reportRun(deps, RUN, { kind: 'failed', reason: 'capacityError' });
    expect(await attempt()).toMatchObject({ status: 'failed', outcome: { billableSeconds: 0 } });
    expect(await at.attempts.listOpen()).toEqual([]);
  });

  it('opens the next batch after an unsettled failure', async () => {
    await at.runs.create(runOf('digits', 2));
    await reportRun(deps, 'digits-000002', { kind: 'failed', reason: 'not valid' });
    expect(await at.pipelines.get('digits')).toMatchObject({ openBatch: 3 });
  });

  it('notifies no one of a run without data', async () => {
    await reportRun(deps, RUN, { kind: 'empty', reason: 'nothing new arrived' });
    expect(noticeTypes()).toEqual([]);
    expect(await at.runs.get(RUN)).toMatchObject({ status: 'empty' });
  });
});
