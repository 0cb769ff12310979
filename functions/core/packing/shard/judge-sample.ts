/** Whether what was read of a sample may be packed. A sample is taken or left as a whole. */
import type { GetResult } from '../model/blob-store.ts';
import type { PlannedMember, PlannedSample } from '../model/documents.ts';
import type { Exclusion, Rejection } from '../model/rejections.ts';
import { isImage, promisedImage, SNIFF_BYTES } from '../model/sniff.ts';

type Reason = Exclusion['members'][number]['reason'];

/** The first bytes of what was read. */
function headOf(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first === undefined) return new Uint8Array();
  return first.length >= SNIFF_BYTES || chunks.length === 1 ? first : Buffer.concat(chunks);
}

/** Whether the pipeline takes images, so that a file with an image's suffix must be one. */
export const takesImages = (accept: readonly string[] | undefined): boolean =>
  accept?.some((suffix) => promisedImage(suffix) !== undefined) ?? false;

/** What the store says of one member. */
function reasonOf(
  member: PlannedMember,
  read: GetResult,
  sniff: boolean,
): 'changed' | 'deleted' | Rejection | undefined {
  if (read.kind === 'missing') return 'deleted';
  if (read.kind === 'changed') return 'changed';
  const format = sniff ? promisedImage(member.key) : undefined;
  if (format === undefined || isImage(format, headOf(read.chunks))) return undefined;
  return 'notTheImageItsNameSays';
}

/**
 * Undefined when all of it may be packed. `reads` holds, for each member, what its first piece gave; `sniffs` says
 * whether its bytes must be what its name says.
 */
export function judgeSample(
  sample: PlannedSample,
  reads: readonly (GetResult | undefined)[],
  sniffs: (member: PlannedMember) => boolean,
): Exclusion | undefined {
  let worst: 'rejected' | 'left' | undefined;
  let reasons: (Reason | undefined)[] | undefined;
  for (let index = 0; index < sample.members.length; index += 1) {
    const [member, read] = [sample.members[index], reads[index]];
    if (member === undefined || read === undefined) continue;
    const reason = reasonOf(member, read, sniffs(member));
    if (reason === undefined) continue;
    reasons ??= [];
    reasons[index] = reason;
    if (reason === 'changed' || reason === 'deleted') worst = 'left';
    else worst ??= 'rejected';
  }
  if (worst === undefined) return undefined;
  const other: Reason = worst === 'left' ? 'sampleLeft' : 'sampleIncomplete';
  return {
    sample: sample.ordinal,
    outcome: worst,
    members: sample.members.map(({ key }, index) => ({ key, reason: reasons?.[index] ?? other })),
  };
}

/** The whole sample rejected for one reason. */
export const excludeAll = (sample: PlannedSample, reason: Rejection): Exclusion => ({
  sample: sample.ordinal,
  outcome: 'rejected',
  members: sample.members.map(({ key }) => ({ key, reason })),
});

/** The whole sample rejected because of one member. */
export const excludeFor = (sample: PlannedSample, culprit: PlannedMember, reason: Rejection): Exclusion => ({
  sample: sample.ordinal,
  outcome: 'rejected',
  members: sample.members.map((member) => ({
    key: member.key,
    reason: member === culprit ? reason : 'sampleIncomplete',
  })),
});
