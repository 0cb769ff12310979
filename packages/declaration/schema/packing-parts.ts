/** Parts of `packing` that are declared only when wanted. */
import * as z from 'zod';

const column = (what: string) => z.string().min(1).max(200).describe(what);

export const annotationsSchema = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .max(500)
      .regex(
        /\.(csv|tsv|jsonl|ndjson|manifest)$/i,
        'name a .csv, .tsv, .jsonl, .ndjson or .manifest file under incoming/',
      )
      .refine((file) => !file.startsWith('/'), 'leave out the slash before the name')
      .describe('Key under incoming/ of a CSV file with a header line, or of JSON Lines.'),
    key: column(
      'Column or field that names a sample: the key of one of its members under incoming/, or the key without suffix.',
    ).default('key'),
    label: column('Column or field with the label: a text or a number.').default('label'),
    folder: z
      .string()
      .min(1)
      .max(500)
      .regex(/^[^/].*\/$/, 'write a folder under incoming/ such as train_images/, or */ for any')
      .optional()
      .describe(
        'Folder under incoming/ that the values of key leave out, such as train_images/; */ for any folder.',
      ),
    prefix: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'What the values of key begin with and keys do not, such as s3://bucket/images/. Default: ./ is left out.',
      ),
  })
  .describe('For annotations: the file that says which sample has which label.');

const TEXT_FAULTS = ['notText', 'notJson'] as const;
export type TextFault = (typeof TEXT_FAULTS)[number];
/** Up to 0.1.0 `reject` named them too. `hold` finds both. */
const CLASS_FAULTS = ['conflictingLabels', 'singleSampleClasses'] as const;
const isClassFault = (fault: unknown): boolean => CLASS_FAULTS.some((one) => one === fault);

/** What a list in `reject` names for `hold` to find, and the rest of it. */
export const splitRejected = (reject: readonly unknown[]) => ({
  classes: reject.filter(isClassFault).map(String),
  texts: reject.filter((fault) => !isClassFault(fault)),
});
/** The limit that stops a run for any such sample. */
export const HELD_FOR_ANY = '0 %';

export const rejectSchema = z
  .array(
    z.enum(TEXT_FAULTS, {
      error: ({ input }) =>
        isClassFault(input)
          ? `is found by packing.hold: take it out here, and write hold: { ${String(input)}: 0 % }`
          : undefined,
    }),
  )
  .min(1)
  .max(TEXT_FAULTS.length + CLASS_FAULTS.length)
  .describe(
    'Samples to reject as a whole, by the reason: notText for a text that is no UTF-8, notJson for a .json or a line of JSON Lines that is no JSON. Default: they are packed and counted in the quality report.',
  );

export const rejectedTexts = ({
  reject = [],
}: {
  readonly reject?: readonly TextFault[] | undefined;
}): readonly TextFault[] => TEXT_FAULTS.filter((fault) => reject.includes(fault));

const asOfRelease010 = z.looseObject({
  packing: z.looseObject({
    reject: z.array(z.unknown()),
    hold: z.record(z.string(), z.unknown()).optional(),
  }),
});

/**
 * A stored declaration as this release reads it. Where 0.1.0 left samples out for their class, the run stops before it
 * trains, unless `hold` allows more: so no such sample is trained on unseen.
 */
export function heldForClasses(stored: unknown): unknown {
  const read = asOfRelease010.safeParse(stored);
  if (!read.success) return stored;
  const { reject, hold, ...packing } = read.data.packing;
  const { classes, texts } = splitRejected(reject);
  if (classes.length === 0) return stored;
  const limits = Object.fromEntries(classes.map((fault) => [fault, HELD_FOR_ANY]));
  return {
    ...read.data,
    packing: { ...packing, ...(texts.length > 0 && { reject: texts }), hold: { ...limits, ...hold } },
  };
}

const side = (what: string) => z.number().int().min(1).max(16_384).optional().describe(what);

const prepareImageSchema = z
  .strictObject({
    maxSide: side('Longest side in pixels; the ratio stays, and smaller images are not enlarged.'),
    width: side('Width in pixels; without height the ratio stays.'),
    height: side('Height in pixels; without width the ratio stays.'),
    fit: z
      .enum(['cover', 'contain', 'fill', 'inside', 'outside'])
      .optional()
      .describe(
        'With width and height: cover (default) crops, contain pads with background, fill distorts, inside and outside keep the ratio.',
      ),
    format: z
      .enum(['jpeg', 'png', 'webp'])
      .default('jpeg')
      .describe('How prepared images are encoded; their names get its suffix.'),
    quality: z.number().int().min(1).max(100).optional().describe('Of jpeg and webp; default 90.'),
    background: z
      .string()
      .regex(/^#[0-9a-f]{6}$/, 'write a colour as #000000')
      .default('#000000')
      .describe(
        'Behind what is transparent, where the format has no transparency, and around it with contain.',
      ),
    columns: z
      .array(z.string().regex(/^[a-z0-9_]{1,60}$/, 'name a column such as image'))
      .min(1)
      .max(20)
      .default(['image', 'tif', 'tiff', 'avif'])
      .describe('Members that are prepared; anything else stays as it is.'),
    masks: z
      .array(z.string().regex(/^[a-z0-9_]{1,60}$/, 'name a column such as seg'))
      .min(1)
      .max(20)
      .optional()
      .describe(
        'Members that hold a class for each pixel, as PNG: resized like the images, but to the nearest pixel, and kept as PNG.',
      ),
    mostMegapixels: z
      .number()
      .min(0.01)
      .max(268)
      .default(100)
      .describe('Larger images are rejected before they are decoded.'),
    expectedKilobytes: z
      .number()
      .min(0.1)
      .max(100_000)
      .optional()
      .describe(
        'Size of a prepared image in 10^3 bytes, by which shards are planned; default: by its pixels.',
      ),
  })
  .refine(({ columns, masks }) => masks?.some((column) => columns.includes(column)) !== true, {
    path: ['masks'],
    message: 'name each member as an image or as a mask, not as both',
  })
  .refine(({ maxSide, width, height }) => maxSide === undefined || (width ?? height) === undefined, {
    path: ['maxSide'],
    message: 'name the longest side, or width and height, not both',
  })
  .refine(({ fit, width, height }) => fit === undefined || (width !== undefined && height !== undefined), {
    path: ['fit'],
    message: 'name width and height, which it goes by, or leave it out',
  })
  .refine(({ format, quality }) => format !== 'png' || quality === undefined, {
    path: ['quality'],
    message: 'png loses nothing: leave the quality out, or write jpeg or webp',
  });

export type ImageSettings = z.output<typeof prepareImageSchema>;

export const prepareSchema = z
  .strictObject({ image: prepareImageSchema })
  .describe('Images are decoded, turned upright, resized and encoded again before they are packed.');

/** Such as `1 %`. */
export const percentSchema = z
  .string()
  .regex(/^(100|\d{1,2})(\.\d{1,3})? ?%$/, 'write a percentage such as 1 %');

/** @param percent of percentSchema @returns 0 to 1 */
export const shareOf = (percent: string): number => Number.parseFloat(percent) / 100;

const limit = (what: string) => percentSchema.optional().describe(what);

export const holdSchema = z
  .strictObject({
    classShare: limit(
      'Most percentage points by which the share of any class may differ from the version before.',
    ),
    rejected: limit('Most of the arrivals of a run that may be rejected. Default, also without hold: 50 %.'),
    conflictingLabels: limit(
      'Most of the samples of a run that may have the bytes of another one with a different label.',
    ),
    singleSampleClasses: limit('Most of the classes that may have a single sample.'),
    leakage: limit(
      'With packing.split: most of the samples of validation or test whose bytes another split may hold.',
    ),
  })
  .refine((limits) => Object.values(limits).some((value) => value !== undefined), {
    path: [],
    message: 'name a limit: classShare, rejected, conflictingLabels, singleSampleClasses or leakage',
  })
  .describe(
    'Limits of the quality report. A run that passes one does not train until a person releases its data.',
  );
export type HoldSettings = z.output<typeof holdSchema>;

/** If most of a drop is rejected, the rest is hardly what a person meant to train on. */
const MOST_REJECTED = '50 %';

/** The limits of a declaration that may have none. */
export const holdOf = ({ hold }: { readonly hold?: HoldSettings | undefined }): HoldSettings => ({
  ...hold,
  rejected: hold?.rejected ?? MOST_REJECTED,
});

export const ignoreSchema = z
  .union(
    [
      z.literal('none'),
      z
        .array(
          z.string().regex(/^[^/]{1,200}\/?$/, 'write a name such as *.bak, or a folder such as drafts/'),
        )
        .min(1)
        .max(100),
    ],
    'write a list of names such as [*.bak, drafts/], or none',
  )
  .describe(
    'Names of further files to ignore; * stands for any characters, and a slash at the end makes a folder. Files that systems and tools leave (.DS_Store, Thumbs.db, __MACOSX/, _SUCCESS, *.tmp and others) are ignored without it; none: they are packed too.',
  );

export const innerSuffixesSchema = z
  .array(z.string().regex(/^[a-z_][a-z0-9_-]{0,15}$/, 'write a word in lower case such as left'))
  .max(200)
  .describe(
    'Words between dots that name a member of a sample, as left in 0001.left.png; other words belong to the name of the sample, as com in paypal.com.png. Default: common ones such as left, seg, mask, depth and label. A dataset keeps those that it was begun with.',
  );

export const joinSchema = z
  .record(
    z.string().regex(/^[a-z0-9_]{1,60}$/, 'name a column such as mask'),
    z
      .string()
      .max(500)
      .regex(
        /^([^*/][^*]*\/)?\*(\/?[^*/]+)?$/,
        'write a folder, * and the end of the name, such as masks/*, *_mask or */mask',
      )
      .refine((pattern) => pattern !== '*', 'name a folder or an end of the name, such as masks/* or *_mask'),
  )
  .refine((join) => Object.keys(join).length > 0, 'name a column, such as mask: masks/*')
  .refine((join) => Object.keys(join).length <= 20, 'name 20 columns at most')
  .describe(
    'Files of one sample in parallel folders, or with ends of names: for each column its folder, at any depth, with * for the name of the sample, as in { image: images/*, mask: masks/*_mask } or { image: */scan }.',
  );

export const requireSchema = z
  .union(
    [
      z.literal('learn'),
      z.array(z.string().regex(/^[a-z0-9_]{1,60}$/, 'name a column such as image')).max(20),
    ],
    'write a list of columns such as [image, json], or learn',
  )
  .describe(
    'Columns that each sample must have; others wait for the rest. learn: those of nearly all samples of the first generation. Default: only a text or label beside nothing waits, where most samples have data.',
  );
