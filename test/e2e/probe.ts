/** A probe of the digits on one host and on two, as a person types it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ApiClient } from '@tidewheel/emulators/region/api-client.ts';
import { ACCOUNT_ID } from '@tidewheel/emulators/region/clients.ts';
import { expect } from 'vitest';
import * as z from 'zod';
import { PROJECT_FOLDER, type TestRegion } from '../support/region.ts';

const run = promisify(execFile);

/** Runs under parameter servers and as ranks of MPI, and needs no framework. */
const EITHER = `
import json, os, time
import tidewheel
task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "chief"})
step = 0
while True:
    time.sleep(0.02)
    if task["type"] == "chief":
        step += 1
        tidewheel.stepped(8)
        tidewheel.progress(step, 100_000, loss=1 / step)
`;

export const RUNS = 'as before';

/** Needs a packed dataset. @returns the strategies that said their samples, and the metric of the comparison */
export async function probedStrategies(
  { stateDirectory, region }: Pick<TestRegion, 'stateDirectory' | 'region'>,
  api: ApiClient,
): Promise<{ readonly names: readonly string[]; readonly metric: string }> {
  const { clients, stack } = region;
  const Key = `${bucketKeys.source('digits')}either.py`;
  await clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body: EITHER }));
  // Parameter servers need TensorFlow. A person's own image stands for no packages that a host here would install.
  const own = `${ACCOUNT_ID}.dkr.ecr.us-east-1.amazonaws.com/tensorflow:2.19`;
  const image = ['training.framework=tensorflow', `training.image="${own}"`];
  const varied = ['training.strategy=mpi,parameter-server', 'training.entryPoint=either.py', ...image];
  const words = [...varied, 'compute.purchaseOption=on-demand'].flatMap((each) => ['--vary', each]);
  const limits = ['--steps', '25', '--budget', '1', '--json', '--state', stateDirectory];
  const { stdout } = await run(
    process.execPath,
    ['cli/tidewheel.mjs', 'probe', 'digits', ...words, ...limits],
    { cwd: PROJECT_FOLDER },
  );
  const { cells } = probedSchema.parse(JSON.parse(stdout));
  const runs = cells.map(({ runId }) => runId).join(',');
  const { body } = await api.call('GET', `/compare?runs=${runs}`);
  const { rows, metric } = comparedSchema.parse(body);
  expect(rows.every(({ samplesPerSecond }) => samplesPerSecond > 0)).toBe(true);
  return { names: rows.map(({ strategy }) => strategy), metric: metric.name };
}

const probedSchema = z.object({
  cells: z.array(z.object({ runId: z.string(), status: z.literal('succeeded') })).length(2),
});
const comparedSchema = z.object({
  rows: z.array(
    z.object({ strategy: z.string(), samplesPerSecond: z.number(), costToMetricUsd: z.number() }),
  ),
  metric: z.object({ name: z.string() }),
});

/** Needs a packed dataset. @returns what became of the list of runs */
export async function probed(
  { stateDirectory }: Pick<TestRegion, 'stateDirectory'>,
  api: ApiClient,
): Promise<string> {
  const before = await api.call('GET', '/pipelines/digits/runs');
  const words = ['--vary', 'compute.nodes=1,2', '--vary', 'compute.purchaseOption=on-demand'];
  const limits = ['--steps', '25', '--budget', '1', '--json', '--state', stateDirectory];
  const { stdout } = await run(
    process.execPath,
    ['cli/tidewheel.mjs', 'probe', 'digits', ...words, ...limits],
    {
      cwd: PROJECT_FOLDER,
    },
  );
  const speed = { basis: 'hooks', stepSeconds: { mean: expect.any(Number) as number } };
  expect(JSON.parse(stdout)).toMatchObject({
    cells: [
      { runId: 'digits-probe-000001', status: 'succeeded', speed: { ...speed, hosts: 1 } },
      { runId: 'digits-probe-000002', status: 'succeeded', speed: { ...speed, hosts: 2 } },
    ],
    leftOut: [],
    verdict: { unit: 'samples' },
  });
  const after = await api.call('GET', '/pipelines/digits/runs');
  return JSON.stringify(after) === JSON.stringify(before) ? RUNS : JSON.stringify(after);
}
