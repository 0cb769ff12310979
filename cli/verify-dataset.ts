/** Checks a sealed dataset from the bucket alone: `npm run verify-dataset -- s3://bucket/pipeline[/generation]`. */

import { readCommandLine, runCommand, UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { withBucket } from './open-dataset.ts';
import { verifyAndPrint } from './verify-report.ts';

const USAGE = `npm run verify-dataset -- s3://bucket/pipeline[/generation]

Reads every byte of every shard and compares: lists with the manifest, members with their digests, arrivals with
shards. Nothing is written. Exit code 0: all is whole; 1: something is not; 2: there is nothing to read.`;

async function verify(args: readonly string[]): Promise<number> {
  const { positionals } = readCommandLine(args, {
    options: {},
    schema: z.object({}),
    positionals: ['s3://bucket/pipeline[/generation]'],
  });
  const [address = ''] = positionals;
  const match = /^s3:\/\/([^/]+)\/([^/]+)(?:\/(?:dataset\/)?([^/]+))?\/?$/.exec(address);
  const [, bucket, pipeline, generation] = match ?? [];
  if (bucket === undefined || pipeline === undefined)
    throw new UsageError([
      `"${address}" names no dataset: write s3://bucket/pipeline or s3://bucket/pipeline/generation`,
    ]);
  return withBucket(bucket, (store) => verifyAndPrint(store, { pipeline, generation }));
}

await runCommand(USAGE, verify);
