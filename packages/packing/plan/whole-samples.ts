/**
 * Brings the rest of a sample back into the plan when one of its objects is new or has changed. So a corrected label is
 * packed together with its image, which an earlier generation holds too.
 */

import type { ListedBlob } from '../documents/blob-store.ts';
import { belongsTo } from '../documents/listed-ranges.ts';
import { splitKey } from '../documents/member-names.ts';
import { type ArrivalState, type SealedFilter } from './sealed-filter.ts';

export interface WholeSampleRules {
  /** @param isKnown an earlier generation packed its key */
  readonly add: (object: ListedBlob, isKnown: boolean) => void;
  /** Notes a packed object that is not listed any more. */
  readonly remove: (object: ListedBlob) => void;
  /** All objects of the packed sample, of an object whose sample has another label now. */
  readonly correctedWith: (key: string) => readonly string[] | undefined;
  /** It belongs to no sample, and is never packed. */
  readonly isIgnored: (object: ListedBlob) => boolean;
  readonly innerSuffixes?: readonly string[] | undefined;
  /** Keys form samples. Otherwise each arrival is taken alone. */
  readonly isWhole: boolean;
  /** The sealed rest of a sample comes back with what is new of it. Otherwise only what was rejected without it. */
  readonly replaces: boolean;
  /** Objects that come back may lie in a range of which everything is sealed. */
  readonly looksBack: boolean;
}

/** A folder named like a sample may hold millions of objects. Of so many, the sealed ones stay where they are. */
const MOST_HELD = 100_000;

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
    const isSame = first !== undefined && belongsTo(object.key, first.object.key);
    if (!isSame || this.#held.length >= MOST_HELD) this.finish();
    this.#held.push({ object, state });
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
      : splitKey(object.key, this.#rules.innerSuffixes).stem;
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
