/**
 * `npm run explain -- RUN_ID`: why each attempt went where it went, decided again on this machine from what is stored,
 * and what would have been decided otherwise. Reads the table that TIDEWHEEL_TABLE names; writes nothing.
 */
import { parseArgs } from 'node:util';
import { dynamo } from '../functions/aws/clients.ts';
import { config } from '../functions/aws/config.ts';
import { dynamoRunStore } from '../functions/aws/run-store.ts';
import { sightingsOfOthers } from '../functions/core/placement/encounters.ts';
import { questionOf } from '../functions/core/placement/replay.ts';
import { showDecision } from '../functions/core/placement/show.ts';
import { decideIf, type WhatIf } from '../functions/core/placement/what-if.ts';

const USAGE = `npm run explain -- RUN_ID [--attempt N]
  and, to ask what would have been decided otherwise:
  --deadline-hours H   --market spot|on-demand|spot-then-on-demand   --budget USD
  --types a,b          --zones use1-az1,use1-az2`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    attempt: { type: 'string' },
    'deadline-hours': { type: 'string' },
    market: { type: 'string' },
    budget: { type: 'string' },
    types: { type: 'string' },
    zones: { type: 'string' },
  },
});

const MARKETS = ['spot', 'on-demand', 'spot-then-on-demand'] as const;

function change(): WhatIf {
  const market = MARKETS.find((each) => each === values.market);
  if (values.market !== undefined && market === undefined)
    throw new Error(`--market is one of ${MARKETS.join(', ')}`);
  const number = (text: string | undefined): number | undefined =>
    text === undefined ? undefined : Number(text);
  return {
    deadlineHours: number(values['deadline-hours']),
    budgetUsd: number(values.budget),
    market,
    instanceTypes: values.types?.split(','),
    zoneIds: values.zones?.split(','),
  };
}

async function main(runId: string): Promise<number> {
  const runs = dynamoRunStore(dynamo(), config.table());
  const [run, attempts, placements] = await Promise.all([
    runs.getRun(runId),
    runs.listAttempts(runId),
    runs.listPlacements(runId),
  ]);
  if (!run) {
    process.stderr.write(`there is no run "${runId}" in ${config.table()}\n`);
    return 2;
  }
  const wanted = placements.filter(
    ({ attempt }) => values.attempt === undefined || attempt === Number(values.attempt),
  );
  for (const { attempt, decision } of wanted) {
    process.stdout.write(`\nattempt ${attempt}, as decided\n${showDecision(decision)}\n`);
    const sightings = await sightingsOfOthers(runs, {
      runId,
      instanceTypes: run.declaration?.compute.instanceTypes ?? [],
      now: new Date(decision.kind === 'launch' ? decision.placement.decidedAt : run.updatedAt),
    });
    const question = questionOf({ run, attempts, attempt, decision, sightings });
    const asked = change();
    if (!question || Object.values(asked).every((each) => each === undefined)) continue;
    process.stdout.write(`\nattempt ${attempt}, what if\n${showDecision(decideIf(question, asked))}\n`);
  }
  if (wanted.length === 0) process.stdout.write(`nothing was decided for ${runId} yet\n`);
  return 0;
}

const [runId] = positionals;
if (runId === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  process.exitCode = await main(runId);
}
