/** What events and executions let fall is taken up again. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TrainingJobDescription } from '../../../../functions/launch/job/training-service.ts';
import type { Launchers } from '../../../../functions/launch/launcher.ts';
import type { StartedRun } from '../../../../functions/records/ports.ts';
import { reconcile } from '../../../../functions/run/attempts/reconcile.ts';
import { endRun } from '../../../../functions/run/attempts/report-run.ts';
import { registerPipeline } from '../../../../functions/run/ingest/register-pipeline.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { attemptOf, outcomeOf, runOf } from '../../../support/builders/records.ts';
import { DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

const MAXIMUM_UNAVAILABLE = 300;
const MAXIMUM_EXECUTIONS = 25;
let at: Ground;
const RUN = 'digits-000001';
const running = () => [...at.executions.started.keys()];

beforeEach(() => {
  at = ground();
  at.declare();
});

const started = async () => {
  await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
  at.clock.advance(60);
};

/** Each of a run of its own. */
async function openAttempts(count: number) {
  const attempts = Array.from({ length: count }, (_, index) => attemptOf(`letters-${100_001 + index}`, 1));
  for (const attempt of attempts) await at.attempts.create(attempt);
  return attempts;
}
const completed = (jobName: string) => ({
  TrainingJobName: jobName,
  TrainingJobStatus: 'Completed',
  SecondaryStatus: 'Completed',
  CreationTime: at.clock.now(),
  SecondaryStatusTransitions: [],
});
const launchersWith = (
  describe: (jobName: string) => Promise<TrainingJobDescription | undefined>,
): Launchers => ({
  ...at.launchers,
  sagemaker: { ...at.launchers.sagemaker, describe: ({ jobName }) => describe(jobName) },
});

describe('a run', () => {
  it('is left alone while its execution runs', async () => {
    await started();
    expect((await reconcile(at, { sweep: false })).resumed).toEqual([]);
    expect(running()).toEqual([`${RUN}-x1`]);
  });

  it('continues in its next execution after a lost one', async () => {
    await started();
    at.executions.end(`${RUN}-x1`);
    expect((await reconcile(at, { sweep: false })).resumed).toEqual([RUN]);
    expect(running()).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
    expect(await at.runs.get(RUN)).toMatchObject({ execution: 2 });
    expect(at.executions.started.get(`${RUN}-x2`)).toEqual({ runId: RUN, pipeline: 'digits' });
  });

  it('is started that lost its start, after a grace', async () => {
    await at.runs.create(
      runOf('digits', 1, {
        createdAt: at.clock.now().toISOString(),
        updatedAt: at.clock.now().toISOString(),
      }),
    );
    at.clock.advance(10);
    await reconcile(at, { sweep: false });
    expect(running()).toEqual([]);
    at.clock.advance(30);
    await reconcile(at, { sweep: false });
    expect(running()).toEqual([`${RUN}-x1`]);
  });

  it('takes the next name where the first is kept', async () => {
    await started();
    const kept = at.executions;
    const first = `${RUN}-x1`;
    at.executions.started.delete(first);
    const executions = {
      ...kept,
      start: (run: StartedRun) =>
        run.execution === 1 ? Promise.resolve('closed' as const) : kept.start(run),
      status: (name: string) => (name === first ? Promise.resolve(undefined) : kept.status(name)),
    };
    expect((await reconcile({ ...at, executions }, { sweep: false })).resumed).toEqual([RUN]);
    expect(running()).toEqual([`${RUN}-x2`]);
    expect(await at.runs.get(RUN)).toMatchObject({ execution: 2 });
  });

  it('is left alone when it has ended', async () => {
    await started();
    at.executions.end(`${RUN}-x1`);
    await at.runs.update(RUN, { status: 'failed', updatedAt: at.clock.now().toISOString() });
    await reconcile(at, { sweep: false });
    expect(running()).toEqual([`${RUN}-x1`]);
  });

  it('is only closed once its verdict was written', async () => {
    await started();
    await at.timeline.add(RUN, {
      id: 'finished',
      at: at.clock.now().toISOString(),
      kind: 'RunFailed',
      text: 'the training script failed',
    });
    at.executions.end(`${RUN}-x1`);
    await reconcile(at, { sweep: false });
    expect(running()).toEqual([`${RUN}-x1`]);
    expect(await at.runs.get(RUN)).toMatchObject({
      status: 'failed',
      failure: 'the training script failed',
    });
    expect(at.store.json(bucketKeys.report('digits', RUN))).toMatchObject({ status: 'failed' });
  });

  it('is given up when its executions keep dying', async () => {
    await started();
    for (let execution = 1; execution <= MAXIMUM_EXECUTIONS; execution += 1) {
      at.executions.end(`${RUN}-x${execution}`);
      at.clock.advance(300);
      await reconcile(at, { sweep: false });
    }
    expect(running()).toHaveLength(MAXIMUM_EXECUTIONS);
    expect((await at.runs.get(RUN))?.failure).toContain(`${MAXIMUM_EXECUTIONS} executions`);
    expect(await at.pipelines.get('digits')).toMatchObject({ openBatch: 2 });
  });

  it.each(['UnreadableRecordError', 'DocumentVersionError'])(
    'is held where a state met %s',
    async (Error) => {
      await started();
      const Cause = JSON.stringify({ errorMessage: 'a manifest has version 2' });
      const meet = () => endRun(at, { runId: RUN, error: { Error, Cause } });
      for (let execution = 1; execution <= MAXIMUM_EXECUTIONS + 5; execution += 1) {
        await expect(meet()).rejects.toMatchObject({ name: 'UnreadableRecordError' });
        at.executions.end(`${RUN}-x${execution}`, 'held');
        at.clock.advance(300);
        expect((await reconcile(at, { sweep: false })).resumed).toEqual([]);
        expect((await reconcile(at, { sweep: true })).resumed).toEqual([RUN]);
      }
      expect(await at.runs.get(RUN)).toMatchObject({ status: 'settling' });
      expect((await at.timeline.list(RUN)).find(({ kind }) => kind === 'RunHeld')).toMatchObject({
        text: `${Error}: a manifest has version 2. The run waits for a release that reads it, and tries once an hour`,
      });
      // An error of the release that reads it counts from one.
      at.executions.end(`${RUN}-x${MAXIMUM_EXECUTIONS + 6}`);
      expect((await reconcile(at, { sweep: false })).resumed).toEqual([RUN]);
    },
  );

  it('is stopped at once while it is held', async () => {
    await started();
    at.executions.end(`${RUN}-x1`, 'held');
    await at.runs.requestStop(RUN, { at: at.clock.now().toISOString(), requestedBy: 'ada', mode: 'now' });
    expect((await reconcile(at, { sweep: false })).resumed).toEqual([RUN]);
  });

  const throttledFor = async (executions: number) => {
    for (let execution = 1; execution <= executions; execution += 1) {
      at.executions.end(`${RUN}-x${execution}`, 'retriesExhausted');
      at.clock.advance(300);
      await reconcile(at, { sweep: false });
    }
  };

  it('is not given up for throttling within a day', async () => {
    await started();
    await throttledFor(MAXIMUM_UNAVAILABLE - 1);
    expect(running()).toHaveLength(MAXIMUM_UNAVAILABLE);
    expect((await at.runs.get(RUN))?.status).toBe('settling');
  });

  it('is given up after a day of throttling', async () => {
    await started();
    const text = 'attempt 1: EC2 cannot start it now: PendingVerification';
    const now = at.clock.now().toISOString();
    await at.timeline.add(RUN, { id: 'delayed-1', at: now, kind: 'LaunchDelayed', text });
    await throttledFor(MAXIMUM_UNAVAILABLE + 5);
    expect(running()).toHaveLength(MAXIMUM_UNAVAILABLE);
    expect(await at.runs.get(RUN)).toMatchObject({
      status: 'failed',
      failure: expect.stringMatching(new RegExp(`^300 executions .* AWS refused its calls .*${text}$`)),
    });
  });

  it('blocks no others when its attempt hangs', async () => {
    const attempts = await openAttempts(30);
    const slow = attempts.slice(0, 20).map(({ jobName }) => jobName);
    const launchers = launchersWith((jobName) =>
      slow.includes(jobName) ? new Promise(() => undefined) : Promise.resolve(completed(jobName)),
    );
    const withinLimit = (work: Promise<unknown>) =>
      Promise.race([work, new Promise((_, reject) => setImmediate(() => reject(new Error('too long'))))]);
    const done = await reconcile({ ...at, launchers, withinLimit }, { sweep: false });
    expect(done.failures.toSorted()).toEqual(slow.map((jobName) => `${jobName}: too long`).toSorted());
    for (const { runId } of attempts.slice(20))
      expect((await at.attempts.get(runId, 1))?.status).toBe('done');
  });

  it('does not block others when it fails', async () => {
    await started();
    await at.runs.create(runOf('letters', 1));
    at.executions.end(`${RUN}-x1`);
    const executions = {
      ...at.executions,
      status: (name: string) =>
        name.startsWith('digits') ? Promise.reject(new Error('throttled')) : at.executions.status(name),
    };
    const done = await reconcile({ ...at, executions }, { sweep: false });
    expect(done.failures).toEqual([`${RUN}: throttled`]);
    expect(done.resumed).toEqual(['letters-000001']);
  });
});

describe('an execution that waits for an attempt', () => {
  const TOKEN = 'token';

  beforeEach(async () => {
    await started();
    await at.runs.update(RUN, { status: 'training', updatedAt: at.clock.now().toISOString() });
    at.executions.wait(`${RUN}-x1`, TOKEN);
  });

  it('receives the end of a job without an event', async () => {
    const attempt = attemptOf(RUN, 1, { taskToken: TOKEN });
    await at.attempts.create(attempt);
    const launchers = launchersWith((jobName) => Promise.resolve(completed(jobName)));
    await reconcile({ ...at, launchers }, { sweep: false });
    expect(at.executions.answers.get(TOKEN)).toEqual({ attempt: 1, outcome: 'completed' });
  });

  it('receives the end that a crashed observer recorded', async () => {
    await at.attempts.create(attemptOf(RUN, 1, { taskToken: TOKEN }));
    await at.attempts.update(RUN, 1, {
      status: 'interrupted',
      outcome: outcomeOf('interrupted'),
      updatedAt: at.clock.now().toISOString(),
    });
    at.clock.advance(60);
    await reconcile(at, { sweep: false });
    expect(at.executions.answers.get(TOKEN)).toEqual({ attempt: 1, outcome: 'interrupted' });
    expect(at.notifier.notices.map(({ notice }) => notice.type)).toContain('AttemptInterrupted');
  });
});

describe('a sweep', () => {
  const settle = async (runId: string) => {
    at.drop('_SUCCESS', runId);
    at.clock.advance(1);
    await settleRun(at, { runId });
    await at.runs.update(runId, { status: 'succeeded', updatedAt: at.clock.now().toISOString() });
  };

  it('wakes for what came without an event', async () => {
    await started();
    await settle(RUN);
    expect((await reconcile(at, { sweep: true })).woken).toEqual([]);
    at.clock.advance(10);
    at.drop('late.png');
    expect((await reconcile(at, { sweep: true })).woken).toEqual([]);
    at.clock.advance(3_600);
    expect((await reconcile(at, { sweep: false })).woken).toEqual([]);
    expect((await reconcile(at, { sweep: true })).woken).toEqual(['digits-000002']);
  });

  it('lists idle pipelines ever more rarely', async () => {
    await started();
    await settle(RUN);
    let listings = 0;
    const list = (prefix: string) => {
      listings += prefix === bucketKeys.incoming('digits') ? 1 : 0;
      return at.store.list(prefix);
    };
    const hours = async (count: number) => {
      for (let hour = 0; hour < count; hour += 1) {
        at.clock.advance(3_600);
        await reconcile({ ...at, store: { ...at.store, list } }, { sweep: true });
      }
      return listings;
    };
    expect(await hours(24)).toBe(5);
    expect(await hours(30 * 24)).toBe(10);
    at.drop('late.png');
    await hours(30 * 24);
    expect(running()).toContain('digits-000002-x1');
  });

  it('lists large idle pipelines once a day at most', async () => {
    await started();
    await settle(RUN);
    const sweptAt = at.clock.now().toISOString();
    await at.pipelines.setSwept('digits', { sweptAt, sweptObjects: 10_000_000 });
    at.clock.advance(10);
    at.drop('late.png');
    at.clock.advance(24 * 3_600 - 11);
    expect((await reconcile(at, { sweep: true })).woken).toEqual([]);
    at.clock.advance(1);
    expect((await reconcile(at, { sweep: true })).woken).toEqual(['digits-000002']);
  });

  it('wakes for an upload dated before the close', async () => {
    await started();
    await settle(RUN);
    at.store.put(`${bucketKeys.incoming('digits')}large.bin`, 'x', new Date('2026-01-01'));
    at.clock.advance(3_600);
    expect((await reconcile(at, { sweep: true })).woken).toEqual(['digits-000002']);
  });

  it('wakes a pipeline without a record', async () => {
    at.drop('a.png');
    at.store.put('pipelines/Not A Name.yaml', '');
    expect((await reconcile(at, { sweep: true })).woken).toEqual([RUN]);
  });

  it('wakes nothing for an empty prefix', async () => {
    await started();
    await settle(RUN);
    for (const key of at.store.keys(bucketKeys.incoming('digits'))) at.store.remove(key);
    at.clock.advance(3_600);
    expect((await reconcile(at, { sweep: true })).woken).toEqual([]);
  });

  it('does not repeat a run that failed unsettled', async () => {
    at.drop('a.png');
    await started();
    await registerPipeline(at, 'digits');
    const run = await at.runs.get(RUN);
    at.clock.advance(60);
    if (run) await at.runs.closeBatch(run, { at: at.clock.now().toISOString() });
    at.clock.advance(3_600);
    expect((await reconcile(at, { sweep: true })).woken).toEqual([]);
  });

  it('registers what the bucket says', async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    await reconcile(at, { sweep: true });
    expect(await at.pipelines.list()).toMatchObject([{ name: 'digits', valid: true }]);
    expect(at.schedules.expressions.get('digits')).toBe('rate(1 day)');
    at.store.remove(bucketKeys.pipeline('digits'));
    await reconcile(at, { sweep: true });
    expect(await at.pipelines.list()).toEqual([]);
    expect(at.schedules.expressions.size).toBe(0);
  });
});
