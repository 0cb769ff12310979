/** Where a parallel listing begins its next range: learned from the pages that it has read. */
import type { ListedBlob } from '../documents/blob-store.ts';
import { compareKeys } from '../documents/order.ts';
import { KeyAlphabets, type Stretch } from './key-alphabets.ts';

export interface Guess {
  readonly key: string;
  /** Nothing is known of the keys about it. */
  readonly isBlind: boolean;
}

/** The keys after `after`, up to and including `until` (undefined: to the end of the prefix). */
interface Guessed {
  readonly after: string;
  readonly until: string | undefined;
  /** How keys went on there, or shortly before. */
  readonly stretch: Stretch | undefined;
}

/** Keys of a page that are learned from. */
const LEARNED_KEYS = 16;
/** Pages returned last that are looked back on. */
const LOOKED_BACK = 32;
/** After so many comparisons, older ones count half. */
const COMPARED = 64;

/** A copy that does not keep the whole page in memory, of whose text a key is a part. */
const copyOf = (key: string): string => Buffer.from(key).toString();

export class ListingGuesses {
  readonly #prefix: string;
  readonly #pagesApart: number;
  readonly #alphabets: KeyAlphabets;
  /** The last keys of the pages returned last. */
  readonly #returned: string[] = [];
  /** How often the keys went on as in the page before, and how often they did not. */
  #wentOn = 1;
  #brokeOff = 0;

  constructor(prefix: string, pagesApart: number) {
    this.#prefix = prefix;
    this.#pagesApart = pagesApart;
    this.#alphabets = new KeyAlphabets(prefix);
  }

  /** @returns how the keys of this page go on: by its last quarter, because its first may lie in another folder */
  learn(objects: readonly ListedBlob[]): Stretch | undefined {
    const { length } = objects;
    for (let at = 0; at < length; at += Math.ceil(length / LEARNED_KEYS))
      this.#alphabets.learn(objects[at]?.key ?? this.#prefix);
    const start = Math.floor((length * 3) / 4);
    const [first, last] = [objects[start]?.key, objects.at(-1)?.key];
    if (first === undefined || last === undefined || first === last) return undefined;
    const [from, to] = [copyOf(first), copyOf(last)];
    this.#alphabets.learn(from);
    this.#alphabets.learn(to);
    return { from, to, pages: (length - 1 - start) / length };
  }

  /** @param last the key that ends the page behind the one that the stretch ends */
  compare(stretch: Stretch, last: string): void {
    const guess = this.#alphabets.ahead(stretch.to, 2, stretch);
    const wentOn = guess !== undefined && compareKeys(last, guess) <= 0;
    this.#note(wentOn);
  }

  /** A range without a key. */
  noteEmpty(): void {
    this.#note(false);
  }

  #note(wentOn: boolean): void {
    if (wentOn) this.#wentOn += 1;
    else this.#brokeOff += 1;
    if (this.#wentOn + this.#brokeOff < COMPARED) return;
    this.#wentOn /= 2;
    this.#brokeOff /= 2;
  }

  /** A page that was returned. There is none between it and the one before. */
  returned(objects: readonly ListedBlob[]): void {
    const [first, last] = [objects[0]?.key, objects.at(-1)?.key];
    if (first === undefined || last === undefined) return;
    if (this.#returned.length === 0) this.#returned.push(copyOf(first));
    this.#returned.push(copyOf(last));
    if (this.#returned.length > LOOKED_BACK) this.#returned.shift();
  }

  /** A place some pages ahead in the range, if it seems to have as many more behind that. */
  placeIn(range: Guessed): Guess | undefined {
    const { after, until, stretch } = range;
    if (stretch === undefined) return undefined;
    const wide = this.#wideStretch();
    const guess = this.#ahead(range, wide ?? stretch);
    if (guess === 'tooShort' && wide === undefined) return undefined;
    if (guess !== undefined && guess !== 'tooShort') return { ...guess, isBlind: false };
    const local = wide && this.#ahead(range, stretch);
    if (local === 'tooShort') return undefined;
    const key = local?.key ?? keyBetween(after, until, this.#prefix);
    return key === undefined ? undefined : { key, isBlind: true };
  }

  /** @returns undefined where the known characters say nothing */
  #ahead({ after, until }: Guessed, stretch: Stretch): { readonly key: string } | 'tooShort' | undefined {
    const near = this.#alphabets.ahead(after, this.#pagesApart, stretch);
    if (near === undefined) return undefined;
    if (until === undefined) return { key: near };
    const far = this.#alphabets.ahead(after, 2 * this.#pagesApart, stretch);
    if (far === undefined) return undefined;
    return compareKeys(far, until) < 0 ? { key: near } : 'tooShort';
  }

  /** Where keys often break off within the pages that a guess is ahead, the pages returned last tell more than one. */
  #wideStretch(): Stretch | undefined {
    const [from, to] = [this.#returned[0], this.#returned.at(-1)];
    const isLocal = this.#brokeOff * this.#pagesApart <= this.#wentOn;
    if (isLocal || from === undefined || to === undefined || from === to) return undefined;
    return { from, to, pages: this.#returned.length - 1 };
  }
}

/** Where blocks of characters begin: an open end is looked for within the block of the character before it. */
const BLOCKS = [0x7f, 0x0800, 0x3100, 0xd7ff, 0x1_0000, 0x10_ffff];
const SURROGATES = [0xd800, 0xdfff] as const;

const codeAt = (text: string, index: number): number => text.codePointAt(index) ?? 0x1f;

/** `start` followed by a character half way between two others. */
function halfWay(start: string, low: number, high: number): string | undefined {
  if (high - low < 2) return undefined;
  const middle = low + Math.ceil((high - low) / 2);
  const key =
    start + String.fromCodePoint(middle >= SURROGATES[0] && middle <= SURROGATES[1] ? 0xd7ff : middle);
  return key.isWellFormed() ? key : undefined;
}

/** Most characters behind the first difference that are considered. */
const DEPTH = 24;

/**
 * A key half way between two others, for where nothing is known of the keys.
 * @param until undefined: the end of all keys with the prefix
 * @returns undefined if a request would not be worth it
 */
export function keyBetween(after: string, until: string | undefined, prefix = ''): string | undefined {
  let index = until === undefined ? prefix.length : 0;
  while (until !== undefined && index < until.length && after[index] === until[index]) index += 1;
  for (let at = index; at <= Math.min(after.length, index + DEPTH); at += 1) {
    const low = codeAt(after, at);
    const high = at === index && until !== undefined ? codeAt(until, at) : BLOCKS.find((end) => end > low);
    const key = high === undefined ? undefined : halfWay(after.slice(0, at), low, high);
    if (key !== undefined && compareKeys(after, key) < 0) return key;
  }
  return undefined;
}
