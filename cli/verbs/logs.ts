/** `tidewheel logs`: what a run printed, over all attempts and hosts. Reads the API and CloudWatch Logs; writes nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import { UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import type { Attempt } from '../../client/operations.ts';
import { isFinished } from '../../client/run-view.ts';
import type { Api } from '../command/api.ts';
import { runMeant } from '../command/runs.ts';
import { defineVerb } from '../command/verb.ts';
import { jobLog } from '../show/job-log.ts';
import { beginning, durationOf, ending, inOrder, type LogEvent, lineOf } from '../show/run-log.ts';

const COUNTED = 'attempts are counted from 1';
const POLL_MILLISECONDS = 3_000;
/** CloudWatch shows a line some seconds after the host printed it, later than younger ones of other hosts. */
const LATE_MILLISECONDS = 30_000;

export const verb = defineVerb({
  name: 'logs',
  summary: 'print what a run printed: all attempts and hosts in order',
  about: 'A mark stands where an attempt ended and where the next one began. Ctrl-C leaves the run alone.',
  positionals: ['RUN?'],
  options: {
    follow: { type: 'boolean', short: 'f', about: 'go on until the run has ended' },
    since: { type: 'string', value: 'AGE', about: 'only lines younger than 90s, 15m, 2h or 1d' },
    attempt: { type: 'string', value: 'N', about: 'of one attempt' },
    host: { type: 'string', value: 'NAME', about: 'of one host, such as algo-1' },
    grep: { type: 'string', value: 'TEXT', about: 'only lines with this text' },
  },
  schema: z.object({
    follow: z.boolean().default(false),
    since: z
      .string()
      .refine((text) => durationOf(text) !== undefined, 'write 90s, 15m, 2h or 1d')
      .optional(),
    attempt: z.coerce.number(COUNTED).int(COUNTED).min(1, COUNTED).optional(),
    host: z.string().min(1).optional(),
    grep: z.string().min(1).optional(),
  }),
  examples: [
    ['-f', "the newest run's, until it ends"],
    ['digits-000042 --attempt 2 --grep Error', 'lines of one attempt'],
  ],
  run: async ({ values, positionals }, context) => {
    const runId = await runMeant(context, positionals[0]);
    const api = await context.api();
    const age = durationOf(values.since ?? '');
    const out: Output = {
      line: (text) => context.json || context.terminal.print(text),
      event: (attempt, event) =>
        context.json && context.terminal.print(JSON.stringify({ attempt, ...event })),
    };
    const printed = new PrintedLines(age === undefined ? 0 : Date.now() - age, values, out);
    while (!(await printOnce(api, { runId, ...values }, printed, out))) await sleep(POLL_MILLISECONDS);
    return 0;
  },
});

interface Output {
  /** For people: a line of text. */
  line(text: string): unknown;
  /** For programs: a JSON document a line. */
  event(attempt: number, event: LogEvent): unknown;
}

interface Wanted {
  readonly runId: string;
  readonly follow: boolean;
  readonly attempt?: number | undefined;
}

/** @returns whether nothing more is to come */
async function printOnce(
  api: Api,
  { runId, follow, attempt: only }: Wanted,
  printed: PrintedLines,
  out: Output,
): Promise<boolean> {
  // Read before the lines: an ended run prints no more.
  const { run } = await api.call('getRun', { runId });
  const { attempts } = await api.call('listAttempts', { runId });
  const isLast = !follow || isFinished(run);
  const wanted = attempts.filter(({ attempt }) => (only ?? attempt) === attempt);
  for (const attempt of wanted) await printed.show(attempt);
  if (wanted.length === 0 && isLast) {
    if (only !== undefined && attempts.length > 0)
      throw new UsageError([`${runId} has no attempt ${only}: its last is ${attempts.length}`]);
    out.line(`${runId} has no attempt yet: nothing was printed`);
  }
  return isLast;
}

interface Filter {
  readonly host?: string | undefined;
  readonly grep?: string | undefined;
}

/** Prints each line once. */
class PrintedLines {
  readonly #since: number;
  readonly #filter: Filter;
  readonly #out: Output;
  readonly #begun = new Set<number>();
  readonly #ended = new Set<number>();
  readonly #events = new Map<number, Set<string>>();
  readonly #newest = new Map<number, number>();

  constructor(since: number, filter: Filter, out: Output) {
    this.#since = since;
    this.#filter = filter;
    this.#out = out;
  }

  async show(record: Attempt): Promise<void> {
    const { attempt } = record;
    if (this.#ended.has(attempt)) return;
    if (!this.#begun.has(attempt)) this.#out.line(beginning(record));
    this.#begun.add(attempt);
    const events = await this.#newEvents(record);
    const hosts = new Set(events.map(({ host }) => host)).size;
    const nodes = Math.max(hosts, record.placement.topology.nodes);
    for (const event of inOrder(events).filter((each) => this.#isWanted(each))) {
      this.#out.line(lineOf(event, nodes));
      this.#out.event(attempt, event);
    }
    const end = ending(record);
    if (end === undefined) return;
    this.#out.line(end);
    this.#ended.add(attempt);
  }

  #isWanted({ host, message }: LogEvent): boolean {
    const { host: only, grep } = this.#filter;
    return (only === undefined || host.startsWith(only)) && (grep === undefined || message.includes(grep));
  }

  async #newEvents(record: Attempt): Promise<LogEvent[]> {
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
