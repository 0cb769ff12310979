/** `tidewheel why`: why each attempt went where it went. */

import { DECLARED_LAUNCHERS } from '@tidewheel/declaration/launchers.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import type { AnswerOf } from '../../client/operations.ts';
import { type Api, ApiError } from '../command/api-calls.ts';
import { EXIT } from '../command/exit.ts';
import { safe } from '../command/format.ts';
import { runMeant } from '../command/run-list.ts';
import type { Terminal } from '../command/terminal.ts';
import { defineVerb, option, type ValuesOf } from '../command/verb.ts';
import { formatDecision } from '../show/decision-text.ts';

const ABOVE_0 = 'write a number above 0';
const amount = z.coerce.number(ABOVE_0).positive(ABOVE_0).optional();
const list = z
  .string()
  .regex(/^[a-z0-9.-]+(,[a-z0-9.-]+)*$/, 'write names with commas between them')
  .optional();

const options = {
  attempt: option('N', 'of one attempt', wholeNumber(1).optional()),
  'deadline-hours': option('H', 'what if the deadline were this', amount),
  budget: option('USD', 'or the budget', amount),
  'purchase-option': option(
    'OPTION',
    'or spot, on-demand (no Spot), spot-then-on-demand',
    z
      .enum(['spot', 'on-demand', 'spot-then-on-demand'], 'write spot, on-demand or spot-then-on-demand')
      .optional(),
  ),
  types: option('A,B', 'or these instance types', list),
  zones: option('A,B', 'or these zones, such as use1-az1', list),
  regions: option('A,B', 'or these AWS regions', list),
  launcher: option(
    'NAME',
    `or ${DECLARED_LAUNCHERS.join(', ')} (cheapest: all are weighed)`,
    z.enum(DECLARED_LAUNCHERS, `write ${DECLARED_LAUNCHERS.join(', ')}`).optional(),
  ),
  'data-gigabytes': option('N', 'how much would move to a region that the pipeline did not name', amount),
};

type Values = ValuesOf<typeof options>;

export const verb = defineVerb({
  name: 'why',
  summary: 'say why each attempt went where it went, and what else would have been decided',
  about: `
Each decision is made again from what is stored. With options it is also made as if the declaration had been another one
at that moment. Nothing is started.`,
  positionals: ['RUN?'],
  options,
  examples: [
    ['digits-000042', 'the table of every attempt'],
    ['digits-000042 --deadline-hours 12 --purchase-option on-demand', 'what if'],
  ],
  web: async ({ positionals, values: { attempt } }, context) =>
    `/runs/${await runMeant(context, positionals[0])}/why${attempt === undefined ? '' : `?attempt=${attempt}`}`,
  run: async ({ values, positionals }, context) => {
    const runId = await runMeant(context, positionals[0]);
    const { terminal, json } = context;
    const api = await context.api();
    const numbers = await attemptsMeant(api, runId, values.attempt);
    if (numbers.length === 0) {
      const { need } = (await api.call('getRun', { runId })).run;
      terminal.note(safe(need?.reason ?? `nothing was decided for ${runId} yet`));
    }
    if (json) {
      const placements: AnswerOf<'getPlacement'>[] = [];
      for (const attempt of numbers) placements.push(await placementOf(api, runId, attempt));
      terminal.print(JSON.stringify({ runId, placements }, null, 2));
      return EXIT.ok;
    }
    const unreadable: string[] = [];
    for (const attempt of numbers) {
      const again = await decidedAgain(api, { runId, attempt, values });
      if (typeof again === 'string')
        unreadable.push(`what was decided for attempt ${attempt} cannot be read: ${again}`);
      else explain(terminal, await placementOf(api, runId, attempt), { ...again, values });
    }
    for (const each of unreadable) terminal.problem(each);
    return unreadable.length > 0 ? EXIT.error : EXIT.ok;
  },
});

/** @throws UsageError where the run has no such attempt */
async function attemptsMeant(api: Api, runId: string, only: number | undefined): Promise<number[]> {
  const { placements } = await api.call('listPlacements', { runId });
  const numbers = placements.map(({ attempt }) => attempt);
  if (only === undefined || numbers.length === 0) return numbers;
  if (numbers.includes(only)) return [only];
  throw new UsageError([`${runId} has no attempt ${only}: its last is ${numbers.at(-1)}`]);
}

const placementOf = (api: Api, runId: string, attempt: number): Promise<AnswerOf<'getPlacement'>> =>
  api.call('getPlacement', { runId, attempt: String(attempt) });

interface Asked {
  readonly runId: string;
  readonly attempt: number;
  readonly values: Values;
}

/** @returns why the stored decision cannot be read, or what it comes to now */
async function decidedAgain(
  api: Api,
  { runId, attempt, values }: Asked,
): Promise<AnswerOf<'getWhatIf'> | string> {
  try {
    return await api.call('getWhatIf', { runId, attempt: String(attempt), ...changeOf(values) });
  } catch (error: unknown) {
    if (error instanceof ApiError && error.status === 409) return error.message;
    throw error;
  }
}

const changeOf = (values: Values) => ({
  deadlineHours: values['deadline-hours'],
  budgetUsd: values.budget,
  purchaseOption: values['purchase-option'],
  launcher: values.launcher,
  instanceTypes: values.types,
  zoneIds: values.zones,
  regions: values.regions,
  dataGigabytes: values['data-gigabytes'],
});

const OTHERWISE = 'otherwise; rules, catalog or what other runs met on record have changed since';

function explain(
  { print }: Terminal,
  { attempt, decision }: AnswerOf<'getPlacement'>,
  { decidedAt, isSame, changed, notes, values }: AnswerOf<'getWhatIf'> & { readonly values: Values },
): void {
  print(`\nattempt ${attempt}, as decided\n${formatDecision(decision, decidedAt)}`);
  print(`\nDecided again from what is stored: ${isSame ? 'the same' : OTHERWISE}.`);
  if (Object.values(changeOf(values)).every((each) => each === undefined)) return;
  print(`\nattempt ${attempt}, what if\n${formatDecision(changed, decidedAt)}`);
  for (const note of notes) print(`- ${note}`);
}
