import {
  CloudWatchLogsClient,
  DescribeLogStreamsCommand,
  FilterLogEventsCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-cloudwatch-logs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { jobLog } from '../../../cli/show/job-log.ts';

const logs = mockClient(CloudWatchLogsClient);
const client = new CloudWatchLogsClient({ region: 'us-east-1' });
const JOB = { jobName: 'digits-000001-a1-0a1b2c' };

async function eventsOf(job: Parameters<typeof jobLog>[1], startTime = 0) {
  const events = [];
  for await (const event of jobLog(client, job, startTime)) events.push(event);
  return events;
}

const STREAM = `${JOB.jobName}/algo-1-1700000000`;

beforeEach(() => {
  logs.reset();
});

describe("a job's log", () => {
  it('has the lines of every page, equal lines too', async () => {
    logs.on(DescribeLogStreamsCommand).resolves({ logStreams: [{ logStreamName: STREAM }] });
    const line = { timestamp: 5, message: 'same', logStreamName: STREAM };
    logs
      .on(FilterLogEventsCommand)
      .resolvesOnce({ events: [line, line], nextToken: 'more' })
      .resolves({ events: [{ ...line, timestamp: 6 }] });
    const found = await eventsOf(JOB, 3);
    expect(found.map(({ timestamp, host }) => [timestamp, host])).toEqual([
      [5, 'algo-1-1700000000'],
      [5, 'algo-1-1700000000'],
      [6, 'algo-1-1700000000'],
    ]);
    expect(new Set(found.map(({ id }) => id)).size).toBe(3);
    expect(logs.commandCalls(FilterLogEventsCommand)[0]?.args[0].input).toMatchObject({
      logGroupName: '/aws/sagemaker/TrainingJobs',
      logStreamNames: [STREAM],
      startTime: 3,
    });
  });

  it('of hosts on EC2 is in their own group', async () => {
    logs.on(DescribeLogStreamsCommand).resolves({ logStreams: [{ logStreamName: 'fleet/i-0a' }] });
    logs.on(FilterLogEventsCommand).resolves({ events: [{ logStreamName: 'fleet/i-0a', message: 'x' }] });
    const log = { group: '/tidewheel/hosts', streamPrefix: 'fleet/' };
    const found = await eventsOf({ ...JOB, log });
    expect(found).toMatchObject([{ host: 'i-0a', message: 'x' }]);
  });

  it('asks for 100 streams at a time', async () => {
    const logStreams = Array.from({ length: 101 }, (_, index) => ({ logStreamName: `${STREAM}-${index}` }));
    logs.on(DescribeLogStreamsCommand).resolves({ logStreams });
    logs.on(FilterLogEventsCommand).resolves({});
    await eventsOf(JOB);
    const asked = logs.commandCalls(FilterLogEventsCommand).map(({ args }) => args[0].input.logStreamNames);
    expect(asked.map((names) => names?.length)).toEqual([100, 1]);
  });

  it('is empty before the first line', async () => {
    const missing = new ResourceNotFoundException({ message: 'no group', $metadata: {} });
    logs.on(DescribeLogStreamsCommand).rejects(missing);
    expect(await eventsOf(JOB)).toEqual([]);
  });
});
