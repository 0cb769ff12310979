/** The answers about probes. */

import type { Problem } from '@tidewheel/kit/errors.ts';
import { nameOfTopology } from '../attempts/doctor/topology-speed.ts';
import { gangHourlyUsd } from '../attempts/stop-rules.ts';
import { pinOfNewest, type VersionReader } from '../dataset/dataset-version.ts';
import { type Allowed, onlyAllowed, readAllowedStored } from '../ingest/allowed.ts';
import {
  type ProbeQuestion,
  probeDeclaration,
  type ProbeDeps as StartDeps,
  startProbe,
} from '../ingest/start-probe.ts';
import { datasetSettings } from '../pipeline/dataset.ts';
import { changeDeclaration } from '../pipeline/declaration.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { writtenPipeline } from '../pipeline/tuning.ts';
import { attemptCost } from '../placement/attempt-cost.ts';
import type { RunRecord } from '../runs/run-records.ts';
import { readStepSpeed } from '../runs/step-speeds.ts';
import type { Stores } from '../runs/stores.ts';
import { bucketKeys, probeIdOf } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import {
  type AnswerOf,
  accepted,
  invalidStored,
  noPipeline,
  ok,
  problem,
  type RequestOf,
  refused,
} from './answers.ts';
import { bodyOf } from './body.ts';
import { readableVersion } from './overrides.ts';
import { leftOut, pageOf, requestedPage, steppedOver } from './paging.ts';
import { probeBody } from './schemas/probes.ts';

export interface ProbeDeps extends StartDeps, Pick<Stores, 'pipelines' | 'attempts'> {
  readonly store: ObjectStore;
  readonly allowed: Allowed;
}

const INVALID = 'the probe is not valid';

/** Idempotent: a repeated call gets the answer of the first one. */
export async function postProbe(
  deps: ProbeDeps,
  { parameters, body, caller = 'unknown' }: RequestOf<'POST /pipelines/{name}/probes'>,
): AnswerOf<'POST /pipelines/{name}/probes'> {
  const name = parameters['name'] ?? '';
  const asked = bodyOf(probeBody, body);
  if (!asked.ok) return problem(400, INVALID, asked.problems);
  const { number, steps, change } = asked.value;
  const stored = await deps.store.readText(bucketKeys.pipeline(name));
  if (stored === undefined) return noPipeline(name);
  const where = { allowed: deps.allowed, bucket: deps.store.bucket };
  const before = readAllowedStored(where, name, stored.text);
  if (!before.valid) return invalidStored(name, before.problems);
  const changed = onlyAllowed(where, changeDeclaration(before.pipeline, JSON.stringify(change)));
  if (!changed.valid) return problem(400, INVALID, changed.problems);
  const declaration = { ...changed.pipeline, limits: { ...changed.pipeline.limits, steps } };
  return begin(deps, { declaration, number, requestedBy: caller });
}

async function begin(
  deps: ProbeDeps,
  { declaration: asked, number, requestedBy }: Omit<ProbeQuestion, 'batch'>,
): AnswerOf<'POST /pipelines/{name}/probes'> {
  const { name } = asked;
  const batch = ((await deps.pipelines.get(name))?.openBatch ?? 1) - 1;
  const pin = await pinOf(deps, asked, number);
  const declaration = probeDeclaration(
    pin === undefined ? asked : { ...asked, dataset: { ...datasetSettings(asked.dataset), pin } },
  );
  const runId = probeIdOf(name, number);
  const missing = await whyNoData(deps.store, { runId, pipeline: name, batch, declaration });
  if (missing !== undefined) return refused(INVALID, [missing]);
  const { kind } = await startProbe(deps, { declaration, number, batch, requestedBy });
  return kind === 'taken'
    ? problem(
        409,
        `${runId} tries other settings: give another number, GET /pipelines/${name}/probes lists them`,
      )
    : accepted({ kind, runId, number, pin });
}

/** A repeated call trains on what the first one found, whatever was sealed since. */
async function pinOf(
  { runs, store }: ProbeDeps,
  { name, dataset }: Pipeline,
  number: number,
): Promise<string | undefined> {
  if (dataset?.pin !== undefined) return dataset.pin;
  const known = await runs.get(probeIdOf(name, number));
  return known === undefined ? pinOfNewest(store, name) : known.declaration?.dataset?.pin;
}

/** A launch would find out, when hosts are paid for. */
async function whyNoData(
  store: ObjectStore,
  { pipeline, ...reader }: Omit<VersionReader, 'declaration'> & { readonly declaration: Pipeline },
): Promise<Problem | undefined> {
  const version = await readableVersion(store, { pipeline, ...reader });
  if ('problem' in version) {
    const { path, message } = version.problem;
    return { path: path === '' ? '' : `change.${path}`, message };
  }
  return version.generations.length > 0 || reader.declaration.training.channels !== undefined
    ? undefined
    : { path: '', message: `${pipeline} has no packed data yet: drop some, and let a run pack it` };
}

export async function listProbes(
  deps: ProbeDeps,
  { parameters, query }: RequestOf<'GET /pipelines/{name}/probes'>,
): AnswerOf<'GET /pipelines/{name}/probes'> {
  const name = parameters['name'] ?? '';
  const list = `probes of ${name}`;
  const page = requestedPage(list, query);
  if ('problem' in page) return problem(400, page.problem);
  const { tell, said } = steppedOver();
  const found = await deps.runs.listProbes(name, page.limit + 1, page.after, tell);
  if (
    found.length === 0 &&
    said().unreadable === undefined &&
    (await deps.store.readText(bucketKeys.pipeline(name))) === undefined
  )
    return noPipeline(name);
  const { items, ...next } = pageOf(list, { found, limit: page.limit }, ({ runId }) => runId);
  const probes = await Promise.all(items.map((run) => viewOf(deps, run).catch(leftOut(run.runId, tell))));
  return ok({ probes: probes.filter((probe) => probe !== undefined), ...said(), ...next });
}

async function viewOf({ attempts, store }: ProbeDeps, run: RunRecord) {
  const { runId, probe, status, failure, createdAt, declaration } = run;
  const [made, speed] = await Promise.all([attempts.list(runId), readStepSpeed(store, run)]);
  const placement = made.at(-1)?.placement;
  return {
    runId,
    number: probe?.number ?? 0,
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
