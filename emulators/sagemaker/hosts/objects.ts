/** Objects in S3 as files: listing, and copies both ways. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';

export interface S3Location {
  readonly bucket: string;
  /** Key or prefix; may be empty. */
  readonly key: string;
}

export interface S3Object {
  readonly key: string;
  readonly size: number;
  readonly etag: string | undefined;
}

/** Both forms that SageMaker takes: s3://bucket/key and https://host/bucket/key. */
export function parseS3Uri(uri: string): S3Location {
  const match = /^s3:\/\/([^/]+)\/?(.*)$/s.exec(uri) ?? /^https:\/\/[^/]+\/([^/]+)\/?(.*)$/s.exec(uri);
  return { bucket: match?.[1] ?? '', key: match?.[2] ?? '' };
}

export const keyBelow = (prefix: string, rest: string): string =>
  prefix === '' || prefix.endsWith('/') ? `${prefix}${rest}` : `${prefix}/${rest}`;

/** In key order. */
export async function listObjects(
  s3: S3Client,
  { bucket, key }: S3Location,
  signal?: AbortSignal,
): Promise<S3Object[]> {
  const found: S3Object[] = [];
  const options = signal ? { abortSignal: signal } : {};
  for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix: key }, options)) {
    for (const { Key, Size, ETag } of page.Contents ?? [])
      if (Key !== undefined) found.push({ key: Key, size: Size ?? 0, etag: ETag });
  }
  return found.toSorted((left, right) => (left.key < right.key ? -1 : 1));
}

/** Whether anything lies under the prefix; false also when there is no such bucket. */
export async function hasObjects(s3: S3Client, { bucket, key }: S3Location): Promise<boolean> {
  try {
    const pages = paginateListObjectsV2({ client: s3, pageSize: 1 }, { Bucket: bucket, Prefix: key });
    const first = await pages.next();
    return (first.value?.KeyCount ?? first.value?.Contents?.length ?? 0) > 0;
  } catch (error) {
    if (error instanceof Error && (error.name === 'NoSuchBucket' || error.name === 'NotFound')) return false;
    throw error;
  }
}

/** The object as a stream of bytes. */
export async function openObject(
  s3: S3Client,
  { bucket, key }: S3Location,
  signal?: AbortSignal,
): Promise<Readable> {
  const answer = await s3.send(
    new GetObjectCommand({ Bucket: bucket, Key: key }),
    signal ? { abortSignal: signal } : {},
  );
  if (!(answer.Body instanceof Readable)) throw new Error(`S3 gave no body for s3://${bucket}/${key}`);
  return answer.Body;
}

export async function downloadObject(
  s3: S3Client,
  from: S3Location,
  file: string,
  signal?: AbortSignal,
): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const body = await openObject(s3, from, signal);
  await pipeline(body, createWriteStream(file), signal ? { signal } : {});
}

/** A stream cannot be sent a second time when a request fails, bytes can. */
const LARGEST_BUFFER_BYTES = 16 * 1024 * 1024;

export async function uploadFile(s3: S3Client, file: string, { bucket, key }: S3Location): Promise<void> {
  const { size } = await stat(file);
  const Body = size <= LARGEST_BUFFER_BYTES ? await readFile(file) : createReadStream(file);
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body, ContentLength: size }));
}

export async function deleteObject(s3: S3Client, { bucket, key }: S3Location): Promise<void> {
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
}

// From an object's key to a place inside a folder. Pure.

const MAXIMUM_SEGMENT_BYTES = 255;

/** The path's parts, or why the key cannot be a file below a folder. Doubled slashes count as one, as in a file system. */
export function segmentsOf(
  relativeKey: string,
):
  | { readonly ok: true; readonly segments: readonly string[] }
  | { readonly ok: false; readonly reason: string } {
  const segments = relativeKey.split('/').filter((segment) => segment !== '');
  if (segments.length === 0) return { ok: false, reason: 'it names no file' };
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    return { ok: false, reason: "it has a part '.' or '..' and would leave its folder" };
  }
  if (relativeKey.includes('\0')) return { ok: false, reason: 'it holds a zero byte' };
  if (segments.some((segment) => Buffer.byteLength(segment) > MAXIMUM_SEGMENT_BYTES)) {
    return { ok: false, reason: `a part of it is longer than ${MAXIMUM_SEGMENT_BYTES} bytes` };
  }
  return { ok: true, segments };
}

/** What of a key is below the prefix: after the prefix, or after its last slash when it ends inside a name. */
export function relativeKey(key: string, prefix: string): string {
  const isWholeFolder = prefix === '' || prefix.endsWith('/') || key.startsWith(`${prefix}/`);
  return isWholeFolder ? key.slice(prefix.length) : key.slice(prefix.lastIndexOf('/') + 1);
}
