/**
 * `npm run explain -- RUN_ID`: why each attempt went where it went, decided again on this machine from what is stored,
 * and what would have been decided otherwise. Reads the table that TIDEWHEEL_TABLE names; writes nothing.
 */

import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { dynamoStores } from '../functions/aws/dynamodb/stores.ts';
import { dynamo } from '../functions/aws/shared/clients.ts';
import { config } from '../functions/aws/shared/config.ts';
import { factsWith } from '../functions/core/catalog/hardware.ts';
import { DECLARED_LAUNCHERS } from '../functions/core/pipeline/launchers.ts';
import { observationsOfOthers } from '../functions/core/placement/belief/attempt-observations.ts';
import { typesOf } from '../functions/core/placement/candidates/topologies.ts';
import { choosePlacement } from '../functions/core/placement/decision/choose.ts';
import { type PlacementInput, storedQuestion } from '../functions/core/placement/decision/situation.ts';
import { formatDecision } from '../functions/core/placement/explain/format-decision.ts';
import { completeMarket } from '../functions/core/placement/explain/market-for-what-if.ts';
import { questionOf, sameChoice } from '../functions/core/placement/explain/replay.ts';
import { whyUnreadable } from '../functions/core/placement/explain/stored-decision.ts';
import { decideIf, type WhatIf } from '../functions/core/placement/explain/what-if.ts';
import type { StoredPlacement, Stores } from '../functions/core/runs/stores.ts';
import { withRemedy } from './deployment/surroundings.ts';
import { absentRunText } from './show/absent-run.ts';

const USAGE = `npm run explain -- RUN_ID [--attempt N]

Why each attempt went where it went. To ask what would have been decided otherwise, at that moment:
  --deadline-hours H   --budget USD   --purchase-option spot|on-demand|spot-then-on-demand (on-demand: no Spot)
  --types a,b          --zones use1-az1,use1-az2          --regions us-east-1,us-west-2
  --launcher ${DECLARED_LAUNCHERS.join('|')} (cheapest: all are weighed)
  --data-gigabytes N   how much would move to a region that the pipeline did not name

TIDEWHEEL_TABLE, AWS_REGION and credentials name the table. npm start prints those of the local region; of a deployment
"npx osls info --verbose --stage STAGE --region REGION" prints the table as TableName.`;

const ABOVE_0 = 'write a number above 0';
const amount = z.coerce.number(ABOVE_0).positive(ABOVE_0).optional();
const COUNTED = 'attempts are counted from 1';
const list = z
  .string()
  .regex(/^[a-z0-9.-]+(,[a-z0-9.-]+)*$/, 'write names with commas between them')
  .transform((text) => text.split(','))
  .optional();

const WORDS = {
  positionals: ['RUN_ID'],
  environment: ['TIDEWHEEL_TABLE', 'AWS_REGION'],
  options: {
    attempt: { type: 'string' },
    'deadline-hours': { type: 'string' },
    'data-gigabytes': { type: 'string' },
    'purchase-option': { type: 'string' },
    launcher: { type: 'string' },
    budget: { type: 'string' },
    types: { type: 'string' },
    zones: { type: 'string' },
    regions: { type: 'string' },
  },
  schema: z.object({
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
  }),
} as const;

type Values = z.output<typeof WORDS.schema>;

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

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = readCommandLine(args, WORDS);
  const runId = positionals[0] ?? '';
  const stores = dynamoStores(dynamo(), config.table());
  const placements = await stores.placements.list(runId);
  if ((await stores.runs.get(runId)) === undefined)
    throw new Error(await absentRunText(stores, runId, config.table()));
  const wanted = placements.filter(
    ({ attempt }) => values.attempt === undefined || attempt === values.attempt,
  );
  if (wanted.length === 0) {
    const last = placements.at(-1);
    if (values.attempt === undefined || last === undefined) say(`nothing was decided for ${runId} yet`);
    else throw new Error(`${runId} has no attempt ${values.attempt}: its last is ${last.attempt}`);
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
    process.stderr.write(`✗ what was decided for attempt ${attempt} cannot be read: ${why}\n`);
  return unreadable.size > 0 ? 1 : 0;
}

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

await runCommand(USAGE, (args) => withRemedy(() => main(args)));
