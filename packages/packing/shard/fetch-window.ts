/** Reads many objects at once and returns them in order. It holds a bounded number of bytes. */
import { TransientError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { isMember, readMember } from '../arrivals/read-arrival.ts';
import { type BlobStore, joinChunks, type SourceRead, sourceFailure } from '../documents/blob-store.ts';
import type { PlannedMember } from '../documents/documents.ts';
import { ReadBuffers } from './read-buffers.ts';
import { type Span, type SpannedMember, spansOf } from './read-spans.ts';

export interface WindowLimits {
  /** Requests in flight. */
  readonly parallel: number;
  /** Bytes requested or held, and not yet taken. */
  readonly bytes: number;
  /** Larger objects are read in ranges of this size. */
  readonly pieceBytes: number;
}

export const DEFAULT_WINDOW: WindowLimits = {
  parallel: 64,
  bytes: 48 * 1024 * 1024,
  pieceBytes: 8 * 1024 * 1024,
};

/** Memory that a small answer takes beside its bytes: socket buffers and bookkeeping. */
const PIECE_OVERHEAD_BYTES = 16 * 1024;
const weightOf = (length: number): number => length + PIECE_OVERHEAD_BYTES;

type Settled =
  | { readonly kind: 'read'; readonly result: SourceRead }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A span that was requested. */
interface Started {
  /** Of a bundle, of which `taken` were taken. */
  readonly members: readonly SpannedMember[] | undefined;
  taken: number;
  outcome: Promise<Settled> | undefined;
  /** Undefined until the answer is there. */
  settled: Settled | undefined;
  readonly weight: number;
  /** Memory that is used again. */
  readonly into: Buffer | undefined;
}

/** One window uses it at a time; a worker passes it from shard to shard. */
export const readBuffersFor = ({ bytes, pieceBytes }: WindowLimits): ReadBuffers =>
  new ReadBuffers(bytes, pieceBytes);

/** Returns the pieces in the order of the members. */
export class FetchWindow {
  readonly #store: BlobStore;
  readonly #limits: WindowLimits;
  readonly #source: Iterator<Span>;
  readonly #buffers: ReadBuffers;
  /** Started and not yet taken, oldest first; `#head` is the next to take. */
  #started: (Started | undefined)[] = [];
  #head = 0;
  /** Memory of spans that were taken and whose bytes are still in use. */
  #taken: Buffer[] = [];
  /** That of the span taken last. */
  #last: Buffer | undefined;
  #waiting: Span | undefined;
  #inFlight = 0;
  #held = 0;
  #closed = false;

  constructor(
    store: BlobStore,
    members: Iterable<PlannedMember>,
    limits: WindowLimits,
    buffers = readBuffersFor(limits),
  ) {
    this.#store = store;
    this.#limits = limits;
    this.#buffers = buffers;
    this.#source = spansOf(members, limits.pieceBytes);
    this.#pump();
  }

  /** The next piece; a promise only if it is not there yet. Its bytes are valid until `release`. */
  next(): SourceRead | Promise<SourceRead> {
    const started = this.#started[this.#head];
    if (started === undefined) throw new Error('next() was called more often than there are pieces');
    if (started.settled !== undefined) return this.#hand(started, started.settled);
    return this.#await(started);
  }

  async #await(started: Started): Promise<SourceRead> {
    const settled = started.settled ?? (await started.outcome);
    if (settled === undefined) throw new Error('a piece has neither an answer nor a request');
    return this.#hand(started, settled);
  }

  #hand(started: Started, settled: Settled): SourceRead | Promise<SourceRead> {
    const part = started.members?.[started.taken];
    started.taken += 1;
    if (started.taken >= (started.members?.length ?? 1)) this.#leave(started);
    if (settled.kind === 'failed') throw settled.error;
    return part === undefined ? settled.result : this.#member(part, settled.result);
  }

  /** A member of a bundle, from what was read of the bundle. */
  #member({ member, start }: SpannedMember, read: SourceRead): SourceRead | Promise<SourceRead> {
    if (read.kind !== 'found') return read;
    const { key, size, etag } = member;
    const bytes = joinChunks(read.chunks).subarray(start, start + size);
    if (!isMember(member, bytes)) return readMember(this.#store, { key, size, etag });
    return { kind: 'found', chunks: [bytes], size, etag };
  }

  /** All of it was taken. */
  #leave(started: Started): void {
    this.#started[this.#head] = undefined;
    this.#head += 1;
    // Other members of the sample may lie in the memory of a bundle.
    this.#last = started.members === undefined ? started.into : undefined;
    if (started.into !== undefined) this.#taken.push(started.into);
    this.#held -= started.weight;
    this.#compact();
    this.#pump();
  }

  /** Lets other pieces be read into the memory of those taken so far. */
  release(): void {
    if (this.#taken.length === 0) return;
    for (const memory of this.#taken) this.#buffers.release(memory);
    this.#taken = [];
    this.#last = undefined;
    this.#pump();
  }

  /** As `release`, of the piece taken last. */
  releaseLast(): void {
    const memory = this.#last;
    if (memory === undefined) return;
    this.#last = undefined;
    this.#taken.splice(this.#taken.lastIndexOf(memory), 1);
    this.#buffers.release(memory);
    this.#pump();
  }

  /** Starts nothing more, waits for the requests in flight, and releases all memory. */
  async close(): Promise<void> {
    this.#closed = true;
    const left = this.#started.filter((one) => one !== undefined);
    await Promise.all(left.flatMap(({ outcome }) => outcome ?? []));
    this.#started = [];
    this.#taken.push(...left.flatMap(({ into }) => into ?? []));
    this.release();
  }

  #compact(): void {
    if (this.#head < 1_024) return;
    this.#started = this.#started.slice(this.#head);
    this.#head = 0;
  }

  #pump(): void {
    while (!this.#closed && this.#inFlight < this.#limits.parallel) {
      const span = this.#waiting ?? this.#take();
      if (span === undefined) return;
      this.#waiting = span;
      if (this.#held > 0 && !this.#hasRoom(span.length)) return;
      this.#waiting = undefined;
      this.#start(span);
    }
  }

  #hasRoom(length: number): boolean {
    return this.#held + weightOf(length) <= this.#limits.bytes && this.#buffers.hasRoom(length);
  }

  #take(): Span | undefined {
    const next = this.#source.next();
    return next.done === true ? undefined : next.value;
  }

  #start({ key, options, length, members }: Span): void {
    const weight = weightOf(length);
    this.#inFlight += 1;
    this.#held += weight;
    const into = this.#buffers.take(length);
    const started: Started = {
      members,
      taken: 0,
      outcome: undefined,
      settled: undefined,
      weight,
      into,
    };
    this.#started.push(started);
    // S3 refuses a range of no bytes.
    const isEmpty = members !== undefined && length === 0;
    const reading = isEmpty ? Promise.resolve(NO_BYTES) : this.#store.get(key, { ...options, into });
    started.outcome = reading.then(
      (result) => this.#settle(started, joined(lengthChecked(key, length, result), members !== undefined)),
      (error: unknown) => this.#settle(started, failureOf(error)),
    );
  }

  #settle(started: Started, settled: Settled): Settled {
    started.settled = settled;
    this.#inFlight -= 1;
    this.#pump();
    return settled;
  }
}

const NO_BYTES: SourceRead = { kind: 'found', chunks: [], size: 0, etag: '' };

/** Once, because each member of a bundle is cut out of it. */
function joined(settled: Settled, isSpan: boolean): Settled {
  if (!isSpan || settled.kind === 'failed' || settled.result.kind !== 'found') return settled;
  return { kind: 'read', result: { ...settled.result, chunks: [joinChunks(settled.result.chunks)] } };
}

function failureOf(error: unknown): Settled {
  try {
    return { kind: 'read', result: sourceFailure(error) };
  } catch {
    return { kind: 'failed', error };
  }
}

/** Headers are written for the planned sizes, so a body of another length would spoil all that follows. */
function lengthChecked(key: string, length: number, result: SourceRead): Settled {
  if (result.kind !== 'found' || result.size === length) return { kind: 'read', result };
  const error = new TransientError(
    `${quoted(key)} came with ${result.size} bytes, not ${length}; the next try reads it again`,
  );
  return { kind: 'failed', error };
}
