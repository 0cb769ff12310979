/** `tidewheel why`: why each attempt went where it went. */

import * as z from 'zod';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { dynamo } from '../../functions/aws/shared/clients.ts';
import { factsWith } from '../../functions/core/catalog/hardware.ts';
import { DECLARED_LAUNCHERS } from '../../functions/core/pipeline/launchers.ts';
import { observationsOfOthers } from '../../functions/core/placement/belief/attempt-observations.ts';
import { typesOf } from '../../functions/core/placement/candidates/topologies.ts';
import { choosePlacement } from '../../functions/core/placement/decision/choose.ts';
import { type PlacementInput, storedQuestion } from '../../functions/core/placement/decision/situation.ts';
import { formatDecision } from '../../functions/core/placement/explain/format-decision.ts';
import { completeMarket } from '../../functions/core/placement/explain/market-for-what-if.ts';
import { questionOf, sameChoice } from '../../functions/core/placement/explain/replay.ts';
import { whyUnreadable } from '../../functions/core/placement/explain/stored-decision.ts';
import { decideIf, type WhatIf } from '../../functions/core/placement/explain/what-if.ts';
import type { StoredPlacement, Stores } from '../../functions/core/runs/stores.ts';
import type { Context } from '../command/context.ts';
import { runMeant } from '../command/runs.ts';
import { defineVerb } from '../command/verb.ts';
import { withRemedy } from '../deployment/surroundings.ts';
import { absentRunText } from '../show/absent-run.ts';

const ABOVE_0 = 'write a number above 0';
const amount = z.coerce.number(ABOVE_0).positive(ABOVE_0).optional();
const COUNTED = 'attempts are counted from 1';
const list = z
  .string()
  .regex(/^[a-z0-9.-]+(,[a-z0-9.-]+)*$/, 'write names with commas between them')
  .transform((text) => text.split(','))
  .optional();

const options = {
  attempt: { type: 'string', value: 'N', about: 'of one attempt' },
  'deadline-hours': { type: 'string', value: 'H', about: 'what if the deadline were this' },
  budget: { type: 'string', value: 'USD', about: 'or the budget' },
  'purchase-option': {
    type: 'string',
    value: 'OPTION',
    about: 'or spot, on-demand (no Spot), spot-then-on-demand',
  },
  types: { type: 'string', value: 'A,B', about: 'or these instance types' },
  zones: { type: 'string', value: 'A,B', about: 'or these zones, such as use1-az1' },
  regions: { type: 'string', value: 'A,B', about: 'or these AWS regions' },
  launcher: {
    type: 'string',
    value: 'NAME',
    about: `or ${DECLARED_LAUNCHERS.join(', ')} (cheapest: all are weighed)`,
  },
  'data-gigabytes': {
    type: 'string',
    value: 'N',
    about: 'how much would move to a region that the pipeline did not name',
  },
} as const;

const schema = z.object({
  attempt: z.coerce.number(COUNTED).int(COUNTED).min(1, COUNTED).optional(),
  'deadline-hours': amount,
  'data-gigabytes': amount,
  budget: amount,
  'purchase-option': z
    .enum(['spot', 'on-demand', 'spot-then-on-demand'], 'write spot, on-demand or spot-then-on-demand')
    .optional(),
  launcher: z.enum(DECLARED_LAUNCHERS, `write ${DECLARED_LAUNCHERS.join(', ')}`).optional(),
  types: list,
  zones: list,
  regions: list,
});
type Values = z.output<typeof schema>;

export const verb = defineVerb({
  name: 'why',
  summary: 'say why each attempt went where it went, and what else would have been decided',
  about: `
Each decision is made again on this machine from what is stored. With options it is also made as if the declaration had
been another one at that moment. Reads the table; writes nothing.`,
  positionals: ['RUN?'],
  options,
  schema,
  examples: [
    ['digits-000042', 'the table of every attempt'],
    ['digits-000042 --deadline-hours 12 --purchase-option on-demand', 'what if'],
  ],
  run: async ({ values, positionals }, context) => {
    const { table } = await context.deployment();
    const stores = dynamoStores(dynamo(), table);
    const runId = positionals[0] ?? (await runMeant(context, undefined));
    return withRemedy(() => explainRun(stores, runId, { values, table, context }));
  },
});

interface Asked {
  readonly values: Values;
  readonly table: string;
  readonly context: Pick<Context, 'json' | 'terminal'>;
}

async function explainRun(stores: Stores, runId: string, { values, table, context }: Asked): Promise<number> {
  const placements = await stores.placements.list(runId);
  if ((await stores.runs.get(runId)) === undefined)
    throw new Error(await absentRunText(stores, runId, table));
  const wanted = placements.filter(
    ({ attempt }) => values.attempt === undefined || attempt === values.attempt,
  );
  if (wanted.length === 0) {
    const last = placements.at(-1);
    if (values.attempt !== undefined && last !== undefined)
      throw new Error(`${runId} has no attempt ${values.attempt}: its last is ${last.attempt}`);
    context.terminal.note(`nothing was decided for ${runId} yet`);
  }
  if (context.json) {
    context.terminal.print(JSON.stringify({ runId, placements: wanted.map(withoutQuestion) }, null, 2));
    return 0;
  }
  const unreadable = new Map(
    wanted.flatMap(({ attempt, decision }) => {
      const why = whyUnreadable(decision);
      return why === undefined ? [] : [[attempt, why]];
    }),
  );
  for (const placement of wanted)
    if (!unreadable.has(placement.attempt)) await explain(stores, runId, placement, values);
  for (const [attempt, why] of unreadable)
    context.terminal.problem(`what was decided for attempt ${attempt} cannot be read: ${why}`);
  return unreadable.size > 0 ? 1 : 0;
}

const withoutQuestion = ({ attempt, decision: { question: _question, ...decision } }: StoredPlacement) => ({
  attempt,
  decision,
});

const changeOf = (values: Values): WhatIf => ({
  deadlineHours: values['deadline-hours'],
  budgetUsd: values.budget,
  purchaseOption: values['purchase-option'],
  launcher: values.launcher,
  instanceTypes: values.types,
  zoneIds: values.zones,
  regions: values.regions,
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

type ExplainDeps = Pick<Stores, 'runs' | 'attempts' | 'poolOutcomes' | 'marketSamples'>;

async function explain(
  stores: ExplainDeps,
  runId: string,
  { attempt, decision }: StoredPlacement,
  values: Values,
): Promise<void> {
  say(`\nattempt ${attempt}, as decided\n${formatDecision(decision, storedQuestion(decision).now)}`);
  const [run, attempts] = await Promise.all([stores.runs.get(runId), stores.attempts.list(runId)]);
  if (run?.declaration === undefined) return;
  const now = new Date(storedQuestion(decision).now);
  const observationsIn = (instanceTypes: readonly string[]) =>
    observationsOfOthers(stores.poolOutcomes, { runId, instanceTypes, now });
  const types = typesOf(run.declaration.compute, factsWith(storedQuestion(decision).hardware));
  const question = questionOf({
    run,
    attempts,
    attempt,
    decision,
    observations: await observationsIn(types),
  });
  if (question === undefined) return;
  const again = sameChoice(choosePlacement(question), decision);
  say(`\nDecided again from what is stored: ${again ? 'the same' : OTHERWISE}.`);
  const change = changeOf(values);
  if (Object.values(change).some((each) => each !== undefined)) {
    const observations = await observationsIn([...types, ...(values.types ?? [])]);
    await whatIf(stores, attempt, { question: { ...question, observations: observations }, change, values });
  }
}

const OTHERWISE = 'otherwise; rules, catalog or what other runs met on record have changed since';

interface Request {
  readonly question: PlacementInput;
  readonly change: WhatIf;
  readonly values: Values;
}

async function whatIf(
  { marketSamples }: ExplainDeps,
  attempt: number,
  { question, change, values }: Request,
): Promise<void> {
  const gigabytes = values['data-gigabytes'];
  const { input, notes } = await completeMarket(question, change, {
    marketSamples,
    datasetBytes: gigabytes === undefined ? undefined : gigabytes * 1e9,
  });
  say(`\nattempt ${attempt}, what if\n${formatDecision(decideIf(input, change), input.now)}`);
  for (const note of notes) say(`- ${note}`);
}
