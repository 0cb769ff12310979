/**
 * Whether a document that comes in pieces is JSON, in memory that does not grow with it. Like isJson it takes what
 * Python's json writes as numbers. https://www.rfc-editor.org/rfc/rfc8259
 */

/** What may come next, outside of strings, words and numbers. `after`: behind a value. */
type Place = 'value' | 'firstItem' | 'firstKey' | 'key' | 'colon' | 'after';
/** Within which token the next byte lies. */
type Token = 'none' | 'string' | 'escape' | 'hex' | 'word' | 'number';

const byteOf = (character: string): number => character.charCodeAt(0);
const [QUOTE, BACKSLASH, SPACE] = [byteOf('"'), byteOf('\\'), 0x20];
const OPEN = { [byteOf('{')]: 'firstKey', [byteOf('[')]: 'firstItem' } as const;
const CLOSE: Readonly<Record<number, Place>> = { [byteOf('}')]: 'key', [byteOf(']')]: 'value' };
const MAY_CLOSE = new Set<Place>(['firstItem', 'firstKey', 'after']);
const BLANKS = new Set([' ', '\t', '\n', '\r'].map(byteOf));
const ESCAPED = new Set(['"', '\\', '/', 'b', 'f', 'n', 'r', 't'].map(byteOf));
const WORDS = new Map(
  ['true', 'false', 'null', 'NaN', 'Infinity'].map((word) => [byteOf(word), Buffer.from(word)]),
);

/** The state of a number after each of these characters. */
const NUMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  begin: { '-': 'minus', '0': 'zero', '1': 'whole' },
  minus: { '0': 'zero', '1': 'whole' },
  zero: { '.': 'point', e: 'power' },
  whole: { '0': 'whole', '1': 'whole', '.': 'point', e: 'power' },
  point: { '0': 'part', '1': 'part' },
  part: { '0': 'part', '1': 'part', e: 'power' },
  power: { '-': 'sign', '+': 'sign', '0': 'tens', '1': 'tens' },
  sign: { '0': 'tens', '1': 'tens' },
  tens: { '0': 'tens', '1': 'tens' },
};
const WHOLE_NUMBERS = new Set(['zero', 'whole', 'part', 'tens']);

/** All digits from 1 on, and both letters of a power, are alike. */
function numberCharacter(byte: number): string {
  if (byte > 0x30 && byte <= 0x39) return '1';
  return String.fromCharCode(byte).toLowerCase();
}

const isHex = (byte: number): boolean => /^[0-9a-f]$/i.test(String.fromCharCode(byte));

/** Python's json takes 1,000 frames of its stack for as many levels, less those of its callers, and then stops the training. */
export const MOST_LEVELS = 500;

export class JsonScan {
  #place: Place = 'value';
  #token: Token = 'none';
  #isKey = false;
  /** What follows a comma on each level. */
  readonly #levels: Place[] = [];
  #number = 'begin';
  #word: Uint8Array = new Uint8Array();
  /** Bytes of the word, or digits of the escape, so far. */
  #count = 0;
  #isBroken = false;
  /** Nothing but blanks so far. */
  isBlank = true;

  add(piece: Uint8Array): void {
    for (let at = 0; at < piece.length && !this.#isBroken; ) {
      if (this.#token === 'string') at = this.#skipString(piece, at);
      const byte = piece[at];
      if (byte !== undefined) this.#take(byte);
      at += 1;
    }
  }

  /** Whether all pieces together are one document. Call it after the last one. */
  get isWhole(): boolean {
    if (this.#isBroken || this.#levels.length > 0) return false;
    if (this.#token === 'number') return WHOLE_NUMBERS.has(this.#number);
    return this.#token === 'none' && this.#place === 'after';
  }

  /** Most bytes lie in strings. @returns where something else than a character comes */
  #skipString(piece: Uint8Array, from: number): number {
    let at = from;
    for (; at < piece.length; at += 1) {
      const byte = piece[at] ?? 0;
      if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
    }
    return at;
  }

  #take(byte: number): void {
    switch (this.#token) {
      case 'none':
        return this.#between(byte);
      case 'string':
        return this.#inString(byte);
      case 'escape':
        return this.#escaped(byte);
      case 'hex':
        return this.#hexDigit(byte);
      case 'word':
        return this.#inWord(byte);
      case 'number':
        return this.#inNumber(byte);
      default:
        return this.#token satisfies never;
    }
  }

  #between(byte: number): void {
    if (BLANKS.has(byte)) return;
    this.isBlank = false;
    if (MAY_CLOSE.has(this.#place) && CLOSE[byte] !== undefined) return this.#close(byte);
    switch (this.#place) {
      case 'value':
      case 'firstItem':
        return this.#beginValue(byte);
      case 'key':
      case 'firstKey':
        return byte === QUOTE ? this.#beginString(true) : this.#break();
      case 'colon':
        return this.#expect(byte, ':', 'value');
      case 'after':
        return this.#expect(byte, ',', this.#levels.at(-1));
      default:
        return this.#place satisfies never;
    }
  }

  #expect(byte: number, character: string, next: Place | undefined): void {
    if (byte !== byteOf(character) || next === undefined) this.#break();
    else this.#place = next;
  }

  #close(byte: number): void {
    if (this.#levels.pop() !== CLOSE[byte]) this.#break();
    this.#place = 'after';
  }

  #beginValue(byte: number): void {
    const open = OPEN[byte];
    const word = WORDS.get(byte);
    if (byte === QUOTE) this.#beginString(false);
    else if (open !== undefined) {
      this.#levels.push(open === 'firstKey' ? 'key' : 'value');
      this.#place = open;
      if (this.#levels.length > MOST_LEVELS) this.#break();
    } else if (word !== undefined) this.#beginWord(word);
    else {
      this.#token = 'number';
      this.#number = 'begin';
      this.#inNumber(byte);
    }
  }

  #beginString(isKey: boolean): void {
    this.#token = 'string';
    this.#isKey = isKey;
  }

  #beginWord(word: Uint8Array): void {
    [this.#token, this.#word, this.#count] = ['word', word, 1];
  }

  #inString(byte: number): void {
    if (byte === QUOTE) {
      this.#token = 'none';
      this.#place = this.#isKey ? 'colon' : 'after';
    } else if (byte === BACKSLASH) this.#token = 'escape';
    else if (byte < SPACE) this.#break();
  }

  #escaped(byte: number): void {
    if (byte === byteOf('u')) [this.#token, this.#count] = ['hex', 0];
    else if (ESCAPED.has(byte)) this.#token = 'string';
    else this.#break();
  }

  #hexDigit(byte: number): void {
    this.#count += 1;
    if (!isHex(byte)) this.#break();
    else if (this.#count === 4) this.#token = 'string';
  }

  #inWord(byte: number): void {
    if (byte !== this.#word[this.#count]) return this.#break();
    this.#count += 1;
    if (this.#count === this.#word.length) this.#endValue();
  }

  /** A number ends where something else begins. */
  #inNumber(byte: number): void {
    const next = NUMBERS[this.#number]?.[numberCharacter(byte)];
    if (next !== undefined) {
      this.#number = next;
      return;
    }
    const infinity = WORDS.get(byteOf('I'));
    if (this.#number === 'minus' && byte === byteOf('I') && infinity !== undefined)
      return this.#beginWord(infinity);
    if (!WHOLE_NUMBERS.has(this.#number)) return this.#break();
    this.#endValue();
    this.#between(byte);
  }

  #endValue(): void {
    this.#token = 'none';
    this.#place = 'after';
  }

  #break(): void {
    this.#isBroken = true;
  }
}
