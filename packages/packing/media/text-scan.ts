/** Finds the facts and faults of a text that is read while it is written, piece by piece. */

import { isUtf8 } from 'node:buffer';
import type { MediaFacts } from '../documents/documents.ts';
import { JsonScan } from './json-scan.ts';
import { TextCounter, type TextKind } from './text-facts.ts';

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
    const rest = piece.subarray(this.#complete(piece));
    const end = rest.length - cutBytes(rest);
    if (end < rest.length) this.#cut = Buffer.from(rest.subarray(end));
    this.#isText &&= isUtf8(rest.subarray(0, end));
  }

  /** @returns how many bytes of the piece the character has that was cut */
  #complete(piece: Uint8Array): number {
    const cut = this.#cut;
    if (cut.length === 0) return 0;
    const missing = characterBytes(cut[0]) - cut.length;
    const character = Buffer.concat([cut, piece.subarray(0, missing)]);
    const isWhole = piece.length >= missing;
    this.#cut = isWhole ? Buffer.alloc(0) : character;
    if (isWhole) this.#isText &&= isUtf8(character);
    return Math.min(missing, piece.length);
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

const NEWLINE = 0x0a;

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
