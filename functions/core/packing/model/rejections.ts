/** Why arrivals are in no shard, and which planned samples are missing in their shard. */
import * as z from 'zod';

/** Reasons for which an arrival is rejected for good. */
const REJECTIONS = [
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
  'imageDamaged',
  'imageTooManyPixels',
  'maskNotPng',
  'retracted',
  'correctionIncomplete',
] as const;
export type Rejection = (typeof REJECTIONS)[number];
export const rejectionSchema = z.enum(REJECTIONS);

/** A planned sample that is not in its shard. `deferred`: the next generation packs it. */
export const exclusionSchema = z.object({
  sample: z.number().int(),
  outcome: z.enum(['rejected', 'deferred']),
  members: z.array(
    z.object({
      key: z.string(),
      reason: z.union([
        rejectionSchema,
        z.literal('changed'),
        z.literal('deleted'),
        z.literal('sampleDeferred'),
      ]),
    }),
  ),
});
export type Exclusion = z.infer<typeof exclusionSchema>;
