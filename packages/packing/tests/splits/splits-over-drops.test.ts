/** A sample stays in its split, whatever becomes of it. */
import { type SplitSettings, splitSchema } from '@tidewheel/declaration/packing-settings.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems } from '../../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import { SplitRule, splitOfShard } from '../../splits/split-rule.ts';
import { verifyGeneration } from '../../verify/verify.ts';

const split: SplitSettings = splitSchema.parse({
  train: 0.6,
  validation: 0.4,
  by: 'group',
  groupPattern: '^([^/]+)/',
});
/** The split of each source of the newest version, by the folder of its shard. */
async function splitsOf({ store }: DatasetWorld): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const manifest of await current(store))
    for (const shard of manifest.shards)
      for (const { key, repeat } of linesIn(store, { ...manifest, shards: [shard] })) {
        if (key === undefined || repeat !== undefined) continue;
        expect(found.has(key)).toBe(false);
        found.set(key, splitOfShard(shard.name) ?? 'none');
      }
  return found;
}

const step = fc.record({
  files: fc.dictionary(
    fc
      .tuple(fc.constantFrom('anna', 'bob', 'cleo', 'dora', 'emil'), fc.nat(9))
      .map(([a, b]) => `${a}/${b}.txt`),
    fc.constantFrom('one', 'two', 'three'),
    { minKeys: 1, maxKeys: 12 },
  ),
  compacts: fc.boolean(),
  retracts: fc.boolean(),
});

describe('over drops, a sample', () => {
  it.each(['ragged', 'even', 'drop'] as const)('stays in its split (%s)', async (remainder) => {
    const rule = new SplitRule(split);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        const world = new DatasetWorld({ split, remainder, shardsMultipleOf: 2 });
        for (const { files, compacts, retracts } of steps) {
          world.put(files);
          await world.run();
          if (compacts) await world.compact({ after: 2, everything: true });
          const [one = '', other] = (await splitsOf(world)).keys();
          const isRetracted = retracts && other !== undefined;
          if (isRetracted) await world.compact({ retracted: new Set([one]) });
          expect(isRetracted && (await splitsOf(world)).has(one)).toBe(false);
          for (const [key, name] of await splitsOf(world))
            expect(name).toBe(rule.of(key.slice(incoming.length)));
          expect(await problems(world.store)).toEqual([]);
        }
      }),
      { numRuns: 3 },
    );
  });

  it('without a group is left to a later run', async () => {
    const world = new DatasetWorld({ split });
    world.put({ 'stray.txt': 'x', 'anna/1.txt': 'a' });
    const { left } = await world.run();
    expect(left).toMatchObject({
      byReason: { groupMissing: 1 },
      examples: [{ key: `${incoming}stray.txt` }],
    });
    expect([...(await splitsOf(world)).keys()]).toEqual([`${incoming}anna/1.txt`]);
  });
});

describe('a dataset with another split', () => {
  const dataset = async (): Promise<DatasetWorld> => {
    const world = new DatasetWorld({ split });
    world.put({ 'anna/1.txt': 'a', 'bob/1.txt': 'b', 'cleo/1.txt': 'c' });
    await world.run();
    world.put({ 'dora/1.txt': 'd' });
    return world;
  };

  it.each([undefined, { ...split, train: 0.5, validation: 0.5 }])(
    'gets no generation beside it',
    async (other) => {
      const world = await dataset();
      world.packing = { ...world.packing, split: other };
      await expect(world.run()).rejects.toThrow(
        /packing\.split is .* but digits-000001 was packed with .*: declare it as it was/,
      );
    },
  );

  it('is found by a verification', async () => {
    const { store } = await dataset();
    const [manifest] = await current(store);
    if (manifest?.split === undefined) throw new Error('no split');
    const changed = { ...manifest, split: { ...manifest.split, train: 0.01, validation: 0.99 } };
    expect((await verifyGeneration(store, changed)).problems).toContainEqual(
      expect.stringMatching(/is in train\/shard-000000\.tar, but belongs to validation$/),
    );
  });
});
