/** `npm run logs -- RUN`: what a run printed, over all attempts and hosts. Reads the table and CloudWatch Logs; writes nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { dynamoStores } from '../functions/aws/dynamodb/stores.ts';
import { dynamo } from '../functions/aws/shared/clients.ts';
import { config } from '../functions/aws/shared/config.ts';
import type { AttemptRecord } from '../functions/core/runs/run-records.ts';
import type { Stores } from '../functions/core/runs/stores.ts';
import { withRemedy } from './deployment/surroundings.ts';
import { absentRunText } from './show/absent-run.ts';
import { jobLog } from './show/job-log.ts';
import { beginning, durationOf, ending, inOrder, type LogEvent, lineOf } from './show/run-log.ts';

const USAGE = `npm run logs -- RUN [--follow] [--since 15m]

What a run printed: the lines of all its attempts and hosts, in order, with a mark where an attempt ended and the next
one began.

  --follow          goes on until the run has ended
  --since AGE       only lines younger than 90s, 15m, 2h or 1d
  --attempt N       of one attempt

TIDEWHEEL_TABLE, AWS_REGION and credentials name the table. npm start prints those of the local region; of a deployment
"npx osls info --verbose --stage STAGE --region REGION" prints the table as TableName.

Exit code: 0 shown, 1 not possible, 2 typed wrongly.`;

const COUNTED = 'attempts are counted from 1';
const WORDS = {
  positionals: ['RUN'],
  environment: ['TIDEWHEEL_TABLE', 'AWS_REGION'],
  options: {
    follow: { type: 'boolean', default: false },
    since: { type: 'string' },
    attempt: { type: 'string' },
  },
  schema: z.object({
    follow: z.boolean(),
    since: z
      .string()
      .refine((text) => durationOf(text) !== undefined, 'write 90s, 15m, 2h or 1d')
      .optional(),
    attempt: z.coerce.number(COUNTED).int(COUNTED).min(1, COUNTED).optional(),
  }),
} as const;

const POLL_MILLISECONDS = 3_000;
/** CloudWatch shows a line some seconds after the host printed it, later than younger ones of other hosts. */
const LATE_MILLISECONDS = 30_000;
const RUN_ENDED = ['succeeded', 'failed', 'stopped', 'empty'];

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = readCommandLine(args, WORDS);
  const stores = dynamoStores(dynamo(), config.table());
  const runId = positionals[0] ?? '';
  if ((await stores.runs.get(runId)) === undefined)
    throw new Error(await absentRunText(stores, runId, config.table()));
  const age = durationOf(values.since ?? '');
  const printed = new PrintedLines(age === undefined ? 0 : Date.now() - age);
  while (!(await printOnce(stores, runId, printed, values))) await sleep(POLL_MILLISECONDS);
  return 0;
}

/** @returns whether nothing more is to come */
async function printOnce(
  stores: Stores,
  runId: string,
  printed: PrintedLines,
  { follow, attempt: only }: { readonly follow: boolean; readonly attempt?: number | undefined },
): Promise<boolean> {
  // Read before the lines: an ended run prints no more.
  const run = await stores.runs.get(runId);
  const isLast = !follow || run === undefined || RUN_ENDED.includes(run.status);
  const attempts = await stores.attempts.list(runId);
  const wanted = attempts.filter(({ attempt }) => (only ?? attempt) === attempt);
  for (const attempt of wanted) await printed.show(attempt);
  if (wanted.length === 0 && isLast) {
    if (only !== undefined && attempts.length > 0)
      throw new Error(`${runId} has no attempt ${only}: its last is ${attempts.length}`);
    say(`${runId} has no attempt yet: nothing was printed`);
  }
  return isLast;
}

/** Prints each line once. */
class PrintedLines {
  readonly #since: number;
  readonly #begun = new Set<number>();
  readonly #ended = new Set<number>();
  readonly #events = new Map<number, Set<string>>();
  readonly #newest = new Map<number, number>();

  constructor(since: number) {
    this.#since = since;
  }

  async show(record: AttemptRecord): Promise<void> {
    const { attempt } = record;
    if (this.#ended.has(attempt)) return;
    if (!this.#begun.has(attempt)) say(beginning(record));
    this.#begun.add(attempt);
    const events = await this.#newEvents(record);
    const hosts = new Set(events.map(({ host }) => host)).size;
    const nodes = Math.max(hosts, record.placement.topology.nodes);
    for (const event of inOrder(events)) say(lineOf(event, nodes));
    const end = ending(record);
    if (end === undefined) return;
    say(end);
    this.#ended.add(attempt);
  }

  async #newEvents(record: AttemptRecord): Promise<LogEvent[]> {
    const seen = this.#events.get(record.attempt) ?? new Set();
    this.#events.set(record.attempt, seen);
    const newest = this.#newest.get(record.attempt) ?? 0;
    const from = Math.max(this.#since, newest - LATE_MILLISECONDS);
    const found: LogEvent[] = [];
    const { region } = record.placement.pool;
    const client = new CloudWatchLogsClient(region === undefined ? {} : { region });
    for await (const { id, ...event } of jobLog(client, record, from)) {
      if (seen.has(id)) continue;
      seen.add(id);
      found.push(event);
      this.#newest.set(record.attempt, Math.max(this.#newest.get(record.attempt) ?? 0, event.timestamp));
    }
    client.destroy();
    return found;
  }
}

await runCommand(USAGE, (args) => withRemedy(() => main(args)));
