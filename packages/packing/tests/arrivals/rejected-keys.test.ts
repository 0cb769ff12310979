/** What a declaration alone rejected is packed once another declaration takes it. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { accounts } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { settings } from '../../../../test/support/builders/packing.ts';

let world: DatasetWorld;
beforeEach(() => {
  world = new DatasetWorld();
});

/** @returns the keys that the newest version holds */
async function run(packing: PackingSettings): Promise<string[]> {
  world.packing = packing;
  await world.plan();
  await world.seal();
  return world.keys();
}

function drop(keys: readonly string[]): void {
  // Each begins as a JPEG: what `accept` names as an image is looked at.
  for (const key of keys) world.put({ [key]: Buffer.from(`\u00ff\u00d8\u00ff of ${key}`, 'latin1') });
}

describe('another declaration', () => {
  it('packs a suffix that it accepts now', async () => {
    drop(['a/1.jpg', 'a/2.jpg']);
    expect(await run(settings({ accept: ['.jpeg'] }))).toEqual([]);
    expect(await run(settings({ accept: ['.jpg'] }))).toEqual(['a/1.jpg', 'a/2.jpg']);
  });

  it('packs what it does not ignore any more', async () => {
    drop(['a/1.jpg', 'a/.DS_Store', 'drafts/2.jpg']);
    expect(await run(settings({ ignore: ['drafts/'] }))).toEqual(['a/1.jpg']);
    expect(await run(settings())).toEqual(['a/1.jpg', 'drafts/2.jpg']);
  });

  it('packs labels that need not be numbers any more', async () => {
    drop(['a/1.jpg', 'a/1.json']);
    const packing = settings({ format: 'tfrecord', labelType: 'integer' });
    expect(await run(packing)).toEqual([]);
    expect(await run(settings({ format: 'tfrecord' }))).toEqual(['a/1.jpg', 'a/1.json']);
  });

  it('joins what it accepts now to its sample', async () => {
    drop(['a/1.jpg', 'a/1.json', 'a/2.jpg']);
    expect(await run(settings({ accept: ['.jpg'] }))).toEqual(['a/1.jpg', 'a/2.jpg']);
    const packing = settings();
    await run(packing);
    await world.compact({ after: 2, everything: true });
    expect(await world.keys()).toEqual(['a/1.jpg', 'a/1.json', 'a/2.jpg']);
    expect(await accounts(world.store)).toContainEqual(expect.stringMatching(/a\/1\.json \S+ packed$/));
  });

  it('packs it once', async () => {
    drop(['a/1.jpg', 'a/2.txt']);
    const packing = settings({ require: [] });
    await run(settings({ accept: ['.jpg'] }));
    await run(packing);
    expect(await world.plan()).toMatchObject({ status: 'nothingNew' });
  });

  it('takes nothing out that is packed', async () => {
    drop(['a/1.jpg', 'a/2.png']);
    await run(settings());
    expect(await run(settings({ accept: ['.png'] }))).toEqual(['a/1.jpg', 'a/2.png']);
  });
});
