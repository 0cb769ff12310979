/** The template keeps the launchers' contract, so that a launcher that is copied from it begins with a green suite. */
import { describe, expect, it } from 'vitest';
import { jobDocumentSchema } from '../../../functions/launch/job/job-document.ts';
import { outcomeOf } from '../../../functions/launch/job/outcome.ts';
import { declaration, launch } from '../../support/builders/launch.ts';
import { launcherContract } from '../../support/contracts/launcher.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryJobQueue } from '../../support/fakes/job-queue.ts';
import { jobQueue } from '../../support/launcher-template/template-facts.ts';
import {
  makeTemplateLauncher,
  makeTemplateStarter,
} from '../../support/launcher-template/template-launcher.ts';

const QUEUE = 'arn:aws:batch:us-east-1:123456789012:job-queue/training';

function ground() {
  const clock = fakeClock();
  let createError: 'capacity' | 'quota' | undefined;
  const queue = memoryJobQueue(clock, () => createError && { kind: createError, message: 'not now' });
  return {
    queue,
    launcher: makeTemplateLauncher(queue),
    starter: makeTemplateStarter(queue, QUEUE),
    input: (attempt: number) => launch({ attempt }),
    write: () => Promise.resolve(),
    finish: (jobName: string) => Promise.resolve(queue.finish(jobName)),
    pass: () => Promise.resolve(clock.advance(60)),
    failNext: (kind: 'capacity' | 'quota') => {
      createError = kind;
    },
  };
}

launcherContract('the template', { hosts: false, leftovers: false, capacityErrors: true }, () =>
  Promise.resolve(ground()),
);

describe('the template', () => {
  it('submits what the placement chose', async () => {
    const { starter, queue, input } = ground();
    const prepared = starter.prepare(input(1));
    if (prepared.kind === 'problems') throw new Error(JSON.stringify(prepared.problems));
    await prepared.start();
    const [request] = queue.requests.values();
    expect(request).toMatchObject({
      queue: QUEUE,
      nodes: 2,
      instanceType: 'g5.xlarge',
      maximumSeconds: 3_600,
    });
    const key = prepared.objects.at(-1)?.key ?? '';
    expect(request?.environment).toEqual({
      TIDEWHEEL_JOB_URI: `s3://tw-data/${key}`,
      TIDEWHEEL_HOSTS_URI: `s3://tw-data/${key.replace('job.json', 'hosts/')}`,
    });
    expect(request?.command.at(-1)).toContain(
      "aws s3 cp --only-show-errors --recursive 's3://tw-data/agent/",
    );
    expect(jobDocumentSchema.parse(JSON.parse(prepared.objects.at(-1)?.text ?? ''))).toMatchObject({
      nodes: 2,
      instanceType: 'ml.g5.xlarge',
    });
  });

  it('distinguishes a lost host from a failed script', async () => {
    const { starter, launcher, queue, input, pass } = ground();
    const prepared = starter.prepare(input(1));
    if (prepared.kind === 'problems') throw new Error(JSON.stringify(prepared.problems));
    await prepared.start();
    const [jobName = ''] = queue.requests.keys();
    await pass();
    queue.loseHost(jobName);
    const job = await launcher.describe({ jobName });
    expect(job && outcomeOf(job)).toMatchObject({ kind: 'interrupted', trainingSeconds: 30 });
  });

  it('says what it cannot start, and what it bills', () => {
    const { compute } = declaration();
    const topology = { instanceType: 'g5.xlarge', nodes: 2 };
    const requested = { compute, topology, region: 'us-east-1', isElsewhere: false };
    expect(jobQueue.infeasible({ ...requested, purchaseOption: 'spot' })).toContain('do not run on Spot');
    expect(jobQueue.infeasible({ ...requested, purchaseOption: 'on-demand' })).toBeUndefined();
    const listed = { instanceType: 'g5.xlarge', trainingUsd: 1.4, trainingNote: '', isSpotOfSnapshot: false };
    expect(jobQueue.bills({ ...listed, ec2Usd: 1, ec2SpotUsd: 0.4 }, 'spot')).toMatchObject({
      hourlyUsd: 0.4,
      onDemandHourlyUsd: 1,
    });
    expect(jobQueue.bills(listed, 'spot')).toEqual({ unknown: 'no EC2 price of g5.xlarge is known' });
  });
});
