import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import { datasetOf } from '../../../functions/records/run-dataset.ts';
import { compactAll } from '../../../test/support/builders/compaction.ts';
import { controlView } from '../../../test/support/builders/control-view.ts';
import { incoming, PIPELINE, packAll, settings } from '../../../test/support/builders/packing.ts';
import { declarationOf, runOf as recordOf } from '../../../test/support/builders/records.ts';
import { persist } from '../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { misbehaving, watched } from '../../../test/support/fakes/misbehaving-store.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { blobVersions, newestVersion } from '../documents/versions.ts';
import { verifyGeneration } from '../verify/verify.ts';
import { type PruneRequest, pruneGenerations } from '../versions/prune-generations.ts';

const runOf = (batch: number): string => `${PIPELINE}-${String(batch).padStart(6, '0')}`;

async function seal(store: MemoryBlobStore, batch: number): Promise<void> {
  for (let index = 0; index < 5; index += 1)
    store.seed(`${incoming}${batch}/${index}.jpg`, `${batch} ${index}`);
  await packAll(store, settings(), runOf(batch));
}

/** Three generations of finished runs. */
async function three(): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  for (const batch of [1, 2, 3]) {
    await seal(store, batch);
    store.seed(bucketKeys.report(PIPELINE, runOf(batch)), '{}');
  }
  return store;
}

const ask = (changes: Partial<PruneRequest> = {}): PruneRequest => ({
  pipeline: PIPELINE,
  what: { before: runOf(3) },
  pin: () => Promise.resolve(undefined),
  ...changes,
});
const pinnedTo = (generation: string) => () => Promise.resolve(generation);
const newestOf = async (store: MemoryBlobStore) =>
  (await newestVersion(blobVersions(store), PIPELINE))?.generations;

describe('pruning', () => {
  it('names a damaged dataset version and the remedy', async () => {
    const store = await three();
    const key = bucketKeys.datasetVersion(PIPELINE, 3);
    for (const text of ['', '{"version":1}']) {
      store.seed(key, text);
      await expect(pruneGenerations(store, ask())).rejects.toThrow(`${key} is damaged: restore it`);
    }
  });

  it('removes old generations without packing them again', async () => {
    const store = await three();
    const result = await pruneGenerations(store, ask());
    expect(result).toMatchObject({ kind: 'pruned', generations: [runOf(1), runOf(2)] });
    expect(store.keys(bucketKeys.shards(PIPELINE, runOf(1)))).toEqual([]);
    expect(store.objects.has(bucketKeys.manifest(PIPELINE, runOf(2)))).toBe(false);
    expect(await newestOf(store)).toEqual([runOf(3)]);
    const kept = await readSealedManifest(store, PIPELINE, runOf(3));
    expect(kept && (await verifyGeneration(store, kept)).problems).toEqual([]);
    expect(await packAll(store, settings(), runOf(4))).toMatchObject({ samples: 0, rejected: 0 });
  });

  it('lists undeletable objects and deletes them next time', async () => {
    const store = await three();
    const stubborn = store.keys(bucketKeys.shards(PIPELINE, runOf(1)));
    const refusing = misbehaving(store, {
      deleteMany: async (keys: readonly string[]) => {
        await store.deleteMany(keys.filter((key) => !stubborn.includes(key)));
        return keys
          .filter((key) => stubborn.includes(key))
          .map((key) => ({ key, code: 'AccessDenied', message: 'Access Denied' }));
      },
    });
    await expect(pruneGenerations(refusing, ask())).rejects.toThrow(
      `1 object was not deleted. Remove the cause below and prune again:\n  ${stubborn[0]}: AccessDenied`,
    );
    expect(store.keys(bucketKeys.shards(PIPELINE, runOf(1)))).toEqual(stubborn);
    expect(store.keys(bucketKeys.shards(PIPELINE, runOf(2)))).toEqual([]);
    await pruneGenerations(store, ask());
    expect(store.keys(bucketKeys.shards(PIPELINE, runOf(1)))).toEqual([]);
  });

  it('reports deletions in a dry run', async () => {
    const store = await three();
    const before = store.keys();
    const would = await pruneGenerations(store, ask({ dryRun: true }));
    expect(store.keys()).toEqual(before);
    const done = await pruneGenerations(store, ask());
    expect(would).toEqual({ ...done, kind: 'wouldPrune' });
  });

  it('refuses with all reasons at once', async () => {
    // The reasons: runs that read, a pin, and an unknown generation.
    const store = await three();
    const before = store.keys();
    expect(await pruneGenerations(store, ask({ what: { before: runOf(9) } }))).toMatchObject({
      kind: 'refused',
      reasons: [expect.stringContaining(`holds ${runOf(1)}, ${runOf(2)}, ${runOf(3)}`) as string],
    });
    for (const batch of [2, 3]) {
      store.objects.delete(bucketKeys.report(PIPELINE, runOf(batch)));
      await datasetOf(controlView(store), recordOf(PIPELINE, batch));
    }
    const refused = await pruneGenerations(store, ask({ pin: pinnedTo(runOf(2)) }));
    expect(refused).toMatchObject({
      kind: 'refused',
      reasons: [
        expect.stringContaining(`pins ${runOf(2)}`) as string,
        expect.stringContaining(`${runOf(2)} reads ${runOf(1)}, ${runOf(2)}`) as string,
        expect.stringContaining(`${runOf(3)} reads`) as string,
      ],
    });
    expect(store.keys().filter((key) => !key.includes('/reads/'))).toEqual(
      before.filter(
        (key) => !key.endsWith(`${runOf(2)}/report.json`) && !key.endsWith(`${runOf(3)}/report.json`),
      ),
    );
    const over = [runOf(2), runOf(3)];
    expect(await pruneGenerations(store, ask({ over }))).toMatchObject({ kind: 'pruned' });
  });

  it('ignores unaffected runs and pins', async () => {
    // A run that will read the newest version, and a pin of a version without pruned generations.
    const store = await three();
    store.objects.delete(bucketKeys.report(PIPELINE, runOf(3)));
    expect(await pruneGenerations(store, ask())).toMatchObject({ kind: 'pruned' });
    const { generations } = await datasetOf(controlView(store), recordOf(PIPELINE, 3));
    expect(generations).toEqual([runOf(3)]);
    await seal(store, 4);
    const again = ask({ what: { before: runOf(4) }, pin: pinnedTo(runOf(1)) });
    expect(await pruneGenerations(store, again)).toMatchObject({ kind: 'refused' });
  });

  it('refuses while an older run has yet to read', async () => {
    const store = await three();
    store.objects.delete(bucketKeys.report(PIPELINE, runOf(2)));
    expect(await pruneGenerations(store, ask())).toMatchObject({
      kind: 'refused',
      reasons: [expect.stringContaining(`${runOf(2)} is going to read`) as string],
    });
  });

  it('restores the generations if a pin appears meanwhile', async () => {
    const store = await three();
    const before = store.keys().filter((key) => !key.startsWith(bucketKeys.datasetVersions(PIPELINE)));
    let looks = 0;
    const pin = () => Promise.resolve((looks += 1) > 1 ? runOf(2) : undefined);
    expect(await pruneGenerations(store, ask({ pin }))).toMatchObject({ kind: 'refused' });
    expect(store.keys().filter((key) => !key.startsWith(bucketKeys.datasetVersions(PIPELINE)))).toEqual(
      before,
    );
    expect(await newestOf(store)).toEqual([runOf(1), runOf(2), runOf(3)]);
  });

  it('deletes only replaced generations with `replaced`', async () => {
    const store = await three();
    const compacted = await compactAll(store, settings());
    const whole = await newestOf(store);
    const result = await pruneGenerations(store, ask({ what: 'replaced' }));
    expect(result).toMatchObject({ kind: 'pruned', generations: [runOf(1), runOf(2), runOf(3)] });
    expect(await newestOf(store)).toEqual(whole);
    const kept =
      'generation' in compacted ? await readSealedManifest(store, PIPELINE, compacted.generation) : undefined;
    expect(kept && (await verifyGeneration(store, kept)).problems).toEqual([]);
    expect(await packAll(store, settings(), runOf(4))).toMatchObject({ samples: 0, rejected: 0 });
  });

  it('keeps compacted generations that a pinned run reads', async () => {
    const store = await three();
    await compactAll(store, settings());
    const pinned = recordOf(PIPELINE, 3, {
      declaration: declarationOf(PIPELINE, { dataset: { pin: runOf(2) } }),
      generations: undefined,
    });
    expect((await datasetOf(controlView(store), pinned)).generations).toEqual([runOf(1), runOf(2)]);
    store.objects.delete(bucketKeys.report(PIPELINE, runOf(3)));
    expect(await pruneGenerations(store, ask({ what: 'replaced' }))).toMatchObject({
      kind: 'refused',
      reasons: [expect.stringContaining(`${runOf(3)} reads ${runOf(1)}, ${runOf(2)}`) as string],
    });
  });

  it('never deletes what a concurrent run reads', async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 60; seed += 1) {
      const store = await three();
      store.objects.delete(bucketKeys.report(PIPELINE, runOf(2)));
      store.objects.delete(bucketKeys.report(PIPELINE, runOf(3)));
      const next = seededUint32(`race ${seed}`);
      const pause = async (most = 40): Promise<void> => {
        for (let turn = next() % most; turn > 0; turn -= 1) await Promise.resolve();
      };
      const [read, pruned] = await Promise.all([
        pause(1_200).then(() => datasetOf(controlView(store, pause), recordOf(PIPELINE, 3))),
        pruneGenerations(
          watched(store, () => pause()),
          ask({ over: [runOf(2)] }),
        ),
      ]);
      for (const generation of read.generations)
        expect(store.keys(bucketKeys.shards(PIPELINE, generation)).length).toBeGreaterThan(0);
      outcomes.add(`${pruned.kind} ${read.generations.length}`);
    }
    expect(outcomes).toContain('pruned 1');
    expect(outcomes).toContain('refused 3');
  }, 60_000);

  it('ends the same wherever it is killed', async () => {
    const calm = await three();
    await pruneGenerations(calm, ask());
    for (let seed = 0; seed < 20; seed += 1) {
      const store = await three();
      await persist(store, `${seed}`, (faulty) => pruneGenerations(faulty, ask()), 0.03);
      expect(store.keys()).toEqual(calm.keys());
    }
  }, 60_000);
});
