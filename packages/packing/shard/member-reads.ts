/** Reads members that are larger than one piece, and finds what is wrong with them. */
import { TransientError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import type { SourceRead, WholeCheck } from '../documents/blob-store.ts';
import type { PlannedMember, PlannedSample } from '../documents/documents.ts';
import type { Exclusion } from '../documents/rejections.ts';
import { checkSample, RebuildError } from './check-sample.ts';
import type { FetchWindow } from './fetch-window.ts';
import { LargeMember } from './large-member.ts';
import { readPieces } from './read-spans.ts';
import { chunksOf, type SourceSums } from './sample-reads.ts';
import type { PackDeps } from './shard-job.ts';
import type { ShardUpload } from './shard-upload.ts';

export const damaged = ({ key }: PlannedMember): TransientError =>
  new TransientError(
    `${quoted(key)} came with other bytes than its checksum says; the next try reads it again`,
  );

export interface MemberRules {
  readonly window: FetchWindow;
  /** Gets the sources of which the store has no checksum. */
  readonly unchecked: Set<PlannedMember>;
  /** Whether a member's bytes must be what its name says. */
  readonly sniffs: (member: PlannedMember) => boolean;
  readonly sources: SourceSums;
}

interface NamedMember {
  readonly member: PlannedMember;
  /** Path in the shard. */
  readonly name: string;
}

export class MemberReads {
  readonly #deps: PackDeps;
  readonly #rules: MemberRules;

  constructor(deps: PackDeps, rules: MemberRules) {
    this.#deps = deps;
    this.#rules = rules;
  }

  noteCheck(member: PlannedMember, read: SourceRead | undefined): void {
    if (read?.kind === 'found' && read.unchecked) this.#rules.unchecked.add(member);
  }

  /** All pieces of an image, or why its sample is excluded; then too, all of it was read. */
  async image(
    sample: PlannedSample,
    member: PlannedMember,
  ): Promise<{ readonly chunks: Uint8Array[]; readonly exclusion: Exclusion | undefined }> {
    const chunks: Uint8Array[] = [];
    const check = await this.#checkOf(member);
    let exclusion: Exclusion | undefined;
    for (const _ of readPieces(member, this.#deps.window.pieceBytes)) {
      const piece = await this.#rules.window.next();
      this.noteCheck(member, piece);
      exclusion ??= checkSample(sample, readsOf(sample, member, piece), this.#rules.sniffs);
      for (const chunk of chunksOf(piece)) check?.add(chunk);
      if (exclusion === undefined) chunks.push(...chunksOf(piece));
    }
    if (exclusion === undefined && check?.isIntact() === false) throw damaged(member);
    return { chunks, exclusion };
  }

  /** The pieces of a member in turn. @throws RebuildError if its sample must not be in the shard */
  async *stream(sample: PlannedSample, member: PlannedMember): AsyncGenerator<Uint8Array> {
    const { window } = this.#rules;
    const check = await this.#checkOf(member);
    for (const { offset } of readPieces(member, this.#deps.window.pieceBytes)) {
      const read = await window.next();
      this.noteCheck(member, read);
      this.#refuseUnfit(sample, member, read, offset === 0);
      if (read.kind !== 'found') continue;
      for (const chunk of read.chunks) check?.add(chunk);
      yield* read.chunks;
      window.releaseLast();
    }
    if (check?.isIntact() === false) throw damaged(member);
  }

  /** A member that the store copies. It is not in the window. */
  large(sample: PlannedSample, { member, name }: NamedMember, upload: ShardUpload): LargeMember {
    return new LargeMember({
      ...this.#deps,
      sources: this.#rules.sources,
      upload,
      member,
      name,
      inspect: (read, isHead) => this.#refuseUnfit(sample, member, read, isHead),
      damaged: () => damaged(member),
      unchecked: () => void this.#rules.unchecked.add(member),
    });
  }

  #refuseUnfit(sample: PlannedSample, member: PlannedMember, read: SourceRead, isHead: boolean): void {
    const sniffs = (one: PlannedMember): boolean => isHead && this.#rules.sniffs(one);
    const exclusion = checkSample(sample, readsOf(sample, member, read), sniffs);
    if (exclusion !== undefined) throw new RebuildError([{ sample, exclusion }]);
  }

  /** The store's answers to ranges have no checksum. */
  async #checkOf(member: PlannedMember): Promise<WholeCheck | undefined> {
    if (readPieces(member, this.#deps.window.pieceBytes).length <= 1) return undefined;
    const check = await this.#deps.store.wholeCheck(member.key, member.etag);
    if (check === undefined) this.#rules.unchecked.add(member);
    return check;
  }
}

const readsOf = (
  { members }: PlannedSample,
  member: PlannedMember,
  read: SourceRead,
): readonly (SourceRead | undefined)[] => members.map((one) => (one === member ? read : undefined));
