/**
 * Finds in a listing what a run packs: what no generation has packed or rejected, streamed in the order of the bucket's
 * listing, and the rest of the samples of which one object is new or has changed. So a corrected label is packed together
 * with its image, which an earlier generation holds too. Sealed lists are opened only where the listing changed.
 */

import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { contentEtag } from '../arrivals/bundle-place.ts';
import type { Retraction } from '../arrivals/retractions.ts';
import type { BlobReader, BlobStore, ListedBlob } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { splitKey } from '../documents/member-names.ts';
import { MultisetHash } from '../documents/multiset-hash.ts';
import { compareKeys } from '../documents/order.ts';
import type { Rejection } from '../documents/rejections.ts';
import { type Naming, sampleKey } from '../documents/sample-names.ts';
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
import { belongsTo, type ListedRange, type RangeCollector } from './listed-ranges.ts';
import type { RemovedObjects } from './removed-objects.ts';

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

export interface WholeSampleRules {
  /** @param isKnown an earlier generation packed its key */
  readonly add: (object: ListedBlob, isKnown: boolean) => void;
  /** Notes a packed object that is not listed any more. */
  readonly remove: (object: ListedBlob) => void;
  /** All objects of the packed sample, of an object whose sample has another label now. */
  readonly correctedWith: (key: string) => readonly string[] | undefined;
  /** It belongs to no sample, and is never packed. */
  readonly isIgnored: (object: ListedBlob) => boolean;
  readonly naming: Naming;
  readonly incoming: string;
  /** Keys form samples. Otherwise each arrival is taken alone. */
  readonly isWhole: boolean;
  /** The sealed rest of a sample comes back with what is new of it. Otherwise only what was rejected without it. */
  readonly replaces: boolean;
  /** Objects that come back may lie in a range of which everything is sealed. */
  readonly looksBack: boolean;
}

/** A folder named like a sample may hold millions of objects. Of so many, the sealed ones stay where they are. */
const MOST_HELD = 100_000;
/** Each takes 300 bytes. */
const MOST_JOINED = 1_000_000;

interface Held {
  readonly object: ListedBlob;
  /** `gone`: packed, but not listed any more. */
  readonly state: ArrivalState | 'gone';
}

/** States for which a sample may have to be packed, or something of it noted. */
const WAKING: ReadonlySet<Held['state']> = new Set([
  'new',
  'changed',
  'incomplete',
  'freed',
  'removed',
  'retractedBytes',
  'gone',
]);
/** States with which the whole sample is packed. */
const NEWS = ['new', 'changed', 'removed', 'gone'] as const;
/** States of objects that need not be packed again where changed objects are kept. */
const DONE: ReadonlySet<Held['state']> = new Set(['sealed', 'incomplete', 'freed']);
/** States of objects whose keys the dataset does not hold. */
const UNHELD: ReadonlySet<Held['state']> = new Set(['new', 'late', 'freed', 'removed']);

/** Takes objects in the listing's order. It holds those whose keys begin with the name of one sample. */
export class WholeSamples {
  readonly #rules: WholeSampleRules;
  #held: Held[] = [];
  /** Planned arrivals of keys that earlier generations know. */
  changes = 0;

  constructor(rules: WholeSampleRules) {
    this.#rules = rules;
  }

  see(object: ListedBlob, state: ArrivalState): void {
    if (state === 'superseded') return;
    if (!this.#rules.isWhole) {
      const isChange = state === 'changed' || state === 'removed';
      if (isChange && !this.#rules.isIgnored(object)) this.changes += 1;
      if (state === 'retractedBytes') this.#retract(object);
      else if (state === 'new' || isChange) this.#rules.add(object, state === 'changed');
      return;
    }
    this.#hold(object, state);
  }

  /** A packed object that is not listed any more, in its place of the order. */
  seeRemoved(object: ListedBlob): void {
    if (this.#rules.isWhole) this.#hold(object, 'gone');
    else this.#remove(object);
  }

  /** Their ETag is noted, so that the next run need not read them. */
  #retract(object: ListedBlob): void {
    this.#rules.add({ ...object, refused: 'retracted' }, false);
  }

  #remove(object: ListedBlob): void {
    this.changes += 1;
    this.#rules.remove(object);
  }

  #hold(object: ListedBlob, state: Held['state']): void {
    const [first] = this.#held;
    if (this.#rules.naming.join !== undefined) this.#checkHeld();
    else if (
      first === undefined ||
      !belongsTo(object.key, first.object.key) ||
      this.#held.length >= MOST_HELD
    )
      this.finish();
    this.#held.push({ object, state });
  }

  /** Joined objects may lie anywhere, so all of them are held. @throws ConfigurationError */
  #checkHeld(): void {
    if (this.#held.length >= MOST_JOINED)
      throw new ConfigurationError(
        `packing.join takes at most ${MOST_JOINED} objects under incoming/: name the files of a sample alike and leave it out, or declare packing.whenDone: delete`,
      );
  }

  /** A range of which everything is sealed. Only its ends may belong to samples of other ranges. */
  async passSealed(objects: readonly ListedBlob[], stateOf: SealedFilter): Promise<void> {
    const [first] = this.#held;
    const last = objects.at(-1);
    if (!this.#rules.looksBack || last === undefined) return;
    const begins =
      first === undefined ? 0 : countWhile(objects, ({ key }) => belongsTo(key, first.object.key));
    for (const object of objects.slice(0, begins)) this.see(object, await stateOf(object));
    const { stem } = splitKey(last.key);
    const rest = objects.slice(begins).toReversed();
    const ends = countWhile(rest, ({ key }) => splitKey(key).stem === stem);
    for (const object of rest.slice(0, ends).toReversed()) this.see(object, await stateOf(object));
  }

  /** Adds what is held, if any of it is to be packed. */
  finish(): void {
    const held = this.#withLabels(this.#held);
    this.#held = [];
    if (!held.some(({ state }) => WAKING.has(state))) return;
    const states = new Map<string, Set<Held['state']>>();
    for (const { object, state } of held) {
      const name = this.#nameOf(object);
      states.set(name, (states.get(name) ?? new Set()).add(state));
    }
    for (const one of held)
      if (one.state === 'gone') this.#remove(one.object);
      else this.#addIfNews(one, one.state, states.get(this.#nameOf(one.object)) ?? new Set());
  }

  /** The name of its sample. What is ignored stands alone. */
  #nameOf(object: ListedBlob): string {
    return this.#rules.isIgnored(object)
      ? `ignored ${object.key}`
      : sampleKey(object.key.slice(this.#rules.incoming.length), this.#rules.naming).stem;
  }

  #addIfNews({ object }: Held, state: ArrivalState, ofSample: ReadonlySet<Held['state']>): void {
    if (state === 'retractedBytes') this.#retract(object);
    if (state === 'retractedBytes' || state === 'retracted' || !this.#isToBePacked(state, ofSample)) return;
    if (state !== 'new' && state !== 'late' && !this.#rules.isIgnored(object)) this.changes += 1;
    // The dataset holds no sample like the rest of this one.
    this.#rules.add(object, !UNHELD.has(state) && !ofSample.has('gone'));
  }

  /** A label alone corrects only what is there as a whole: the rest could not be packed again. */
  #withLabels(held: readonly Held[]): readonly Held[] {
    if (!held.some(({ state }) => state === 'relabelled')) return held;
    const keys = new Set(held.map(({ object }) => object.key));
    return held.map(({ object, state }) => {
      if (state !== 'relabelled') return { object, state };
      const isWhole = this.#rules.correctedWith(object.key)?.every((key) => keys.has(key)) === true;
      return { object, state: isWhole ? 'changed' : 'sealed' };
    });
  }

  /** The rest of a sample may have come again beside a correction that lacked it. */
  #isToBePacked(state: Held['state'], ofSample: ReadonlySet<Held['state']>): boolean {
    const isNews = NEWS.some((news) => ofSample.has(news));
    if (!this.#rules.replaces) return isNews && !DONE.has(state);
    if (isNews || (ofSample.has('incomplete') && ofSample.has('sealed'))) return true;
    // While any of its keys is held, the sample that it corrects is in the dataset.
    return ofSample.has('freed') && !ofSample.has('incomplete');
  }
}

function countWhile<T>(all: readonly T[], holds: (one: T) => boolean): number {
  const end = all.findIndex((one) => !holds(one));
  return end < 0 ? all.length : end;
}

interface Finding {
  /** The ranges in which everything was sealed, in order. */
  readonly known: readonly ListedRange[];
  readonly stateOf: SealedFilter;
  readonly samples: WholeSamples;
  readonly listed: RangeCollector;
  /** Only where deletions count, and then no range is known. */
  readonly removed?: RemovedObjects | undefined;
}

/** Takes the pages of a listing in order. It holds the objects of one range until the range's end. */
export class NewArrivals {
  readonly #finding: Finding;
  #range = 0;
  #held: ListedBlob[] = [];
  /** The range at hand holds something else than before. */
  #isChanged = false;

  constructor(finding: Finding) {
    this.#finding = finding;
  }

  async see(objects: readonly ListedBlob[]): Promise<void> {
    const { known } = this.#finding;
    for (const object of objects) {
      let range = known[this.#range];
      while (range !== undefined && compareKeys(range.last, object.key) < 0) {
        await this.#end(range);
        range = known[this.#range];
      }
      if (range === undefined || this.#isChanged) {
        const taking = this.#take(object);
        if (taking !== undefined) await taking;
        continue;
      }
      this.#held.push(object);
      if (this.#held.length > range.objects) await this.#release();
    }
  }

  /** The next range is as it was: nothing of it is listed. Call it at the end of a range. */
  keepRange(): void {
    const range = this.#finding.known[this.#range];
    if (range === undefined) return;
    this.#finding.listed.keep(range);
    this.#range += 1;
  }

  /** All of the next range was seen. */
  async endRange(): Promise<void> {
    const range = this.#finding.known[this.#range];
    if (range !== undefined) await this.#end(range);
  }

  /** @returns the ranges of the whole listing */
  async finish(): Promise<readonly ListedRange[]> {
    await this.endRange();
    await this.#noteRemoved(undefined);
    this.#finding.samples.finish();
    return this.#finding.listed.ranges();
  }

  async #end(range: ListedRange): Promise<void> {
    if (!this.#isChanged && holds(range, this.#held)) {
      await this.#finding.samples.passSealed(this.#held, this.#finding.stateOf);
      this.#held = [];
      this.#finding.listed.keep(range);
    } else await this.#release();
    this.#isChanged = false;
    this.#range += 1;
  }

  async #release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    this.#isChanged = true;
    for (const object of held) {
      const taking = this.#take(object);
      if (taking !== undefined) await taking;
    }
  }

  #take(object: ListedBlob): void | Promise<void> {
    if (this.#finding.removed === undefined) return this.#look(object);
    return this.#noteRemoved(object.key).then(() => this.#look(object));
  }

  async #noteRemoved(before: string | undefined): Promise<void> {
    const { removed, samples } = this.#finding;
    for (const object of (await removed?.before(before)) ?? []) samples.seeRemoved(object);
  }

  #look(object: ListedBlob): void | Promise<void> {
    const state = this.#finding.stateOf(object);
    if (typeof state !== 'string') return state.then((is) => this.#note(object, is));
    this.#note(object, state);
  }

  #note(object: ListedBlob, state: ArrivalState): void {
    this.#finding.samples.see(object, state);
    const isOver = state === 'sealed' || state === 'superseded';
    this.#finding.listed.add(object.key, object.etag, !isOver);
  }
}

function holds({ objects, digest }: ListedRange, held: readonly ListedBlob[]): boolean {
  if (held.length !== objects) return false;
  const found = new MultisetHash();
  for (const { key, etag } of held) found.add(key, etag);
  return found.digest === digest;
}
