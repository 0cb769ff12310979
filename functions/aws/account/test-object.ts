/** Puts and removes the test object of a check. */
import { DeleteObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { TestObjectDeps } from '../../core/deployment/arrivals.ts';

const BODY = 'The test object of a check. It starts nothing.\n';

export const testObjectIn = (s3: S3Client, bucket: string): Pick<TestObjectDeps, 'put' | 'remove'> => ({
  put: async (key) => {
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: BODY }));
  },
  remove: async (key) => {
    await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
  },
});
