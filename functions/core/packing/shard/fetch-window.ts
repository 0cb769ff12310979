/** Reads many objects at once and returns them in order. It holds a bounded number of bytes. */
import { TransientError } from '../../shared/errors.ts';
import { quoted } from '../../shared/quoted.ts';
import { type BlobStore, type GetOptions, type SourceRead, sourceFailure } from '../model/blob-store.ts';
import type { PlannedMember } from '../model/documents.ts';
import { ReadBuffers } from './read-buffers.ts';

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

interface Piece {
  readonly member: PlannedMember;
  readonly offset: number;
  readonly length: number;
}

/** The ranges in which an object is read. A small object is read whole. */
export function piecesOf(member: PlannedMember, pieceBytes: number): Piece[] {
  if (member.size <= pieceBytes) return [{ member, offset: 0, length: member.size }];
  const pieces: Piece[] = [];
  for (let offset = 0; offset < member.size; offset += pieceBytes) {
    pieces.push({ member, offset, length: Math.min(pieceBytes, member.size - offset) });
  }
  return pieces;
}

/** Memory that a small answer takes beside its bytes: socket buffers and bookkeeping. */
const PIECE_OVERHEAD_BYTES = 16 * 1024;
const weightOf = (length: number): number => length + PIECE_OVERHEAD_BYTES;

type Settled =
  | { readonly kind: 'read'; readonly result: SourceRead }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A piece that was requested. */
interface Started {
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
  readonly #source: Iterator<Piece>;
  readonly #buffers: ReadBuffers;
  /** Started and not yet taken, oldest first; `#head` is the next to take. */
  #started: (Started | undefined)[] = [];
  #head = 0;
  /** Memory of pieces that were taken and whose bytes are still in use. */
  #taken: Buffer[] = [];
  /** That of the piece taken last. */
  #last: Buffer | undefined;
  #waiting: Piece | undefined;
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
    this.#source = pieces(members, limits.pieceBytes);
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

  #hand(started: Started, settled: Settled): SourceRead {
    this.#started[this.#head] = undefined;
    this.#head += 1;
    this.#last = started.into;
    if (started.into !== undefined) this.#taken.push(started.into);
    this.#held -= started.weight;
    this.#compact();
    this.#pump();
    if (settled.kind === 'failed') throw settled.error;
    return settled.result;
  }

  /** Lets other pieces be read into the memory of those taken so far. */
  release(): void {
    if (this.#taken.length === 0) return;
    for (const memory of this.#taken) this.#buffers.release(memory);
    this.#taken = [];
    this.#last = undefined;
    this.#pump();
  }

  /** As `release`, of the piece taken last. The memory of a small one stays until `release`. */
  releaseLast(): void {
    const memory = this.#last;
    if (memory === undefined || this.#buffers.isSmall(memory.length)) return;
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
      const piece = this.#waiting ?? this.#take();
      if (piece === undefined) return;
      this.#waiting = piece;
      if (this.#held > 0 && !this.#hasRoom(piece.length)) return;
      this.#waiting = undefined;
      this.#start(piece);
    }
  }

  #hasRoom(length: number): boolean {
    return this.#held + weightOf(length) <= this.#limits.bytes && this.#buffers.hasRoom(length);
  }

  #take(): Piece | undefined {
    const next = this.#source.next();
    return next.done === true ? undefined : next.value;
  }

  #start({ member, offset, length }: Piece): void {
    const weight = weightOf(length);
    this.#inFlight += 1;
    this.#held += weight;
    const into = this.#buffers.take(length);
    const options: GetOptions =
      length === member.size
        ? { ifMatch: member.etag, size: length, into }
        : { ifMatch: member.etag, into, range: { offset, length } };
    const started: Started = {
      outcome: undefined,
      settled: undefined,
      weight,
      into,
    };
    this.#started.push(started);
    started.outcome = this.#store.get(member.key, options).then(
      (result) => this.#settle(started, lengthChecked(member.key, length, result)),
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

function* pieces(members: Iterable<PlannedMember>, pieceBytes: number): Generator<Piece> {
  for (const member of members) yield* piecesOf(member, pieceBytes);
}
