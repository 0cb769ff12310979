/** An attempt in another region: what travels there and back, and what a death on the way leaves. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RegionBucket } from '../../../functions/launch/regions/region-copy.ts';
import { judgeRun } from '../../../functions/run/attempts/judge-run.ts';
import { type LaunchDeps, launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { makeReport } from '../../../functions/run/attempts/make-report.ts';
import { launchersOver } from '../../support/builders/launchers.ts';
import { declarationOf, launchOf, placementOf, progressOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { type MemoryObjectStore, memoryObjectStore } from '../../support/fakes/object-store.ts';
import { type JobScript, type ScriptedTraining, scriptedTraining } from '../../support/fakes/training.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const RUN = 'digits-000001';
const AWAY = 'us-west-2';
const subnet = { id: 'subnet-west', zoneId: 'usw2-az1' };
const shard = `${bucketKeys.shards('digits', RUN)}shard-000000.tar`;
const note = bucketKeys.progress('digits', RUN);
const saved = `${bucketKeys.checkpoints('digits', RUN)}step-9/`;

let at: Ground;
let there: MemoryObjectStore;
let west: ScriptedTraining;
let deps: LaunchDeps;
let copies: string[];
/** After so many copies the process ends. */
let dyingAfter: number;

const regionOf = (name: string): RegionBucket => ({
  name,
  store: there,
  copy: async ({ key }, from, to) => {
    if (copies.length >= dyingAfter) throw new Error('the process ended');
    copies.push(key);
    await to.createBytes(key, (await from.readBytes(key))?.bytes ?? new Uint8Array());
  },
});

async function prepare(script: JobScript): Promise<void> {
  at = ground();
  there = memoryObjectStore(at.clock, `memory-bucket-${AWAY}`);
  west = scriptedTraining(
    at.clock,
    () => script,
    () => undefined,
  );
  copies = [];
  dyingAfter = Number.POSITIVE_INFINITY;
  const otherRegion = (name: string) => ({
    region: regionOf(name),
    publishAgent: () => Promise.resolve('agent/west/'),
  });
  deps = {
    ...at,
    ...launchersOver({ ...at, trainingIn: () => west }),
    region: 'us-east-1',
    publishAgent: () => Promise.resolve('agent/home/'),
    otherRegion,
  };
  const now = at.clock.now().toISOString();
  const vpc = { securityGroupIds: ['sg-1'], subnets: [subnet] };
  const declaration = declarationOf('digits', {
    compute: { instanceTypes: ['g5.xlarge'], regions: [{ name: 'us-east-1' }, { name: AWAY, vpc }] },
  });
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration });
  await at.placements.put(
    RUN,
    1,
    launchOf({
      pool: {
        instanceType: 'g5.xlarge',
        launcher: 'sagemaker',
        purchaseOption: 'spot',
        zoneId: 'usw2-az1',
        region: AWAY,
      },
      subnetId: subnet.id,
      transfer: { gigabytes: 100, usd: 2, seconds: 400, priceNote: 'test price' },
    }),
  );
  await sealGeneration(at.store, RUN, { shards: [{ name: 'shard-000000.tar', bytes: 7 }] });
  at.store.put(shard, 'samples');
}

const launch = () => launchAttempt(deps, { runId: RUN, attempt: 1, taskToken: 'token-1' });
const judgeAgain = () => judgeRun({ ...at, launchers: deps.launchers, regionOf }, { runId: RUN });
const request = () => [...west.jobs.values()][0];

function saveThere(step = 9): void {
  there.put(`${saved}state.pt`, 'weights');
  there.put(`${saved}COMPLETE.json`, '{"files":{"state.pt":{"bytes":7}}}');
  there.put(note, JSON.stringify(progressOf(step)));
}

const stops: JobScript = [
  { at: 0, status: 'InProgress', secondary: 'Training' },
  { at: 100, status: 'Failed', secondary: 'Failed', reason: 'InternalServerError' },
];

beforeEach(() => prepare(stops));

describe('a launch in another region', () => {
  it("starts the job with inputs from that region's bucket", async () => {
    await launch();
    expect(at.training.jobs.size).toBe(0);
    const made = request();
    const uris = made?.InputDataConfig.map(({ DataSource }) => DataSource.S3DataSource?.S3Uri ?? '') ?? [];
    expect(uris.every((uri) => uri.startsWith(`s3://${there.bucket}/`))).toBe(true);
    expect(made?.CheckpointConfig.S3Uri).toContain(`s3://${there.bucket}/`);
    expect(made?.AlgorithmSpecification.TrainingImage).toContain(`.${AWAY}.`);
    expect(made?.VpcConfig?.Subnets).toEqual([subnet.id]);
    const [source] = there.keys(bucketKeys.packedSource('digits', '').slice(0, -1));
    expect(there.keys()).toContain(shard);
    expect(uris.some((uri) => uri.endsWith('/') && `s3://${there.bucket}/${source}`.startsWith(uri))).toBe(
      true,
    );
    expect(there.keys(bucketKeys.source('digits'))).toEqual([]);
  });

  it('continues its copies after a death', async () => {
    dyingAfter = 1;
    await expect(launch()).rejects.toThrow('the process ended');
    expect(west.jobs.size).toBe(0);
    dyingAfter = Number.POSITIVE_INFINITY;
    await launch();
    expect(west.jobs.size).toBe(1);
    expect(copies).toHaveLength(new Set(copies).size);
  });

  it('copies the newest checkpoint with its note last', async () => {
    at.store.put(`${saved}state.pt`, 'weights');
    at.store.put(`${saved}COMPLETE.json`, '{}');
    at.store.put(note, JSON.stringify(progressOf(9)));
    dyingAfter = 3;
    await expect(launch()).rejects.toThrow();
    expect(there.keys(bucketKeys.checkpoints('digits', RUN))).toEqual([`${saved}state.pt`]);
    dyingAfter = Number.POSITIVE_INFINITY;
    await launch();
    expect(there.json(note)).toMatchObject({ step: 9 });
  });

  it('has the groups of nodes that placement added', async () => {
    const helpers = [{ name: 'loaders', instanceType: 'c5.4xlarge', nodes: 2 }];
    await at.placements.put(
      RUN,
      1,
      launchOf({
        pool: { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand', region: AWAY },
        topology: { nodes: 1, acceleratorsPerNode: 1, helpers },
        helpersHourlyUsd: 1.6,
      }),
    );
    await launch();
    expect(request()?.ResourceConfig.InstanceGroups).toMatchObject([
      { InstanceGroupName: 'train', InstanceType: 'ml.g5.xlarge', InstanceCount: 1 },
      { InstanceGroupName: 'loaders', InstanceType: 'ml.c5.4xlarge', InstanceCount: 2 },
    ]);
    expect((await at.attempts.get(RUN, 1))?.placement.helpersHourlyUsd).toBe(1.6);
  });

  it('is refused where nothing is set up for it', async () => {
    const { otherRegion: _none, ...here } = deps;
    await expect(launchAttempt(here, { runId: RUN, attempt: 1, taskToken: 't' })).rejects.toThrow(
      'where nothing can be launched',
    );
  });
});

describe('what was saved in another region', () => {
  beforeEach(launch);

  it('is copied home before the judgement', async () => {
    saveThere();
    at.pass(200);
    west.advance();
    expect(await judgeAgain()).toMatchObject({ kind: 'place' });
    expect((await at.attempts.get(RUN, 1))?.progressAfter).toMatchObject({ step: 9, checkpointBytes: 7 });
    await at.placements.put(
      RUN,
      2,
      launchOf({
        pool: { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' },
      }),
    );
    await launchAttempt(deps, { runId: RUN, attempt: 2, taskToken: 'token-2' });
    expect(at.training.jobs.size).toBe(1);
    expect(await at.attempts.get(RUN, 2)).toMatchObject({ progressBefore: { step: 9 } });
  });

  it('is copied home whole or does not count', async () => {
    saveThere();
    at.pass(200);
    west.advance();
    dyingAfter = copies.length + 1;
    await expect(judgeAgain()).rejects.toThrow('the process ended');
    expect((await at.attempts.get(RUN, 1))?.progressAfter).toBeUndefined();
    dyingAfter = Number.POSITIVE_INFINITY;
    await judgeAgain();
    expect((await at.attempts.get(RUN, 1))?.progressAfter).toMatchObject({ step: 9 });
  });

  it('does not overwrite newer progress at home', async () => {
    saveThere(9);
    at.store.put(`${bucketKeys.checkpoints('digits', RUN)}step-20/COMPLETE.json`, '{}');
    at.store.put(note, JSON.stringify(progressOf(20)));
    at.pass(200);
    west.advance();
    await judgeAgain();
    expect((await at.attempts.get(RUN, 1))?.progressAfter).toMatchObject({ step: 20 });
  });
});

it('is included in the cost of the run', async () => {
  await launch();
  at.pass(200);
  west.advance();
  await judgeAgain();
  const [run, attempts] = await Promise.all([at.runs.get(RUN), at.attempts.list(RUN)]);
  if (run === undefined) throw new Error('no run');
  const report = makeReport({ run, attempts, timeline: [], status: 'failed', finishedAt: run.updatedAt });
  const hours =
    attempts.map(({ outcome }) => outcome?.billableSeconds ?? 0).reduce((a, b) => a + b, 0) / 3_600;
  const { onDemandHourlyUsd, topology } = attempts[0]?.placement ?? placementOf();
  expect(report.costUsd).toBeCloseTo(2 + hours * onDemandHourlyUsd * topology.nodes, 6);
});
