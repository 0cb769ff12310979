import { describe, expect, it } from 'vitest';
import { layout } from '../../../functions/core/layout.ts';
import { pruneGenerations } from '../../../functions/core/packing/generations.ts';
import { readSealed } from '../../../functions/core/packing/sealed-arrivals.ts';
import { verifyGeneration } from '../../../functions/core/packing/verify.ts';
import { faultyStore, Killed } from '../../fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../fakes/memory-blob-store.ts';
import { PIPELINE, packAll, settings } from './whole-way.ts';

const incoming = layout.incoming(PIPELINE);
const runOf = (batch: number): string => `${PIPELINE}-${String(batch).padStart(6, '0')}`;

/** Three generations, whose runs are over. */
async function three(): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  for (const batch of [1, 2, 3]) {
    for (let index = 0; index < 5; index += 1)
      store.seed(`${incoming}${batch}/${index}.jpg`, `${batch} ${index}`);
    await packAll(store, settings(), runOf(batch));
    store.seed(layout.report(PIPELINE, runOf(batch)), '{}');
  }
  return store;
}

describe('pruning', () => {
  it('takes old generations out of the dataset and never packs them again', async () => {
    const store = await three();
    const result = await pruneGenerations(store, { pipeline: PIPELINE, before: runOf(3) });
    expect(result).toMatchObject({ kind: 'pruned', generations: [runOf(1), runOf(2)] });
    expect(store.keys(layout.shards(PIPELINE, runOf(1)))).toEqual([]);
    expect(store.objects.has(layout.manifest(PIPELINE, runOf(2)))).toBe(false);
    const kept = await readSealed(store, PIPELINE, runOf(3));
    expect(kept && (await verifyGeneration(store, kept)).problems).toEqual([]);
    expect(await packAll(store, settings(), runOf(4))).toMatchObject({ samples: 0, rejected: 0 });
  });

  it('deletes nothing while a run may be reading, under a pin, or for an unknown generation', async () => {
    const store = await three();
    const before = store.keys();
    const ask = { pipeline: PIPELINE, before: runOf(3) };
    expect(await pruneGenerations(store, { ...ask, pin: runOf(3) })).toMatchObject({ kind: 'refused' });
    expect(await pruneGenerations(store, { ...ask, before: runOf(9) })).toMatchObject({ kind: 'refused' });
    store.objects.delete(layout.report(PIPELINE, runOf(3)));
    const refused = await pruneGenerations(store, ask);
    expect(refused).toMatchObject({ kind: 'refused', reason: expect.stringContaining(runOf(3)) as string });
    store.seed(layout.report(PIPELINE, runOf(3)), '{}');
    expect(store.keys()).toEqual(before);
    store.objects.delete(layout.report(PIPELINE, runOf(3)));
    expect(await pruneGenerations(store, { ...ask, over: [runOf(3)] })).toMatchObject({ kind: 'pruned' });
  });

  it('ends alike wherever it is killed', async () => {
    const calm = await three();
    await pruneGenerations(calm, { pipeline: PIPELINE, before: runOf(3) });
    for (let seed = 0; seed < 20; seed += 1) {
      const store = await three();
      for (let attempt = 0; ; attempt += 1) {
        try {
          await pruneGenerations(faultyStore(store, `${seed}/${attempt}`, 0.03), {
            pipeline: PIPELINE,
            before: runOf(3),
          });
          break;
        } catch (error: unknown) {
          if (!(error instanceof Killed)) throw error;
        }
      }
      expect(store.keys()).toEqual(calm.keys());
    }
  });
});
