/**
 * Where a parallel listing begins its next range: it guesses where keys lie that are not listed yet. It learns from the
 * pages that it has read which characters a place in a key has, and counts on from there. Any guess is a valid place to
 * list from; a good one lies a known number of keys ahead.
 */

import type { ListedBlob } from '../documents/blob-store.ts';
import { compareKeys } from '../documents/order.ts';

/** A stretch of the listing whose number of keys is known. */
export interface Stretch {
  readonly from: string;
  readonly to: string;
  /** Keys in it, as a share of a page. */
  readonly pages: number;
}

type Interval = readonly [first: number, last: number];

/** Where a key ends: before any character. */
const END = -1;
const LAST_ASCII = 0x7f;
/** No characters. */
const SURROGATES: Interval = [0xd800, 0xdfff];
const DIGITS: Interval = [0x30, 0x39];
/** The letters of hexadecimal numbers, and all, of both cases. */
const LETTERS: readonly (readonly [few: Interval, all: Interval])[] = [
  [
    [0x41, 0x46],
    [0x41, 0x5a],
  ],
  [
    [0x61, 0x66],
    [0x61, 0x7a],
  ],
];

const isWithin = (code: number, [first, last]: Interval): boolean => code >= first && code <= last;

const SLASH = 0x2f;
/** Characters that a guess has behind the first that it changes. */
const MOST_DIGITS = 6;
const codesOf = (key: string): number[] => Array.from(key, (character) => character.codePointAt(0) ?? 0);

function firstDifference(a: readonly number[], b: readonly number[]): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** The characters of one place: those seen and those that belong to them, in order. */
class Alphabet {
  readonly #seen = new Set<number>();
  #intervals: readonly Interval[] | undefined;
  #size = 0;

  add(code: number): void {
    if (this.#seen.has(code)) return;
    this.#seen.add(code);
    this.#intervals = undefined;
  }

  get size(): number {
    if (this.#intervals === undefined) this.#complete();
    return this.#size;
  }

  /** How many characters come before this one. */
  rankOf(code: number): number {
    let rank = 0;
    for (const [first, last] of this.#complete()) {
      if (code <= last) return rank + Math.max(0, code - first);
      rank += last - first + 1;
    }
    return Math.max(0, rank - 1);
  }

  codeAt(rank: number): number | undefined {
    let rest = rank;
    for (const [first, last] of this.#complete()) {
      if (rest <= last - first) return isWithin(first + rest, SURROGATES) ? SURROGATES[0] - 1 : first + rest;
      rest -= last - first + 1;
    }
    return undefined;
  }

  /** A digit counts on to 9. Where letters differ, there may be any letter. */
  #complete(): readonly Interval[] {
    if (this.#intervals !== undefined) return this.#intervals;
    const intervals: Interval[] = [];
    let rest = [...this.#seen].sort((a, b) => a - b);
    const take = (within: Interval, as: Interval = within): void => {
      const taken = rest.filter((code) => isWithin(code, within));
      if (taken.length === 0) return;
      intervals.push(as);
      rest = rest.filter((code) => !isWithin(code, within));
    };
    take(DIGITS);
    if (this.#seen.size > 1)
      for (const [few, all] of LETTERS)
        take(all, rest.some((code) => isWithin(code, all) && !isWithin(code, few)) ? all : few);
    const beyond = rest.filter((code) => code > LAST_ASCII);
    const [first, last] = [beyond[0], beyond.at(-1)];
    if (first !== undefined && last !== undefined) take([first, last]);
    intervals.push(...rest.map((code): Interval => [code, code]));
    this.#intervals = intervals.sort(([a], [b]) => a - b);
    this.#size = intervals.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    return this.#intervals;
  }
}

/** A place in a key: in which folder below the prefix, and how many characters behind its slash. */
interface Place {
  folder: number;
  offset: number;
}

const step = (place: Place, code: number | undefined): void => {
  if (code === SLASH) {
    place.folder += 1;
    place.offset = 0;
  } else place.offset += 1;
};

export class KeyAlphabets {
  readonly #prefixLength: number;
  readonly #alphabets: Alphabet[][] = [];

  constructor(prefix: string) {
    this.#prefixLength = codesOf(prefix).length;
  }

  /** @param key under the prefix */
  learn(key: string): void {
    const codes = codesOf(key);
    const place = { folder: 0, offset: 0 };
    for (let at = this.#prefixLength; at <= codes.length; at += 1) {
      const code = codes[at] ?? END;
      this.#at(place).add(code);
      step(place, code);
    }
  }

  /**
   * A key about so many pages behind another, if the keys go on as in a stretch.
   * @returns undefined where the known characters have no such key
   */
  ahead(key: string, pages: number, { from, to, pages: stretchPages }: Stretch): string | undefined {
    const [low, high] = [codesOf(from), codesOf(to)];
    const start = firstDifference(low, high);
    const codes = this.#padded(codesOf(key), start);
    let at = start;
    const perPage = (this.#value(high, at) - this.#value(low, at)) / stretchPages;
    let value = this.#value(codes, at) + perPage * pages;
    // What counts on beyond the last character of a place carries over to the place before.
    while (value >= 1 && at > this.#prefixLength) {
      at -= 1;
      const alphabet = this.#at(this.#placeOf(codes, at));
      if (alphabet.size > 1) value = (alphabet.rankOf(codes[at] ?? END) + value) / alphabet.size;
    }
    if (!(value < 1)) return undefined;
    const found = this.#decoded(codes.slice(0, at), value);
    return compareKeys(found, key) > 0 ? found : undefined;
  }

  #at({ folder, offset }: Place): Alphabet {
    const places = (this.#alphabets[folder] ??= []);
    return (places[offset] ??= new Alphabet());
  }

  #placeOf(codes: readonly number[], end: number): Place {
    const place = { folder: 0, offset: 0 };
    for (let at = this.#prefixLength; at < end; at += 1) step(place, codes[at]);
    return place;
  }

  /** How far a key lies in the space of all keys with its first characters: 0 to 1. */
  #value(codes: readonly number[], start: number): number {
    const place = this.#placeOf(codes, start);
    let [value, unit] = [0, 1];
    // Characters that never differ at their place do not narrow the space.
    for (let at = start, digits = 0; at < codes.length && digits < MOST_DIGITS; at += 1) {
      const alphabet = this.#at(place);
      if (alphabet.size > 1) {
        unit /= alphabet.size;
        value += alphabet.rankOf(codes[at] ?? END) * unit;
        digits += 1;
      }
      step(place, codes[at]);
    }
    return value;
  }

  /** The key with these first characters whose value is this. */
  #decoded(start: readonly number[], value: number): string {
    const codes = [...start];
    const place = this.#placeOf(codes, codes.length);
    let rest = value;
    for (let digits = 0; digits < MOST_DIGITS; ) {
      const alphabet = this.#at(place);
      const rank = Math.floor(rest * alphabet.size);
      const code = alphabet.codeAt(rank);
      if (code === undefined || code === END) break;
      rest = alphabet.size > 1 ? rest * alphabet.size - rank : rest;
      if (alphabet.size > 1) digits += 1;
      codes.push(code);
      step(place, code);
    }
    return String.fromCodePoint(...codes);
  }

  /** With the first known characters behind it, if it is shorter. */
  #padded(codes: number[], length: number): number[] {
    const place = this.#placeOf(codes, codes.length);
    while (codes.length < length) {
      const code = this.#at(place).codeAt(0);
      if (code === undefined || code === END) break;
      codes.push(code);
      step(place, code);
    }
    return codes;
  }
}

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
function keyBetween(after: string, until: string | undefined, prefix: string): string | undefined {
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
