/** Tells the market when a checkpoint of a job on EC2 has reached S3: some of its scripts reclaim after that. */
import { json } from 'node:stream/consumers';
import type { S3Client } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { CHECKPOINT_MARKER } from '../../functions/core/shared/keys.ts';
import { listObjects, openObject, parseS3Uri } from '../sagemaker/hosts/objects.ts';

const jobDocument = z.object({ CheckpointConfig: z.object({ S3Uri: z.string() }) });

export interface CheckpointWatch {
  /** @returns complete checkpoints that came since the last call */
  look(): Promise<number>;
}

/** @param jobUri s3://… of the job.json that the user data names */
export async function watchCheckpoints(s3: S3Client, jobUri: string): Promise<CheckpointWatch> {
  const job = jobDocument.parse(await json(await openObject(s3, parseS3Uri(jobUri))));
  const place = parseS3Uri(job.CheckpointConfig.S3Uri);
  const count = async () =>
    (await listObjects(s3, place)).filter(({ key }) => key.endsWith(`/${CHECKPOINT_MARKER}`)).length;
  let known = await count();
  return {
    look: async () => {
      const before = known;
      known = await count();
      return Math.max(0, known - before);
    },
  };
}
