/** `npm run verify-dataset`: checks a sealed dataset. It needs only the bucket. */

import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { withBucket } from './open-dataset.ts';
import { verifyAndPrint } from './verify-report.ts';

const USAGE = `npm run verify-dataset -- s3://bucket/pipeline[/generation]

Reads every byte of every shard. Compares lists with the manifest, members with their digests, and arrivals with
shards. Writes nothing. Exit code 0: no problem; 1: at least one problem; 2: nothing to read.`;

const ADDRESS = /^s3:\/\/([^/]+)\/([^/]+)(?:\/(?:dataset\/)?([^/]+))?\/?$/;

async function verify(args: readonly string[]): Promise<number> {
  const { positionals } = readCommandLine(args, {
    options: {},
    schema: z.object({}),
    positionals: ['s3://bucket/pipeline[/generation]'],
    check: ([address]) =>
      address === undefined || ADDRESS.test(address)
        ? []
        : [`"${address}" names no dataset: write s3://bucket/pipeline or s3://bucket/pipeline/generation`],
  });
  const [, bucket = '', pipeline = '', generation] = ADDRESS.exec(positionals[0] ?? '') ?? [];
  return withBucket(bucket, (store) => verifyAndPrint(store, { pipeline, generation }));
}

await runCommand(USAGE, verify);
