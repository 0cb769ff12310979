/** Parts of `packing` that are declared only when wanted. */
import * as z from 'zod';

const column = (what: string) => z.string().min(1).max(200).describe(what);

export const annotationsSchema = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .max(500)
      .regex(/\.(csv|jsonl|ndjson)$/i, 'name a .csv, .jsonl or .ndjson file under incoming/')
      .refine((file) => !file.startsWith('/'), 'leave out the slash before the name')
      .describe('Key under incoming/ of a CSV file with a header line, or of JSON Lines.'),
    key: column(
      'Column or field that names a sample: the key of one of its members under incoming/, or the key without suffix.',
    ).default('key'),
    label: column('Column or field with the label: a text or a number.').default('label'),
  })
  .describe('For annotations: the file that says which sample has which label.');

export const tfrecordSchema = z
  .strictObject({
    compression: z
      .enum(['none', 'gzip'])
      .default('none')
      .describe("gzip: each shard is one gzip file, read with compression_type='GZIP'."),
  })
  .describe('Only for the format tfrecord.');
