/** Listings that S3, or a server that speaks its protocol, cuts short. */
import { ListObjectsV2Command, type ListObjectsV2CommandOutput, S3Client } from '@aws-sdk/client-s3';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it } from 'vitest';
import { s3ObjectStore } from '../../../../functions/aws/s3/object-store.ts';

const Contents = [{ Key: 'a/1', Size: 1, ETag: '"e"' }];
const CommonPrefixes = [{ Prefix: 'a/b/' }];

function storeOf(...pages: readonly Partial<ListObjectsV2CommandOutput>[]) {
  const s3 = mockClient(S3Client);
  const command = s3.on(ListObjectsV2Command);
  for (const page of pages) command.resolvesOnce(page);
  return s3ObjectStore(new S3Client({ region: 'eu-north-1' }), 'bucket');
}

async function keysIn(...pages: readonly Partial<ListObjectsV2CommandOutput>[]): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of storeOf(...pages).list('a/')) keys.push(key);
  return keys;
}

it.each([
  ['lacks a key', { KeyCount: 2, Contents }],
  ['lacks all keys', { KeyCount: 1 }],
  ['goes on but not where', { KeyCount: 1, Contents, IsTruncated: true }],
])('a page that %s is no listing', async (_fault, page) => {
  await expect(keysIn(page)).rejects.toThrow(TransientError);
  await expect(storeOf(page).listFolders('a/')).rejects.toThrow('a listing of s3://bucket/a/ lacks keys');
});

it('takes a server that counts in any way', async () => {
  for (const KeyCount of [2, 1, undefined]) {
    const page = { ...(KeyCount !== undefined && { KeyCount }), Contents, CommonPrefixes };
    expect(await keysIn(page)).toEqual(['a/1']);
    expect(await storeOf(page).listFolders('a/')).toEqual(['b']);
  }
});

it('follows an empty page that says it goes on', async () => {
  const first = { KeyCount: 0, IsTruncated: true, NextContinuationToken: 'more' };
  expect(await keysIn(first, { KeyCount: 1, Contents, IsTruncated: false })).toEqual(['a/1']);
});
