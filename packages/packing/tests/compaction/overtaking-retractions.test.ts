/** A retraction that meets a run in progress holds for what the run has planned. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { OnChange } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { seedBundle } from '../../../../test/support/builders/bundles.ts';
import {
  accounts,
  contents,
  incoming,
  problems,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { noteRetraction } from '../../arrivals/retractions.ts';
import { compact } from '../../compaction/compact.ts';
import { packCompaction } from '../../compaction/compact-shards.ts';
import { itemsOf, planCompaction, readCompactionPlan } from '../../compaction/plan-compaction.ts';
import { sealCompaction } from '../../compaction/seal-compaction.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

const packing = settings({ shardMegabytes: 0.06 });
const BASE = { 'a/1.jpg': 'one', 'a/1.json': '1', 'a/2.jpg': 'two', 'b/3.jpg': 'three' };

function put(store: MemoryBlobStore, files: Readonly<Record<string, string>>, etag?: string): void {
  for (const [key, body] of Object.entries(files)) store.seed(`${incoming}${key}`, body, etag);
}

async function plan(store: MemoryBlobStore, batch: number, onChange: OnChange = 'replace'): Promise<void> {
  await planShards({ store, now }, { runId: runOf(batch), pipeline: PIPELINE, packing, onChange });
  await planAndPack(store, packing, runOf(batch));
}

const seal = (store: MemoryBlobStore, batch: number): ReturnType<typeof sealDataset> =>
  sealDataset({ store }, { runId: runOf(batch), pipeline: PIPELINE, packing });

const input = { pipeline: PIPELINE, packing, after: 'never', onChange: 'replace' } as const;

const compacted = (store: MemoryBlobStore, onChange: OnChange = 'replace'): ReturnType<typeof compact> =>
  compact(store, { ...input, onChange }, { ...SMALL, readBytes: 1_000 });

const retract = (store: MemoryBlobStore, ...keys: string[]): ReturnType<typeof compact> =>
  compact(
    store,
    { ...input, retracted: new Set(keys.map((key) => incoming + key)) },
    { ...SMALL, readBytes: 1_000 },
  );

async function run(store: MemoryBlobStore, batch: number): Promise<void> {
  await plan(store, batch);
  await seal(store, batch);
  await compacted(store);
}

async function based(): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  put(store, BASE);
  await run(store, 1);
  return store;
}

const held = async (store: MemoryBlobStore): Promise<string[]> =>
  (await contents(store)).map((line) => line.split(' ')[0]?.slice(incoming.length) ?? '');

const fateOf = async (store: MemoryBlobStore, key: string): Promise<string[]> =>
  (await accounts(store))
    .filter((line) => line.startsWith(`${incoming}${key} `))
    .map((line) => line.split(' ').at(-1) ?? '');

describe('a planned sample that is retracted', () => {
  it.each<OnChange>(['replace', 'keep'])('is in no version with onChange: %s', async (onChange) => {
    const store = await based();
    put(store, { 'a/4.jpg': 'four', 'a/4.json': '4', 'b/5.jpg': 'five' });
    await plan(store, 2, onChange);
    expect((await retract(store, 'a/4.json')).status).toBe('nothingToCompact');
    expect(await seal(store, 2)).toMatchObject({ status: 'sealed', samples: 2, waiting: 1 });
    expect(await held(store)).not.toContain('a/4.jpg');
    await compacted(store, onChange);
    expect(await held(store)).toEqual(['a/1.jpg', 'a/1.json', 'a/2.jpg', 'b/3.jpg', 'b/5.jpg']);
    expect(await fateOf(store, 'a/4.jpg')).toEqual(['retracted']);
    put(store, { 'a/4.jpg': 'four' }, 'another');
    await run(store, 3);
    expect(await held(store)).not.toContain('a/4.jpg');
    put(store, { 'a/4.jpg': 'corrected' });
    await run(store, 4);
    expect(await held(store)).toContain('a/4.jpg');
    expect(await problems(store)).toEqual([]);
  });

  it('is left out where the run has no other', async () => {
    const store = await based();
    put(store, { 'a/4.jpg': 'four' });
    await plan(store, 2);
    await retract(store, 'a/4.jpg');
    await seal(store, 2);
    await compacted(store);
    expect(await held(store)).toEqual(Object.keys(BASE));
  });

  it('is left out with the sample that it corrects', async () => {
    const store = await based();
    put(store, { 'a/1.json': 'corrected' });
    await plan(store, 2);
    expect((await retract(store, 'a/1.json')).status).toBe('compacted');
    await seal(store, 2);
    await compacted(store);
    expect(await held(store)).toEqual(['a/2.jpg', 'b/3.jpg']);
    expect(await fateOf(store, 'a/1.json')).toEqual(['retracted', 'retracted']);
  });

  it('takes its planned siblings along', async () => {
    const store = await based();
    store.objects.delete(`${incoming}a/1.json`);
    put(store, { 'a/1.txt': 'new', 'b/5.jpg': 'five' });
    await plan(store, 2);
    await retract(store, 'a/1.json');
    await seal(store, 2);
    await compacted(store);
    expect(await held(store)).not.toContain('a/1.jpg');
    expect(await problems(store)).toEqual([]);
  });

  it('is left out as a member of a bundle', async () => {
    const store = await based();
    seedBundle(store, { 'a/4.jpg': 'four', 'b/5.jpg': 'five' });
    await plan(store, 2);
    await retract(store, 'a/4.jpg');
    await seal(store, 2);
    await compacted(store);
    expect(await held(store)).toEqual([...Object.keys(BASE), 'b/5.jpg']);
  });

  it('is left out where the retraction meets the seal', async () => {
    const store = await based();
    put(store, { 'a/4.jpg': 'four', 'b/5.jpg': 'five' });
    await plan(store, 2);
    const write = store.put.bind(store);
    const manifest = bucketKeys.manifest(PIPELINE, runOf(2));
    store.put = async (key, body, options) => {
      if (key === manifest) await noteRetraction(store, PIPELINE, [`${incoming}a/4.jpg`]);
      return write(key, body, options);
    };
    expect(await seal(store, 2)).toMatchObject({ waiting: 1 });
    await compacted(store);
    expect(await held(store)).toEqual([...Object.keys(BASE), 'b/5.jpg']);
  });

  it('is left out of the first generation', async () => {
    const store = new MemoryBlobStore();
    put(store, BASE);
    await plan(store, 1);
    await retract(store, 'a/1.jpg');
    await seal(store, 1);
    await compacted(store);
    expect(await held(store)).toEqual(['a/2.jpg', 'b/3.jpg']);
  });
});

describe('a retraction', () => {
  it('wins over a compaction that was planned before it', async () => {
    const store = await based();
    put(store, { 'a/4.jpg': 'four' });
    await plan(store, 2);
    await seal(store, 2);
    const { generation } = await planCompaction(store, { ...input, after: 2, everything: true });
    await retract(store, 'a/1.jpg');
    const planned = await readCompactionPlan(store, PIPELINE, generation);
    for (const item of itemsOf(planned))
      await packCompaction({ store, ...SMALL }, { pipeline: PIPELINE, packing, item });
    expect((await sealCompaction(store, { pipeline: PIPELINE, packing, generation })).status).toBe(
      'superseded',
    );
    expect(await held(store)).toEqual(['a/2.jpg', 'a/4.jpg', 'b/3.jpg']);
  });

  it('that was only noted spares later objects', async () => {
    const store = await based();
    await noteRetraction(store, PIPELINE, [`${incoming}a/1.jpg`, `${incoming}a/2.jpg`]);
    put(store, { 'a/2.jpg': 'corrected' });
    await run(store, 2);
    expect(await held(store)).toEqual(['a/2.jpg', 'b/3.jpg']);
    put(store, { 'b/6.jpg': 'six' });
    await run(store, 3);
    await compact(store, { ...input, after: 2, everything: true }, { ...SMALL, readBytes: 1_000 });
    expect(await held(store)).toEqual(['a/2.jpg', 'b/3.jpg', 'b/6.jpg']);
  });

  it('that was only noted outlasts a corrected sibling', async () => {
    const store = await based();
    await noteRetraction(store, PIPELINE, [`${incoming}a/1.jpg`]);
    put(store, { 'a/1.json': 'corrected', 'b/5.jpg': 'five' });
    await run(store, 2);
    expect(await held(store)).not.toContain('a/1.jpg');
  });

  it('that would leave no sample is not noted', async () => {
    const store = await based();
    await expect(retract(store, ...Object.keys(BASE))).rejects.toThrow('no sample of the dataset');
    put(store, { 'b/6.jpg': 'six' });
    await run(store, 2);
    expect(await held(store)).toEqual([...Object.keys(BASE), 'b/6.jpg']);
  });
});
