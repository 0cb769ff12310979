/** What a script gets where nothing is packed: the files of its version, and no other. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { incoming, now, packAll } from '../../support/builders/packing.ts';
import { declarationOf, launchOf, placementOf, runOf } from '../../support/builders/records.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
let blobs: MemoryBlobStore;

beforeEach(() => {
  at = ground();
  blobs = new MemoryBlobStore();
});

const drop = (all: Readonly<Record<string, string>>): void => {
  for (const [name, body] of Object.entries(all)) blobs.seed(`${incoming}${name}`, body);
};
const remove = (name: string): boolean => blobs.objects.delete(`${incoming}${name}`);

const declared = (over: object = {}) =>
  declarationOf('digits', { packing: { format: 'none' }, training: { strategy: 'ddp' }, ...over });

async function seal(batch: number, { over = {}, keep }: { over?: object; keep?: 'versions' } = {}) {
  const { packing } = declared(over);
  const run = { runId: runOf('digits', batch).runId, pipeline: 'digits', packing };
  await planShards({ store: blobs, now }, run);
  await sealDataset({ store: blobs }, { ...run, ...(keep && { keep }) });
}

/** Packing's port and that of the control plane see one bucket. */
const bucket = (): Ground['store'] => ({
  ...at.store,
  async *list(prefix) {
    for (const key of blobs.keys(prefix)) {
      const { body, etag } = blobs.objects.get(key) ?? { body: new Uint8Array(), etag: '' };
      yield { key, size: body.length, etag, lastModified: new Date(0) };
    }
    yield* at.store.list(prefix);
  },
});

interface Launch {
  readonly batch: number;
  readonly attempt?: number;
  readonly over?: object;
  readonly launcher?: 'sagemaker' | 'ec2';
}

/** @returns the job's request */
async function launched({ batch, attempt = 1, over = {}, launcher = 'sagemaker' }: Launch) {
  const run = runOf('digits', batch);
  const time = at.clock.now().toISOString();
  for (const [key, { body }] of blobs.objects) at.store.put(key, body);
  const store = bucket();
  const deps = {
    ...at,
    store,
    blobs: async () => blobs,
    region: 'us-east-1',
    publishAgent: async () => 'agent/0a1b/',
  };
  const vpc = { securityGroupIds: ['sg-01234567'], subnets: [{ id: 'subnet-01234567', zoneId: 'use1-az4' }] };
  const compute = {
    instanceTypes: ['g5.xlarge'],
    nodes: 2,
    launcher: 'ec2',
    ec2: { image: 'ami-0123456789abcdef0' },
    vpc,
  };
  const declaration = declared({ ...(launcher === 'ec2' && { compute }), ...over });
  await at.pipelines.ensure('digits', { firstBatch: batch, at: time });
  await at.runs.create(run);
  await at.runs.closeBatch(run, { at: time, declaration });
  const { pool } = placementOf();
  await at.placements.put(run.runId, attempt, launchOf({ pool: { ...pool, launcher } }));
  await launchAttempt(deps, { runId: run.runId, attempt, taskToken: 'token' });
  const [request] = [...(launcher === 'ec2' ? at.fleets.jobs : at.training.jobs).values()].slice(-1);
  return request?.InputDataConfig ?? [];
}

type Channels = Awaited<ReturnType<typeof launched>>;

const sourceOf = (channels: Channels, name: string) =>
  channels.find(({ ChannelName }) => ChannelName === name)?.DataSource.S3DataSource;

/** What the hosts get, by its path in the channel's folder. */
function filesIn(channels: Channels, name: string): Readonly<Record<string, string>> {
  const { S3DataType, S3Uri = '' } = sourceOf(channels, name) ?? {};
  if (S3DataType !== 'ManifestFile') throw new Error(`${name} has ${S3DataType}`);
  const keyOf = (uri: string): string => uri.slice(`s3://${at.store.bucket}/`.length);
  const [head, ...names] = at.store.json(keyOf(S3Uri)) as [{ prefix: string }, ...string[]];
  return Object.fromEntries(
    names.map((file) => [file, blobs.body(`${keyOf(head.prefix)}${file}`).toString()]),
  );
}

const lines = async (batch: number) =>
  (await at.timeline.list(runOf('digits', batch).runId))
    .filter(({ kind }) => kind === 'ChannelFiles')
    .map(({ text }) => text);
const pinned = (batch: number) => ({ dataset: { pin: runOf('digits', batch).runId } });

describe('the channel training', () => {
  it.each(['sagemaker', 'ec2'] as const)('has the sealed files in their folders on %s', async (launcher) => {
    drop({ 'a.csv': 'one', 'd/b.csv': 'two', '.DS_Store': 'x' });
    await seal(1);
    drop({ 'late.csv': 'late' });
    const channels = await launched({ batch: 1, launcher });
    expect(filesIn(channels, 'training')).toEqual({ 'a.csv': 'one', 'd/b.csv': 'two' });
    expect(channels.map(({ ChannelName }) => ChannelName)).toEqual(['code', 'agent', 'training']);
    expect(await lines(1)).toEqual([]);
  });

  it.each([
    ['File', {}, 'File'],
    ['File', { inputMode: 'auto' }, 'File'],
    ['Pipe', { inputMode: 'Pipe' }, 'Pipe'],
  ])('comes as %s with %j', async (_, training, expected) => {
    drop({ 'a.csv': 'one' });
    await seal(1);
    const channels = await launched({ batch: 1, over: { training: { strategy: 'single', ...training } } });
    expect(channels.find(({ ChannelName }) => ChannelName === 'training')?.InputMode).toBe(expected);
    expect(channels.filter(({ InputMode }) => InputMode === 'Pipe')).toHaveLength(
      expected === 'Pipe' ? 1 : 0,
    );
  });

  it('is divided among the hosts where that is declared', async () => {
    drop({ 'a.csv': 'one' });
    await seal(1);
    const over = { training: { strategy: 'ddp', distribution: 'ShardedByS3Key' } };
    expect(sourceOf(await launched({ batch: 1, over }), 'training')?.S3DataDistributionType).toBe(
      'ShardedByS3Key',
    );
  });

  it('has another name where one is declared', async () => {
    drop({ 'a.csv': 'one', 'test/b.csv': 'two' });
    await seal(1);
    const channels = { train: { s3: 'incoming/' }, test: { s3: 'incoming/test/' } };
    const request = await launched({ batch: 1, over: { training: { strategy: 'ddp', channels } } });
    expect(filesIn(request, 'train')).toEqual({ 'a.csv': 'one', 'test/b.csv': 'two' });
    expect(filesIn(request, 'test')).toEqual({ 'b.csv': 'two' });
    expect(sourceOf(request, 'training')).toBeUndefined();
  });

  it('gives way to the parts of a split', async () => {
    const over = { packing: { format: 'none', split: { train: 0.5, validation: 0.25, test: 0.25 } } };
    drop({ 'a.csv': '1', 'b.csv': '2', 'c.csv': '3', 'd.csv': '4', 'e.csv': '5', 'f.csv': '6' });
    await seal(1, { over });
    const request = await launched({ batch: 1, over });
    const names = request
      .map(({ ChannelName }) => ChannelName)
      .filter((name) => name !== 'code' && name !== 'agent');
    expect(names).toContain('train');
    const all = names.flatMap((name) => Object.keys(filesIn(request, name)));
    expect(all.toSorted()).toEqual(['a.csv', 'b.csv', 'c.csv', 'd.csv', 'e.csv', 'f.csv']);
  });
});

describe('a run of an older version', () => {
  it('has its own files though others came', async () => {
    drop({ 'a.csv': 'one' });
    await seal(1);
    drop({ 'b.csv': 'two' });
    await seal(2);
    expect(filesIn(await launched({ batch: 3, over: pinned(1) }), 'training')).toEqual({ 'a.csv': 'one' });
  });

  it('does not start where files of it are gone', async () => {
    drop(Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`${n}.csv`, `${n}`])));
    await seal(1);
    for (const n of [1, 2, 3, 4, 5, 6]) drop({ [`${n}.csv`]: 'other' });
    remove('7.csv');
    await expect(launched({ batch: 1 })).rejects.toThrow(
      'channel training cannot have what digits-000001 sealed: 7 files (1.csv, 2.csv, 3.csv, 4.csv, 5.csv and 2 more) changed or were deleted since, without a copy.',
    );
    expect(at.training.jobs.size).toBe(0);
  });

  it('has copies of what changed, all in one place', async () => {
    drop({ 'a.csv': 'one', 'd/b.csv': 'two', 'c.csv': 'three', 'empty.csv': '' });
    await seal(1, { keep: 'versions' });
    drop({ 'd/b.csv': 'other' });
    remove('empty.csv');
    await seal(2, { keep: 'versions' });
    const expected = { 'a.csv': 'one', 'd/b.csv': 'two', 'c.csv': 'three', 'empty.csv': '' };
    expect(filesIn(await launched({ batch: 3, over: pinned(1) }), 'training')).toEqual(expected);
    expect(await lines(3)).toEqual([
      'channel training has copies of 2 files (d/b.csv, empty.csv), because they changed or were deleted since the seal of digits-000001',
    ]);
    const before = blobs.copiedBytes;
    expect(filesIn(await launched({ batch: 3, attempt: 2, over: pinned(1) }), 'training')).toEqual(expected);
    expect(blobs.copiedBytes).toBe(before);
  });

  it('copies the rest at the next try', async () => {
    drop(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${n}.csv`, `${n}`])));
    await seal(1, { keep: 'versions' });
    remove('7.csv');
    const create = blobs.createUpload.bind(blobs);
    blobs.createUpload = (...asked) => {
      at.clock.advance(60);
      return create(...asked);
    };
    await expect(launched({ batch: 1 })).rejects.toThrow('the next try continues');
    const copied = blobs.keys(bucketKeys.runFiles('digits', 'digits-000001')).length;
    expect(copied).toBeGreaterThan(0);
    blobs.createUpload = create;
    const before = blobs.copiedBytes;
    expect(Object.keys(filesIn(await launched({ batch: 1 }), 'training'))).toHaveLength(40);
    expect(blobs.copiedBytes - before).toBeLessThan(2 * (40 - copied) + 1);
  });

  it('is refused where shards are declared', async () => {
    drop({ 'a.csv': 'one' });
    await seal(1);
    await expect(launched({ batch: 1, over: { packing: {} } })).rejects.toThrow(
      'digits-000001 holds files (packing: none), and the run declares a format of shards',
    );
  });

  it('of shards is refused where none are declared', async () => {
    drop({ 'a.txt': 'one' });
    await packAll(blobs, declared({ packing: { label: 'none' } }).packing);
    await expect(launched({ batch: 1 })).rejects.toThrow(
      'digits-000001 holds shards, and the run declares packing: none',
    );
  });
});
