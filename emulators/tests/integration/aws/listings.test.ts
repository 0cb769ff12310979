/** Listings as S3 writes them. */
import {
  CreateBucketCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { beforeAll, expect, it } from 'vitest';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';

const KEYS = ['a&b <c> "d".txt', 'ä/ö.txt', 'plain.txt', 'x\u0001y.txt'];
const Bucket = 'listings';

const emulator = emulatorOfSuite();
let s3: S3Client;
beforeAll(async () => {
  s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket }));
  for (const Key of KEYS) await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
});

it('give every key as it is', async () => {
  const list = new ListObjectsV2Command({ Bucket, EncodingType: 'url' });
  const { Contents = [], KeyCount } = await s3.send(list);
  expect(Contents.map(({ Key = '' }) => decodeURIComponent(Key)).toSorted()).toEqual(KEYS.toSorted());
  expect([KeyCount, Contents[0]?.Size]).toEqual([KEYS.length, 1]);
  const folders = await s3.send(new ListObjectsV2Command({ Bucket, Delimiter: '/', Prefix: '' }));
  expect(folders.CommonPrefixes).toEqual([{ Prefix: 'ä/' }]);
  expect((await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'none/' }))).KeyCount).toBe(0);
});

it('date objects to whole seconds', async () => {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'p' }));
  const { Versions = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket, Prefix: 'p' }));
  const dates = [...Contents, ...Versions].map(({ LastModified }) => LastModified?.getTime() ?? Number.NaN);
  expect(dates.map((date) => date % 1_000)).toEqual([0, 0]);
  expect(Date.now() - (dates[0] ?? 0)).toBeLessThan(60_000);
});
