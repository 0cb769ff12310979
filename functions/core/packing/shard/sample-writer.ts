/** Writes samples into a shard in its format, and a line for each member into its list. */
import type { MemberLine, PlannedMember } from '../model/documents.ts';
import type { MemberLayout, SampleLayout } from '../model/sample-layout.ts';
import {
  type EncodedMember,
  type ShardEncoder,
  type ShardSink,
  UnfitSampleError,
  type WrittenMember,
} from '../model/shard-format.ts';
import { lineOf, MemberList } from './member-list.ts';
import type { PreparedBytes } from './shard-images.ts';
import { isTooLarge, type ShardJob } from './shard-job.ts';

export type BodyOf = (part: MemberLayout) => EncodedMember['body'];

export class SampleWriter {
  readonly #encoder: ShardEncoder;
  readonly #sink: ShardSink;
  readonly #job: Pick<ShardJob, 'format'>;
  readonly list = new MemberList();
  /** Written so far. */
  samples = 0;

  constructor(encoder: ShardEncoder, sink: ShardSink, job: Pick<ShardJob, 'format'>) {
    this.#encoder = encoder;
    this.#sink = sink;
    this.#job = job;
  }

  /**
   * @param images prepared images, which replace the members that they were made of
   * @returns a promise only if something has to wait
   * @throws UnfitSampleError, or the promise rejects with it
   */
  write(
    layout: SampleLayout,
    images: ReadonlyMap<PlannedMember, PreparedBytes>,
    bodyOf: BodyOf,
  ): Promise<void> | undefined {
    const imageOf = (part: MemberLayout): PreparedBytes | undefined =>
      images.size > 0 && part.kind === 'source' ? images.get(part.member) : undefined;
    const members = layout.members.map((part): EncodedMember => {
      const image = imageOf(part);
      return image === undefined
        ? { ...part, body: bodyOf(part) }
        : { ...part, size: image.bytes.length, body: [image.bytes] };
    });
    if (images.size > 0 && isTooLarge({ members }, this.#job.format)) throw new UnfitSampleError('tooLarge');
    const enlist = (written: readonly WrittenMember[]): void => {
      for (const [index, member] of members.entries()) {
        const [part, at] = [layout.members[index], written[index]];
        if (part !== undefined && at !== undefined)
          this.list.add(lineOf(layout, { part, member, source: imageOf(part)?.source }, at));
      }
      this.samples += 1;
    };
    const written = this.#encoder.add(this.#sink, layout, members);
    if (written instanceof Promise) return written.then(enlist);
    enlist(written);
    return undefined;
  }

  /** Adds the line of a sample of one member that the store copied into the shard. */
  enlistCopied(line: MemberLine): void {
    this.list.add(line);
    this.samples += 1;
  }
}
