/** What a version of the dataset holds, key by key, and how it differs from another. */
import type { BlobStore } from '../model/blob-store.ts';
import { contentOf } from '../model/documents.ts';
import { memberLines } from '../model/member-lines.ts';
import { compareKeys } from '../model/order.ts';
import { packingKeys } from '../model/packing-keys.ts';
import { manifestsOf } from '../model/sealed-arrivals.ts';
import type { DatasetVersion } from '../model/versions.ts';

export interface HeldObject {
  readonly key: string;
  readonly generation: string;
  readonly shard: string;
  /** SHA-256 of the object, or a checksum of one that the store copied. */
  readonly digest: string;
}

/** Every packed object, in the order of keys. Copies are left out. */
export async function versionContents(
  store: BlobStore,
  pipeline: string,
  { generations }: Pick<DatasetVersion, 'generations'>,
): Promise<HeldObject[]> {
  const held: HeldObject[] = [];
  for (const manifest of await manifestsOf(store, pipeline, generations)) {
    const { generation, shards } = manifest;
    for (const shard of shards)
      for (const line of await memberLines(store, packingKeys(pipeline, generation), shard)) {
        const { key, source, repeat } = line;
        if (key === undefined || repeat !== undefined) continue;
        held.push({ key, generation, shard: shard.name, digest: source?.sha256 ?? contentOf(line) });
      }
  }
  return held.sort((a, b) => compareKeys(a.key, b.key));
}

export interface ContentChanges {
  readonly added: readonly string[];
  readonly replaced: readonly string[];
  readonly retracted: readonly string[];
}

/** The same bytes under another ETag are no change. */
export function compareContents(before: readonly HeldObject[], after: readonly HeldObject[]): ContentChanges {
  const [old, now] = [digestsOf(before), digestsOf(after)];
  return {
    added: [...now.keys()].filter((key) => !old.has(key)),
    replaced: [...now].flatMap(([key, digests]) => (isOther(old.get(key), digests) ? [key] : [])),
    retracted: [...old.keys()].filter((key) => !now.has(key)),
  };
}

/** A key may be held several times where changed objects are kept. */
function digestsOf(held: readonly HeldObject[]): Map<string, string> {
  const digests = new Map<string, string>();
  for (const { key, digest } of held) digests.set(key, `${digests.get(key) ?? ''} ${digest}`);
  return digests;
}

const isOther = (before: string | undefined, after: string): boolean =>
  before !== undefined && before !== after;
