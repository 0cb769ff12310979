/**
 * Reads one HTTP/1.1 answer from the pieces that the socket delivers. It copies a small body once, into the memory that
 * the caller gave; a large one is read right into it. Framing: https://www.rfc-editor.org/rfc/rfc9112#section-6.3
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './transport.ts';

/** The answer breaks the rules of HTTP. Its socket must not be used again. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
  readonly code = 'MalformedAnswer';
}

const LARGEST_HEAD = 64 * 1024;
const LARGEST_BODY = 2 ** 30;
/** For fewer bytes, copying them costs less than another call of the kernel. */
const LEAST_DIRECT = 64 * 1024;
const HEAD_END = '\r\n\r\n';
const EMPTY = Buffer.alloc(0);

interface Head {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** Whether the socket may carry another request. */
  readonly keepAlive: boolean;
}

/** The lower-case form of each header name: servers write a name the same way each time. */
const lowerCased = new Map<string, string>();
const MOST_NAMES = 200;

function lower(name: string): string {
  const known = lowerCased.get(name);
  if (known !== undefined) return known;
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new MalformedAnswer('a header has no proper name');
  const made = name.toLowerCase();
  if (lowerCased.size < MOST_NAMES) lowerCased.set(name, made);
  return made;
}

/** Status line and headers, without the empty line. */
function parseHead(text: string): Head {
  const first = text.indexOf('\r\n');
  const line = first < 0 ? text : text.slice(0, first);
  const status = Number(line.slice(9, 12));
  if (!/^HTTP\/1\.[01] \d{3}/.test(line)) throw new MalformedAnswer('no status line of HTTP/1');
  const headers: Record<string, string> = {};
  for (let start = line.length + 2; start < text.length; ) {
    const found = text.indexOf('\r\n', start);
    const end = found < 0 ? text.length : found;
    const colon = text.indexOf(':', start);
    if (colon < 0 || colon > end) throw new MalformedAnswer('a header line without a colon');
    const name = lower(text.slice(start, colon));
    const value = text.slice(colon + 1, end).trim();
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
    start = end + 2;
  }
  const connection = headers['connection']?.toLowerCase();
  const keepAlive = line.startsWith('1', 7) ? connection !== 'close' : connection === 'keep-alive';
  return { status, headers, keepAlive };
}

/** The body of a chunked message; undefined while the message is incomplete. */
export function decodeChunked(bytes: Buffer): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at, 'latin1');
    if (lineEnd < 0) return undefined;
    const digits = /^([0-9a-fA-F]{1,8})[ \t]*(?:;|$)/.exec(bytes.toString('latin1', at, lineEnd))?.[1];
    if (digits === undefined) throw new MalformedAnswer('a chunk of no length');
    const size = Number.parseInt(digits, 16);
    at = lineEnd + 2;
    if (size === 0) return endOfTrailer(bytes, at) === bytes.length ? Buffer.concat(pieces) : undefined;
    if (at + size + 2 > bytes.length) return undefined;
    pieces.push(bytes.subarray(at, at + size));
    at += size + 2;
    if (bytes[at - 2] !== 0x0d || bytes[at - 1] !== 0x0a)
      throw new MalformedAnswer('a chunk of wrong length');
  }
}

/** The end of a trailer that begins here, its empty line included; -1 if it is incomplete. */
function endOfTrailer(bytes: Buffer, at: number): number {
  if (bytes[at] === 0x0d && bytes[at + 1] === 0x0a) return at + 2;
  const end = bytes.indexOf(HEAD_END, at, 'latin1');
  return end < 0 ? -1 : end + HEAD_END.length;
}

type Framing = 'head' | 'length' | 'chunked' | 'untilClose' | 'complete';

/** Takes one answer. It keeps no reference to the bytes that it is given. */
export class HttpAnswer {
  readonly #into: Uint8Array | undefined;
  readonly #isToHead: boolean;
  #framing: Framing = 'head';
  #head: Head | undefined;
  /** Bytes of an unfinished head, or of a body whose length is not announced. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #body: Uint8Array = EMPTY;
  #filled = 0;

  /**
   * @param into memory for a body of exactly this length; any other body gets its own
   * @param isToHead the answer has no body, whatever length it announces
   */
  constructor(into?: Uint8Array, isToHead = false) {
    this.#into = into;
    this.#isToHead = isToHead;
  }

  /** Where the next bytes of the socket may be put, if many are left; `landed` makes them count. */
  get room(): Uint8Array | undefined {
    const isLarge = this.#framing === 'length' && this.#body.length - this.#filled >= LEAST_DIRECT;
    return isLarge ? this.#body.subarray(this.#filled) : undefined;
  }

  /** @param length bytes that lie in `room` now. True when the answer is complete. */
  landed(length: number): boolean {
    this.#filled += length;
    if (this.#filled < this.#body.length) return false;
    this.#framing = 'complete';
    return true;
  }

  /** True when the answer is complete. */
  take(bytes: Buffer): boolean {
    switch (this.#framing) {
      case 'head':
        return this.#takeHead(bytes);
      case 'length':
        return this.#fill(bytes, 0);
      case 'chunked':
        return this.#takeChunked(bytes);
      case 'untilClose':
        this.#keep(bytes, LARGEST_BODY);
        return false;
      case 'complete':
        throw new MalformedAnswer('bytes after the end of the answer');
      default:
        return this.#framing satisfies never;
    }
  }

  /** The server closed the connection. True when that completes the answer. */
  close(): boolean {
    if (this.#framing === 'untilClose') {
      this.#body = Buffer.concat(this.#pending);
      this.#framing = 'complete';
    }
    return this.#framing === 'complete';
  }

  /** Whether the socket may carry another request; only of a complete answer. */
  get keepAlive(): boolean {
    return this.#head?.keepAlive === true;
  }

  answer(): Answer {
    if (this.#head === undefined || this.#framing !== 'complete')
      throw new Error('the answer is not complete');
    const { status, headers } = this.#head;
    const size = this.#body.length;
    const known: IncomingHttpHeaders = headers;
    return { status, headers: known, chunks: size === 0 ? [] : [this.#body], size };
  }

  #keep(bytes: Buffer, most: number): void {
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > most) throw new MalformedAnswer('the answer is too long');
    this.#pending.push(Buffer.from(bytes));
  }

  #joined(bytes: Buffer): Buffer {
    if (this.#pending.length === 0) return bytes;
    const whole = Buffer.concat([...this.#pending, bytes]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return whole;
  }

  #takeHead(bytes: Buffer): boolean {
    const all = this.#joined(bytes);
    const end = all.indexOf(HEAD_END, 0, 'latin1');
    if (end < 0) {
      this.#keep(all, LARGEST_HEAD);
      return false;
    }
    const head = parseHead(all.toString('latin1', 0, end));
    const start = end + HEAD_END.length;
    /** An interim answer, such as 100 Continue, precedes the final one. */
    if (head.status < 200) return start < all.length && this.#takeHead(all.subarray(start));
    this.#head = head;
    this.#frame(head);
    if (this.#framing === 'length') return this.#fill(all, start);
    if (start === all.length && this.#framing !== 'complete') return false;
    return this.#framing === 'complete' ? this.#complete(all.length - start) : this.take(all.subarray(start));
  }

  #frame({ status, headers }: Head): void {
    const { 'transfer-encoding': encoding, 'content-length': announced } = headers;
    if (this.#isToHead || status === 204 || status === 304) this.#framing = 'complete';
    else if (encoding !== undefined) {
      if (encoding.toLowerCase() !== 'chunked')
        throw new MalformedAnswer(`a body in the encoding ${encoding}`);
      this.#framing = 'chunked';
    } else if (announced === undefined) this.#framing = 'untilClose';
    else this.#frameLength(status, announced);
  }

  #frameLength(status: number, announced: string): void {
    const length = /^\d{1,10}$/.test(announced) ? Number(announced) : Number.NaN;
    if (!(length <= LARGEST_BODY)) throw new MalformedAnswer(`a body of ${announced} bytes`);
    this.#framing = 'length';
    const wanted = status === 200 || status === 206 ? this.#into : undefined;
    this.#body = wanted?.length === length ? wanted : Buffer.allocUnsafeSlow(length);
  }

  #fill(bytes: Buffer, from: number): boolean {
    const wanted = this.#body.length - this.#filled;
    const there = bytes.length - from;
    const taken = Math.min(wanted, there);
    if (taken > 0) bytes.copy(this.#body, this.#filled, from, from + taken);
    this.#filled += taken;
    if (taken < wanted) return false;
    this.#framing = 'complete';
    return this.#complete(there - taken);
  }

  #takeChunked(bytes: Buffer): boolean {
    this.#keep(bytes, LARGEST_BODY);
    /** A chunked message ends with an empty line. Decoding at every piece would take quadratic time. */
    const last = this.#pending.at(-1) ?? EMPTY;
    if (last.length >= 2 && last.at(-1) !== 0x0a) return false;
    const body = decodeChunked(Buffer.concat(this.#pending));
    if (body === undefined) return false;
    this.#body = body;
    this.#framing = 'complete';
    return true;
  }

  /** Surplus bytes make the whole answer suspect. */
  #complete(surplus: number): true {
    if (surplus > 0) throw new MalformedAnswer('bytes after the end of the answer');
    return true;
  }
}
