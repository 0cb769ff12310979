/** An object that MiniStack could not write to disk: the request that sent it learns so. */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clientConfiguration, projectPython, TEST_KEY } from '../../../../test/support/emulator.ts';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { type Emulator, startEmulator } from '../../../aws/ministack.ts';

let stateDirectory: string;
let running: Emulator | undefined;

beforeEach(() => {
  stateDirectory = folderOfTest('full-disk');
});

afterEach(async () => {
  await running?.stop();
});

async function start(): Promise<S3Client> {
  running = await startEmulator({ pythonPath: projectPython(), credentials: TEST_KEY, stateDirectory });
  return new S3Client({ ...clientConfiguration(running.url), forcePathStyle: true, maxAttempts: 1 });
}

it('a write that fails on disk answers InternalError', async () => {
  const s3 = await start();
  await s3.send(new CreateBucketCommand({ Bucket: 'kept' }));
  const put = new PutObjectCommand({ Bucket: 'kept', Key: 'a.txt', Body: 'a' });
  // A folder where MiniStack writes first: open() fails as it does on a full disk.
  const blocker = path.join(stateDirectory, 'objects/000000000000/kept/a.txt.tmp');
  await mkdir(blocker, { recursive: true });
  await expect(s3.send(put)).rejects.toMatchObject({
    name: 'InternalError',
    $metadata: { httpStatusCode: 500 },
  });
  await rm(blocker, { recursive: true });
  await s3.send(put);
  await running?.stop();
  const again = await (await start()).send(new GetObjectCommand({ Bucket: 'kept', Key: 'a.txt' }));
  expect(await again.Body?.transformToString()).toBe('a');
});
