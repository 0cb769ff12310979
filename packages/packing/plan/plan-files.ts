/**
 * Plans a generation of files: each has all that lies under `incoming/` at its listing, so that it takes the place of the
 * one before.
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked, partsOf, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { openBundles } from '../arrivals/open-bundles.ts';
import { ignoredFiles, keyRejection } from '../arrivals/rejected-keys.ts';
import { keysRetracted, readRetractions } from '../arrivals/retractions.ts';
import type { BlobStore, ListedBlob } from '../documents/blob-store.ts';
import { CompressedLines, jsonLine } from '../documents/compressed-lines.ts';
import { type ArrivalLine, DOCUMENT_VERSION, type Plan, parseArrival } from '../documents/documents.ts';
import { holdsNothing, type Manifest, type SealedLine } from '../documents/manifest.ts';
import { arrivalOf, lastInOrder } from '../documents/order.ts';
import { isDeferral, type Rejection } from '../documents/rejections.ts';
import { sealedGenerations } from '../documents/sealed-arrivals.ts';
import { sealedLines } from '../documents/sealed-lines.ts';
import { batchOf } from '../documents/versions.ts';
import { SplitLists } from '../splits/split-lists.ts';
import { SplitRule } from '../splits/split-rule.ts';
import type { DraftDeps, PlanInput } from './draft-arrivals.ts';
import { listInParallel } from './parallel-listing.ts';

/** A channel's list of so many has some 10 MB. */
export const MOST_CHANNEL_FILES = 100_000;

export interface FilesDraft {
  readonly arrivals: CompressedLines;
  readonly plan: Plan;
}

/** It only reads. @throws ConfigurationError where the files cannot be a channel */
export async function draftFiles(deps: DraftDeps, input: PlanInput): Promise<FilesDraft> {
  const { store } = deps;
  const { pipeline, runId } = input;
  const { isAny, listedAt } = await openBundles(deps, pipeline);
  if (isAny)
    throw new ConfigurationError(
      `${bucketKeys.bundles(pipeline)} holds bundles, which only packing opens: delete them, and drop their files without --bundle`,
    );
  const retractions = await readRetractions(store, pipeline);
  const { manifests } = await sealedGenerations(store, pipeline);
  const lists = await SplitLists.open(store, input.packing, bucketKeys.incoming(pipeline));
  const fates = new FileFates(input, {
    lists,
    isRetracted: await retractedFiles(store, manifests, retractions),
  });
  const arrivals = new CompressedLines();
  const digest = createHash('sha256');
  const totals = { objects: 0, samples: 0, bytes: 0, rejected: 0 };
  for await (const object of listFiles(deps, input, lists?.keys)) {
    const line = fates.of(object);
    const text = jsonLine(line);
    arrivals.add(text);
    digest.update(text);
    totals.objects += 1;
    totals.bytes += object.size;
    if (typeof line[3] === 'number') totals.samples += 1;
    else if (!isDeferral(line[3])) totals.rejected += 1;
    if (totals.samples > MOST_CHANNEL_FILES) throw tooMany(pipeline);
  }
  const isNew = !(await isSealed(store, input.packing, { manifests, arrivals }));
  const none = { objects: 0, samples: 0, bytes: 0, rejected: 0 };
  const plan: Plan = {
    version: DOCUMENT_VERSION,
    pipeline,
    runId,
    digest: digest.update(JSON.stringify(input.packing)).digest('hex').slice(0, 24),
    listedAt,
    shards: 0,
    ...(isNew ? totals : none),
    ...(retractions.length > 0 && { retractions: retractions.length }),
    sourceSchema: { columns: [] },
    dropped: [],
    arrivalParts: isNew ? arrivals.parts().length : 0,
    itemShards: [0],
  };
  return { arrivals, plan };
}

const tooMany = (pipeline: string) =>
  new ConfigurationError(
    `${bucketKeys.incoming(pipeline)} holds more than ${MOST_CHANNEL_FILES} files, the most that a channel lists: choose a format in packing.format, so that they are packed into shards, or take fewer by packing.accept and packing.ignore`,
  );

/** Without the marker, the lists of a split, and the folder itself. */
async function* listFiles(
  { store, onListed }: DraftDeps,
  { pipeline, settleMarker = '' }: PlanInput,
  lists: readonly string[] = [],
): AsyncGenerator<ListedBlob> {
  const incoming = bucketKeys.incoming(pipeline);
  const notData = new Set([incoming, `${incoming}${settleMarker}`, ...lists]);
  let last = '';
  for await (const { objects } of listInParallel(store, incoming, { known: [] })) {
    onListed?.(objects.length);
    last = lastInOrder(objects, last);
    yield* objects.filter(({ key }) => !notData.has(key));
  }
}

type IsRetracted = (file: Pick<ListedBlob, 'key' | 'etag'>) => boolean;

/** What became of each listed file. */
class FileFates {
  readonly #incoming: string;
  readonly #rules: Parameters<typeof keyRejection>[2];
  readonly #splits: SplitRule | undefined;
  readonly #parts: readonly SplitName[];
  readonly #isRetracted: IsRetracted;

  constructor(
    { pipeline, packing }: PlanInput,
    { lists, isRetracted }: { readonly lists: SplitLists | undefined; readonly isRetracted: IsRetracted },
  ) {
    this.#incoming = bucketKeys.incoming(pipeline);
    this.#rules = { settings: packing, isIgnored: ignoredFiles(packing) };
    this.#splits = packing.split && new SplitRule(packing.split, {}, lists);
    this.#parts = packing.split === undefined ? [] : partsOf(packing.split);
    this.#isRetracted = isRetracted;
  }

  /** In place of the number of a sample a file has that of its part in the split. */
  of(object: ListedBlob): ArrivalLine {
    const { key, size, etag } = object;
    const reason = this.#rejectionOf(object);
    if (reason !== undefined) return [key, size, etag, reason];
    const since = Math.floor(Date.parse(object.lastModified) / 1_000);
    if (object.archived === true) return [key, size, etag, 'archived', since];
    const part = this.#splits?.of(this.#nameOf(key));
    if (this.#splits !== undefined && part === undefined) return [key, size, etag, 'groupMissing', since];
    return [key, size, etag, part === undefined ? 0 : this.#parts.indexOf(part), 1];
  }

  #nameOf(key: string): string {
    return key.slice(this.#incoming.length);
  }

  #rejectionOf(object: ListedBlob): Rejection | undefined {
    const rejection = keyRejection(this.#nameOf(object.key), object, this.#rules);
    // No function reads it, so it may be of any size.
    if (rejection !== undefined && rejection !== 'tooLarge') return rejection;
    return this.#isRetracted(object) ? 'retracted' : undefined;
  }
}

/** With other bytes it is another file, which may come again. */
async function retractedFiles(
  store: BlobStore,
  manifests: readonly Manifest[],
  all: readonly (readonly string[])[],
): Promise<IsRetracted> {
  const known = Math.max(0, ...manifests.map(({ retractions = 0 }) => retractions));
  const since = keysRetracted(all, known);
  const retracted = new Set<string>();
  const sealed = new Map<string, string>();
  for (const manifest of all.length === 0 ? [] : manifests)
    for await (const [key, etag, , fate] of sealedLines(store, manifest)) {
      if (fate === 'retracted') retracted.add(arrivalOf(key, etag));
      else if (since.has(key)) sealed.set(key, etag);
    }
  return ({ key, etag }) =>
    retracted.has(arrivalOf(key, etag)) || (since.has(key) && (sealed.get(key) ?? etag) === etag);
}

/** As it is sealed; undefined for one that waits. */
export const sealedAs = ([key, size, etag, fate]: ArrivalLine): SealedLine | undefined =>
  typeof fate === 'string' && isDeferral(fate) ? undefined : [key, etag, size, fate];

interface Drafted {
  readonly manifests: readonly Manifest[];
  readonly arrivals: CompressedLines;
}

/** Whether the last generation says the same of every file. */
async function isSealed(
  store: BlobStore,
  packing: PackingSettings,
  { manifests, arrivals }: Drafted,
): Promise<boolean> {
  const last = manifests.toSorted((a, b) => batchOf(a.generation) - batchOf(b.generation)).at(-1);
  if (last === undefined) return arrivals.lines === 0;
  const isLike = last.format === packing.format && isDeepStrictEqual(last.split, packing.split);
  if (!isLike || last.pruned === true) return false;
  // The version may have been given up since.
  const isHeld = manifests.some((one) => isUnpacked(one) && !holdsNothing(one) && one.pruned !== true);
  const before = sealedLines(store, last);
  for (const text of arrivals.read()) {
    const now = sealedAs(parseArrival(text));
    if (now === undefined) continue;
    const next = await before.next();
    const sealed = next.done === true ? undefined : next.value;
    if ((typeof now[3] === 'number' && !isHeld) || !isSame(now, sealed)) return false;
  }
  return (await before.next()).done === true;
}

/** Where all files were as before, and something else was rejected, a generation has them as `unchanged`. */
const isSame = ([key, etag, , fate]: SealedLine, sealed: SealedLine | undefined): boolean =>
  sealed?.[0] === key &&
  sealed[1] === etag &&
  (sealed[3] === fate || (sealed[3] === 'unchanged' && typeof fate === 'number'));
