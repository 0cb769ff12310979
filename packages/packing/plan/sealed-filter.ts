/** The arrivals that earlier generations packed or rejected, streamed in the order of the bucket's listing. */
import { contentEtag } from '../arrivals/bundle-place.ts';
import type { Retraction } from '../arrivals/retractions.ts';
import type { BlobReader, BlobStore, ListedBlob } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { Rejection } from '../documents/rejections.ts';
import { batchOf } from '../documents/versions.ts';
import { holdsRetracted, type Retracted } from '../formats/retracted-bytes.ts';
import {
  type Fate,
  type FindRules,
  type Found,
  GenerationCursor,
  NOTHING_SAID,
  type Statement,
} from './generation-cursor.ts';

/**
 * `changed`: what is sealed of the key has another ETag. `incomplete`: rejected because the rest of the sample that it
 * corrects was gone. `freed`: rejected for the same reason, but no generation holds an object of this key any more.
 * `late`: rejected because the rest of the sample had not arrived. `retracted`: never to be packed again, whatever else
 * comes of its sample. `retractedBytes`: the same, of bytes that were retracted under another ETag. `removed`: it was
 * deleted. If it is listed, it is there again. `superseded`: a bundle goes on to list it, and the dataset has what came
 * after it. `relabelled`: sealed, but its sample has another label now.
 */
export type ArrivalState =
  | 'new'
  | 'changed'
  | 'incomplete'
  | 'freed'
  | 'late'
  | 'retracted'
  | 'retractedBytes'
  | 'removed'
  | 'superseded'
  | 'relabelled'
  | 'sealed';

/** Must be called in the listing's order. */
export type SealedFilter = (listed: ListedBlob) => ArrivalState | Promise<ArrivalState>;

/**
 * When the bundle arrived that holds it. A bundle goes on to list what another version has replaced, and that is no news.
 */
const bundledAtOf = ({ etag, lastModified }: ListedBlob): string | undefined =>
  contentEtag(etag) === etag ? undefined : lastModified;

export interface FilterRules extends FindRules {
  /** A deletion that uncovers what a bundle holds counts: then nothing is superseded. */
  readonly uncovers?: boolean;
  /** Retracted bytes are looked for under other ETags too. */
  readonly readsRetracted?: boolean;
  /** All of the pipeline. */
  readonly retractions?: readonly Retraction[];
}

/** Whether a correction may wait for nothing any more, because the sample that it corrects has left the dataset. */
export const mayBeFreed = (manifests: readonly Manifest[]): boolean =>
  hasAny(manifests, 'correctionIncomplete') &&
  (hasAny(manifests, 'retracted') ||
    hasAny(manifests, 'removed') ||
    manifests.some(({ pruned }) => pruned === true));

const hasAny = (manifests: readonly Manifest[], reason: Rejection): boolean =>
  manifests.some(({ rejections }) => rejections.byReason[reason] !== undefined);

/** @param holding undefined where nothing has left the dataset */
async function isHeld(holding: readonly GenerationCursor[] | undefined, key: string): Promise<boolean> {
  if (holding === undefined) return true;
  for (const cursor of holding) if (await cursor.holds(key)) return true;
  return false;
}

/** Whether any generation has packed an arrival, or only rejected it. Must be called in the listing's order. */
export function sealedFates(
  store: BlobReader,
  manifests: readonly Manifest[],
): (key: string, etag: string) => Promise<Fate | undefined> {
  const cursors = manifests
    .filter(({ arrivals }) => arrivals.parts.length > 0)
    .map((manifest) => new GenerationCursor(store, manifest));
  return async (key, etag) => {
    let known: Fate | undefined;
    for (const cursor of cursors) {
      const fate = await cursor.fateOf(key, etag);
      if (known !== 'packed') known = fate ?? known;
    }
    return known;
  };
}

/** The ETag under which the dataset holds the bytes of this arrival, or its own. */
async function packedEtag(cursors: readonly GenerationCursor[], key: string, etag: string): Promise<string> {
  for (const cursor of cursors) {
    const packed = await cursor.packedEtag(key, etag);
    if (packed !== undefined) return packed;
  }
  return etag;
}

async function retractedOf(cursors: readonly GenerationCursor[], key: string): Promise<readonly Retracted[]> {
  const all: Retracted[] = [];
  for (const cursor of cursors) all.push(...(await cursor.retracted(key)));
  return all;
}

/** Undefined where an older generation may say more. */
function stateOf(found: Found): ArrivalState | undefined {
  if (found === 'same') return 'sealed';
  if (found === 'incomplete' || found === 'late' || found === 'removed') return found;
  return found === 'other' ? 'changed' : undefined;
}

interface Looked {
  readonly key: string;
  readonly etags: readonly string[];
  readonly bundledAt: string | undefined;
}

/** It came back after another version, which was rejected: so the dataset still had its bytes. */
const isBack = ({
  isHeld,
  unchangedAt,
  listedAt,
}: Pick<Statement, 'isHeld' | 'unchangedAt' | 'listedAt'>): boolean => isHeld && unchangedAt > listedAt;

/**
 * What any generation has listed last of a key, and whether one of them has seen the bundle that holds it. Cursors come
 * in the order of their newest listings.
 */
async function newestOf(
  cursors: readonly GenerationCursor[],
  { key, etags, bundledAt }: Looked,
  rules: FilterRules,
): Promise<{ readonly state: ArrivalState | undefined; readonly isSeen: boolean }> {
  let [state, isSeen]: [ArrivalState | undefined, boolean] = [undefined, false];
  let { listedAt, lapsedAt, unchangedAt, isHeld } = NOTHING_SAID;
  for (const cursor of cursors) {
    const isKnown = isHeld || unchangedAt <= listedAt;
    if (listedAt >= cursor.lastListing && isKnown) break;
    const statement = await cursor.find(key, etags, rules);
    // A generation that noted the key as no news has seen it too.
    isSeen ||= cursor.hasSeen(bundledAt);
    isHeld ||= statement.isHeld;
    lapsedAt = Math.max(lapsedAt, statement.lapsedAt);
    unchangedAt = Math.max(unchangedAt, statement.unchangedAt);
    const newer = statement.listedAt > listedAt ? stateOf(statement.found) : undefined;
    if (newer !== undefined) [state, listedAt] = [newer, statement.listedAt];
  }
  if (state === 'changed' && isBack({ isHeld, unchangedAt, listedAt })) state = 'sealed';
  // Where it was rejected after all others, nothing has replaced it.
  return { state, isSeen: isSeen && lapsedAt < listedAt };
}

/** A filter for a sorted listing: what earlier generations say of each arrival. */
export function sealedFilter(
  store: BlobStore,
  manifests: readonly Manifest[],
  rules: FilterRules,
): SealedFilter {
  const open = (some: readonly Manifest[]): GenerationCursor[] =>
    some
      .filter(({ arrivals }) => arrivals.parts.length > 0)
      .toSorted((a, b) => batchOf(b.generation) - batchOf(a.generation))
      .map((manifest) => new GenerationCursor(store, manifest, rules.retractions))
      .toSorted((a, b) => b.lastListing - a.lastListing);
  const cursors = open(manifests);
  const openWith = (reason: Rejection): GenerationCursor[] =>
    open(manifests.filter(({ rejections }) => rejections.byReason[reason] !== undefined));
  const unchanging = openWith('unchanged');
  const retracting = open(manifests);
  const holding = mayBeFreed(manifests) ? open(manifests.filter(({ pruned }) => pruned !== true)) : undefined;
  if (cursors.length === 0) return () => 'new';
  return async (object) => {
    const { key, etag: listed } = object;
    const bundledAt = bundledAtOf(object);
    // The bytes may have been packed again since they were no news, with the ETag that is listed.
    const etag = await packedEtag(unchanging, key, listed);
    const retracted = await retractedOf(retracting, key);
    const etags = [listed, etag].map(contentEtag);
    if (retracted.some((one) => etags.includes(contentEtag(one.etag)))) return 'retracted';
    const { state, isSeen } = await newestOf(cursors, { key, etags: [listed, etag], bundledAt }, rules);
    if (state === 'changed' && rules.uncovers !== true && isSeen) return 'superseded';
    const isRead = rules.readsRetracted === true && state !== 'sealed';
    if (isRead && (await holdsRetracted(store, object, retracted))) return 'retractedBytes';
    if (state === 'incomplete') return (await isHeld(holding, key)) ? state : 'freed';
    return state ?? 'new';
  };
}
