import { probeIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { datasetSettings, limitsSchema, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import * as z from 'zod';
import { pinOfNewest } from '../../records/dataset-version.ts';
import { type ProbeQuestion, probeDeclaration, beginProbe as start } from '../../run/ingest/start-probe.ts';
import { accepted, problem, refused } from '../shared/answers.ts';
import { beyondFence } from '../shared/fence.ts';
import { type ApiDeps, CHANGES, defineOperation, jsonBodyOf } from '../shared/operation.ts';
import { whyNoData } from '../shared/overrides.ts';
import { changeAllowed, storedDeclaration } from '../shared/stored-declaration.ts';

const INVALID = 'the probe is not valid';

const probeBody = z.strictObject({
  number: z
    .int()
    .min(1)
    .max(999_999_999)
    .describe('A new one. The same call again with the same number starts nothing more.'),
  change: z
    .record(z.string(), z.unknown())
    .describe('A part of a declaration, such as { "compute": { "nodes": 2 } }.'),
  steps: limitsSchema.shape.steps.unwrap().describe('After so many steps the trial ends.'),
});

/** Idempotent: a repeated call gets the answer of the first one. */
export const startProbe = defineOperation(
  {
    ...CHANGES,
    route: 'POST /pipelines/{name}/probes',
    id: 'startProbe',
    risk: 'money',
    summary: 'Starts a short trial of other settings on the sealed dataset.',
    body: { schema: probeBody, required: true },
    status: 202,
    answer: z.object({
      runId: z.string(),
      number: z.number().int(),
      kind: z.enum(['started', 'running']),
      pin: z
        .string()
        .optional()
        .describe('The version of the dataset that it trains on, by its last generation.'),
    }),
  },
  async (deps, { parameters: { name }, body, caller, fence }) => {
    const asked = jsonBodyOf(probeBody, body);
    if (!asked.ok) return problem(400, INVALID, asked.problems);
    const { number, steps, change } = asked.value;
    // It takes no arrivals, so no marker counts.
    const stored = await storedDeclaration({ ...deps, notifiedMarker: undefined }, name);
    if ('status' in stored) return stored;
    const changed = changeAllowed(deps, stored.pipeline, JSON.stringify(change));
    if (!changed.valid) return problem(400, INVALID, changed.problems);
    const declaration = { ...changed.pipeline, limits: { ...changed.pipeline.limits, steps } };
    const bound = declaration.limits.budgetUsd;
    const beyond = await beyondFence(deps, fence, { runId: probeIdOf(name, number), bound, before: 0 });
    if (beyond !== undefined) return beyond;
    return begin(deps, { declaration, number, requestedBy: caller });
  },
);

async function begin(
  deps: ApiDeps,
  { declaration: asked, number, requestedBy }: Omit<ProbeQuestion, 'batch'>,
) {
  const { name } = asked;
  const batch = ((await deps.pipelines.get(name))?.openBatch ?? 1) - 1;
  const pin = await pinOf(deps, asked, number);
  const declaration = probeDeclaration(
    pin === undefined ? asked : { ...asked, dataset: { ...datasetSettings(asked.dataset), pin } },
  );
  const runId = probeIdOf(name, number);
  const missing = await whyNoData(deps.store, { runId, pipeline: name, batch, declaration });
  if (missing !== undefined)
    return refused(INVALID, [{ ...missing, path: missing.path === '' ? '' : `change.${missing.path}` }]);
  const { kind } = await start(deps, { declaration, number, batch, requestedBy });
  return kind === 'taken'
    ? problem(
        409,
        `${runId} tries other settings: give another number, GET /pipelines/${name}/probes lists them`,
      )
    : accepted({ kind, runId, number, pin });
}

/** A repeated call trains on what the first one found, whatever was sealed since. */
async function pinOf(
  { runs, store }: ApiDeps,
  { name, dataset }: Pipeline,
  number: number,
): Promise<string | undefined> {
  if (dataset?.pin !== undefined) return dataset.pin;
  const known = await runs.get(probeIdOf(name, number));
  return known === undefined ? pinOfNewest(store, name) : known.declaration?.dataset?.pin;
}
