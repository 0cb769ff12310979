/** An attempt on EC2 from its launch to its end, and what EC2's events about its hosts make of it. */

import { beforeEach, describe, expect, it } from 'vitest';
import type { Launcher, Launchers } from '../../../../functions/launch/launcher.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { observeAttempt } from '../../../../functions/run/attempts/observe-attempt.ts';
import { reconcile } from '../../../../functions/run/attempts/reconcile.ts';
import { takeSpotWarnings } from '../../../../functions/run/attempts/take-events.ts';
import { declarationOf, launchOf, placementOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { type Ground, ground, message } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
const compute = {
  instanceTypes: ['g5.xlarge'],
  nodes: 2,
  launcher: 'ec2',
  ec2: { image: 'ami-0123456789abcdef0' },
  vpc: { securityGroupIds: ['sg-01234567'], subnets: [{ id: 'subnet-01234567', zoneId: 'use1-az4' }] },
};
const WARNING = 'EC2 Spot Instance Interruption Warning';
let at: Ground;

const hosts = async () => [...(await at.fleets.jobsOf(ids)).keys()];
const ids = ['i-000000000000', 'i-000000000001', 'i-000000010000'];
const [FIRST = '', SECOND = ''] = ids;
const event = (type: string, instanceId: string) =>
  message(
    JSON.stringify({ 'detail-type': type, detail: { 'instance-id': instanceId, state: 'terminated' } }),
  );
const attempt = async (number = 1) => {
  const found = await at.attempts.get(RUN, number);
  if (found === undefined) throw new Error('no attempt');
  return found;
};

/** With a launcher on EC2 that is different in this. */
const on = (change: Partial<Launcher>): Launchers => ({
  ...at.launchers,
  ec2: { ...at.launchers.ec2, ...change },
});

async function launch(): Promise<void> {
  const deps = {
    ...at,
    region: 'us-east-1',
    publishAgent: () => Promise.resolve('agent/0a1b/'),
  };
  await launchAttempt(deps, { runId: RUN, attempt: 1, taskToken: 'token-1' });
}

beforeEach(async () => {
  at = ground(undefined, () => [
    { at: 60, act: (fleet) => fleet.instanceIds.forEach((id) => fleet.say(id, {})) },
  ]);
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), {
    at: now,
    declaration: declarationOf('digits', { compute }),
  });
  const pool = { ...placementOf().pool, launcher: 'ec2' as const };
  await at.placements.put(RUN, 1, launchOf({ pool }));
  await sealGeneration(at.store, RUN);
  at.executions.wait('x', 'token-1');
  await launch();
  at.pass(100);
});

describe('a launch on EC2', () => {
  it('makes one fleet and no training job', async () => {
    await launch();
    expect([at.fleets.jobs.size, at.training.jobs.size]).toEqual([1, 0]);
    expect(await attempt()).toMatchObject({ launcher: 'ec2', status: 'running' });
  });

  it('leaves the interval and the reason of its input', async () => {
    const [document] = at.fleets.jobs.values();
    expect(document?.HyperParameters['tidewheel_checkpoint_seconds']).toBe('537');
    const texts = (await at.timeline.list(RUN)).map(({ text }) => text);
    expect(texts.find((text) => text.includes('on EC2'))).toContain('hosts on EC2 download their shards');
  });
});

const NO_MORE = { kind: 'capacity', message: 'no more' } as const;

describe('a warning', () => {
  it('keeps the remaining hosts and replaces the lost one', async () => {
    const { failed, notes } = await takeSpotWarnings(at, [event(WARNING, FIRST)]);
    expect({ failed, notes }).toEqual({ failed: [], notes: [`${(await attempt()).jobName}: refilling`] });
    expect(await at.fleets.describe((await attempt()).jobName)).toMatchObject({
      TrainingJobStatus: 'InProgress',
      SecondaryStatus: 'Restarting',
    });
    // The members are named when the lost one has gone: what it saves last is in the bucket then.
    const [fleet] = at.fleets.jobs.keys();
    at.fleets.end(fleet ?? '', FIRST);
    await takeSpotWarnings(at, [event('EC2 Instance State-change Notification', FIRST)]);
    const job = await at.fleets.describe((await attempt()).jobName);
    expect(job).toMatchObject({ TrainingJobStatus: 'InProgress', SecondaryStatus: 'Training' });
    expect(await attempt()).toMatchObject({ status: 'running' });
    expect((await attempt()).outcome).toBeUndefined();
    const entries = (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'HostsReplaced');
    expect(entries.map(({ text }) => text)).toEqual([
      `attempt 1: lost ${FIRST}; 1 of its hosts stay, 1 are replaced in the same zone (round 2)`,
    ]);
  });

  it('replaces a host once, however often it is said', async () => {
    const warnings = [FIRST, FIRST].map((id) => event(WARNING, id));
    await takeSpotWarnings(at, warnings);
    await reconcile(at, { sweep: true });
    await takeSpotWarnings(at, warnings);
    expect(at.fleets.hostsOf((await attempt()).jobName)).toHaveLength(3);
  });

  it('makes the gang save when no capacity is left', async () => {
    at.failCreates(NO_MORE);
    const { failed } = await takeSpotWarnings(at, [event(WARNING, FIRST)]);
    expect(failed).toEqual([]);
    expect(await at.fleets.describe((await attempt()).jobName)).toMatchObject({
      TrainingJobStatus: 'Stopping',
    });
    at.pass(40);
    await takeSpotWarnings(at, [event('EC2 Instance State-change Notification', FIRST)]);
    expect(await attempt()).toMatchObject({ status: 'interrupted', outcome: { kind: 'interrupted' } });
    expect(at.executions.answers.get('token-1')).toEqual({ attempt: 1, outcome: 'interrupted' });
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
    expect(await at.fleets.listLeftovers()).toEqual([]);
  });

  it('has one effect for repeats and several hosts', async () => {
    at.failCreates(NO_MORE);
    const warnings = [FIRST, SECOND, FIRST].map((id) => event(WARNING, id));
    await takeSpotWarnings(at, warnings);
    await takeSpotWarnings(at, warnings);
    const entries = (await at.timeline.list(RUN)).filter(({ id }) => id.startsWith('recalled'));
    expect(entries.map(({ text }) => text)).toEqual([
      `attempt 1 got a request to save and stop: EC2 reclaims ${FIRST}, and capacity`,
    ]);
  });

  it('is retried when the hosts were out of reach', async () => {
    at.failCreates(NO_MORE);
    const launchers = on({ stop: () => Promise.reject(new Error('the bucket is away')) });
    const warning = event(WARNING, FIRST);
    const { failed } = await takeSpotWarnings({ ...at, launchers }, [warning]);
    expect(failed).toEqual([{ messageId: warning.messageId, reason: 'the bucket is away' }]);
    await takeSpotWarnings(at, [warning]);
    at.pass(40);
    expect(await observeAttempt(at, await attempt())).toMatchObject({
      kind: 'ended',
      attempt: { status: 'interrupted' },
    });
  });

  it('is retried whole when EC2 cannot answer', async () => {
    const { hosts } = at.launchers.ec2;
    const jobsOf = () => Promise.reject(new Error('slow down'));
    const launchers = on({ hosts: hosts && { ...hosts, jobsOf } });
    const { failed } = await takeSpotWarnings({ ...at, launchers }, [event(WARNING, FIRST)]);
    expect(failed).toHaveLength(1);
    expect((await attempt()).recall).toBeUndefined();
  });
});

describe('a recommendation', () => {
  it('requests a checkpoint, is recorded and stops nothing', async () => {
    await takeSpotWarnings(at, [event('EC2 Instance Rebalance Recommendation', SECOND)]);
    expect((await attempt()).recall).toBeUndefined();
    expect((await at.timeline.list(RUN)).map(({ kind }) => kind)).toContain('RebalanceRecommended');
    expect(at.fleets.checkpointRequestsOf((await attempt()).jobName)).toEqual([SECOND]);
  });
});

describe('a message that is no event about an instance', () => {
  it.each([
    'rubbish',
    '{}',
    '7',
    JSON.stringify({ 'detail-type': WARNING, detail: { 'instance-id': 'i-zz' } }),
  ])('fails alone, such as %s', async (body) => {
    const broken = message(body);
    const { failed, notes } = await takeSpotWarnings(at, [broken, event(WARNING, FIRST)]);
    expect(failed).toEqual([
      { messageId: broken.messageId, reason: 'the message is no event about an EC2 instance' },
    ]);
    expect(notes).toEqual([`${(await attempt()).jobName}: refilling`]);
  });
});

describe('an event about an instance of others', () => {
  it('changes nothing', async () => {
    const { failed, notes } = await takeSpotWarnings(at, [event(WARNING, 'i-00000000ffff')]);
    expect(failed).toEqual([]);
    expect(notes).toEqual(['ignored: i-00000000ffff is not a host of this installation']);
    expect((await attempt()).recall).toBeUndefined();
  });
});

describe('a sweep', () => {
  it('removes leftovers after a clean-up that failed', async () => {
    at.failCreates(NO_MORE);
    const { leftovers } = at.launchers.ec2;
    const release = () => Promise.reject(new Error('UnauthorizedOperation'));
    const launchers = on({ leftovers: leftovers && { ...leftovers, release } });
    await takeSpotWarnings(at, [event(WARNING, FIRST)]);
    at.pass(40);
    await observeAttempt({ ...at, launchers }, await attempt());
    expect(await at.fleets.listLeftovers()).toHaveLength(1);
    await reconcile(at, { sweep: false });
    expect(await at.fleets.listLeftovers()).toHaveLength(1);
    await reconcile(at, { sweep: true });
    expect(await at.fleets.listLeftovers()).toEqual([]);
  });

  it('leaves a fleet alone that still trains', async () => {
    await reconcile(at, { sweep: true });
    expect(await hosts()).toHaveLength(2);
    expect(at.fleets.running()).toHaveLength(1);
  });
});
