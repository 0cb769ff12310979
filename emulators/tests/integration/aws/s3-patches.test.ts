/** The patches of S3. */
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectAttributesCommand,
  type GetObjectAttributesCommandInput,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';

const patched = emulatorOfSuite();
describe('an object for KMS encryption without a key', () => {
  it("is taken, with the account's own key", async () => {
    expect(await putEncrypted(patched.url)).toMatchObject({ ServerSideEncryption: 'aws:kms' });
  });
});

describe('a part of a composite checksum', () => {
  it('is named with its own', async () => {
    expect(await partsOf(patched.url)).toMatchObject([{ PartNumber: 1, Size: 9, ChecksumCRC32: 'y/Q5Jg==' }]);
  });
});

describe('a part that is copied', () => {
  it('is answered with its CRC-32', async () => {
    expect(await copyPart(patched.url, 'CRC32')).toMatchObject({
      ETag: expect.any(String) as string,
      ChecksumCRC32: 'y/Q5Jg==',
    });
  });

  it('is answered with its CRC-32C', async () => {
    expect(await copyPart(patched.url, 'CRC32C')).toMatchObject({ ChecksumCRC32C: '4waSgw==' });
  });

  it('is answered with its CRC-64/NVME', async () => {
    expect(await copyPart(patched.url, 'CRC64NVME')).toMatchObject({ ChecksumCRC64NVME: 'rosUhgp5mIg=' });
  });
});

async function copyPart(url: string, ChecksumAlgorithm: 'CRC32' | 'CRC32C' | 'CRC64NVME') {
  const s3 = new S3Client({ ...clientConfiguration(url), forcePathStyle: true });
  const [Bucket, Key] = ['copied', `whole-${ChecksumAlgorithm}`];
  await s3.send(new CreateBucketCommand({ Bucket }));
  await s3.send(new PutObjectCommand({ Bucket, Key: 'source', Body: '123456789' }));
  const create = { Bucket, Key, ChecksumAlgorithm, ChecksumType: 'FULL_OBJECT' } as const;
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(create));
  const part = { Bucket, Key, UploadId, PartNumber: 1, CopySource: `${Bucket}/source` };
  const { CopyPartResult } = await s3.send(new UploadPartCopyCommand(part));
  return CopyPartResult;
}

async function partsOf(url: string) {
  const s3 = new S3Client({ ...clientConfiguration(url), forcePathStyle: true });
  const object = { Bucket: 'parts', Key: 'key' };
  await s3.send(new CreateBucketCommand({ Bucket: object.Bucket }));
  const create = new CreateMultipartUploadCommand({ ...object, ChecksumAlgorithm: 'CRC32' });
  const upload = { ...object, UploadId: (await s3.send(create)).UploadId };
  const part = { ...upload, PartNumber: 1, Body: '123456789', ChecksumAlgorithm: 'CRC32' } as const;
  const { ETag, ChecksumCRC32 } = await s3.send(new UploadPartCommand(part));
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag, ChecksumCRC32 }] };
  await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload }));
  const attributes = {
    ...object,
    ObjectAttributes: ['ObjectParts'],
  } satisfies GetObjectAttributesCommandInput;
  return (await s3.send(new GetObjectAttributesCommand(attributes))).ObjectParts?.Parts;
}

async function putEncrypted(url: string) {
  const s3 = new S3Client({ ...clientConfiguration(url), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: 'encrypted' }));
  const object = { Bucket: 'encrypted', Key: 'key', Body: 'body', ServerSideEncryption: 'aws:kms' } as const;
  return s3.send(new PutObjectCommand(object));
}
