/** Damages one generation of the newest version, and repairs it, or gives it up where that cannot be. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import {
  blobVersions,
  type Manifest,
  manifestsOf,
  newestVersion,
  packingKeys,
  sealedLines,
} from '@tidewheel/packing/dataset.ts';
import { giveUpGeneration, repairGeneration } from '@tidewheel/packing/maintain.ts';
import { incoming } from '../support/builders/compaction.ts';
import { PIPELINE } from '../support/builders/packing.ts';
import type { MemoryBlobStore } from '../support/fakes/memory-blob-store.ts';
import type { Persist, Step } from './steps.ts';

interface Damaging {
  readonly packing: PackingSettings;
  readonly random: () => number;
  readonly persist: Persist;
}

/** @returns what became of it, or undefined where there is none to damage */
export async function damage(
  store: MemoryBlobStore,
  { packing, random, persist }: Damaging,
): Promise<Step | undefined> {
  const { generations = [] } = (await newestVersion(blobVersions(store), PIPELINE)) ?? {};
  const [manifest] = await manifestsOf(
    store,
    PIPELINE,
    generations.slice(random() % (generations.length || 1)),
  );
  if (manifest === undefined) return undefined;
  const { generation } = manifest;
  const held = await heldBy(store, manifest);
  lose(store, manifest, random() % 3);
  const request = { pipeline: PIPELINE, generation };
  let isWhole = false;
  if (random() % 2 === 0)
    await persist(async (one) => {
      const { problems } = await repairGeneration(one, { ...request, packing });
      isWhole = problems.length === 0;
    });
  if (isWhole) return { kind: 'repair' };
  await persist((one) => giveUpGeneration(one, { ...request, pin: () => Promise.resolve(undefined) }));
  return { kind: 'giveUp', ...held };
}

/** Keys that the generation has packed or rejected. */
async function heldBy(store: MemoryBlobStore, manifest: Manifest) {
  const [packed, rejected]: [string[], string[]] = [[], []];
  for await (const [key, , , outcome] of sealedLines(store, manifest)) {
    if (outcome === 'retracted') continue;
    (typeof outcome === 'number' ? packed : rejected).push(key.slice(incoming.length));
  }
  return { packed, rejected };
}

/** The manifest, the first shard, or nothing. */
function lose(store: MemoryBlobStore, { generation, revision, shards }: Manifest, dice: number): void {
  const keys = packingKeys(PIPELINE, generation);
  if (dice === 0) store.objects.delete(keys.manifest);
  if (dice === 1) store.objects.delete(`${keys.shards(revision)}${shards[0]?.name ?? ''}`);
}
