/** What is read by one request: an object or a range of it, or members of a bundle that lie near each other. */
import { bundleDataKey, bundlePlace, cellOf } from '../arrivals/bundle-place.ts';
import type { GetOptions } from '../documents/blob-store.ts';
import type { PlannedMember } from '../documents/documents.ts';

export interface Piece {
  readonly member: PlannedMember;
  readonly offset: number;
  readonly length: number;
}

export interface Span {
  /** Of the object to be read. */
  readonly key: string;
  readonly options: Pick<GetOptions, 'ifMatch' | 'size' | 'range'>;
  /** Bytes of the answer. */
  readonly length: number;
  /** Members of a bundle, in the order in which they are taken; undefined for a piece of an object. */
  readonly members?: readonly SpannedMember[];
}

export interface SpannedMember {
  readonly member: PlannedMember;
  /** In the answer. */
  readonly start: number;
}

/** The ranges in which an object is read. A small object is read whole, and so is a member of a bundle. */
export function readPieces(member: PlannedMember, pieceBytes: number): Piece[] {
  if (member.size <= pieceBytes || bundlePlace(member.etag) !== undefined)
    return [{ member, offset: 0, length: member.size }];
  const pieces: Piece[] = [];
  for (let offset = 0; offset < member.size; offset += pieceBytes) {
    pieces.push({ member, offset, length: Math.min(pieceBytes, member.size - offset) });
  }
  return pieces;
}

/** Bytes between two members that are read and thrown away: they cost less than another request. */
const MOST_GAP_BYTES = 512 * 1024;
/** In a span, however small they are. */
const MOST_MEMBERS = 16_384;

/** Neighbours in the order of reading that lie in the same cell of a bundle become one span. */
export function* spansOf(members: Iterable<PlannedMember>, pieceBytes: number): Generator<Span> {
  let open: OpenSpan | undefined;
  for (const member of members) {
    const place = bundlePlace(member.etag);
    if (open !== undefined && (place === undefined || !open.takes({ ...place, size: member.size }))) {
      yield open.span();
      open = undefined;
    }
    if (place === undefined) for (const piece of readPieces(member, pieceBytes)) yield spanOfPiece(piece);
    else {
      open ??= new OpenSpan(bundleDataKey(member.key, place.bundle), place);
      open.add(member, place.offset);
    }
  }
  if (open !== undefined) yield open.span();
}

const spanOfPiece = ({ member: { key, size, etag }, offset, length }: Piece): Span => ({
  key,
  options: length === size ? { ifMatch: etag, size } : { ifMatch: etag, range: { offset, length } },
  length,
});

interface Extent {
  readonly bundle: string;
  readonly offset: number;
  readonly size: number;
}

class OpenSpan {
  readonly #key: string;
  readonly #bundle: string;
  readonly #cell: number;
  readonly #members: { member: PlannedMember; offset: number }[] = [];
  #begin = Number.POSITIVE_INFINITY;
  #end = 0;

  constructor(key: string, place: Pick<Extent, 'bundle' | 'offset'>) {
    this.#key = key;
    this.#bundle = place.bundle;
    this.#cell = cellOf(place);
  }

  takes({ bundle, offset, size }: Extent): boolean {
    return (
      bundle === this.#bundle &&
      cellOf({ offset }) === this.#cell &&
      this.#members.length < MOST_MEMBERS &&
      offset <= this.#end + MOST_GAP_BYTES &&
      offset + size >= this.#begin - MOST_GAP_BYTES
    );
  }

  add(member: PlannedMember, offset: number): void {
    this.#members.push({ member, offset });
    this.#begin = Math.min(this.#begin, offset);
    this.#end = Math.max(this.#end, offset + member.size);
  }

  span(): Span {
    const [offset, length] = [this.#begin, this.#end - this.#begin];
    return {
      key: this.#key,
      options: { range: { offset, length } },
      length,
      members: this.#members.map((one) => ({ member: one.member, start: one.offset - offset })),
    };
  }
}
