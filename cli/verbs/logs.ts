/** `tidewheel logs`: what a run printed, over all attempts and hosts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import type { AnswerOf } from '../../client/operations.ts';
import { isFinished } from '../../client/run-view.ts';
import type { Api } from '../command/api-calls.ts';
import type { Context } from '../command/context.ts';
import { millisecondsOf, safe } from '../command/format.ts';
import { runMeant } from '../command/run-list.ts';
import { defineVerb, flag, option } from '../command/verb.ts';
import { preparingText } from '../watch/view.ts';

const POLL_MILLISECONDS = 3_000;
/** The last lines of a run that has ended come within five seconds. */
const LAST_WAITS = 2;

export const verb = defineVerb({
  name: 'logs',
  summary: 'print what a run printed: all attempts and hosts in order',
  about: `
A mark stands where an attempt began and where it ended. The lines of its last five seconds come with the next call,
because hosts send them late. Ctrl-C leaves the run alone.`,
  positionals: ['RUN?'],
  options: {
    follow: flag('go on until the run has ended', 'f'),
    since: option(
      'AGE',
      'only lines younger than 90s, 15m, 2h or 1d',
      z
        .string()
        .refine((text) => millisecondsOf(text) !== undefined, 'write 90s, 15m, 2h or 1d')
        .transform(millisecondsOf)
        .optional(),
    ),
    attempt: option('N', 'of one attempt', wholeNumber(1).optional()),
    host: option('NAME', 'of one host, such as algo-1', z.string().min(1).optional()),
    grep: option('TEXT', 'only lines with this text', z.string().min(1).optional()),
  },
  examples: [
    ['-f', "the newest run's, until it ends"],
    ['digits-000042 --attempt 2 --grep Error', 'lines of one attempt'],
  ],
  web: async ({ positionals }, context) => `/runs/${await runMeant(context, positionals[0])}/log`,
  run: async ({ values, positionals }, context) => {
    const runId = await runMeant(context, positionals[0]);
    const { attempt, host, since, grep, follow } = values;
    const from = since === undefined ? undefined : new Date(Date.now() - since).toISOString();
    const api = await context.api();
    const printer = new Printer(api, context, { runId, grep });
    let nextToken: string | undefined;
    let waits = 0;
    do {
      const page = await api.call('getLog', { runId, attempt, host, since: from, nextToken });
      for (const entry of page.entries) await printer.print(entry);
      ({ nextToken } = page);
      if (nextToken === undefined || !page.isCurrent) continue;
      waits += 1;
      if (!follow && (waits > LAST_WAITS || !(await hasEnded(api, runId)))) break;
      if (follow) await printer.sayWhyNothing(attempt);
      await sleep(POLL_MILLISECONDS);
    } while (nextToken !== undefined);
    await printer.sayWhyNothing(attempt);
    return 0;
  },
});

const hasEnded = async (api: Api, runId: string): Promise<boolean> =>
  isFinished((await api.call('getRun', { runId })).run);

type Entry = AnswerOf<'getLog'>['entries'][number];

class Printer {
  readonly #api: Api;
  readonly #context: Context;
  readonly #wanted: { readonly runId: string; readonly grep: string | undefined };
  /** Whether an attempt has several hosts, so that its lines need their names. */
  readonly #isGang = new Map<number, boolean>();
  #doing: string | undefined;

  constructor(
    api: Api,
    context: Context,
    wanted: { readonly runId: string; readonly grep: string | undefined },
  ) {
    this.#api = api;
    this.#context = context;
    this.#wanted = wanted;
  }

  /** Once each. @throws UsageError where there will be nothing */
  async sayWhyNothing(attempt: number | undefined): Promise<void> {
    if (this.#isGang.size > 0) return;
    const { runId } = this.#wanted;
    const { run, attempts } = await this.#api.call('getRun', { runId });
    if (attempt !== undefined && attempts.length > 0 && attempts.every((each) => each.attempt !== attempt))
      throw new UsageError([`${runId} has no attempt ${attempt}: its last is ${attempts.at(-1)?.attempt}`]);
    const doing = attempts.length === 0 ? `${runId} has no attempt yet` : preparingText({ run, attempts });
    if (doing === undefined || doing === this.#doing || this.#context.json) return;
    this.#doing = doing;
    this.#context.terminal.print(`${doing}: nothing was printed`);
  }

  async print(entry: Entry): Promise<void> {
    const isGang = this.#isGang.get(entry.attempt) ?? (await this.#look(entry.attempt));
    const { terminal, json } = this.#context;
    if (entry.kind !== 'line') {
      if (!json) terminal.print(`── ${safe(entry.text)}, ${entry.at} ──`);
      return;
    }
    const { attempt, at, host, text } = entry;
    if (!text.includes(this.#wanted.grep ?? '')) return;
    const line = { attempt, host, timestamp: Date.parse(at), message: text };
    terminal.print(json ? JSON.stringify(line) : `${at.slice(11, 19)} ${isGang ? `${host} ` : ''}${text}`);
  }

  async #look(attempt: number): Promise<boolean> {
    const { attempts } = await this.#api.call('getRun', { runId: this.#wanted.runId });
    const topology = attempts.find((each) => each.attempt === attempt)?.placement.topology;
    const isGang = (topology?.nodes ?? 1) > 1 || (topology?.helpers ?? []).length > 0;
    this.#isGang.set(attempt, isGang);
    return isGang;
  }
}
