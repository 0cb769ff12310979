/** A sample stays in its split, whatever becomes of it. */
import { type SplitSettings, splitSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems, runOf } from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';
import { SplitRule, splitOfShard } from '../../splits/split-rule.ts';
import { verifyGeneration } from '../../verify/verify.ts';

const split: SplitSettings = splitSchema.parse({
  train: 0.6,
  validation: 0.4,
  by: 'group',
  groupPattern: '^([^/]+)/',
});
const packing = settings({ shardMegabytes: 0.06, split });
const REPLACE = { onChange: 'replace' } as const;

const put = (store: MemoryBlobStore, files: Readonly<Record<string, string>>): void => {
  for (const [key, body] of Object.entries(files)) store.seed(`${incoming}${key}`, body);
};

/** Plans, packs and seals one run, then compacts as the run would. */
async function runOnce(store: MemoryBlobStore, batch: number, rules: PackingSettings = packing) {
  const run = { runId: runOf(batch), pipeline: PIPELINE, packing: rules };
  await planShards({ store, now }, { ...run, ...REPLACE });
  await planAndPack(store, rules, run.runId);
  const sealed = await sealDataset({ store }, run);
  await joined(store, { packing: rules });
  return sealed;
}

interface Joining {
  readonly packing?: PackingSettings;
  readonly after?: number;
  readonly retracted?: ReadonlySet<string>;
}

const joined = (store: MemoryBlobStore, { packing: rules = packing, after, retracted }: Joining = {}) =>
  compact(
    store,
    {
      pipeline: PIPELINE,
      packing: rules,
      after: after ?? 'never',
      ...(after !== undefined && { everything: true }),
      ...REPLACE,
      ...(retracted && { retracted }),
    },
    { ...SMALL, readBytes: 1_000 },
  );

/** Key and text digest of each source in the newest version, by the folder of its shard. */
async function held(store: MemoryBlobStore): Promise<Map<string, string>> {
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
    const rules = { ...packing, remainder, shardsMultipleOf: 2 };
    const rule = new SplitRule(split);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        const store = new MemoryBlobStore();
        for (const [index, { files, compacts, retracts }] of steps.entries()) {
          put(store, files);
          await runOnce(store, index + 1, rules);
          if (compacts) await joined(store, { packing: rules, after: 2 });
          const [one = '', other] = (await held(store)).keys();
          const retracted = retracts && other !== undefined ? new Set([one]) : undefined;
          if (retracted !== undefined) await joined(store, { packing: rules, retracted });
          expect(retracted !== undefined && (await held(store)).has(one)).toBe(false);
          for (const [key, name] of await held(store)) expect(name).toBe(rule.of(key.slice(incoming.length)));
          expect(await problems(store)).toEqual([]);
        }
      }),
      { numRuns: 3 },
    );
  });

  it('without a group is left to a later run', async () => {
    const store = new MemoryBlobStore();
    put(store, { 'stray.txt': 'x', 'anna/1.txt': 'a' });
    const { left } = await runOnce(store, 1);
    expect(left).toMatchObject({
      byReason: { groupMissing: 1 },
      examples: [{ key: `${incoming}stray.txt` }],
    });
    expect([...(await held(store)).keys()]).toEqual([`${incoming}anna/1.txt`]);
  });
});

describe('a dataset with another split', () => {
  const dataset = async (): Promise<MemoryBlobStore> => {
    const store = new MemoryBlobStore();
    put(store, { 'anna/1.txt': 'a', 'bob/1.txt': 'b', 'cleo/1.txt': 'c' });
    await runOnce(store, 1);
    put(store, { 'dora/1.txt': 'd' });
    return store;
  };

  it.each([
    { ...packing, split: undefined },
    { ...packing, split: { ...split, train: 0.5, validation: 0.5 } },
  ])('gets no generation beside it', async (rules) => {
    await expect(runOnce(await dataset(), 2, rules)).rejects.toThrow(
      /packing\.split is .* but digits-000001 was packed with .*: declare it as it was/,
    );
  });

  it('is found by a verification', async () => {
    const [manifest] = await current(await dataset());
    const store = await dataset();
    if (manifest?.split === undefined) throw new Error('no split');
    const changed = { ...manifest, split: { ...manifest.split, train: 0.01, validation: 0.99 } };
    expect((await verifyGeneration(store, changed)).problems).toContainEqual(
      expect.stringMatching(/is in train\/shard-000000\.tar, but belongs to validation$/),
    );
  });
});
