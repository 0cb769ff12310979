/**
 * What a plan listed, by ranges of keys. Once its generation is sealed, every arrival in these ranges is packed or
 * rejected. So a later plan that lists the same in a range need not read the sealed lists for it.
 */

import { parseJson } from '@tidewheel/kit/json.ts';
import { kindOf, readVersioned, valueOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { compressPlanned, readableText } from '../documents/compressed-lines.ts';
import { DOCUMENT_VERSION } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { splitKey } from '../documents/member-names.ts';
import { MultisetHash } from '../documents/multiset-hash.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { readSealedManifest, type SealedGenerations } from '../documents/sealed-arrivals.ts';
import { batchOf } from '../documents/versions.ts';

/** The keys behind the range before, up to and including `last`. */
export interface ListedRange {
  readonly last: string;
  readonly objects: number;
  /** Of their keys and ETags, as of a MultisetHash. */
  readonly digest: string;
  /** Whether the plan holds any of them. The others were sealed before. */
  readonly planned: boolean;
}

/** Whether it has to be listed, whatever it holds. */
export const isUnknown = ({ objects }: ListedRange): boolean => objects === UNKNOWN;

/** What is known of a folder. */
export interface KnownRanges {
  readonly ranges: readonly ListedRange[];
  /** When the plan that knew it began to list, ISO 8601. Absent of earlier releases. */
  readonly at?: string | undefined;
  /** By which it rejected arrivals. Absent of earlier releases. */
  readonly rules?: string | undefined;
}
export const NOTHING_KNOWN: KnownRanges = { ranges: [] };

const rangesSchema = z.object({
  version: z.literal(DOCUMENT_VERSION),
  at: z.iso.datetime().optional(),
  rules: z.string().optional(),
  /** Generations that sealed the arrivals which were not planned. */
  generations: z.array(z.string()),
  ranges: z.array(z.tuple([z.string(), z.int(), z.string().regex(/^[0-9a-f]{32}$/), z.boolean()])),
});

export function listedRangesBody(generations: readonly string[], { ranges, at, rules }: KnownRanges): Buffer {
  const document: z.input<typeof rangesSchema> = {
    version: DOCUMENT_VERSION,
    at,
    rules,
    generations: [...generations],
    ranges: ranges.map(({ last, objects, digest, planned }) => [last, objects, digest, planned]),
  };
  return compressPlanned(JSON.stringify(document));
}

/**
 * The ranges of the newest sealed plan in which every arrival is packed or rejected. Empty if nothing certain is known:
 * the plan's folder has expired, a generation is gone, or labels come from a file of annotations, which may change.
 */
export async function sealedRanges(
  store: BlobStore,
  pipeline: string,
  sealed: SealedGenerations,
): Promise<KnownRanges> {
  const manifest = await newestOfRun(store, pipeline, sealed);
  if (manifest === undefined || manifest.annotations !== undefined) return NOTHING_KNOWN;
  const found = await store.get(packingKeys(pipeline, manifest.generation).planRanges(manifest.plan));
  const listed = found.kind === 'found' ? parsed(joinChunks(found.chunks)) : undefined;
  if (listed === undefined) return NOTHING_KNOWN;
  // Of a generation that was given up, only what was retracted may be left.
  const holding = sealed.manifests.filter(({ pruned, arrivals }) => pruned !== true || arrivals.packed > 0);
  const known = new Set([...holding.map(({ generation }) => generation), ...sealed.replaced]);
  if (!listed.generations.every((generation) => known.has(generation))) return NOTHING_KNOWN;
  const isAnyReplaced = [manifest.generation, ...listed.generations].some((generation) =>
    sealed.replaced.includes(generation),
  );
  if (sealed.isJoinedGivenUp && isAnyReplaced) return NOTHING_KNOWN;
  const ranges = listed.ranges.map(([last, objects, digest, planned]) => ({
    last,
    objects,
    digest,
    planned,
  }));
  // A deferred arrival may be any of those that were planned.
  const isCertain = manifest.arrivals.deferred === 0;
  return {
    ranges: ranges.map((range) => (isCertain || !range.planned ? range : { ...range, objects: UNKNOWN })),
    at: listed.at,
    rules: listed.rules,
  };
}

/** No listing has so many objects, so the range counts as changed. */
const UNKNOWN = -1;

/** Joined generations have no plan. */
async function newestOfRun(
  store: BlobStore,
  pipeline: string,
  { manifests, replaced }: SealedGenerations,
): Promise<Manifest | undefined> {
  const unreplaced = new Map(
    manifests.flatMap((manifest) =>
      manifest.compacted === undefined ? [[manifest.generation, manifest]] : [],
    ),
  );
  const joined = new Set(manifests.flatMap(({ generation, compacted }) => (compacted ? [generation] : [])));
  const [newest] = [...unreplaced.keys(), ...replaced]
    .filter((name) => !joined.has(name))
    .sort((a, b) => batchOf(b) - batchOf(a));
  if (newest === undefined) return undefined;
  const manifest = unreplaced.get(newest) ?? (await readSealedManifest(store, pipeline, newest));
  return manifest?.compacted === undefined ? manifest : undefined;
}

/** A damaged object counts as none: it only saves time. */
function parsed(bytes: Uint8Array): z.output<typeof rangesSchema> | undefined {
  return valueOf(readVersioned(kindOf(rangesSchema), parseJson(readableText(bytes))));
}

/** A page of a listing. Two neighbours that hold no more than two pages together become one. */
const RANGE_OBJECTS = 1_000;

/** Whether both keys may be of one sample. */
export const belongsTo = (key: string, before: string): boolean =>
  key.startsWith(`${splitKey(before).stem}.`);

/** Collects the ranges of a listing, in its order. A sample is in one range. */
export class RangeCollector {
  readonly #rangeObjects: number;
  readonly #closed: ListedRange[] = [];
  #open = new MultisetHash();
  #last = '';
  #planned = false;

  constructor(rangeObjects = RANGE_OBJECTS) {
    this.#rangeObjects = rangeObjects;
  }

  add(key: string, etag: string, planned: boolean): void {
    const { count } = this.#open;
    if (count >= this.#rangeObjects && !(count < 2 * this.#rangeObjects && belongsTo(key, this.#last)))
      this.#close();
    this.#open.add(key, etag);
    this.#last = key;
    this.#planned ||= planned;
  }

  /** Adds a range that holds what it held before. */
  keep(range: ListedRange): void {
    this.#close();
    this.#push({ ...range, planned: false });
  }

  ranges(): readonly ListedRange[] {
    this.#close();
    return this.#closed;
  }

  #close(): void {
    const { count: objects, digest } = this.#open;
    if (objects === 0) return;
    // A copy, because the key may be a part of its page's text, which would stay in memory with it.
    const last = Buffer.from(this.#last).toString();
    this.#push({ last, objects, digest, planned: this.#planned });
    this.#open = new MultisetHash();
    this.#planned = false;
  }

  #push(range: ListedRange): void {
    const before = this.#closed.at(-1);
    if (before === undefined || before.objects + range.objects > 2 * this.#rangeObjects) {
      this.#closed.push(range);
      return;
    }
    const both = MultisetHash.of(before.digest, before.objects);
    both.join(MultisetHash.of(range.digest, range.objects));
    this.#closed.splice(-1, 1, {
      last: range.last,
      objects: both.count,
      digest: both.digest,
      planned: before.planned || range.planned,
    });
  }
}
