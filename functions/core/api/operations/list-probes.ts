import * as z from 'zod';
import { nameOfTopology } from '../../attempts/doctor/topology-speed.ts';
import { gangHourlyUsd } from '../../attempts/stop-rules.ts';
import { pipelineSchema } from '../../pipeline/pipeline.ts';
import { attemptCost } from '../../placement/attempt-cost.ts';
import { type RunRecord, runStatusSchema } from '../../runs/run-records.ts';
import { readStepSpeed } from '../../runs/step-speeds.ts';
import { list, time, usd } from '../../shared/fields.ts';
import { bucketKeys } from '../../shared/keys.ts';
import { noPipeline, ok, problem } from '../shared/answers.ts';
import { type ApiDeps, defineOperation, READS } from '../shared/operation.ts';
import {
  leftOut,
  nextToken,
  pageOf,
  pageQuery,
  requestedPage,
  steppedOver,
  unreadable,
} from '../shared/paging.ts';

const measured = z.object({ mean: z.number(), low: z.number(), high: z.number() });

const probe = z.object({
  runId: z.string(),
  number: z.number().int(),
  status: runStatusSchema,
  failure: z.string().optional(),
  createdAt: time,
  declaration: pipelineSchema.optional().describe('What it trains by.'),
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
    const listed = `probes of ${name}`;
    const page = requestedPage(listed, query);
    if ('problem' in page) return problem(400, page.problem);
    const { tell, said } = steppedOver();
    const found = await deps.runs.listProbes(name, page.limit + 1, page.after, tell);
    if (
      found.length === 0 &&
      said().unreadable === undefined &&
      (await deps.store.readText(bucketKeys.pipeline(name))) === undefined
    )
      return noPipeline(name);
    const { items, ...next } = pageOf(listed, { found, limit: page.limit }, ({ runId }) => runId);
    const probes = await Promise.all(items.map((run) => viewOf(deps, run).catch(leftOut(run.runId, tell))));
    return ok({ probes: probes.filter((probe) => probe !== undefined), ...said(), ...next });
  },
);

async function viewOf({ attempts, store }: ApiDeps, run: RunRecord) {
  const { runId, probe, status, failure, createdAt, declaration } = run;
  const [made, speed] = await Promise.all([attempts.list(runId), readStepSpeed(store, run)]);
  const placement = made.at(-1)?.placement;
  return {
    runId,
    number: probe?.number ?? 0,
    status,
    failure,
    createdAt,
    declaration,
    ...(placement !== undefined && {
      topology: nameOfTopology(placement),
      usdPerHour: gangHourlyUsd(placement),
    }),
    costUsd: made.reduce((sum, attempt) => sum + attemptCost(attempt), 0),
    speed,
  };
}
