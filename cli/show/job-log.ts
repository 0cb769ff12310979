/** The lines of one job in CloudWatch Logs: a stream a host, in SageMaker's log group or that of the hosts on EC2. */
import {
  type CloudWatchLogsClient,
  type FilteredLogEvent,
  paginateDescribeLogStreams,
  paginateFilterLogEvents,
  ResourceNotFoundException,
} from '@aws-sdk/client-cloudwatch-logs';
import type { AttemptRecord } from '../../functions/core/runs/run-records.ts';
import type { LogEvent } from './run-log.ts';

interface IdentifiedEvent extends LogEvent {
  /** The same at every call. */
  readonly id: string;
}

const TRAINING_JOBS = '/aws/sagemaker/TrainingJobs';
/** Of FilterLogEvents. */
const MOST_STREAMS = 100;

/**
 * Streams are named one by one, because the emulator takes no prefix (logStreamNamePrefix).
 * @param startTime Unix milliseconds
 */
export async function* jobLog(
  client: CloudWatchLogsClient,
  { jobName, log }: Pick<AttemptRecord, 'jobName' | 'log'>,
  startTime: number,
): AsyncGenerator<IdentifiedEvent> {
  const logGroupName = log?.group ?? TRAINING_JOBS;
  const prefix = log?.streamPrefix ?? `${jobName}/`;
  const streams = await streamsOf(client, logGroupName, prefix);
  for (let first = 0; first < streams.length; first += MOST_STREAMS) {
    const logStreamNames = streams.slice(first, first + MOST_STREAMS);
    const pages = paginateFilterLogEvents({ client }, { logGroupName, logStreamNames, startTime });
    const equal = new Map<string, number>();
    for await (const { events = [] } of pages)
      for (const event of events) yield identified(event, prefix, equal);
  }
}

/** @param equal how often each line came so far: the emulator gives events no id */
function identified(
  { timestamp = 0, message = '', logStreamName = '' }: FilteredLogEvent,
  prefix: string,
  equal: Map<string, number>,
): IdentifiedEvent {
  const line = `${logStreamName} ${timestamp} ${message}`;
  const count = (equal.get(line) ?? 0) + 1;
  equal.set(line, count);
  return { id: `${count} ${line}`, timestamp, message, host: logStreamName.slice(prefix.length) };
}

/** None where nothing has been printed yet, so that the group is missing. */
async function streamsOf(
  client: CloudWatchLogsClient,
  logGroupName: string,
  logStreamNamePrefix: string,
): Promise<string[]> {
  const names: string[] = [];
  const pages = paginateDescribeLogStreams({ client }, { logGroupName, logStreamNamePrefix });
  try {
    for await (const { logStreams = [] } of pages)
      names.push(...logStreams.map(({ logStreamName = '' }) => logStreamName));
  } catch (error: unknown) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
  }
  return names.filter((name) => name.startsWith(logStreamNamePrefix));
}
