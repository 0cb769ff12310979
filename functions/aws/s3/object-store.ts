/** ObjectStore on S3, for the control plane's small objects. */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { PIPELINES_PREFIX } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { ListedObject, ObjectStore, StoredBytes } from '@tidewheel/kit/object-store.ts';
import { isKeyCount } from './xml.ts';

export function s3ObjectStore(s3: S3Client, bucket: string): ObjectStore {
  const put = (
    key: string,
    content: string | Uint8Array,
    condition: { IfNoneMatch?: string; IfMatch?: string },
  ) => s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: content, ...condition }));
  const isPut = async (...[key, content, condition]: Parameters<typeof put>): Promise<boolean> => {
    try {
      await put(key, content, condition);
      return true;
    } catch (error: unknown) {
      const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
      if (status === 412) return false;
      // The object is gone.
      if (status === 404 && condition.IfMatch !== undefined) return false;
      if (status !== 409) throw error;
      // https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
      throw new TransientError(`a racing write of ${key} is not decided yet`, { cause: error });
    }
  };
  const create = async (key: string, content: string | Uint8Array): Promise<'written' | 'exists'> =>
    (await isPut(key, content, { IfNoneMatch: '*' })) ? 'written' : 'exists';
  return {
    bucket,
    readText: async (key, mostBytes) => {
      const object = { Bucket: bucket, Key: key };
      const stored = key.startsWith(PIPELINES_PREFIX)
        ? await readBegin(s3, object)
        : await readBytes(s3, object, mostBytes);
      if (stored === undefined) return undefined;
      const { bytes, ...version } = stored;
      return { text: new TextDecoder().decode(bytes), ...version };
    },
    writeText: async (key, text) => {
      await put(key, text, {});
    },
    delete: async (key) => {
      await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    },
    createText: create,
    replaceText: async (key, text, etag) =>
      (await isPut(key, text, { IfMatch: `"${etag}"` })) ? 'written' : 'changed',
    digestOf: (key) => digestOf(s3, { Bucket: bucket, Key: key }),
    readBytes: (key) => readBytes(s3, { Bucket: bucket, Key: key }),
    createBytes: create,
    list: (prefix) => list(s3, bucket, prefix),
    listFolders: (prefix) => listFolders(s3, bucket, prefix),
  };
}

/** A person may write a declaration of any length. Its reader refuses one that is longer than this. */
const MOST_DECLARATION_BYTES = 500_000;

async function readBegin(s3: S3Client, object: GetObjectCommandInput): Promise<StoredBytes | undefined> {
  const whole = await readBytes(s3, object, MOST_DECLARATION_BYTES);
  return whole ?? readBytes(s3, { ...object, Range: `bytes=0-${MOST_DECLARATION_BYTES - 1}` });
}

async function readBytes(
  s3: S3Client,
  object: GetObjectCommandInput,
  mostBytes = Number.POSITIVE_INFINITY,
): Promise<StoredBytes | undefined> {
  try {
    const { Body, ETag, LastModified, ContentLength = 0 } = await s3.send(new GetObjectCommand(object));
    if (ContentLength > mostBytes) {
      // Unread bytes would hold the socket.
      if (Body instanceof Readable) Body.destroy();
      return undefined;
    }
    return {
      bytes: (await Body?.transformToByteArray()) ?? new Uint8Array(),
      etag: bare(ETag),
      lastModified: LastModified ?? new Date(0),
    };
  } catch (error: unknown) {
    if (error instanceof NoSuchKey) return undefined;
    throw error;
  }
}

async function digestOf(s3: S3Client, object: GetObjectCommandInput): Promise<string | undefined> {
  try {
    const { Body } = await s3.send(new GetObjectCommand(object));
    const hash = createHash('sha256');
    if (Body instanceof Readable) await pipeline(Body, hash);
    return hash.digest('hex');
  } catch (error: unknown) {
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
    if (status === 404 || status === 403) return undefined;
    throw error;
  }
}

async function* list(s3: S3Client, bucket: string, prefix: string): AsyncIterable<ListedObject> {
  for await (const { Contents = [] } of pagesOf(s3, { Bucket: bucket, Prefix: prefix })) {
    for (const { Key, Size, ETag, LastModified } of Contents) {
      if (Key !== undefined) {
        yield { key: Key, size: Size ?? 0, etag: bare(ETag), lastModified: LastModified ?? new Date(0) };
      }
    }
  }
}

async function listFolders(s3: S3Client, bucket: string, prefix: string): Promise<string[]> {
  const folders: string[] = [];
  for await (const { CommonPrefixes = [] } of pagesOf(s3, {
    Bucket: bucket,
    Prefix: prefix,
    Delimiter: '/',
  })) {
    for (const { Prefix } of CommonPrefixes) {
      if (Prefix !== undefined) folders.push(Prefix.slice(prefix.length, -1));
    }
  }
  return folders;
}

/** @throws TransientError for a page that lacks what it counts, or that says it goes on but not where */
async function* pagesOf(
  s3: S3Client,
  request: ListObjectsV2CommandInput,
): AsyncIterable<ListObjectsV2CommandOutput> {
  let token: string | undefined;
  do {
    const page = await s3.send(
      new ListObjectsV2Command({ ...request, ...(token !== undefined && { ContinuationToken: token }) }),
    );
    if (!isWholePage(page))
      throw new TransientError(
        `a listing of s3://${request.Bucket}/${request.Prefix} lacks keys: list it again`,
      );
    yield page;
    token = page.IsTruncated === false ? undefined : page.NextContinuationToken;
  } while (token !== undefined);
}

function isWholePage({
  KeyCount,
  Contents = [],
  CommonPrefixes = [],
  IsTruncated,
  NextContinuationToken,
}: ListObjectsV2CommandOutput): boolean {
  if (IsTruncated === true && NextContinuationToken === undefined) return false;
  return KeyCount === undefined || isKeyCount(KeyCount, Contents.length, CommonPrefixes.length);
}

const bare = (etag: string | undefined) => (etag ?? '').replaceAll('"', '');
