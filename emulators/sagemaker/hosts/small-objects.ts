/**
 * Small objects that were downloaded before: a job that resumes takes hundreds of them, most of which the last one took.
 *
 * In: an object as a listing shows it. Out: its file. Throws what S3 refuses.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { S3Client } from '@aws-sdk/client-s3';
import { downloadObject, openObject, type S3Location, type S3Object } from './objects.ts';

const LARGEST_BYTES = 64 * 1024;
const MOST_BYTES = 32 * 1024 * 1024;

export class SmallObjects {
  /** By the MD5 of their content, in hexadecimal: the oldest first. */
  readonly #kept = new Map<string, Buffer>();
  #bytes = 0;

  async download(
    s3: S3Client,
    { bucket, etag, key, size }: S3Object & Pick<S3Location, 'bucket'>,
    file: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (size > LARGEST_BYTES) return downloadObject(s3, { bucket, key }, file, signal);
    const known = this.#kept.get(etag?.replaceAll('"', '') ?? '');
    const content = known ?? (await buffer(await openObject(s3, { bucket, key }, signal)));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    if (known === undefined) this.#keep(content);
  }

  #keep(content: Buffer): void {
    const md5 = createHash('md5').update(content).digest('hex');
    if (this.#kept.has(md5)) return;
    this.#kept.set(md5, content);
    this.#bytes += content.length;
    for (const [oldest, { length }] of this.#kept) {
      if (this.#bytes <= MOST_BYTES) return;
      this.#kept.delete(oldest);
      this.#bytes -= length;
    }
  }
}
