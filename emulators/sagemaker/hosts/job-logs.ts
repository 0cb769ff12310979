/** Output of the hosts to CloudWatch Logs, as clients of SageMaker follow it. */
import {
  type CloudWatchLogsClient,
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  PutLogEventsCommand,
  ResourceAlreadyExistsException,
} from '@aws-sdk/client-cloudwatch-logs';
import { messageOf } from '@tidewheel/kit/errors.ts';

const LOG_GROUP = '/aws/sagemaker/TrainingJobs';

interface LogEvent {
  readonly timestamp: number;
  readonly message: string;
}

const PAUSE_MS = 500;
/** Of PutLogEvents. */
const BATCH_EVENTS = 10_000;
const BATCH_BYTES = 1_000_000;
const EVENT_OVERHEAD_BYTES = 26;
/** What a program writes faster than it can be delivered is dropped, and the log says so. */
const WAITING_LINES = 100_000;

export class LogStream {
  readonly #client: CloudWatchLogsClient;
  readonly #name: string;
  readonly #log: (line: string) => void;
  #waiting: LogEvent[] = [];
  #dropped = 0;
  #isCreated = false;
  #hasComplained = false;
  #sending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(client: CloudWatchLogsClient, name: string, log: (line: string) => void) {
    this.#client = client;
    this.#name = name;
    this.#log = log;
  }

  write(line: string): void {
    if (this.#waiting.length >= WAITING_LINES) {
      this.#dropped += 1;
      return;
    }
    // CloudWatch refuses an empty message.
    this.#waiting.push({ timestamp: Date.now(), message: line === '' ? ' ' : line });
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#sending.then(() => this.#send());
    }, PAUSE_MS);
  }

  /** Delivers what is left, as far as it can be delivered. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#sending;
    await this.#send();
  }

  async #send(): Promise<void> {
    if (this.#dropped > 0) {
      this.#waiting.push({
        timestamp: Date.now(),
        message: `[${this.#dropped} lines were written too fast and are lost]`,
      });
      this.#dropped = 0;
    }
    try {
      if (this.#waiting.length > 0 && !this.#isCreated) await this.#create();
      while (this.#waiting.length > 0) {
        const logEvents = nextBatch(this.#waiting);
        await this.#client.send(
          new PutLogEventsCommand({ logGroupName: LOG_GROUP, logStreamName: this.#name, logEvents }),
        );
        this.#waiting = this.#waiting.slice(logEvents.length);
      }
    } catch (error) {
      if (!this.#hasComplained) this.#log(`log stream ${this.#name} was not delivered: ${messageOf(error)}`);
      this.#hasComplained = true;
    }
  }

  async #create(): Promise<void> {
    await unlessThere(this.#client.send(new CreateLogGroupCommand({ logGroupName: LOG_GROUP })));
    await unlessThere(
      this.#client.send(new CreateLogStreamCommand({ logGroupName: LOG_GROUP, logStreamName: this.#name })),
    );
    this.#isCreated = true;
  }
}

function nextBatch(waiting: readonly LogEvent[]): LogEvent[] {
  const batch: LogEvent[] = [];
  let bytes = 0;
  for (const event of waiting) {
    bytes += Buffer.byteLength(event.message) + EVENT_OVERHEAD_BYTES;
    if (batch.length > 0 && (batch.length >= BATCH_EVENTS || bytes > BATCH_BYTES)) break;
    batch.push(event);
  }
  return batch;
}

async function unlessThere(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!(error instanceof ResourceAlreadyExistsException)) throw error;
  }
}
