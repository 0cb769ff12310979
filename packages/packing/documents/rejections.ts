/** Why arrivals are in no shard, and which planned samples are missing in their shard. */
import * as z from 'zod';

/**
 * Reasons for which an arrival is rejected: for good, or as long as the declaration gives them. `ignored`: a file that
 * systems and tools leave. `unchanged`: the dataset holds its bytes under another ETag.
 * `unpacked`: an archive whose files are arrivals.
 * `removed` is said of a packed object, which its owner has deleted; if it comes again, it is packed again.
 */
const REJECTIONS = [
  'ignored',
  'suffixNotAccepted',
  'folderPlaceholder',
  'notTheImageItsNameSays',
  'sampleIncomplete',
  'tooLarge',
  'columnsDiffer',
  'labelNotANumber',
  'labelNotAnInteger',
  'notText',
  'notJson',
  'headerDiffers',
  'brokenRecord',
  'labelMissing',
  'labelDoubled',
  'balancedOut',
  'imageUnknown',
  'imageNotDecodable',
  'imageDamaged',
  'imageTooManyPixels',
  'maskNotPng',
  'retracted',
  'correctionIncomplete',
  'requiredMissing',
  'unchanged',
  'removed',
  'bundleNotReadable',
  'bundleTooLarge',
  'bundleWithoutData',
  'bundleKeyNotAllowed',
  'bundleKeysNotInOrder',
  'bundleMembersOverlap',
  'bundleEndsBefore',
  'unpacked',
  'archiveRefused',
] as const;
export type Rejection = (typeof REJECTIONS)[number];
export const rejectionSchema = z.enum(REJECTIONS);

/**
 * Why an arrival is left to a later generation. `unreadable`: the store refused it. `archived`: its storage class says
 * that it cannot be read. `incomplete`: the rest of its sample has not arrived. `groupMissing`: no group is found in its
 * key, so that it belongs to no split. `conflictingLabels` and `singleSampleClasses`: releases up to 0.1.0 gave them.
 * `remainder`: the shards would have had unequal counts.
 */
const DEFERRALS = [
  'changed',
  'deleted',
  'sampleDeferred',
  'unreadable',
  'archived',
  'incomplete',
  'groupMissing',
  'conflictingLabels',
  'singleSampleClasses',
  'remainder',
] as const;
export type Deferral = (typeof DEFERRALS)[number];
export const deferralSchema = z.enum(DEFERRALS);

export const isDeferral = (reason: Rejection | Deferral): reason is Deferral =>
  deferralSchema.safeParse(reason).success;

/** A planned sample that is not in its shard. `deferred`: the next generation packs it. */
export const exclusionSchema = z.object({
  sample: z.number().int(),
  outcome: z.enum(['rejected', 'deferred']),
  members: z.array(
    z.object({
      key: z.string(),
      reason: z.union([rejectionSchema, deferralSchema]),
      /** The store's error code, of an unreadable one. */
      code: z.string().optional(),
    }),
  ),
});
export type Exclusion = z.infer<typeof exclusionSchema>;
