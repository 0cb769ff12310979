/** What a look at a running attempt records of it. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { observeAttempt } from '../../../../functions/run/attempts/observe-attempt.ts';
import { declarationOf, launchOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
let at: Ground;

beforeEach(async () => {
  at = ground([
    { at: 0, status: 'InProgress', secondary: 'Pending' },
    { at: 300, status: 'InProgress', secondary: 'Training' },
  ]);
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration: declarationOf('digits') });
  const pool = { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' } as const;
  await at.placements.put(RUN, 1, launchOf({ pool }));
  await sealGeneration(at.store, RUN);
  const deps = { ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') };
  await launchAttempt(deps, { runId: RUN, attempt: 1, taskToken: 'token' });
});

const attempt = async (): Promise<AttemptRecord> => {
  const found = await at.attempts.get(RUN, 1);
  if (found === undefined) throw new Error('no attempt');
  return found;
};
const entry = async (wanted: string) => (await at.timeline.list(RUN)).find(({ kind }) => kind === wanted);

describe('an attempt that has ended', () => {
  it('keeps its outcome where the clean-up is refused', async () => {
    const { sagemaker } = at.launchers;
    const release = () => Promise.reject(new Error('UnauthorizedOperation'));
    const leftovers = { list: () => Promise.resolve([]), release };
    const describeEnd = async () => ({
      TrainingJobName: 'x',
      TrainingJobStatus: 'Completed',
      SecondaryStatus: 'Completed',
      CreationTime: at.clock.now(),
      SecondaryStatusTransitions: [],
    });
    const launchers = { ...at.launchers, sagemaker: { ...sagemaker, describe: describeEnd, leftovers } };
    expect(await observeAttempt({ ...at, launchers }, await attempt())).toMatchObject({
      kind: 'ended',
      attempt: { outcome: { kind: 'completed' } },
    });
  });
});

describe('an attempt in a reservation whose hosts AWS takes', () => {
  it.each(['reservation', undefined] as const)('is interrupted, after a recall for %s', async (cause) => {
    const until = at.clock.now().toISOString();
    const launched = await attempt();
    const placement = { ...launched.placement, reserved: { kind: 'capacity-block', until } as const };
    const recall = cause && { at: until, cause, why: 'has to leave it' };
    const lost = await at.attempts.update(RUN, 1, { updatedAt: until, placement, ...(recall && { recall }) });
    const describeEnd = async () => ({
      TrainingJobName: 'x',
      TrainingJobStatus: 'Failed' as const,
      SecondaryStatus: 'Failed',
      FailureReason: 'InternalServerError: the host is gone',
      CreationTime: at.clock.now(),
      SecondaryStatusTransitions: [],
    });
    const { sagemaker } = at.launchers;
    const launchers = { ...at.launchers, sagemaker: { ...sagemaker, describe: describeEnd } };
    expect(await observeAttempt({ ...at, launchers }, lost)).toMatchObject({
      kind: 'ended',
      attempt: {
        outcome: { kind: 'interrupted', message: expect.stringMatching(/^its reservation ended: /) },
      },
    });
  });
});

describe('a running attempt', () => {
  it('waits for capacity by that name', async () => {
    at.pass(60);
    await observeAttempt(at, await attempt());
    expect(await attempt()).toMatchObject({ status: 'waitingForCapacity' });
    expect(await entry('WaitingForCapacity')).toMatchObject({
      text: 'attempt 1 waits for capacity (Pending)',
    });
    at.pass(300);
    await observeAttempt(at, await attempt());
    expect(await attempt()).toMatchObject({ status: 'running' });
  });

  it.each([
    ['Downloading', 'Downloading the training image', 'Downloading the training image'],
    ['PreparingTrainingStack', undefined, 'PreparingTrainingStack'],
  ])('tells what goes on before its script: %s', async (secondary, message, text) => {
    const StartTime = at.clock.now();
    const described = (status: string) => ({
      TrainingJobName: 'x',
      TrainingJobStatus: 'InProgress',
      SecondaryStatus: status,
      CreationTime: StartTime,
      SecondaryStatusTransitions: [{ Status: status, StartTime, StatusMessage: message }],
    });
    const look = async (status: string) => {
      const sagemaker = { ...at.launchers.sagemaker, describe: () => Promise.resolve(described(status)) };
      await observeAttempt({ ...at, launchers: { ...at.launchers, sagemaker } }, await attempt());
      return (await attempt()).preparing;
    };
    expect(await look(secondary)).toEqual({ since: StartTime.toISOString(), text });
    expect(await look('Training')).toBeUndefined();
  });

  it('says where its output is', async () => {
    const { jobName, log } = await attempt();
    expect(log).toEqual({ group: '/aws/sagemaker/TrainingJobs', streamPrefix: `${jobName}/` });
    expect(at.notifier.notices[0]?.notice).toMatchObject({ type: 'AttemptStarted', log });
    const text = (await entry('AttemptStarted'))?.text;
    expect(text).toContain(`log: /aws/sagemaker/TrainingJobs, streams ${jobName}/`);
  });
});
