/** Tables that a script reads as files, from the drop to a rerun of an older version. */

import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ApiClient } from '@tidewheel/emulators/region/api-client.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import * as z from 'zod';
import { finishedRun, type TestRegion } from '../support/region.ts';

/** Least squares over all rows of all tables, as such scripts are written. */
const SCRIPT = `
import os, pathlib
import numpy as np

folder = pathlib.Path(os.environ["SM_CHANNEL_TRAINING"])
tables = sorted(folder.rglob("*.csv"))
rows = np.concatenate([np.loadtxt(table, delimiter=",", skiprows=1, ndmin=2) for table in tables])
weights, *_ = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)
np.save(pathlib.Path(os.environ["SM_MODEL_DIR"]) / "weights.npy", weights)
names = " ".join(str(table.relative_to(folder)) for table in tables)
print(f"tables {names}; weight {weights[0]:.3f}", flush=True)
`;
const table = (weight: number): string => `x,y\n${[1, 2, 3].map((x) => `${x},${x * weight}`).join('\n')}\n`;

type Where = Pick<TestRegion, 'region'>;

async function put({ region }: Where, key: string, Body: string): Promise<void> {
  const { clients, stack } = region;
  await clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key: key, Body }));
}

async function declare(test: Where, api: ApiClient): Promise<void> {
  const vpc = await defaultVpc(test.region.clients.ec2);
  const declaration = {
    name: 'churn',
    settle: { quietSeconds: 4 },
    packing: 'none',
    dataset: { keep: 'versions' },
    training: { strategy: 'single', entryPoint: 'train.py' },
    compute: { instanceTypes: ['c5.xlarge', 'm5.xlarge', 'c6i.xlarge'], purchaseOption: 'on-demand', vpc },
    limits: { deadlineHours: 2 },
  };
  await put(test, `${bucketKeys.source('churn')}train.py`, SCRIPT);
  const declared = await api.call('PUT', '/pipelines/churn', stringify(declaration));
  if (declared.status !== 200) throw new Error(JSON.stringify(declared.body));
}

/** @param tables their weights by name */
const drop = (test: Where, tables: Readonly<Record<string, number>>) =>
  Promise.all(
    Object.entries(tables).map(([file, weight]) =>
      put(test, bucketKeys.incoming('churn') + file, table(weight)),
    ),
  );

async function deleteCopies({ region }: Where): Promise<void> {
  const { clients, stack } = region;
  const Bucket = stack.bucket;
  const Prefix = bucketKeys.keptFiles('churn');
  const { Contents = [] } = await clients.s3.send(new ListObjectsV2Command({ Bucket, Prefix }));
  for (const { Key } of Contents) await clients.s3.send(new DeleteObjectCommand({ Bucket, Key }));
}

/** The script's line. */
async function said(api: ApiClient, runId: string): Promise<string | undefined> {
  const { body } = await api.call('GET', `/runs/${runId}/log`);
  return /tables [^"\\]*/.exec(JSON.stringify(body))?.[0];
}

/** The first version, trained on once more. */
async function trainAgain(api: ApiClient, runId: string) {
  await api.call('POST', '/pipelines/churn/runs', JSON.stringify({ again: 'churn-000001' }));
  return finishedRun(api, runId);
}

const generations = z.object({
  generations: z.array(z.object({ name: z.string(), state: z.string(), samples: z.number() })),
});

/**
 * The first version is trained on again after a table of it was replaced: by its copy, and else not at all.
 * @returns the run that found the copy deleted
 */
export async function trainedAsSealed(test: Where, api: ApiClient) {
  await declare(test, api);
  await drop(test, { 'a.csv': 2, 'more/b.csv': 2 });
  expect(await finishedRun(api, 'churn-000001')).toMatchObject({ status: 'succeeded' });
  const first = await said(api, 'churn-000001');
  expect(first).toBe('tables a.csv more/b.csv; weight 2.000');

  // One is replaced, and another comes. The rerun seals them, and trains on the version before.
  await drop(test, { 'a.csv': 5, 'c.csv': 5 });
  expect(await trainAgain(api, 'churn-000002')).toMatchObject({ status: 'succeeded' });
  expect(await said(api, 'churn-000002')).toBe(first);
  const { body: timeline } = await api.call('GET', '/runs/churn-000002/timeline');
  expect(JSON.stringify(timeline)).toContain('training has copies of 1 file (a.csv)');
  const { body: dataset } = await api.call('GET', '/pipelines/churn/dataset');
  expect(generations.parse(dataset).generations).toEqual([
    { name: 'churn-000002', state: 'sealed', samples: 3 },
    { name: 'churn-000001', state: 'replaced', samples: 2 },
  ]);

  await deleteCopies(test);
  return trainAgain(api, 'churn-000003');
}
