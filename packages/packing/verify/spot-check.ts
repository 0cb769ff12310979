/** Reads a sample of a generation's shards back before its seal, as `tidewheel data verify` reads them. */
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { Verification } from './verification.ts';
import { verifyShard } from './verify.ts';

const SHARDS_READ = 2;
/** A larger shard would take the function's time. */
const LARGEST_BYTES = 1e9;

/**
 * The digest of the plan chooses the shards, so a repeated seal reads the same ones.
 * @returns the problems
 */
export async function spotCheck(store: BlobStore, manifest: Manifest): Promise<readonly string[]> {
  const shards = manifest.shards.filter(({ bytes }) => bytes <= LARGEST_BYTES);
  const first = Number.parseInt(manifest.plan.slice(0, 8), 16) % Math.max(1, shards.length);
  const check = new Verification(store, manifest);
  for (const shard of [...shards.slice(first), ...shards.slice(0, first)].slice(0, SHARDS_READ))
    await verifyShard(check, shard);
  return check.problems;
}
