/** What travels between the data bucket and another region's, through the emulator's S3. */

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeRegion, type RegionPaths, whyClosed } from '../../../functions/aws/s3/region-buckets.ts';
import {
  copyInputsToRegion,
  copyResultsBack,
  type RegionBucket,
  type RegionCopy,
} from '../../../functions/launch/regions/region-copy.ts';
import { readProgress } from '../../../functions/records/progress.ts';
import { progressOf } from '../../support/builders/records.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { objectStoreOf, pathOf } from '../../support/test-bucket.ts';

const RUN = 'digits-000001';
const shard = `${bucketKeys.shards('digits', RUN)}ä shard+0.tar`;

let emulator: TestEmulator | undefined;
let home: ObjectStore;
let region: RegionBucket;
let paths: RegionPaths;
let there: S3Client;

beforeAll(async () => {
  emulator = await startTestEmulator();
  const configuration = { ...clientConfiguration(emulator.url), forcePathStyle: true };
  const client = new S3Client(configuration);
  there = new S3Client({ ...configuration, region: 'us-west-2' });
  await client.send(new CreateBucketCommand({ Bucket: 'data' }));
  home = objectStoreOf(client, 'data');
  const bucket = 'data-us-west-2';
  const pathThere = pathOf(there, bucket);
  paths = {
    dataBucket: 'data',
    bucket,
    there: pathThere,
    copiesHome: pathOf(client, 'data'),
    copiesThere: pathThere,
  };
  region = makeRegion('us-west-2', paths);
}, 60_000);

afterAll(async () => {
  await emulator?.stop();
}, 60_000);

const regionCopy = (): RegionCopy => ({
  pipeline: 'digits',
  runId: RUN,
  home,
  region,
  isOutOfTime: () => false,
});

describe('another region', () => {
  it('is closed without a bucket, which its reason names', async () => {
    expect(await whyClosed('us-west-2', paths)).toContain('the bucket data-us-west-2 is not there');
    await there.send(
      new CreateBucketCommand({
        Bucket: 'data-us-west-2',
        CreateBucketConfiguration: { LocationConstraint: 'us-west-2' },
      }),
    );
    expect(await whyClosed('us-west-2', paths)).toBeUndefined();
  });

  it('gets shards of any name and returns saved files', async () => {
    await home.writeText(shard, 'samples');
    await copyInputsToRegion(regionCopy(), [bucketKeys.shards('digits', RUN)]);
    expect((await region.store.readText(shard))?.text).toBe('samples');

    const folder = `${bucketKeys.checkpoints('digits', RUN)}step-9/`;
    await region.store.writeText(`${folder}state.pt`, 'weights');
    await region.store.writeText(`${folder}COMPLETE.json`, '{"files":{"state.pt":{"bytes":7}}}');
    await region.store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(9)));
    await copyResultsBack(regionCopy());
    expect(await readProgress(home, 'digits', RUN)).toMatchObject({ step: 9, checkpointBytes: 7 });
    expect((await home.readText(`${folder}state.pt`))?.text).toBe('weights');
  });
});
