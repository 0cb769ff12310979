/** What a version of the dataset holds, key by key, and how it differs from another. */
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { contentOf, type MemberLine } from '../documents/documents.ts';
import { compareKeys } from '../documents/order.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf } from '../documents/sealed-arrivals.ts';
import { memberLines, sealedLines } from '../documents/sealed-lines.ts';
import type { DatasetVersion } from '../documents/versions.ts';

export interface HeldObject {
  readonly key: string;
  readonly generation: string;
  /** Absent of a file that no shard holds. */
  readonly shard?: string | undefined;
  /** SHA-256 of the object, a checksum of one that the store copied, or the ETag of a file that no shard holds. */
  readonly digest: string;
  /** Text of the label that packing made for its sample. */
  readonly label?: string | undefined;
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
    if (isUnpacked(manifest))
      for await (const [key, etag, , fate] of sealedLines(store, manifest))
        if (typeof fate === 'number') held.push({ key, generation, digest: etag });
    for (const shard of shards) {
      const lines = await memberLines(store, packingKeys(pipeline, generation), shard);
      const labels = labelsOf(lines);
      for (const line of lines) {
        const { key, source, repeat, sample } = line;
        if (key === undefined || repeat !== undefined) continue;
        const digest = source?.sha256 ?? contentOf(line);
        held.push({ key, generation, shard: shard.name, digest, label: labels.get(sample) });
      }
    }
  }
  return held.sort((a, b) => compareKeys(a.key, b.key));
}

/** The labels that packing made, by number of the sample. */
function labelsOf(lines: readonly MemberLine[]): ReadonlyMap<number, string> {
  const labels = new Map<number, string>();
  for (const { sample, label } of lines) if (label !== undefined) labels.set(sample, label);
  return labels;
}

export interface ContentChanges {
  readonly added: readonly string[];
  /** Objects with other bytes, and all objects of a sample with another label. */
  readonly replaced: readonly string[];
  readonly retracted: readonly string[];
}

/** The same bytes under another ETag are no change. */
export function compareContents(before: readonly HeldObject[], after: readonly HeldObject[]): ContentChanges {
  const [old, now] = [statesOf(before), statesOf(after)];
  return {
    added: [...now.keys()].filter((key) => !old.has(key)),
    replaced: [...now].flatMap(([key, state]) => (isOther(old.get(key), state) ? [key] : [])),
    retracted: [...old.keys()].filter((key) => !now.has(key)),
  };
}

/** A key may be held several times where changed objects are kept. */
function statesOf(held: readonly HeldObject[]): Map<string, string> {
  const states = new Map<string, string>();
  for (const { key, digest, label } of held)
    states.set(key, `${states.get(key) ?? ''} ${JSON.stringify([digest, label])}`);
  return states;
}

const isOther = (before: string | undefined, after: string): boolean =>
  before !== undefined && before !== after;
