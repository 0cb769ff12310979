/**
 * Brings the rest of a sample back into the plan when one of its objects is new or has changed. So a corrected label is
 * packed together with its image, which an earlier generation holds too.
 */
import type { ListedBlob } from '../model/blob-store.ts';
import { belongsTo } from '../model/listed-ranges.ts';
import { splitKey } from '../model/member-names.ts';
import type { ArrivalState, SealedFilter } from '../model/sealed-arrivals.ts';

export interface WholeSampleRules {
  readonly add: (object: ListedBlob) => void;
  /** Otherwise each arrival is taken alone, as where changed objects are kept. */
  readonly isWhole: boolean;
}

/** A folder named like a sample may hold millions of objects. Of so many, the sealed ones stay where they are. */
const MOST_HELD = 100_000;

interface Held {
  readonly object: ListedBlob;
  readonly state: ArrivalState;
}

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
    if (!this.#rules.isWhole) {
      if (state === 'changed') this.changes += 1;
      if (state === 'new' || state === 'changed') this.#rules.add(object);
      return;
    }
    const [first] = this.#held;
    const isSame = first !== undefined && belongsTo(object.key, first.object.key);
    if (!isSame || this.#held.length >= MOST_HELD) this.finish();
    this.#held.push({ object, state });
  }

  /** A range of which everything is sealed. Only its ends may belong to samples of other ranges. */
  async passSealed(objects: readonly ListedBlob[], stateOf: SealedFilter): Promise<void> {
    const [first] = this.#held;
    const last = objects.at(-1);
    if (!this.#rules.isWhole || last === undefined) return;
    const begins =
      first === undefined ? 0 : countWhile(objects, ({ key }) => belongsTo(key, first.object.key));
    for (const object of objects.slice(0, begins)) this.see(object, await stateOf(object.key, object.etag));
    const { stem } = splitKey(last.key);
    const rest = objects.slice(begins).toReversed();
    const ends = countWhile(rest, ({ key }) => splitKey(key).stem === stem);
    for (const object of rest.slice(0, ends).toReversed())
      this.see(object, await stateOf(object.key, object.etag));
  }

  /** Adds what is held, if any of it is to be packed. */
  finish(): void {
    const held = this.#held;
    this.#held = [];
    if (held.every(({ state }) => state === 'sealed' || state === 'retracted')) return;
    const states = new Map<string, Set<ArrivalState>>();
    for (const { object, state } of held) {
      const { stem } = splitKey(object.key);
      states.set(stem, (states.get(stem) ?? new Set()).add(state));
    }
    for (const { object, state } of held) {
      if (state === 'retracted') continue;
      if (!isToBePacked(states.get(splitKey(object.key).stem) ?? new Set())) continue;
      if (state !== 'new') this.changes += 1;
      this.#rules.add(object);
    }
  }
}

/** The rest of a sample may have come again beside a correction that lacked it. */
const isToBePacked = (states: ReadonlySet<ArrivalState>): boolean =>
  states.has('new') || states.has('changed') || (states.has('incomplete') && states.has('sealed'));

function countWhile<T>(all: readonly T[], holds: (one: T) => boolean): number {
  const end = all.findIndex((one) => !holds(one));
  return end < 0 ? all.length : end;
}
