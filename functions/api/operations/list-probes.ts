import { writtenPipeline, writtenSchema } from '@tidewheel/declaration/pipeline.ts';
import { list, time, usd } from '@tidewheel/kit/fields.ts';
import { attemptCost } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { readStepSpeed } from '../../records/evidence-files.ts';
import { type RunRecord, runStatusSchema } from '../../records/run-records.ts';
import { nameOfTopology } from '../../run/attempts/doctor/topology-speed.ts';
import { gangHourlyUsd } from '../../run/attempts/stop-rules.ts';
import { noPipeline, ok } from '../shared/answers.ts';
import { type ApiDeps, defineOperation, READS } from '../shared/operation.ts';
import { leftOut, nextToken, pageQuery, readPage, unreadable } from '../shared/paging.ts';
import { hasDeclaration } from '../shared/stored-declaration.ts';

const measured = z.object({ mean: z.number(), low: z.number(), high: z.number() });

const probe = z.object({
  runId: z.string(),
  number: z.number().int(),
  evaluates: z.string().optional().describe('The run whose model it scores: then it tries no settings.'),
  status: runStatusSchema,
  failure: z.string().optional(),
  createdAt: time,
  steps: z.int().optional().describe('After so many it ends.'),
  declaration: writtenSchema.optional().describe('What it trains by.'),
  topology: z.string().optional().describe('Of the last attempt, such as 2 x g5.xlarge.'),
  usdPerHour: usd.optional().describe('Of all its hosts.'),
  costUsd: usd,
  speed: z
    .object({
      basis: z.enum(['hooks', 'printed']),
      clock: z
        .enum(['machine', 'host'])
        .describe('host: hosts that share one machine, each by the CPU time that it got.'),
      hosts: z.number().int(),
      steps: z.number().int().describe('The first fifth is not measured.'),
      stepSeconds: measured.describe('With a 95 % interval.'),
      samplesPerSecond: measured.optional(),
    })
    .optional()
    .describe('Absent until it has ended, and where too few steps were made.'),
});

export const listProbes = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines/{name}/probes',
    id: 'listProbes',
    summary: 'Lists the probes of a pipeline, newest first, with the speed that was measured.',
    query: pageQuery(20),
    answer: z.object({ probes: list(probe), unreadable, nextToken }),
    refusals: [404],
  },
  async (deps, { parameters: { name }, query }) => {
    const page = await readPage(`probes of ${name}`, query, {
      read: ({ limit, after, tell }) => deps.runs.listProbes(name, limit, after, tell),
      nameOf: ({ runId }) => runId,
      show: (run, tell) => viewOf(deps, run).catch(leftOut(run.runId, tell)),
    });
    if ('status' in page) return page;
    const { items, ...rest } = page;
    return items.length === 0 && rest.unreadable === undefined && !(await hasDeclaration(deps, name))
      ? noPipeline(name)
      : ok({ probes: items, ...rest });
  },
);

async function viewOf({ attempts, store }: ApiDeps, run: RunRecord) {
  const { runId, probe, status, failure, createdAt, declaration } = run;
  const [made, speed] = await Promise.all([attempts.list(runId), readStepSpeed(store, run)]);
  const placement = made.at(-1)?.placement;
  return {
    runId,
    number: probe?.number ?? 0,
    evaluates: probe?.evaluates?.runId,
    status,
    failure,
    createdAt,
    steps: declaration?.limits.steps,
    declaration: declaration && writtenPipeline(declaration),
    ...(placement !== undefined && {
      topology: nameOfTopology(placement),
      usdPerHour: gangHourlyUsd(placement),
    }),
    costUsd: made.reduce((sum, attempt) => sum + attemptCost(attempt), 0),
    speed,
  };
}
