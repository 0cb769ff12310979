/** A prefix of the bucket that a pipeline names: below its own folder, or in full. */

import { s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import * as z from 'zod';

const OUTSIDE =
  'name a prefix below the pipeline\'s own folder, such as source/, or s3://bucket/prefix/: S3 knows no "..", "." or empty folder';

/** S3 takes keys as they are, so a path that a file system would resolve names an object that was never written. */
const isPlainPrefix = (prefix: string): boolean =>
  prefix
    .replace(/^s3:\/\/[^/]*\//, '')
    .split('/')
    .slice(0, -1)
    .every((part) => part !== '' && part !== '.' && part !== '..');

export const prefixSchema = z
  .string()
  .max(1_024)
  .regex(/^(s3:\/\/[a-z0-9.-]{3,63}\/.+\/|[A-Za-z0-9._/-]+\/)$/, 'name an S3 prefix that ends with a slash')
  .refine(isPlainPrefix, OUTSIDE);

/** @returns `s3://bucket/prefix/` of a prefix as declared */
export const prefixUri = (
  prefix: string,
  { bucket, name }: { readonly bucket: string; readonly name: string },
): string => (prefix.startsWith('s3://') ? prefix : s3Uri(bucket, `${name}/${prefix}`));
