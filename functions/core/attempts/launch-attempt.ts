/** The Launch state: start the attempt's job, on SageMaker or on EC2, or find it started, and leave the waiting to the task token. */

import { type Dataset, datasetOf } from '../dataset/dataset.ts';
import { intervalOf } from '../launch/job/checkpoint-interval.ts';
import { jobNameOf, jobSaltOf } from '../launch/job/job-name.ts';
import { type PreparedJob, portOf, type Starters } from '../launch/launcher.ts';
import { takeAlong } from '../launch/regions/mirror.ts';
import type { Region } from '../launch/regions/region-bucket.ts';
import { pinnedSourceOf } from '../launch/source/pin-source.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { readProgress } from '../runs/progress.ts';
import type { AttemptRecord, Placement, RunRecord } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';
import { LaunchRefusedError, RunNotFoundError } from '../shared/errors.ts';
import { bucketKeys } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { settleCreation } from './creation-outcome.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';

export interface LaunchDeps extends ObserveDeps, Pick<Stores, 'placements'> {
  readonly starters: Starters;
  readonly store: ObjectStore;
  readonly region: string;
  /** Puts the agent's files into the bucket if they are not there; answers their key prefix. */
  readonly publishAgent: () => Promise<string>;
  /** Another region by its name, with the same for its bucket. */
  readonly elsewhere?: ((region: string) => Away) | undefined;
}

interface Away {
  readonly region: Region;
  readonly publishAgent: () => Promise<string>;
}

/** Copies to another region go on in the next try when they take longer: the function has a quarter of an hour. */
const COPY_MILLISECONDS = 780_000;

export interface LaunchInput {
  readonly runId: string;
  readonly attempt: number;
  readonly taskToken: string;
}

/**
 * Safe to repeat: the job's name derives from run and attempt, and the attempt with its token is on record before the
 * job exists, so that an event that comes at once finds it.
 * @throws LaunchRefusedError when the request will never be taken; every problem is in its message
 */
export async function launchAttempt(
  deps: LaunchDeps,
  input: LaunchInput,
): Promise<{ readonly jobName: string }> {
  const run = await deps.runs.get(input.runId);
  if (run?.declaration === undefined) throw new RunNotFoundError(input.runId);
  const attempt = await recordAttempt(deps, run, input);
  if (attempt.outcome === undefined) await startJob(deps, run, attempt);
  else await observeAttempt(deps, attempt);
  return { jobName: attempt.jobName };
}

async function recordAttempt(deps: LaunchDeps, run: RunRecord, input: LaunchInput): Promise<AttemptRecord> {
  const { runId, attempt: number, taskToken } = input;
  const updatedAt = deps.clock.now().toISOString();
  const known = await deps.attempts.get(runId, number);
  if (known !== undefined) return deps.attempts.update(runId, number, { taskToken, updatedAt });
  const placement = await placementOf(deps, runId, number);
  const fresh: AttemptRecord = {
    runId,
    pipeline: run.pipeline,
    attempt: number,
    jobName: jobNameOf(runId, number, jobSaltOf(deps.store.bucket)),
    placement,
    launcher: placement.pool.launcher,
    status: 'starting',
    taskToken,
    createdAt: updatedAt,
    updatedAt,
    progressBefore: await readProgress(deps.store, run.pipeline, runId),
  };
  if ((await deps.attempts.create(fresh)) === 'created') return fresh;
  return deps.attempts.update(runId, number, { taskToken, updatedAt });
}

async function placementOf(deps: LaunchDeps, runId: string, attempt: number): Promise<Placement> {
  const stored = (await deps.placements.list(runId)).find((placement) => placement.attempt === attempt);
  if (stored?.decision.kind === 'launch') return stored.decision.placement;
  throw new LaunchRefusedError(`attempt ${attempt} of ${runId} has no placement to launch`);
}

async function startJob(deps: LaunchDeps, run: RunRecord, attempt: AttemptRecord): Promise<void> {
  const dataset = await datasetOf(deps.store, run);
  const source = await pinnedSourceOf(deps.store, run);
  const away = awayFor(deps, attempt);
  if (away !== undefined) await pack(deps, { run, dataset, source, away });
  const prepared = await prepareJob(deps, { run, attempt, dataset, source, away });
  const store = away?.region.store ?? deps.store;
  for (const { key, text } of prepared.objects) await store.writeText(key, text);
  const updatedAt = deps.clock.now().toISOString();
  await deps.runs.update(run.runId, {
    status: 'training',
    generations: dataset.generations,
    ...(source !== undefined && { source }),
    updatedAt,
  });
  const created = await prepared.start();
  await settleCreation(deps, { attempt, created, prepared });
}

function awayFor({ elsewhere }: LaunchDeps, { placement, jobName }: AttemptRecord): Away | undefined {
  const { region } = placement.pool;
  if (region === undefined) return undefined;
  if (elsewhere !== undefined) return elsewhere(region);
  throw new LaunchRefusedError(`${jobName} is placed in ${region}, where nothing can be launched`);
}

interface Journeying {
  readonly run: RunRecord;
  readonly dataset: Dataset;
  readonly source: string | undefined;
  readonly away: Away;
}

/** Everything that the job will read, into the bucket of its region. */
async function pack(deps: LaunchDeps, { run, dataset, source, away }: Journeying): Promise<void> {
  const { pipeline, runId } = run;
  const end = deps.clock.now().getTime() + COPY_MILLISECONDS;
  await takeAlong(
    { pipeline, runId, home: deps.store, region: away.region, until: () => deps.clock.now().getTime() > end },
    [
      ...dataset.shards.map(({ shardsPrefix }) => shardsPrefix),
      ...(source === undefined ? [] : [bucketKeys.packedSource(pipeline, source)]),
    ],
  );
}

interface Requested {
  readonly run: RunRecord;
  readonly attempt: AttemptRecord;
  readonly dataset: Dataset;
  readonly source: string | undefined;
  readonly away: Away | undefined;
}

async function prepareJob(
  deps: LaunchDeps,
  { run, attempt, dataset, source, away }: Requested,
): Promise<PreparedJob> {
  const { runId, declaration } = run;
  if (declaration === undefined) throw new RunNotFoundError(runId);
  const earlier = (await deps.attempts.list(runId)).filter((each) => each.attempt < attempt.attempt);
  const built = portOf(deps.starters, attempt).prepare({
    runId,
    attempt: attempt.attempt,
    declaration: withHelpers(
      away === undefined ? declaration : declaredIn(declaration, away.region.name),
      attempt.placement,
    ),
    placement: attempt.placement,
    bucket: away?.region.store.bucket ?? deps.store.bucket,
    ...(away !== undefined && { dataBucket: deps.store.bucket }),
    region: away?.region.name ?? deps.region,
    agentPrefix: await (away?.publishAgent ?? deps.publishAgent)(),
    sourceDigest: source,
    generations: dataset.shards,
    checkpointSeconds: intervalOf(attempt, earlier),
  });
  if (built.kind !== 'problems') return built;
  const all = built.problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new LaunchRefusedError(`the job of ${attempt.jobName} cannot be made: ${all}`);
}

/** With the groups that placement added. */
const withHelpers = (declaration: Pipeline, { topology: { helpers } }: Placement): Pipeline =>
  helpers === undefined
    ? declaration
    : { ...declaration, compute: { ...declaration.compute, helpers: [...helpers] } };

/** With the network of that region: subnets belong to one. */
function declaredIn(declaration: Pipeline, region: string): Pipeline {
  const { vpc: _home, ...compute } = declaration.compute;
  const vpc = compute.regions?.find(({ name }) => name === region)?.vpc;
  return { ...declaration, compute: { ...compute, ...(vpc === undefined ? {} : { vpc }) } };
}
