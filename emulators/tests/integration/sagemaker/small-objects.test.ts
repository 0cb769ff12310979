import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, onTestFinished, test } from 'vitest';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { SmallObjects } from '../../../sagemaker/hosts/small-objects.ts';

const folder = folderOfSuite('small-objects');
const etagOf = (content: string): string => `"${createHash('md5').update(content).digest('hex')}"`;

/** An S3 that has these objects, and notes which ones it sends. */
async function startS3(objects: Map<string, string>) {
  const sent: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    const key = url.split('?')[0]?.slice('/bucket/'.length) ?? '';
    sent.push(key);
    response.end(objects.get(key));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const s3 = new S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    forcePathStyle: true,
  });
  onTestFinished(() => {
    s3.destroy();
    server.close();
  });
  return { sent, s3 };
}

test('only objects that changed are fetched again', async () => {
  const objects = new Map([
    ['small', 'same'],
    ['changes', 'first'],
    ['large', 'x'.repeat(100_000)],
  ]);
  const { sent, s3 } = await startS3(objects);
  const small = new SmallObjects();
  const download = async () => {
    const texts: string[] = [];
    for (const [key, content] of objects) {
      const file = path.join(folder, `${sent.length}`, key);
      const object = { bucket: 'bucket', key, size: content.length, etag: etagOf(content) };
      await small.download(s3, object, file, new AbortController().signal);
      texts.push(await readFile(file, 'utf8'));
    }
    return texts;
  };
  expect(await download()).toEqual([...objects.values()]);
  objects.set('changes', 'second');
  sent.length = 0;
  expect(await download()).toEqual([...objects.values()]);
  expect(sent).toEqual(['changes', 'large']);
});

test('an object that changed after its listing stays itself', async () => {
  const objects = new Map([['note', 'newer']]);
  const { sent, s3 } = await startS3(objects);
  const small = new SmallObjects();
  const listed = { bucket: 'bucket', key: 'note', size: 5, etag: etagOf('older') };
  const file = path.join(folder, 'note');
  for (const etag of [listed.etag, listed.etag, etagOf('newer')])
    await small.download(s3, { ...listed, etag }, file, new AbortController().signal);
  expect(await readFile(file, 'utf8')).toBe('newer');
  expect(sent).toHaveLength(2);
});
