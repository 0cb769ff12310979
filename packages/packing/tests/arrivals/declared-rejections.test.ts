/** What a declaration alone rejected is packed once another declaration takes it. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  accounts,
  compactAll,
  contents,
  incoming,
  problems,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

let store: MemoryBlobStore;
beforeEach(() => {
  store = new MemoryBlobStore();
});

/** @returns the keys that the newest version holds, without labels that packing makes */
async function run(batch: number, packing: PackingSettings): Promise<string[]> {
  const one = { runId: runOf(batch), pipeline: PIPELINE, packing };
  await planShards({ store, now, rangeObjects: 2 }, { ...one, onChange: 'replace' });
  await planAndPack(store, packing, runOf(batch));
  await sealDataset({ store }, one);
  expect(await problems(store)).toEqual([]);
  return held();
}

const held = async (): Promise<string[]> =>
  (await contents(store)).map((line) => line.slice(incoming.length, line.indexOf(' ')));

function drop(keys: readonly string[]): void {
  // Each begins as a JPEG: what `accept` names as an image is looked at.
  for (const key of keys)
    store.seed(`${incoming}${key}`, Buffer.from(`\u00ff\u00d8\u00ff of ${key}`, 'latin1'));
}

describe('another declaration', () => {
  it('packs a suffix that it accepts now', async () => {
    drop(['a/1.jpg', 'a/2.jpg']);
    expect(await run(1, settings({ accept: ['.jpeg'] }))).toEqual([]);
    expect(await run(2, settings({ accept: ['.jpg'] }))).toEqual(['a/1.jpg', 'a/2.jpg']);
  });

  it('packs what it does not ignore any more', async () => {
    drop(['a/1.jpg', 'a/.DS_Store', 'drafts/2.jpg']);
    expect(await run(1, settings({ ignore: ['drafts/'] }))).toEqual(['a/1.jpg']);
    expect(await run(2, settings())).toEqual(['a/1.jpg', 'drafts/2.jpg']);
  });

  it('packs labels that need not be numbers any more', async () => {
    drop(['a/1.jpg', 'a/1.json']);
    const packing = settings({ format: 'tfrecord', labelType: 'integer' });
    expect(await run(1, packing)).toEqual([]);
    expect(await run(2, settings({ format: 'tfrecord' }))).toEqual(['a/1.jpg', 'a/1.json']);
  });

  it('joins what it accepts now to its sample', async () => {
    drop(['a/1.jpg', 'a/1.json', 'a/2.jpg']);
    expect(await run(1, settings({ accept: ['.jpg'] }))).toEqual(['a/1.jpg', 'a/2.jpg']);
    const packing = settings();
    await run(2, packing);
    await compactAll(store, packing);
    expect(await held()).toEqual(['a/1.jpg', 'a/1.json', 'a/2.jpg']);
    expect(await accounts(store)).toContainEqual(expect.stringMatching(/a\/1\.json \S+ packed$/));
  });

  it('packs it once', async () => {
    drop(['a/1.jpg', 'a/2.txt']);
    const packing = settings({ require: [] });
    await run(1, settings({ accept: ['.jpg'] }));
    await run(2, packing);
    const plan = await planShards(
      { store, now, rangeObjects: 2 },
      { runId: runOf(3), pipeline: PIPELINE, packing, onChange: 'replace' },
    );
    expect(plan.status).toBe('nothingNew');
  });

  it('takes nothing out that is packed', async () => {
    drop(['a/1.jpg', 'a/2.png']);
    await run(1, settings());
    expect(await run(2, settings({ accept: ['.png'] }))).toEqual(['a/1.jpg', 'a/2.png']);
  });
});
