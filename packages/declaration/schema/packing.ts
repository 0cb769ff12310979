/** How arrivals are packed into shards: the `packing` part of a declaration. */

import { besideOthers } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import {
  annotationsSchema,
  holdSchema,
  ignoreSchema,
  innerSuffixesSchema,
  joinSchema,
  percentSchema,
  prepareSchema,
  rejectSchema,
  requireSchema,
} from './packing-parts.ts';
import {
  DEFAULT_FORMAT,
  FILE_FORMATS,
  FORMAT_SETTINGS,
  formatNameSchema,
  largestShardOf,
  mayHoldTexts,
  takesFiles,
} from './shard-formats.ts';
import { isPatternWithGroup, splitSchema } from './splits.ts';

/** sharp's own builds have no decoder for them. Reads what another rule has refused too. */
const isAnyUndecodable = (accept: unknown): boolean =>
  Array.isArray(accept) && accept.some((one) => typeof one === 'string' && /\.(heic|heif|bmp)$/i.test(one));

const isTooLarge = (format: string, shardMegabytes: number): boolean => {
  const largest = largestShardOf(format);
  return largest !== undefined && !(shardMegabytes <= largest.megabytes);
};

const formatted = z.looseObject({ format: z.string() });

function largestShardSentence(packing: unknown): string {
  const { data } = formatted.safeParse(packing);
  const largest = data && largestShardOf(data.format);
  return largest === undefined ? 'give a smaller size' : `${largest.because}: ${largest.megabytes} at most`;
}

export const packingSchema = z
  .strictObject({
    format: formatNameSchema
      .default(DEFAULT_FORMAT)
      .describe('The shard format; docs/datasets.md compares them.'),
    shardMegabytes: z
      .number()
      .min(1)
      .max(5_000)
      .default(256)
      .describe('Target size of a shard in 10^6 bytes.'),
    seed: z
      .number()
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .default(0)
      .describe('Seed of the shuffle.'),
    accept: z
      .array(z.string().regex(/^\.[A-Za-z0-9.]{1,20}$/, 'write suffixes as .png'))
      .min(1)
      .optional()
      .describe(
        'Suffixes taken; anything else is rejected, with its reason in the manifest. Default: everything.',
      ),
    ignore: ignoreSchema.optional(),
    archives: z
      .enum(['pack', 'unpack'])
      .optional()
      .describe(
        'unpack: the files of a .zip, .tar, .tar.gz or .tgz under incoming/ are arrivals below a folder of its name, and the archive is none. Default: pack, as one sample each.',
      ),
    innerSuffixes: innerSuffixesSchema.optional(),
    join: joinSchema.optional(),
    label: z
      .enum(['parentFolder', 'namePattern', 'annotations', 'none'])
      .default('parentFolder')
      .describe(
        'Where a sample gets its label: from the folder that holds it, from its key by labelPattern, or from the file of annotations. It becomes the member <key>.cls.',
      ),
    labelPattern: z
      .string()
      .min(1)
      .max(200)
      .refine(isPatternWithGroup, 'write a regular expression with one group in brackets, such as ^([a-z]+)_')
      .optional()
      .describe(
        'For namePattern: the first group of this regular expression, found in the key under incoming/, is the label.',
      ),
    labelLevel: z
      .number()
      .int()
      .min(1)
      .max(20)
      .optional()
      .describe(
        'For parentFolder: which folder of the key is the label, counted from incoming/, without those that name a split or a column. Default: the folder that holds the file.',
      ),
    annotations: annotationsSchema.optional(),
    labelType: z
      .enum(['text', 'integer'])
      .default('text')
      .describe(
        'integer: tfrecord, mds and parquet hold the label as an int64, and other labels are rejected.',
      ),
    shuffle: z
      .boolean()
      .default(true)
      .describe('Shuffle all samples of a generation by the seed; false keeps the order of keys.'),
    shardsMultipleOf: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe(
        'Make the number of shards a multiple of this, so that hosts and workers share them evenly. Default: the processes that train, as far as shards stay above 1 MB.',
      ),
    leastShardsPerWorker: z
      .number()
      .int()
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'At least so many shards for each of the shardsMultipleOf workers, however small they get. Default: 4 for each process that trains, as far as shards stay above 1 MB.',
      ),
    split: splitSchema.optional(),
    require: requireSchema.optional(),
    waitHours: z
      .number()
      .min(0)
      .max(100_000)
      .default(168)
      .describe(
        'So long an incomplete sample waits for the rest of its members. Then it is rejected, and joined if the rest comes later.',
      ),
    reject: rejectSchema.optional(),
    mayReject: percentSchema
      .default('1 %')
      .describe(
        'So many of the new objects, and always ten, may be unreadable and are left for a later run. If more are, the run fails, because its role is at fault.',
      ),
    remainder: z
      .enum(['ragged', 'even', 'drop'])
      .default('ragged')
      .describe(
        'Shards of unequal sample counts: leave them, repeat samples to fill them, or leave samples for later.',
      ),
    balance: z
      .enum(['over', 'under'])
      .optional()
      .describe(
        'Give every class the same number of samples: over copies samples of small classes, under leaves out samples of large ones.',
      ),
    ...FORMAT_SETTINGS,
    prepare: prepareSchema.optional(),
    hold: holdSchema.optional(),
    whenDone: z
      .enum(['keep', 'delete'])
      .default('keep')
      .describe('What becomes of the packed arrivals after the run.'),
  })
  .refine(({ label, labelPattern }) => label !== 'namePattern' || labelPattern !== undefined, {
    ...besideOthers,
    path: ['labelPattern'],
    message: 'name the pattern that finds the label in the key',
  })
  .refine(({ label, annotations }) => label !== 'annotations' || annotations !== undefined, {
    ...besideOthers,
    path: ['annotations'],
    message: 'name the file of annotations and its columns: { file, key, label }',
  })
  .refine(({ label, annotations }) => label === 'annotations' || annotations === undefined, {
    ...besideOthers,
    path: ['label'],
    message: 'write label: annotations, or leave the file of annotations out',
  })
  .refine(({ label, format }) => label !== 'annotations' || !takesFiles(format), {
    ...besideOthers,
    path: ['annotations'],
    message: `${FILE_FORMATS} are joined as they are: their labels are inside them`,
  })
  .refine(({ labelLevel, label }) => labelLevel === undefined || label === 'parentFolder', {
    ...besideOthers,
    path: ['labelLevel'],
    message: 'counts folders: write label: parentFolder, or leave it out',
  })
  .refine(({ join, format }) => join === undefined || !takesFiles(format), {
    ...besideOthers,
    path: ['join'],
    message: `${FILE_FORMATS} are joined as they are and have no columns: leave it out`,
  })
  .refine(({ balance, label }) => balance === undefined || label !== 'none', {
    ...besideOthers,
    path: ['balance'],
    message: 'say with label what the class of a sample is',
  })
  .refine(({ balance, format }) => balance === undefined || !takesFiles(format), {
    ...besideOthers,
    path: ['balance'],
    message: `${FILE_FORMATS} are joined as they are and have no classes`,
  })
  .refine(({ balance, remainder }) => balance === undefined || remainder !== 'drop', {
    ...besideOthers,
    path: ['remainder'],
    message: 'a balance leaves nothing for later: write even or ragged',
  })
  .refine(({ require, format }) => require === undefined || !takesFiles(format), {
    ...besideOthers,
    path: ['require'],
    message: `${FILE_FORMATS} are joined as they are and have no columns: leave it out`,
  })
  .refine(({ hold, split }) => hold?.leakage === undefined || split !== undefined, {
    ...besideOthers,
    path: ['hold', 'leakage'],
    message: 'needs packing.split: declare the shares of train, validation and test, or leave it out',
  })
  .refine(({ reject, format }) => reject === undefined || mayHoldTexts(format), {
    ...besideOthers,
    path: ['reject'],
    message: 'files of records are joined without decoding: leave it out',
  })
  .refine(({ prepare, format }) => prepare === undefined || !takesFiles(format), {
    ...besideOthers,
    path: ['prepare'],
    message: `${FILE_FORMATS} are joined as they are: leave it out, or choose a format of samples`,
  })
  .refine(({ prepare, accept }) => prepare === undefined || !isAnyUndecodable(accept), {
    ...besideOthers,
    path: ['accept'],
    message:
      'no HEIC and BMP can be prepared: convert such images before they are dropped, and leave .heic, .heif and .bmp out',
  })
  .refine(({ format, shardMegabytes }) => !isTooLarge(format, shardMegabytes), {
    ...besideOthers,
    path: ['shardMegabytes'],
    error: ({ input }) => largestShardSentence(input),
  });
