/** Lines of jobs in CloudWatch Logs: a stream a host, in SageMaker's log group or in that of the hosts on EC2. */
import {
  CloudWatchLogsClient,
  FilterLogEventsCommand,
  paginateDescribeLogStreams,
  ResourceNotFoundException,
} from '@aws-sdk/client-cloudwatch-logs';
import type { LogLine, LogRange, LogReader } from '../../records/run-log.ts';
import { perRegion, retry } from '../shared/clients.ts';

/** Of FilterLogEvents. */
const MOST_STREAMS = 100;
const MOST_EVENTS = 10_000;

export const cloudWatchLogs = (
  clientIn: (region: string) => CloudWatchLogsClient,
  home: string,
): LogReader => ({
  read: async (range) => {
    const client = clientIn(range.region ?? home);
    const streams = await streamsOf(client, range);
    const lines: LogLine[] = [];
    for (let first = 0; first < streams.length; first += MOST_STREAMS)
      lines.push(...(await linesOf(client, range, streams.slice(first, first + MOST_STREAMS))));
    // Each answer is in order; those of several hundred hosts are not.
    return lines.toSorted((one, other) => one.at - other.at).slice(0, range.limit);
  },
});

/**
 * SageMaker names a stream `<job>/algo-<n>-<time>`, with another time after a restart of the host:
 * https://docs.aws.amazon.com/sagemaker/latest/dg/logging-cloudwatch.html
 */
const hostOf = (stream: string, streamPrefix: string): string =>
  stream.slice(streamPrefix.length).replace(/^(algo-\d+)-\d+$/, '$1');

/** By name, because a prefix and an end of it would match the streams of another job, too. */
async function streamsOf(
  client: CloudWatchLogsClient,
  { group, streamPrefix, host }: LogRange,
): Promise<string[]> {
  const names: string[] = [];
  const pages = paginateDescribeLogStreams(
    { client },
    { logGroupName: group, logStreamNamePrefix: streamPrefix },
  );
  try {
    for await (const { logStreams = [] } of pages)
      names.push(...logStreams.map(({ logStreamName = '' }) => logStreamName));
  } catch (error: unknown) {
    // Nothing has been printed yet.
    if (!(error instanceof ResourceNotFoundException)) throw error;
  }
  return names.filter(
    (name) => name.startsWith(streamPrefix) && (host === undefined || hostOf(name, streamPrefix) === host),
  );
}

/** An answer may hold no event and yet a token: CloudWatch Logs has not searched all streams then. */
async function linesOf(
  client: CloudWatchLogsClient,
  { group, streamPrefix, from, to, limit }: LogRange,
  logStreamNames: string[],
): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  let nextToken: string | undefined;
  do {
    const page = await client.send(
      new FilterLogEventsCommand({
        logGroupName: group,
        logStreamNames,
        startTime: from,
        // Exclusive is nowhere stated, so the bound is kept below as well.
        endTime: to + 1,
        limit: Math.min(MOST_EVENTS, limit),
        nextToken,
      }),
    );
    for (const { timestamp = 0, message = '', logStreamName = '' } of page.events ?? [])
      if (timestamp >= from && timestamp <= to)
        lines.push({
          at: timestamp,
          host: hostOf(logStreamName, streamPrefix),
          text: message.trimEnd(),
        });
    nextToken = page.nextToken === nextToken ? undefined : page.nextToken;
  } while (nextToken !== undefined && lines.length < limit);
  return lines;
}

export const cloudWatchLogsIn = /* @__PURE__ */ perRegion(
  (region) => new CloudWatchLogsClient({ ...retry, region }),
);
