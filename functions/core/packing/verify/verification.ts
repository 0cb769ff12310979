/** What the proof of a generation counts while it goes through its objects. */
import { hash } from 'node:crypto';
import { bucketKeys } from '../../shared/keys.ts';
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import type { Manifest } from '../model/documents.ts';
import { quoted } from '../model/quoted.ts';
import { decompress } from '../model/spool.ts';
import { ClassCounter } from '../seal/class-counter.ts';
import { CopyCounter } from '../shard/copy-counter.ts';

/** A key may have come with several ETags, each an arrival. An ETag has no blank. */
export const arrivalOf = (key: string, etag: string): string => `${etag} ${key}`;

/** The state of one proof: what was found so far, and what is wrong. */
export class Verification {
  readonly store: BlobStore;
  readonly manifest: Manifest;
  readonly folder: string;
  readonly problems: string[] = [];
  /** How often each packed key of an ETag was found in a shard, repeats aside; compared with the arrivals at the end. */
  readonly found = new Map<string, number>();
  /** Numbers of shards whose list cannot be read: nobody knows what is in them. */
  readonly unlisted = new Set<number>();
  readonly copies = new CopyCounter();
  readonly classes = new ClassCounter();
  /** Images that were prepared: their number, and bytes before and after. */
  readonly prepared = { images: 0, sourceBytes: 0, bytes: 0 };
  members = 0;
  bytes = 0;

  constructor(store: BlobStore, manifest: Manifest) {
    this.store = store;
    this.manifest = manifest;
    this.folder = bucketKeys.generation(manifest.pipeline, manifest.generation);
  }

  /** A packed arrival, compared with what the shards hold. */
  expectOnce(key: string, etag: string, shard: number): void {
    const arrival = arrivalOf(key, etag);
    const times = this.found.get(arrival) ?? 0;
    if (times !== 1 && !(times === 0 && this.unlisted.has(shard)))
      this.problems.push(`${quoted(key)} is in ${times} shards`);
    this.found.delete(arrival);
  }

  expectNoMore(): void {
    for (const key of Array.from(this.found.keys(), (arrival) => arrival.slice(arrival.indexOf(' ') + 1)))
      this.problems.push(`${quoted(key)} is in a shard but not among the arrivals`);
  }

  /** A compressed list, or undefined with the problem noted. */
  async list(name: string, sha256: string): Promise<string | undefined> {
    const found = await this.store.get(`${this.folder}${name}`);
    if (found.kind !== 'found') {
      this.problems.push(`${name} is missing`);
      return undefined;
    }
    const text = unpacked(joinChunks(found.chunks));
    if (text !== undefined && hash('sha256', text) === sha256) return text;
    this.problems.push(`${name} is not the list that was sealed`);
    return undefined;
  }
}

function unpacked(bytes: Uint8Array): string | undefined {
  try {
    return decompress(bytes);
  } catch {
    return undefined;
  }
}
