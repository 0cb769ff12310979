/**
 * What a text says about itself, whole or piece by piece: its lines and tokens, and faults at which a reader may stop.
 */

import { isUtf8 } from 'node:buffer';
import { isDeeper } from '@tidewheel/kit/json.ts';
import type { MediaFacts } from '../documents/documents.ts';
import { JsonScan, MOST_LEVELS } from './json-scan.ts';

/** `jsonLines`: each line is a JSON document. */
export type TextKind = 'text' | 'json' | 'jsonLines';

const NEWLINE = 0x0a;

/** Tokens are runs of bytes above the space. A last line without a newline counts. */
export class TextCounter {
  #lines = 0;
  #tokens = 0;
  #last = NEWLINE;

  add(chunk: Uint8Array): void {
    let [lines, tokens, last] = [0, 0, this.#last];
    for (const byte of chunk) {
      if (byte === NEWLINE) lines += 1;
      if (byte > 0x20 && last <= 0x20) tokens += 1;
      last = byte;
    }
    this.#lines += lines;
    this.#tokens += tokens;
    this.#last = last;
  }

  get facts(): { readonly lines: number; readonly tokens: number } {
    return { lines: this.#last === NEWLINE ? this.#lines : this.#lines + 1, tokens: this.#tokens };
  }
}

export function textFacts(chunks: readonly Uint8Array[]): MediaFacts {
  const counter = new TextCounter();
  for (const chunk of chunks) counter.add(chunk);
  return counter.facts;
}

export type TextFaults = Pick<MediaFacts, 'notText' | 'notJson'>;

/** Undefined for a text without faults. */
export function textFaults(chunks: readonly Uint8Array[], kind: TextKind): TextFaults | undefined {
  const [first = new Uint8Array()] = chunks;
  const bytes =
    chunks.length > 1 ? Buffer.concat(chunks) : Buffer.from(first.buffer, first.byteOffset, first.length);
  const isText = isUtf8(bytes);
  const notJson = kind === 'text' ? 0 : brokenIn(bytes.toString(), kind);
  if (isText && notJson === 0) return undefined;
  return { ...(!isText && { notText: true }), ...(notJson > 0 && { notJson }) };
}

/** Documents that are no JSON. Blank lines are none. */
function brokenIn(text: string, kind: 'json' | 'jsonLines'): number {
  if (kind === 'json') return isJson(text) ? 0 : 1;
  let broken = 0;
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end < 0 ? text.length : end);
    if (line.trim() !== '' && !isJson(line)) broken += 1;
    start = end < 0 ? text.length : end + 1;
  }
  return broken;
}

/** Python's json reads and writes these as numbers. */
const NUMBERS_OF_PYTHON = /(?<!-)\bNaN\b|-?\bInfinity\b/g;

/** Whether Python's json reads the text. */
export const isJson = (text: string): boolean =>
  !isDeeper(text, MOST_LEVELS) &&
  (parses(text) || (text.search(NUMBERS_OF_PYTHON) >= 0 && parses(text.replace(NUMBERS_OF_PYTHON, 'null'))));

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const MOST_CHARACTER_BYTES = 4;

/** Bytes of the character that begins with this byte; 1 where none does. */
function characterBytes(first = 0): number {
  if (first < 0xc2 || first > 0xf4) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** Whether a text that comes in pieces is UTF-8. A character may be cut by the end of a piece. */
class Utf8Scan {
  #isText = true;
  /** The beginning of a character. */
  #cut = Buffer.alloc(0);

  add(piece: Uint8Array): void {
    if (!this.#isText) return;
    const bytes = this.#cut.length === 0 ? piece : Buffer.concat([this.#cut, piece]);
    const end = bytes.length - cutBytes(bytes);
    // A copy, because the memory of a piece is used again for a later one.
    this.#cut = Buffer.from(bytes.subarray(end));
    this.#isText = isUtf8(bytes.subarray(0, end));
  }

  /** Call it after the last piece. */
  get isText(): boolean {
    return this.#isText && this.#cut.length === 0;
  }
}

/** Bytes at the end that begin a character and do not end it. */
function cutBytes(piece: Uint8Array): number {
  for (let back = 1; back < MOST_CHARACTER_BYTES && back <= piece.length; back += 1)
    if (characterBytes(piece[piece.length - back]) > back) return back;
  return 0;
}

export class TextScan {
  readonly #kind: TextKind;
  readonly #utf8 = new Utf8Scan();
  readonly #counter: TextCounter | undefined;
  #json = new JsonScan();
  #broken = 0;

  /** @param isCounted whether lines and tokens are counted too */
  constructor(kind: TextKind, isCounted: boolean) {
    this.#kind = kind;
    this.#counter = isCounted ? new TextCounter() : undefined;
  }

  add(piece: Uint8Array): void {
    this.#utf8.add(piece);
    this.#counter?.add(piece);
    if (this.#kind === 'json') this.#json.add(piece);
    if (this.#kind === 'jsonLines') this.#addLines(piece);
  }

  #addLines(piece: Uint8Array): void {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      this.#json.add(piece.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#json.add(piece.subarray(start));
  }

  #endLine(): void {
    if (!this.#json.isBlank && !this.#json.isWhole) this.#broken += 1;
    this.#json = new JsonScan();
  }

  /** After the last piece. Undefined if there is nothing to say. */
  finish(): MediaFacts | undefined {
    if (this.#kind === 'jsonLines') this.#endLine();
    if (this.#kind === 'json' && !this.#json.isWhole) this.#broken = 1;
    const facts: MediaFacts = {
      ...this.#counter?.facts,
      ...(!this.#utf8.isText && { notText: true as const }),
      ...(this.#broken > 0 && { notJson: this.#broken }),
    };
    return Object.keys(facts).length > 0 ? facts : undefined;
  }
}
