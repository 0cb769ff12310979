/** Decides whether a sample that was read may be packed. A sample is packed or excluded as a whole. */
import type { SourceRead } from '../documents/blob-store.ts';
import type { PlannedMember, PlannedSample } from '../documents/documents.ts';
import { type Deferral, type Exclusion, isDeferral, type Rejection } from '../documents/rejections.ts';
import { imageFormatOf, isImage, SNIFF_BYTES } from '../documents/sniff.ts';

/** A sample, or a copy of one, that cannot be in the shard. */
export interface ExcludedSample {
  readonly sample: PlannedSample;
  readonly exclusion: Exclusion;
}

/** Samples were excluded after bytes were written that depend on them. The shard is built again without them. */
export class RebuildError extends Error {
  override readonly name = 'RebuildError';
  readonly excluded: readonly ExcludedSample[];
  constructor(excluded: readonly ExcludedSample[]) {
    super(`the shard must be built again without ${excluded.length} samples`);
    this.excluded = excluded;
  }
}

/** Identifies a sample or one copy of it. */
export const copyIdOf = ({ ordinal, repeat }: PlannedSample): string => `${ordinal}~${repeat}`;

type Reason = Exclusion['members'][number]['reason'];

/** At least the first SNIFF_BYTES bytes, if there are so many. */
function headOf(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first === undefined) return new Uint8Array();
  return first.length >= SNIFF_BYTES || chunks.length === 1 ? first : Buffer.concat(chunks);
}

/** Whether the pipeline accepts images. A file with an image's suffix must then be an image. */
export const acceptsImages = (accept: readonly string[] | undefined): boolean =>
  accept?.some((suffix) => imageFormatOf(suffix) !== undefined) ?? false;

function reasonOf(member: PlannedMember, read: SourceRead, sniff: boolean): Deferral | Rejection | undefined {
  if (read.kind === 'missing') return 'deleted';
  if (read.kind === 'unreadable') return 'unreadable';
  if (read.kind === 'changed') return 'changed';
  const format = sniff ? imageFormatOf(member.key) : undefined;
  if (format === undefined || isImage(format, headOf(read.chunks))) return undefined;
  return 'notTheImageItsNameSays';
}

/**
 * Undefined if the whole sample may be packed.
 * @param reads the first piece of each member, in the sample's order; undefined for a member to be ignored
 * @param sniffs whether a member's bytes must be what its name says
 */
export function checkSample(
  sample: PlannedSample,
  reads: readonly (SourceRead | undefined)[],
  sniffs: (member: PlannedMember) => boolean,
): Exclusion | undefined {
  let worst: 'rejected' | 'deferred' | undefined;
  let reasons: (Reason | undefined)[] | undefined;
  for (let index = 0; index < sample.members.length; index += 1) {
    const [member, read] = [sample.members[index], reads[index]];
    if (member === undefined || read === undefined) continue;
    const reason = reasonOf(member, read, sniffs(member));
    if (reason === undefined) continue;
    reasons ??= [];
    reasons[index] = reason;
    if (isDeferral(reason)) worst = 'deferred';
    else worst ??= 'rejected';
  }
  if (worst === undefined) return undefined;
  const other: Reason = worst === 'deferred' ? 'sampleDeferred' : 'sampleIncomplete';
  return {
    sample: sample.ordinal,
    outcome: worst,
    members: sample.members.map(({ key }, index) => {
      const read = reads[index];
      const code = read?.kind === 'unreadable' ? { code: read.code } : {};
      return { key, reason: reasons?.[index] ?? other, ...code };
    }),
  };
}

/** Rejects every member of the sample for the same reason. */
export const excludeAll = (sample: PlannedSample, reason: Rejection): Exclusion => ({
  sample: sample.ordinal,
  outcome: 'rejected',
  members: sample.members.map(({ key }) => ({ key, reason })),
});

/** Rejects the whole sample because of one member. */
export const excludeFor = (sample: PlannedSample, culprit: PlannedMember, reason: Rejection): Exclusion => ({
  sample: sample.ordinal,
  outcome: 'rejected',
  members: sample.members.map((member) => ({
    key: member.key,
    reason: member === culprit ? reason : 'sampleIncomplete',
  })),
});
