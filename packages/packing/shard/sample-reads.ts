/**
 * The objects of one sample: in which order they are read, what was read of each, and what the store keeps to compare
 * it with.
 */

import type { BlobStore, KeptSums, SourceRead, WholeCheck } from '../documents/blob-store.ts';
import type { PlannedMember, PlannedSample } from '../documents/documents.ts';
import type { MemberLayout, SampleLayout } from '../documents/sample-layout.ts';

type Source = Pick<PlannedMember, 'key' | 'etag'>;

/** Keeps the last answer, because a shard needs that of its first large source twice. */
export class SourceSums {
  readonly #store: BlobStore;
  #last: { readonly source: string; readonly check: WholeCheck | undefined } | undefined;

  constructor(store: BlobStore) {
    this.#store = store;
  }

  async of(source: Source): Promise<KeptSums> {
    const check = await this.#ask(source);
    this.#last = { source: nameOf(source), check };
    return check?.sums ?? {};
  }

  /** For one comparison. */
  async take(source: Source): Promise<WholeCheck | undefined> {
    const check = await this.#ask(source);
    this.#last = undefined;
    return check;
  }

  async #ask(source: Source): Promise<WholeCheck | undefined> {
    if (this.#last?.source === nameOf(source)) return this.#last.check;
    return this.#store.wholeCheck(source.key, source.etag);
  }
}

const nameOf = ({ key, etag }: Source): string => JSON.stringify([key, etag]);

/** Images to be prepared come first, because their sizes must be known before the sample is written. */
export function readOrder({ members }: SampleLayout): PlannedMember[] {
  const [only] = members;
  if (members.length === 1 && only?.kind === 'source') return [only.member];
  const sources = members.filter((part) => part.kind === 'source');
  const first = sources.filter(({ prepares }) => prepares);
  const all = first.length === 0 ? sources : [...first, ...sources.filter(({ prepares }) => !prepares)];
  return all.map(({ member }) => member);
}

/** Bytes of the objects, and of what packing adds. */
export const readBytesOf = ({ members }: SampleLayout): number =>
  members.reduce((sum, part) => sum + (part.kind === 'source' ? part.member.size : part.size), 0);

/** Uses an array: V8 keeps the values of a Map alive long after the Map was cleared. */
export class SampleReads {
  readonly #members: readonly PlannedMember[];
  /** In the order of the sample's members. */
  readonly inOrder: (SourceRead | undefined)[];

  constructor({ members }: PlannedSample) {
    this.#members = members;
    this.inOrder = members.map(() => undefined);
  }

  set(member: PlannedMember, read: SourceRead): void {
    this.inOrder[this.#members.indexOf(member)] = read;
  }

  of(member: PlannedMember): SourceRead | undefined {
    return this.inOrder[this.#members.indexOf(member)];
  }
}

export const chunksOf = (read: SourceRead | undefined): readonly Uint8Array[] =>
  read?.kind === 'found' ? read.chunks : [];

export function bytesOfPart(part: MemberLayout, reads: SampleReads): readonly Uint8Array[] {
  if (part.kind === 'made') return [part.bytes];
  const read = reads.of(part.member);
  if (read?.kind !== 'found') throw new Error(`${part.name} is to be packed, but it was not read`);
  return read.chunks;
}
