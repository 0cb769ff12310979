/** Reads many objects at once and hands them over in order, holding no more than a bounded number of bytes. */
import type { BlobStore, GetResult } from './port.ts';
import type { PlannedMember } from './records.ts';

export interface WindowLimits {
  /** Requests in flight. */
  readonly parallel: number;
  /** Bytes asked for or held and not yet taken. */
  readonly bytes: number;
  /** Objects above this are read in ranges of it. */
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

/** The ranges in which an object is read: one for a small one, which then needs no range at all. */
export function piecesOf(member: PlannedMember, pieceBytes: number): Piece[] {
  if (member.size <= pieceBytes) return [{ member, offset: 0, length: member.size }];
  const pieces: Piece[] = [];
  for (let offset = 0; offset < member.size; offset += pieceBytes) {
    pieces.push({ member, offset, length: Math.min(pieceBytes, member.size - offset) });
  }
  return pieces;
}

/** What a small answer costs beside its bytes: socket buffers and bookkeeping. */
const PIECE_OVERHEAD_BYTES = 16 * 1024;
const weightOf = (length: number): number => length + PIECE_OVERHEAD_BYTES;

type Settled = { readonly result: GetResult } | { readonly error: unknown };

/** Pieces come out in the order in which the members went in. */
export class FetchWindow {
  readonly #store: BlobStore;
  readonly #limits: WindowLimits;
  readonly #source: Iterator<Piece>;
  /** Started and not yet taken, oldest first; `#head` is the next to take. */
  #started: (Promise<Settled> | undefined)[] = [];
  #weights: number[] = [];
  #head = 0;
  #waiting: Piece | undefined;
  #inFlight = 0;
  #held = 0;
  #closed = false;

  constructor(store: BlobStore, members: Iterable<PlannedMember>, limits: WindowLimits) {
    this.#store = store;
    this.#limits = limits;
    this.#source = pieces(members, limits.pieceBytes);
    this.#pump();
  }

  /** The next piece. Everything started before it is already on its way. */
  async next(): Promise<GetResult> {
    const settled = this.#started[this.#head];
    if (settled === undefined) throw new Error('a piece was asked for that was never planned');
    const outcome = await settled;
    this.#held -= this.#weights[this.#head] ?? 0;
    this.#started[this.#head] = undefined;
    this.#head += 1;
    this.#compact();
    this.#pump();
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }

  /** Starts nothing more and waits for what is in flight. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#started.filter((one) => one !== undefined));
  }

  #compact(): void {
    if (this.#head < 4_096) return;
    this.#started = this.#started.slice(this.#head);
    this.#weights = this.#weights.slice(this.#head);
    this.#head = 0;
  }

  #pump(): void {
    while (!this.#closed && this.#inFlight < this.#limits.parallel) {
      const piece = this.#waiting ?? this.#take();
      if (piece === undefined) return;
      this.#waiting = piece;
      if (this.#held > 0 && this.#held + weightOf(piece.length) > this.#limits.bytes) return;
      this.#waiting = undefined;
      this.#start(piece);
    }
  }

  #take(): Piece | undefined {
    const next = this.#source.next();
    return next.done === true ? undefined : next.value;
  }

  #start({ member, offset, length }: Piece): void {
    this.#inFlight += 1;
    this.#held += weightOf(length);
    const range = length === member.size ? {} : { range: { offset, length } };
    this.#weights.push(weightOf(length));
    this.#started.push(
      this.#store.get(member.key, { ifMatch: member.etag, ...range }).then(
        (result) => this.#settle({ result }),
        (error: unknown) => this.#settle({ error }),
      ),
    );
  }

  #settle(outcome: Settled): Settled {
    this.#inFlight -= 1;
    this.#pump();
    return outcome;
  }
}

function* pieces(members: Iterable<PlannedMember>, pieceBytes: number): Generator<Piece> {
  for (const member of members) yield* piecesOf(member, pieceBytes);
}
