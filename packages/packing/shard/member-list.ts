/** The member list of a shard: one line for each member, in the shard's order. */
import { hash } from 'node:crypto';
import { jsonLine, LineBuffer } from '../documents/compressed-lines.ts';
import type { MemberLine, PreparedTotals } from '../documents/documents.ts';
import type { MemberLayout, SampleLayout } from '../documents/sample-layout.ts';
import type { EncodedMember, WrittenMember } from '../documents/shard-format.ts';

export class MemberList {
  readonly #text = new LineBuffer();
  readonly #prepared = { images: 0, sourceBytes: 0, bytes: 0 };

  get members(): number {
    return this.#text.lines;
  }

  /** The stored text before its compression. */
  get bytes(): Buffer {
    return this.#text.bytes;
  }

  get sha256(): string {
    return hash('sha256', this.#text.bytes);
  }

  add(line: MemberLine): void {
    this.#text.add(jsonLine(line));
    const { source, size, repeat } = line;
    if (source === undefined || repeat !== undefined) return;
    this.#prepared.images += 1;
    this.#prepared.sourceBytes += source.size;
    this.#prepared.bytes += size;
  }

  /** Copies of samples are not counted. */
  preparedBy(engines: readonly string[]): PreparedTotals {
    return { by: [...engines], ...this.#prepared };
  }
}

export function lineOf(
  layout: SampleLayout,
  {
    part,
    member,
    source: read,
    media,
  }: { part: MemberLayout; member: EncodedMember } & Pick<MemberLine, 'source' | 'media'>,
  at: WrittenMember,
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
    ...(at.crc32 !== undefined && { crc32: at.crc32 }),
    ...(at.crc32c !== undefined && { crc32c: at.crc32c }),
    ...(at.crc64nvme !== undefined && { crc64nvme: at.crc64nvme }),
    sample: layout.ordinal,
    ...(layout.sample.repeat > 0 ? { repeat: layout.sample.repeat } : {}),
    ...(read && { source: read }),
    ...(media && { media }),
  };
}

/** Counts copies of samples in member lists. The members of a copy follow each other. */
export class CopyCounter {
  #last = '';
  count = 0;

  add(shard: number | string, { sample, repeat }: Pick<MemberLine, 'sample' | 'repeat'>): void {
    const copy = repeat === undefined ? '' : `${shard}/${sample}/${repeat}`;
    if (copy !== '' && copy !== this.#last) this.count += 1;
    this.#last = copy;
  }
}

/** The totals of several shards or generations; empty if none of them prepared images. */
export function preparedTotals(all: readonly { readonly prepared?: PreparedTotals | undefined }[]): {
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
