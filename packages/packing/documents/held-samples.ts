/**
 * The samples of a plan whose objects may only have other ETags than before: a digest of the bytes that the dataset
 * holds of each. A worker that reads the same bytes leaves the sample out.
 */

import { hash } from 'node:crypto';
import * as z from 'zod';
import { type BlobStore, joinChunks } from './blob-store.ts';
import { compressPlanned, decompress, jsonLine, linesOf } from './compressed-lines.ts';
import { DocumentError, type Plan } from './documents.ts';
import { packingKeys } from './packing-keys.ts';

export interface HeldMember {
  readonly key: string;
  /** Of the object that is packed. */
  readonly etag: string;
  readonly sha256: string;
}

interface HeldSample {
  /** Of sampleDigest. */
  readonly digest: string;
  readonly etags: Readonly<Record<string, string>>;
}

/** By the number of the sample in the plan. */
export type HeldSamples = ReadonlyMap<number, HeldSample>;
export const NOTHING_HELD: HeldSamples = new Map();

/** Of keys and contents, in any order. */
export function sampleDigest(members: Iterable<Pick<HeldMember, 'key' | 'sha256'>>): string {
  const lines = Array.from(members, ({ key, sha256 }) => JSON.stringify([key, sha256]));
  return hash('sha256', lines.sort().join('\n')).slice(0, 32);
}

export const heldSample = (members: readonly HeldMember[]): HeldSample => ({
  digest: sampleDigest(members),
  etags: Object.fromEntries(members.map(({ key, etag }) => [key, etag])),
});

/** For the name of a plan. */
export const heldText = (held: HeldSamples): string =>
  held.size === 0 ? '' : hash('sha256', heldLines(held));

const heldLine = z.tuple([z.number().int(), z.string(), z.record(z.string(), z.string())]);

const heldLines = (held: HeldSamples): string =>
  Array.from(held, ([sample, { digest, etags }]) => `${jsonLine([sample, digest, etags])}\n`).join('');

export async function writeHeld(store: BlobStore, key: string, held: HeldSamples): Promise<void> {
  if (held.size > 0) await store.put(key, compressPlanned(heldLines(held)));
}

/** @throws DocumentError */
export async function readHeld(
  store: BlobStore,
  { pipeline, runId, digest, held }: Pick<Plan, 'pipeline' | 'runId' | 'digest' | 'held'>,
): Promise<HeldSamples> {
  if (held === undefined) return NOTHING_HELD;
  const key = packingKeys(pipeline, runId).planHeld(digest);
  const found = await store.get(key);
  if (found.kind !== 'found')
    throw new DocumentError(`${key} is gone: remove the run's plan folder, and the run plans again`);
  const lines = [...linesOf(decompress(joinChunks(found.chunks)))];
  return new Map(
    lines.map((line) => {
      const [sample, content, etags] = heldLine.parse(JSON.parse(line));
      return [sample, { digest: content, etags }];
    }),
  );
}
