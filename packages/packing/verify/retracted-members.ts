/**
 * A retraction holds for bytes, not for an ETag. So no shard of the dataset may hold the bytes of a retracted object
 * under its key. Replaced generations do until they are pruned, and other keys may.
 */

import { belowIncoming } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { contentEtag } from '../arrivals/bundle-place.ts';
import { keysRetracted, type Retraction, readRetractions } from '../arrivals/retractions.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { DocumentError, type MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { memberLines, sealedLines } from '../documents/sealed-lines.ts';
import { blobVersions, type DatasetVersion, newestVersion } from '../documents/versions.ts';
import { DIGEST, kindOfSum, type Retracted, sumOfSource, sumsOfPieces } from '../formats/retracted-bytes.ts';

/** A member that has a retracted object's bytes. */
export interface RetractedMember {
  /** Of the member: that of the retraction, or another one. */
  readonly key: string;
  /** Name of its shard. */
  readonly shard: string;
  /** Of the retracted object. */
  readonly retracted: { readonly key: string; readonly etag: string };
}

export interface RetractionReport {
  /** Only where the generation is still in the dataset, or waits for the compaction that adds it. */
  readonly problems: readonly string[];
  /** Members of a replaced generation. */
  readonly replaced: readonly RetractedMember[];
  /** Members of other keys, which a retraction does not speak of. */
  readonly others: readonly RetractedMember[];
  /** Keys whose bytes have no sum in common with what was retracted. Their ETags differ. */
  readonly unknown: readonly string[];
}

const NOTHING: RetractionReport = { problems: [], replaced: [], others: [], unknown: [] };

interface Held {
  readonly shard: Manifest['shards'][number];
  readonly line: MemberLine;
}

/** All that was retracted from a pipeline's dataset. */
export class RetractedObjects {
  readonly #store: BlobStore;
  readonly #version: DatasetVersion | undefined;
  readonly #noted: readonly Retraction[];
  readonly #byKey: ReadonlyMap<string, readonly Retracted[]>;
  readonly #bySum = new Map<string, RetractedMember['retracted']>();
  /** Objects: a key may have been retracted with several bytes. */
  readonly count: number;
  /** Those of earlier releases, which noted the ETag alone. */
  readonly withoutSum: number;
  /** Lists that may hold more retractions. */
  readonly unread: readonly string[];

  constructor(store: BlobStore, found: Found, version: DatasetVersion | undefined) {
    this.#store = store;
    this.#version = version;
    this.#noted = found.noted;
    this.#byKey = found.byKey;
    this.unread = found.unread;
    const all = [...found.byKey].flatMap(([key, some]) => some.map((one) => ({ key, ...one })));
    for (const { key, etag, sum } of all) if (sum !== undefined) this.#bySum.set(sum, { key, etag });
    this.count = all.length;
    this.withoutSum = all.filter(({ sum }) => sum === undefined).length;
  }

  /** What a generation holds of it. */
  check(manifest: Manifest): GenerationCheck {
    return new GenerationCheck(this.#store, manifest, {
      byKey: this.#byKey,
      bySum: this.#bySum,
      isReplaced: this.#version?.replaced.includes(manifest.generation) === true,
      // One that waits enters the dataset by a compaction, which leaves them out.
      since: this.#version?.generations.includes(manifest.generation)
        ? keysRetracted(this.#noted, manifest.retractions)
        : NO_KEYS,
    });
  }
}

const NO_KEYS: ReadonlySet<string> = new Set();

interface Looked {
  readonly byKey: ReadonlyMap<string, readonly Retracted[]>;
  readonly bySum: ReadonlyMap<string, RetractedMember['retracted']>;
  readonly isReplaced: boolean;
  /** Keys that were retracted after the generation was planned. */
  readonly since: ReadonlySet<string>;
}

/** A label that a format converted has no digest. */
const knownSum = (sum: string | undefined): string | undefined =>
  sum === undefined || sum.endsWith(' ') ? undefined : sum;

const isOtherKind = (sum: string, other: string | undefined): boolean =>
  other === undefined || kindOfSum(sum) !== kindOfSum(other);

/** Takes the members of one generation. */
export class GenerationCheck {
  readonly #store: BlobStore;
  readonly #manifest: Manifest;
  readonly #looked: Looked;
  readonly #same: RetractedMember[] = [];
  readonly #others: RetractedMember[] = [];
  readonly #late = new Set<string>();
  /** Of a retracted key, and without a sum that could be compared. */
  readonly #open: Held[] = [];

  constructor(store: BlobStore, manifest: Manifest, looked: Looked) {
    this.#store = store;
    this.#manifest = manifest;
    this.#looked = looked;
  }

  /** Copies too: a copy may lie where its sample does not. */
  add(shard: Held['shard'], line: MemberLine): void {
    const { key, etag = '' } = line;
    if (key === undefined) return;
    this.addKey(key);
    if (this.#looked.byKey.size === 0) return;
    const retracted = this.#looked.byKey.get(key) ?? [];
    const sum = knownSum(sumOfSource(line));
    const found = retracted.find(
      (one) => (sum !== undefined && one.sum === sum) || contentEtag(one.etag) === contentEtag(etag),
    );
    if (found !== undefined) this.#note(this.#same, { shard, line }, { key, etag: found.etag });
    else if (retracted.some((one) => one.sum !== undefined && isOtherKind(one.sum, sum)))
      this.#open.push({ shard, line });
    // A CRC of another key says too little.
    else if (sum !== undefined && kindOfSum(sum) === DIGEST) this.#noteOther({ shard, line }, sum);
  }

  /** Takes the key of a member, or of a file that is in no shard. */
  addKey(key: string): void {
    if (this.#looked.since.has(key)) this.#late.add(key);
  }

  #noteOther(held: Held, sum: string): void {
    const other = this.#looked.bySum.get(sum);
    if (other !== undefined && other.key !== held.line.key) this.#note(this.#others, held, other);
  }

  #note(list: RetractedMember[], { shard, line }: Held, retracted: RetractedMember['retracted']): void {
    const [key, { name }] = [line.key ?? '', shard];
    if (!list.some((one) => one.key === key && one.shard === name))
      list.push({ key, shard: name, retracted });
  }

  /** Reads what the sums of the lists could not decide. */
  async finish(): Promise<RetractionReport> {
    const unknown: string[] = [];
    for (const held of this.#open) {
      const found = await this.#read(held);
      if (found === 'unknown') unknown.push(held.line.key ?? '');
      else if (found !== undefined)
        this.#note(this.#same, held, { key: held.line.key ?? '', etag: found.etag });
    }
    const [same, others] = [this.#same, this.#others];
    if (this.#looked.isReplaced) return { ...NOTHING, replaced: same };
    const problems = [...same.map((one) => this.#problem(one)), ...this.#lateProblems()];
    return { ...NOTHING, problems, others, unknown };
  }

  async #read({ shard, line }: Held): Promise<Retracted | 'unknown' | undefined> {
    const { pipeline, generation, revision, compression } = this.#manifest;
    // A prepared image has other bytes than its source, and a compressed shard has no ranges.
    if (line.source !== undefined || compression !== undefined) return 'unknown';
    const retracted = this.#looked.byKey.get(line.key ?? '') ?? [];
    const kinds = retracted.flatMap(({ sum }) => (sum === undefined ? [] : [kindOfSum(sum)]));
    const key = `${packingKeys(pipeline, generation).shards(revision)}${shard.name}`;
    const sums = await sumsOfPieces(line.size, new Set(kinds), ({ offset, length }) =>
      this.#store.get(key, { range: { offset: line.offset + offset, length } }),
    );
    if (sums === undefined) return 'unknown';
    return retracted.find(({ sum }) => sum !== undefined && sums.includes(sum));
  }

  /** What no compaction or no later run has left out yet. */
  #lateProblems(): string[] {
    const { pipeline, generation } = this.#manifest;
    const remedy = isUnpacked(this.#manifest)
      ? `tidewheel run ${pipeline}`
      : `tidewheel data compact s3://${this.#store.bucket}/${pipeline}`;
    return Array.from(
      this.#late,
      (key) =>
        `${generation} holds ${quoted(belowIncoming(pipeline, key))}, which was retracted since it was planned: run ${remedy}`,
    );
  }

  #problem({ key, shard, retracted }: RetractedMember): string {
    const { pipeline, generation } = this.#manifest;
    const below = quoted(belowIncoming(pipeline, key));
    const under = quoted(retracted.etag);
    return `${generation}/${shard} holds the bytes of ${below} that were retracted under the ETag ${under}: run tidewheel data retract s3://${this.#store.bucket}/${pipeline} ${below}`;
  }
}

interface Found {
  readonly noted: readonly Retraction[];
  readonly byKey: ReadonlyMap<string, readonly Retracted[]>;
  readonly unread: readonly string[];
}

/** @param manifests of all generations, replaced and pruned ones too: they say it even where a joined one was lost */
export async function retractedObjects(
  store: BlobStore,
  pipeline: string,
  manifests: readonly Manifest[],
): Promise<RetractedObjects> {
  const newest = await newestVersion(blobVersions(store), pipeline);
  const byKey = new Map<string, Retracted[]>();
  const unread: string[] = [];
  for (const manifest of manifests)
    try {
      await addRetracted(byKey, store, manifest);
    } catch (error: unknown) {
      if (!(error instanceof DocumentError)) throw error;
      unread.push(error.message);
    }
  await addSums(byKey, store, manifests);
  const noted = await readRetractions(store, pipeline);
  return new RetractedObjects(store, { noted, byKey, unread }, newest);
}

async function addRetracted(
  byKey: Map<string, Retracted[]>,
  store: BlobStore,
  manifest: Manifest,
): Promise<void> {
  if (manifest.rejections.byReason['retracted'] === undefined) return;
  for await (const [key, etag, size, outcome, sum] of sealedLines(store, manifest)) {
    if (outcome !== 'retracted') continue;
    const known = byKey.get(key) ?? [];
    byKey.set(key, known);
    const at = known.findIndex((one) => one.etag === etag);
    const one = { etag, size, sum: knownSum(sum ?? undefined) ?? known[at]?.sum };
    if (at < 0) known.push(one);
    else known[at] = one;
  }
}

/** Earlier releases noted no sum. The generation that held the object has one, until it is pruned. */
async function addSums(
  byKey: ReadonlyMap<string, Retracted[]>,
  store: BlobStore,
  manifests: readonly Manifest[],
): Promise<void> {
  if (![...byKey.values()].flat().some(({ sum }) => sum === undefined)) return;
  for (const manifest of manifests.filter(({ pruned }) => pruned !== true))
    for (const shard of manifest.shards)
      for (const line of await listedMembers(store, manifest, shard)) {
        const known = byKey.get(line.key ?? '') ?? [];
        const at = known.findIndex(({ etag, sum }) => sum === undefined && etag === line.etag);
        const one = known[at];
        if (one !== undefined) known[at] = { ...one, sum: knownSum(sumOfSource(line)) };
      }
}

/** A list that cannot be read is a problem of its generation. */
async function listedMembers(
  store: BlobStore,
  { pipeline, generation }: Manifest,
  shard: Held['shard'],
): Promise<readonly MemberLine[]> {
  try {
    return await memberLines(store, packingKeys(pipeline, generation), shard);
  } catch (error: unknown) {
    if (error instanceof DocumentError) return [];
    throw error;
  }
}
