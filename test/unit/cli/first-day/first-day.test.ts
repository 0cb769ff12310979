/** The steps stay below $5, their pipelines are valid, and a second start continues. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { describe, expect, it } from 'vitest';
import { declarationOf, playRun, removePipeline } from '../../../../cli/first-day/play-run.ts';
import { obstacleTo, playStep } from '../../../../cli/first-day/play-step.ts';
import { keepResults, markdownOf, readResults, withoutNames } from '../../../../cli/first-day/results.ts';
import type { RunFacts } from '../../../../cli/first-day/run-facts.ts';
import { type Hosts, STEPS, type TrialRun } from '../../../../cli/first-day/steps.ts';
import { quota, seen } from '../../../support/builders/account.ts';
import { firstDay, RUN_FACTS, reportBytes } from '../../../support/first-day.ts';

const HOSTS: Hosts = {
  subnetId: 'subnet-0a1b2c3d',
  zoneId: 'use1-az1',
  securityGroupId: 'sg-0a1b2c3d',
  image: 'ami-0123456789abcdef0',
};
const runs = STEPS.flatMap((step) => (step.kind === 'run' ? [step] : []));
const planOf = (number: number): TrialRun => {
  const step = runs.find((each) => each.number === number);
  if (step === undefined) throw new Error(`step ${number} is no run`);
  return step.plan;
};

describe('the plan', () => {
  it('costs less than five dollars', () => {
    expect(STEPS.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(STEPS.reduce((sum, { mostUsd }) => sum + mostUsd, 0)).toBeLessThan(5);
  });

  it.each(runs)('declares a valid pipeline for step $number', ({ number, plan, mostUsd }) => {
    const pipeline = `first-day-${number}`;
    const declared = readDeclaration(pipeline, declarationOf({ pipeline, plan, hosts: HOSTS }));
    expect(declared).toMatchObject({ valid: true, pipeline: { limits: { budgetUsd: plan.budgetUsd } } });
    expect(plan.budgetUsd).toBeLessThan(mostUsd);
    // Placement weighs no type without a price, and starts no attempt that may pass the budget.
    for (const type of declared.valid ? (declared.pipeline.compute.instanceTypes ?? []) : []) {
      const hourlyUsd = trainingPrice(type, 'us-east-1')?.hourlyUsd ?? Number.NaN;
      expect((hourlyUsd * plan.maximumRunSeconds) / 3_600).toBeLessThan(plan.budgetUsd);
    }
  });

  it('says which steps the local region cannot play', () => {
    const obstacles = STEPS.filter((step) => obstacleTo(step, { isLocal: true, hosts: HOSTS }) !== undefined);
    expect(obstacles.map(({ number }) => number)).toEqual([3, 5, 6]);
    const without = STEPS.filter(
      (step) => obstacleTo(step, { isLocal: false, hosts: undefined }) !== undefined,
    );
    expect(without.map(({ number }) => number)).toEqual([6]);
  });
});

describe('a step with a run', () => {
  const PIPELINE = 'first-day-2';
  const plan: TrialRun = { ...planOf(2), files: 30 };
  const report = bucketKeys.report(PIPELINE, `${PIPELINE}-000001`);

  it('drops its data and waits for the report', async () => {
    const { ground: at, store } = firstDay({
      onSleep: async (bucket, sleeps) => {
        if (sleeps === 3) await bucket.put(report, reportBytes());
      },
    });
    const facts = await playRun({ pipeline: PIPELINE, plan: { ...plan, files: 0 }, hosts: undefined }, at);
    expect(facts).toMatchObject({ status: 'succeeded', hasModel: true, samples: 0 });
    await removePipeline(store, PIPELINE);
    expect(store.keys()).toEqual([]);
  });

  it('drops what an earlier start did not', async () => {
    const { ground: at, store, lines } = firstDay();
    const planned = { pipeline: PIPELINE, plan, hosts: undefined };
    await playRun(planned, at);
    const incoming = bucketKeys.incoming(PIPELINE);
    await store.deleteMany([`${incoming}00003.bin`, `${incoming}00029.bin`]);
    lines.length = 0;
    await playRun(planned, at);
    expect(lines.slice(0, 2)).toEqual([
      '  an earlier start began this step: it goes on',
      '  2 files are dropped',
    ]);
    const { objects } = await store.listPage(incoming);
    expect(objects).toHaveLength(30);
    expect(store.keys()).toContain(bucketKeys.pipeline(PIPELINE));
  });

  it('keeps what it dropped before it was stopped', async () => {
    const stopping = new AbortController();
    const { ground: at, store } = firstDay();
    const put = store.put.bind(store);
    store.put = (key, ...rest) => {
      if (key.endsWith('00010.bin')) stopping.abort();
      return put(key, ...rest);
    };
    await expect(
      playRun({ pipeline: PIPELINE, plan, hosts: undefined }, { ...at, signal: stopping.signal }),
    ).rejects.toThrow();
    const { objects } = await store.listPage(bucketKeys.incoming(PIPELINE));
    expect(objects.length).toBeGreaterThan(0);
    expect(objects.length).toBeLessThan(30);
  });

  it('begins again after a removal that was cut short', async () => {
    const { ground: at, store } = firstDay();
    await store.put(report, reportBytes({ status: 'failed' }));
    expect(await playRun({ pipeline: PIPELINE, plan, hosts: undefined }, at)).toBeUndefined();
    expect(store.keys()).not.toContain(report);
  });

  it('gives up after its patience', async () => {
    const { ground: at, seconds } = firstDay();
    expect(await playRun({ pipeline: PIPELINE, plan, hosts: undefined }, at)).toBeUndefined();
    expect(seconds()).toBe(plan.patienceMinutes * 60);
  });

  it('passes over a run that found nothing new', async () => {
    const later = bucketKeys.report(PIPELINE, `${PIPELINE}-000002`);
    const { ground: at } = firstDay({
      onSleep: async (bucket) => {
        await bucket.put(report, reportBytes());
        await bucket.put(later, reportBytes({ status: 'empty' }));
      },
    });
    const facts = await playRun({ pipeline: PIPELINE, plan: { ...plan, files: 0 }, hosts: undefined }, at);
    expect(facts?.status).toBe('succeeded');
  });

  it('waits for the run with all files', async () => {
    const whole = bucketKeys.report(PIPELINE, `${PIPELINE}-000002`);
    const { ground: at, lines } = firstDay({
      onSleep: async (bucket, sleeps) => {
        if (sleeps === 2) await bucket.put(report, reportBytes());
        if (sleeps === 4) await bucket.put(whole, reportBytes({ status: 'failed', failure: 'none' }));
      },
    });
    const facts = await playRun({ pipeline: PIPELINE, plan, hosts: undefined }, at);
    expect(facts?.status).toBe('failed');
    expect(lines.at(-1)).toBe('  a run ended with 0 of 30 files: waiting for the run with the rest');
  });

  it('copies large files inside the bucket', async () => {
    const { ground: at, store } = firstDay({
      onSleep: async (bucket) => {
        await bucket.put(report, reportBytes({ status: 'failed' }));
      },
    });
    const large = { ...plan, files: 3, bytesEach: 2_000_000 };
    await playRun({ pipeline: PIPELINE, plan: large, hosts: undefined }, at);
    const { objects } = await store.listPage(bucketKeys.incoming(PIPELINE));
    expect(objects.map(({ size }) => size)).toEqual([2_000_000, 2_000_000, 2_000_000]);
  });
});

describe('a step', () => {
  const lack = (name: string) => quota(`ml.${name} training job usage`, 0, `L-${name.length}`);
  const [first] = STEPS;
  const spot = runs.find(({ number }) => number === 4);
  const closed = runs.find(({ number }) => number === 6);
  if (first === undefined || spot === undefined || closed === undefined) throw new Error('a step is missing');
  const none = { quotas: async () => seen([lack('g4dn.xlarge for spot'), lack('c5.xlarge for')]) };

  it('without its quota drops nothing', async () => {
    const { store, deps } = firstDay({ view: none });
    const found = await playStep(spot, deps);
    expect(found.outcome).toBe('notPossibleHere');
    expect(found.lines[0]).toMatch(
      /ml\.g4dn\.xlarge for spot training job usage: 0, needed 1: .* → request: aws service-quotas /,
    );
    expect(await store.listPage('')).toMatchObject({ objects: [] });
  });

  it('that the deployment does not allow drops nothing', async () => {
    const { store, deps } = firstDay();
    const allowed = { ...deps.deployment.allowed, subnets: [] };
    const around = { ...deps, hosts: HOSTS, deployment: { ...deps.deployment, allowed } };
    const line =
      'compute.vpc.subnets[0].id: "subnet-0a1b2c3d" is not allowed by the deployment: deploy with --param="subnets=subnet-0a1b2c3d"';
    expect(await playStep(closed, around)).toMatchObject({ outcome: 'notPossibleHere', lines: [line] });
    expect(store.keys()).toEqual([]);
    const check = await playStep(first, around);
    expect(check).toMatchObject({ outcome: 'differs', lines: expect.arrayContaining([`step 6: ${line}`]) });
  });

  it('names in the beginning what later ones lack', async () => {
    const { deps } = firstDay({ view: none });
    const found = await playStep(first, deps);
    expect(found.outcome).toBe('differs');
    const lacking = found.lines.filter((line) => line.startsWith('fails: training quotas'));
    expect(lacking.map((line) => /first-day-\d/.exec(line)?.[0])).toEqual([
      'first-day-2',
      'first-day-3',
      'first-day-4',
    ]);
  });
});

describe('the differences', () => {
  const facts: RunFacts = { ...RUN_FACTS, samples: 2_000 };
  const attempt = (fromStep: number, costUsd = 0.01) => ({
    attempt: 1,
    outcome: 'completed',
    message: '',
    fromStep,
    toStep: 30,
    trainingSeconds: 30,
    costUsd,
  });

  const differencesOf = (number: number, found: Parameters<TrialRun['differences']>[0]) =>
    planOf(number).differences(found, planOf(number));

  it('are none where all went as expected', () => {
    expect(differencesOf(2, { ...facts, attempts: [attempt(0)] })).toEqual([]);
    expect(differencesOf(4, { ...facts, attempts: [attempt(0), attempt(100)] })).toEqual([]);
    const silent = { ...facts, status: 'failed', failure: 'the subnet has no route to S3' };
    expect(differencesOf(6, { ...silent, attempts: [attempt(0), attempt(0)] })).toEqual([]);
  });

  it('name what was otherwise', () => {
    expect(differencesOf(2, { ...facts, samples: 1_999, attempts: [attempt(0)] })).toEqual([
      '1999 samples are sealed, not 2,000',
    ]);
    expect(differencesOf(4, { ...facts, attempts: [attempt(0), attempt(0)] })).toEqual([
      'the last attempt began at step 0',
    ]);
    const free = {
      ...facts,
      status: 'failed',
      failure: 'capacity',
      attempts: [attempt(0, 0), attempt(0, 0)],
    };
    expect(differencesOf(6, free)).toEqual([
      'the failure names no remedy',
      'an attempt of a silent host was reported as free',
    ]);
  });
});

describe('the results', () => {
  const HERE = { where: 'AWS', account: '123456789012', region: 'us-east-1', stage: 'first' } as const;

  it('are kept from one start to the next', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'first-day-'));
    try {
      const file = path.join(folder, 'results.json');
      expect(await readResults(file, HERE)).toEqual([]);
      const result = { number: 2, outcome: 'differs' as const, at: 'then', seconds: 1, lines: ['x'] };
      await keepResults(file, { place: HERE, results: [result] });
      expect(await readResults(file, HERE)).toEqual([result]);
      await expect(readResults(file, { ...HERE, where: 'one machine' })).rejects.toThrow(
        `--folder is "${folder}", which has the results of stage first in us-east-1 on AWS (account 123456789012); this is stage first in us-east-1 on one machine (account 123456789012): name another folder`,
      );
      await writeFile(file, 'rubbish');
      await expect(readResults(file, HERE)).rejects.toThrow('remove it to begin again');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('hide the names of the account', () => {
    const text =
      'arn:aws:iam::123456789012:role/x subnet-0a1b2c3d4e5f60718 tidewheel-dev-databucket-x1y2 AKIAIOSFODNN7EXAMPLE';
    expect(withoutNames(text)).toBe('arn:aws:iam::<account>:role/x <subnet> <bucket> <key>');
  });

  it('become a table with every step', () => {
    const text = markdownOf(
      [{ number: 2, outcome: 'differs', at: 'then', seconds: 12, costUsd: 0.02, lines: ['no model'] }],
      HERE,
    );
    expect(text.match(/^\| \d\. /gm)).toHaveLength(STEPS.length);
    expect(text).toContain('| DIFFERS | 12 | $0.020 |');
    expect(text).toContain('## Step 2\n\n- no model');
  });
});
