/**
 * The state machine as it is deployed, in an account with ten concurrent executions. The functions stand in for those
 * of packing: forty items of a real plan would be 10 GB.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { limitsOf } from '@tidewheel/emulators/limits/profiles.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFunction } from '../../../emulators/tests/integration/aws/lambda.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { signedFetch } from '../../support/signed-fetch.ts';
import { runMachine } from '../../support/world/asl.ts';

const ITEMS = 40;
const RUN = { runId: 'tide-000001', pipeline: 'tide' };
const BUCKET = 'data';

/** By the name in the definition. Every other function does nothing. */
const CODE: Readonly<Record<string, string>> = {
  PlanShards: `export const handler = async () => ({ status: 'planned', packers: 100 });`,
  PackShards: `import { writeFileSync } from 'node:fs';
    export const handler = async ({ item }) => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      writeFileSync(process.env.FOLDER + '/' + item, '');
    };`,
  SealDataset: `import { readdirSync } from 'node:fs';
    export const handler = async () => {
      const packed = readdirSync(process.env.FOLDER).length;
      if (packed < ${ITEMS}) throw new Error(packed + ' items are packed');
      return { status: 'sealed' };
    };`,
};
const NOTHING = `export const handler = async () => ({ status: 'nothingToCompact' });`;

let emulator: TestEmulator;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidewheel-items-'));
  const { concurrentExecutions } = limitsOf('new-account').lambda;
  emulator = await startTestEmulator({ concurrentExecutions });
});

afterAll(async () => {
  await emulator.stop();
  await rm(folder, { recursive: true });
});

async function definition(): Promise<string> {
  const functionOf = async (name: string) =>
    createFunction(emulator.url, name, CODE[name] ?? NOTHING, { FOLDER: folder });
  const text = await readFile(join(import.meta.dirname, '../../../statemachines/run.asl.json'), 'utf8');
  const names = new Set([...text.matchAll(/\$\{(\w+)Arn\}/g)].map(([, name = '']) => name));
  let filled = text.replaceAll('${Bucket}', BUCKET).replaceAll('${Partition}', 'aws');
  for (const name of names) filled = filled.replaceAll(`\${${name}Arn}`, await functionOf(name));
  const { States } = JSON.parse(filled) as typeof runMachine;
  return JSON.stringify({
    StartAt: 'PlanShards',
    States: { ...States, Judge: States['RunFinished'], Report: States['RunFailed'] },
  });
}

async function throttles(functionName: string): Promise<number> {
  const query = new URLSearchParams({
    Action: 'GetMetricStatistics',
    Version: '2010-08-01',
    Namespace: 'AWS/Lambda',
    MetricName: 'Throttles',
    'Dimensions.member.1.Name': 'FunctionName',
    'Dimensions.member.1.Value': functionName,
    StartTime: new Date(Date.now() - 600_000).toISOString(),
    EndTime: new Date(Date.now() + 60_000).toISOString(),
    Period: '60',
    'Statistics.member.1': 'Sum',
  });
  const answer = await signedFetch(emulator.url, {
    service: 'monitoring',
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: query.toString(),
  });
  const sums = [...(await answer.text()).matchAll(/<Sum>([\d.]+)<\/Sum>/g)];
  return sums.reduce((total, [, sum]) => total + Number(sum), 0);
}

it('seals forty items in a new account', async () => {
  const s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  const items = JSON.stringify(Array.from({ length: ITEMS }, (_, item) => item));
  const Key = `${RUN.pipeline}/runs/${RUN.runId}/plan/items.json`;
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: items }));
  const sfn = new SFNClient(clientConfiguration(emulator.url));
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({
      name: 'run',
      roleArn: 'arn:aws:iam::000000000000:role/none',
      definition: await definition(),
    }),
  );
  const input = JSON.stringify({ ...RUN, settle: { trainAnyway: false } });
  const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn, input }));
  let described = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  while (described.status === 'RUNNING') {
    await sleep(200);
    described = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  }
  expect(described).toMatchObject({ status: 'SUCCEEDED' });
  expect(JSON.parse(described.output ?? '')).toMatchObject({
    seal: { status: 'sealed' },
    packing: { round: 1 },
  });
  expect(await readdir(folder)).toHaveLength(ITEMS);
  expect(await throttles('PackShards')).toBeGreaterThan(ITEMS);
}, 120_000);
