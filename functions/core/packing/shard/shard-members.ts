/** What a shard holds beside its bytes: copies that make its count even, lines of its member list, the order of reading. */

import type { GetResult } from '../model/blob-store.ts';
import type { MemberLine, PlannedMember, PlannedSample, PreparedTotals } from '../model/documents.ts';
import type { LaidOut, LaidSample } from '../model/sample-layout.ts';
import { type EncodedMember, largestSampleOf, type Placed, type ShardFormat } from '../model/shard-format.ts';

/** Numbers of copies that packing makes: far from those of the plan, and no two shards share one. */
const COPIES_OF_SHARD = 1_000_000;

/** Copies of what is taken, in turn, up to the count that the shard must have. */
export function paddingOf(
  taken: readonly LaidSample[],
  { shard, even }: { readonly shard: number; readonly even?: number | undefined },
): PlannedSample[] {
  const missing = taken.length === 0 ? 0 : Math.max(0, (even ?? 0) - taken.length);
  return Array.from({ length: missing }, (_, index) => {
    const { sample } = taken[index % taken.length] ?? taken[0] ?? neverEmpty();
    return { ...sample, repeat: (shard + 1) * COPIES_OF_SHARD + index };
  });
}

function neverEmpty(): never {
  throw new Error('there is nothing to copy');
}

/** A line of the member list. */
export function lineOf(
  laid: LaidSample,
  { part, member, source: read }: { part: LaidOut; member: EncodedMember; source: MemberLine['source'] },
  at: Placed,
): MemberLine {
  const source =
    part.kind === 'made'
      ? { made: part.made, label: part.bytes.toString() }
      : { key: part.member.key, etag: part.member.etag };
  const { name, column } = part;
  return {
    ...source,
    name,
    column,
    size: at.size ?? member.size,
    offset: at.offset,
    sha256: at.sha256,
    sample: laid.ordinal,
    ...(laid.sample.repeat > 0 ? { repeat: laid.sample.repeat } : {}),
    ...(read && { source: read }),
  };
}

/** The totals of several shards or generations; nothing where none prepares images. */
export function preparedIn(all: readonly { readonly prepared?: PreparedTotals | undefined }[]): {
  readonly prepared?: PreparedTotals;
} {
  const some = all.flatMap(({ prepared }) => (prepared === undefined ? [] : [prepared]));
  if (some.length === 0) return {};
  const sum = (of: (one: PreparedTotals) => number): number =>
    some.reduce((total, one) => total + of(one), 0);
  const prepared = {
    by: [...new Set(some.flatMap(({ by }) => by))].sort(),
    images: sum(({ images }) => images),
    sourceBytes: sum(({ sourceBytes }) => sourceBytes),
    bytes: sum(({ bytes }) => bytes),
  };
  return { prepared };
}

/** Members of a sample in the order in which they are read: what is prepared comes first, for its size must be known. */
export function readOrder({ members }: LaidSample): PlannedMember[] {
  const [only] = members;
  if (members.length === 1 && only?.kind === 'source') return [only.member];
  const sources = members.filter((part) => part.kind === 'source');
  const first = sources.filter(({ prepares }) => prepares);
  const all = first.length === 0 ? sources : [...first, ...sources.filter(({ prepares }) => !prepares)];
  return all.map(({ member }) => member);
}

/** What was read of a sample. No Map: one that is emptied for every sample keeps all that was ever in it alive for long. */
export class SampleReads {
  readonly #members: readonly PlannedMember[];
  /** By the order of the sample's members. */
  readonly inOrder: (GetResult | undefined)[];

  constructor({ members }: PlannedSample) {
    this.#members = members;
    this.inOrder = members.map(() => undefined);
  }

  set(member: PlannedMember, read: GetResult): void {
    this.inOrder[this.#members.indexOf(member)] = read;
  }

  of(member: PlannedMember): GetResult | undefined {
    return this.inOrder[this.#members.indexOf(member)];
  }
}

export const chunksOf = (read: GetResult | undefined): readonly Uint8Array[] =>
  read?.kind === 'found' ? read.chunks : [];

/** Bytes of the objects, and of what packing adds. */
export const readBytesOf = ({ members }: LaidSample): number =>
  members.reduce((sum, part) => sum + (part.kind === 'source' ? part.member.size : part.size), 0);

export const isTooLarge = (
  { members }: { readonly members: readonly { readonly size: number }[] },
  format: ShardFormat,
): boolean => members.reduce((sum, { size }) => sum + size, 0) > largestSampleOf(format);

export function bodyOf(part: LaidOut, reads: SampleReads): readonly Uint8Array[] {
  if (part.kind === 'made') return [part.bytes];
  const read = reads.of(part.member);
  if (read?.kind !== 'found') throw new Error(`${part.name} was to be packed, but it was not read`);
  return read.chunks;
}
