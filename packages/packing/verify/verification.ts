/** The state of a generation's verification. */
import { hash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { decompress } from '../documents/compressed-lines.ts';
import type { Manifest } from '../documents/manifest.ts';
import { arrivalOf } from '../documents/order.ts';
import { ClassCounter } from '../seal/content-facts.ts';
import { CopyCounter } from '../shard/member-list.ts';
import { SplitCheck } from '../splits/split-rule.ts';
import type { GenerationCheck, RetractedObjects } from './retracted-members.ts';

/** Counts what the generation's objects hold, and collects its problems. */
export class Verification {
  readonly store: BlobStore;
  readonly manifest: Manifest;
  readonly folder: string;
  readonly problems: string[] = [];
  /** How often the member lists name each packed arrival, without copies. */
  readonly found = new Map<string, number>();
  /** Numbers of shards whose member list cannot be read, so that their members are unknown. */
  readonly unlisted = new Set<number>();
  readonly copies = new CopyCounter();
  readonly classes: ClassCounter;
  readonly splitCheck: SplitCheck;
  readonly retracted: GenerationCheck | undefined;
  /** Prepared images, with their bytes before and after. */
  readonly prepared = { images: 0, sourceBytes: 0, bytes: 0 };
  members = 0;
  bytes = 0;

  constructor(store: BlobStore, manifest: Manifest, retracted?: RetractedObjects) {
    this.store = store;
    this.retracted = retracted?.check(manifest);
    this.manifest = manifest;
    this.classes = new ClassCounter(manifest.splits !== undefined);
    this.splitCheck = new SplitCheck(manifest, bucketKeys.incoming(manifest.pipeline));
    this.folder = bucketKeys.generation(manifest.pipeline, manifest.generation);
  }

  /** Checks that a packed arrival is in exactly one shard. */
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

  /** The text of a compressed list. Undefined if it is missing or another one; then the problem is noted. */
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
