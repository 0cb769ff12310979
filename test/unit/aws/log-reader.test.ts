/** The requests to CloudWatch Logs for many hosts. */
import {
  CloudWatchLogsClient,
  DescribeLogStreamsCommand,
  FilterLogEventsCommand,
} from '@aws-sdk/client-cloudwatch-logs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, expect, it } from 'vitest';
import { cloudWatchLogs } from '../../../functions/aws/logs/log-reader.ts';

const logs = mockClient(CloudWatchLogsClient);
const client = new CloudWatchLogsClient({ region: 'us-east-1' });
const PREFIX = 'digits-000001-a1-0a1b2c/';
const range = { group: '/aws/sagemaker/TrainingJobs', streamPrefix: PREFIX, from: 3, to: 10, limit: 1_000 };
const read = () => cloudWatchLogs(() => client, 'us-east-1').read(range);

beforeEach(() => {
  logs.reset();
});

it('equal lines of every page are all there', async () => {
  const stream = `${PREFIX}algo-1-1700000000`;
  const line = { timestamp: 5, message: 'same', logStreamName: stream };
  logs.on(DescribeLogStreamsCommand).resolves({ logStreams: [{ logStreamName: stream }] });
  logs
    .on(FilterLogEventsCommand)
    .resolvesOnce({ events: [line, line], nextToken: 'more' })
    .resolves({ events: [{ ...line, timestamp: 6 }] });
  expect((await read()).map(({ at, host }) => [at, host])).toEqual([
    [5, 'algo-1'],
    [5, 'algo-1'],
    [6, 'algo-1'],
  ]);
});

it('one request names 100 streams', async () => {
  const logStreams = Array.from({ length: 101 }, (_, index) => ({
    logStreamName: `${PREFIX}algo-${index}-17`,
  }));
  logs.on(DescribeLogStreamsCommand).resolves({ logStreams });
  logs.on(FilterLogEventsCommand).resolves({});
  await read();
  const asked = logs.commandCalls(FilterLogEventsCommand).map(({ args }) => args[0].input.logStreamNames);
  expect(asked.map((names) => names?.length)).toEqual([100, 1]);
});
