/** What a text says about itself: its lines and tokens, and faults at which a reader may stop. */
import { isUtf8 } from 'node:buffer';
import type { MediaFacts } from '../documents/documents.ts';

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
  parses(text) || (text.search(NUMBERS_OF_PYTHON) >= 0 && parses(text.replace(NUMBERS_OF_PYTHON, 'null')));

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
