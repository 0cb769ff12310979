/** Labels by key in typed arrays. Two million keys take 70 MB, a tenth of a Map of strings. */
import { hash } from 'node:crypto';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';

const FREE = 0;
/** Labels are numbered from 1. A key with two different labels has this number. */
const TWO_LABELS = -1;
const MOST_LABEL_CHARACTERS = 64e6;

export type LabelLookup =
  | { readonly kind: 'label'; readonly label: string }
  | { readonly kind: 'doubled' }
  | undefined;

class Slots {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  readonly c: Uint32Array;
  readonly label: Int32Array;
  readonly lookedUp: Uint8Array;

  constructor(size: number) {
    this.a = new Uint32Array(size);
    this.b = new Uint32Array(size);
    this.c = new Uint32Array(size);
    this.label = new Int32Array(size);
    this.lookedUp = new Uint8Array(size);
  }

  /** The slot of these 96 bits of a key's digest, or the free slot for them. */
  find(a: number, b: number, c: number): number {
    const mask = this.label.length - 1;
    let at = a & mask;
    while (this.label[at] !== FREE && !(this.a[at] === a && this.b[at] === b && this.c[at] === c))
      at = (at + 1) & mask;
    return at;
  }
}

/** Compares keys by 96 bits of their SHA-256. */
export class LabelTable {
  #slots = new Slots(1_024);
  readonly #labels: string[] = [];
  readonly #numbers = new Map<string, number>();
  #characters = 0;
  #keys = 0;

  /** `other`: the key already has another label. */
  add(key: string, label: string): 'new' | 'same' | 'other' {
    const at = this.#locate(key);
    const number = this.#numberOf(label);
    const { label: held } = this.#slots;
    if (held[at] === number) return 'same';
    if (held[at] !== FREE) {
      held[at] = TWO_LABELS;
      return 'other';
    }
    held[at] = number;
    this.#keys += 1;
    if (this.#keys * 10 > held.length * 6) this.#grow();
    return 'new';
  }

  /** @param isListed notes that the key was looked up */
  find(key: string, isListed = true): LabelLookup {
    const at = this.#locate(key);
    const number = this.#slots.label[at] ?? FREE;
    if (number === FREE) return undefined;
    if (isListed) this.#slots.lookedUp[at] = 1;
    if (number === TWO_LABELS) return { kind: 'doubled' };
    return { kind: 'label', label: this.#labels[number - 1] ?? '' };
  }

  wasLookedUp(key: string): boolean {
    return this.#slots.lookedUp[this.#locate(key)] === 1;
  }

  isDoubled(key: string): boolean {
    return this.#slots.label[this.#locate(key)] === TWO_LABELS;
  }

  #locate(key: string): number {
    const digest = hash('sha256', key, 'buffer');
    const slots = this.#slots;
    const at = slots.find(digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8));
    if (slots.label[at] === FREE) {
      slots.a[at] = digest.readUInt32LE(0);
      slots.b[at] = digest.readUInt32LE(4);
      slots.c[at] = digest.readUInt32LE(8);
    }
    return at;
  }

  #numberOf(label: string): number {
    const known = this.#numbers.get(label);
    if (known !== undefined) return known;
    this.#characters += label.length;
    if (this.#characters > MOST_LABEL_CHARACTERS) {
      throw new ConfigurationError(
        `the annotations hold more than ${MOST_LABEL_CHARACTERS / 1e6} million characters of different labels: put such texts beside the samples as .txt or .json files`,
      );
    }
    this.#labels.push(label);
    this.#numbers.set(label, this.#labels.length);
    return this.#labels.length;
  }

  #grow(): void {
    const old = this.#slots;
    const larger = new Slots(old.label.length * 2);
    for (let from = 0; from < old.label.length; from += 1) {
      if (old.label[from] === FREE) continue;
      const [a, b, c] = [old.a[from] ?? 0, old.b[from] ?? 0, old.c[from] ?? 0];
      const at = larger.find(a, b, c);
      larger.a[at] = a;
      larger.b[at] = b;
      larger.c[at] = c;
      larger.label[at] = old.label[from] ?? FREE;
      larger.lookedUp[at] = old.lookedUp[from] ?? 0;
    }
    this.#slots = larger;
  }
}
