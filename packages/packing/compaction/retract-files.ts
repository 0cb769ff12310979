/** A version of files without those that people have retracted: the list of the newest one, written again. */

import { hash } from 'node:crypto';
import { compactedName } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { keysRetracted, noteRetraction, readRetractions } from '../arrivals/retractions.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest, SealedLine } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf, readSealedManifest } from '../documents/sealed-arrivals.ts';
import { sealedLines } from '../documents/sealed-lines.ts';
import { addSealed, batchOf, blobVersions, changeDataset } from '../documents/versions.ts';
import { listedFiles } from '../seal/seal-files.ts';

export interface RetractedFiles {
  readonly status: 'compacted' | 'superseded';
  readonly generation: string;
  readonly of: readonly string[];
  readonly shards: number;
  readonly samples: number;
  readonly bytes: number;
}

/**
 * Safe to repeat.
 * @param retracted keys to be noted first
 * @returns undefined where the newest version has no file that is retracted
 */
export async function retractFiles(
  store: BlobStore,
  pipeline: string,
  retracted: Iterable<string> = [],
): Promise<RetractedFiles | undefined> {
  const versions = blobVersions(store);
  const newest = await addSealed(versions, pipeline);
  const keys = [...retracted];
  if (keys.length > 0) await noteRetraction(store, pipeline, keys);
  const [before] = (await manifestsOf(store, pipeline, newest?.generations ?? [])).filter(isUnpacked);
  if (before === undefined) return undefined;
  const all = await readRetractions(store, pipeline);
  const without = keysRetracted(all, before.retractions);
  const lines: SealedLine[] = [];
  let isAny = false;
  for await (const line of sealedLines(store, before)) {
    const [key, etag, size, fate] = line;
    const isGone = typeof fate === 'number' && without.has(key);
    isAny ||= isGone;
    lines.push(isGone ? [key, etag, size, 'retracted'] : line);
  }
  if (!isAny) return undefined;
  const manifest = await writeAgain(store, before, { lines, retractions: all.length });
  const { generation, samples, bytes } = manifest;
  const of = [before.generation];
  const added = await changeDataset(versions, pipeline, (now) =>
    now?.generations.includes(before.generation) === true
      ? { kind: 'compacted', generation, replaced: of }
      : undefined,
  );
  const status = added?.generations.includes(generation) === true ? 'compacted' : 'superseded';
  return { status, generation, of, shards: 0, samples, bytes };
}

async function writeAgain(
  store: BlobStore,
  before: Manifest,
  { lines, retractions }: { readonly lines: readonly SealedLine[]; readonly retractions: number },
): Promise<Manifest> {
  const { pipeline } = before;
  const digest = hash('sha256', JSON.stringify([before.generation, lines]));
  const generation = compactedName(pipeline, batchOf(before.generation), digest);
  const manifest: Manifest = {
    ...before,
    generation,
    compacted: { of: [before.generation], numbers: 0, listings: [before.listedAt] },
    ...(await listedFiles(store, { pipeline, generation, split: before.split }, { lines, left: [] })),
    retractions,
  };
  const keys = packingKeys(pipeline, generation);
  await store.put(keys.manifest, Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`), {
    only: 'absent',
    contentType: 'application/json',
  });
  return (await readSealedManifest(store, pipeline, generation)) ?? manifest;
}
