/** Why arrivals are in no shard, and which samples of a shard's plan are not in it. */
import * as z from 'zod';

/** Why an arrival is in no shard. `left` ones are taken up by the next generation, the others are done with. */
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
] as const;
export type Rejection = (typeof REJECTIONS)[number];
export const rejectionSchema = z.enum(REJECTIONS);

/** A sample that the plan put into the shard and that is not in it. */
export const exclusionSchema = z.object({
  sample: z.number().int(),
  outcome: z.enum(['rejected', 'left']),
  members: z.array(
    z.object({
      key: z.string(),
      reason: z.union([rejectionSchema, z.literal('changed'), z.literal('deleted'), z.literal('sampleLeft')]),
    }),
  ),
});
export type Exclusion = z.infer<typeof exclusionSchema>;
