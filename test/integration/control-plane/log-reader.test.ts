/** The log of a run from the emulator's CloudWatch Logs, with the streams that SageMaker names. */
import {
  CloudWatchLogsClient,
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  PutLogEventsCommand,
} from '@aws-sdk/client-cloudwatch-logs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cloudWatchLogs } from '../../../functions/aws/logs/log-reader.ts';
import type { LogReader } from '../../../functions/records/run-log.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';

const GROUP = '/aws/sagemaker/TrainingJobs';
const JOB = 'digits-000001-a1-0a1b2c';
const began = Date.now() - 60_000;

let emulator: TestEmulator;
let reader: LogReader;

const print = (
  client: CloudWatchLogsClient,
  logStreamName: string,
  lines: Readonly<Record<string, number>>,
) =>
  client.send(new CreateLogStreamCommand({ logGroupName: GROUP, logStreamName })).then(() =>
    client.send(
      new PutLogEventsCommand({
        logGroupName: GROUP,
        logStreamName,
        logEvents: Object.entries(lines).map(([message, after]) => ({ message, timestamp: began + after })),
      }),
    ),
  );

beforeAll(async () => {
  emulator = await startTestEmulator();
  const client = new CloudWatchLogsClient(clientConfiguration(emulator.url));
  reader = cloudWatchLogs(() => client, 'us-east-1');
  await client.send(new CreateLogGroupCommand({ logGroupName: GROUP }));
  await print(client, `${JOB}/algo-1-1795642000`, { 'step 1': 0, 'step 3': 2_000 });
  await print(client, `${JOB}/algo-2-1795642001`, { 'step 2': 1_000 });
  await print(client, `${JOB}/algo-1-1795642900`, { 'step 4, restarted': 3_000 });
  await print(client, `${JOB}d/algo-1-1795642000`, { 'of another job': 500 });
});

afterAll(() => emulator?.stop());

const range = { group: GROUP, streamPrefix: `${JOB}/`, from: began, to: began + 10_000, limit: 100 };
const textsOf = async (over: object) => (await reader.read({ ...range, ...over })).map(({ text }) => text);

it('hosts are merged in order of time', async () => {
  expect(await reader.read(range)).toEqual([
    { at: began, host: 'algo-1', text: 'step 1' },
    { at: began + 1_000, host: 'algo-2', text: 'step 2' },
    { at: began + 2_000, host: 'algo-1', text: 'step 3' },
    { at: began + 3_000, host: 'algo-1', text: 'step 4, restarted' },
  ]);
});

it('a host is found by its name', async () => {
  expect(await textsOf({ host: 'algo-1' })).toEqual(['step 1', 'step 3', 'step 4, restarted']);
  expect(await textsOf({ host: 'algo-9' })).toEqual([]);
});

it('both bounds belong to the range', async () => {
  expect(await textsOf({ from: began + 1_000, to: began + 2_000 })).toEqual(['step 2', 'step 3']);
  expect(await textsOf({ limit: 2 })).toEqual(['step 1', 'step 2']);
});

it('a job that has printed nothing has no lines', async () => {
  expect(await textsOf({ streamPrefix: 'none/' })).toEqual([]);
  expect(await textsOf({ group: '/none' })).toEqual([]);
});
