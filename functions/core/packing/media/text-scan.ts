/** Finds the facts and faults of a text that is read while it is written, piece by piece. */
import type { MediaFacts } from '../model/documents.ts';
import { JsonScan } from './json-scan.ts';
import { TextCounter, type TextKind } from './text-facts.ts';
import { Utf8Scan } from './utf8-scan.ts';

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
