/** The Launch state: starts the attempt's job, or finds it started. The execution then waits for the task token. */

import type { FactsOf } from '@tidewheel/catalog/catalog.ts';
import { factsWith } from '@tidewheel/catalog/hardware.ts';
import { type AgentFile, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Change } from '@tidewheel/doctor/verdict.ts';
import {
  LaunchRefusedError,
  noneIfUnreadable,
  problemsText,
  RunNotFoundError,
  TransientError,
} from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { storedQuestion } from '@tidewheel/placement/choose.ts';
import { namedPools, type Placement, samePool } from '@tidewheel/placement/records.ts';
import { intervalOf } from '../../launch/job/checkpoint-interval.ts';
import { jobNameOf, jobSaltOf } from '../../launch/job/job-name.ts';
import { agentFilesOf, type JobInput } from '../../launch/job/job-parts.ts';
import { type PreparedJob, portOf, type Starters } from '../../launch/launcher.ts';
import { copyInputsToRegion, type RegionBucket } from '../../launch/regions/region-copy.ts';
import { type PinnedSource, pinnedSourceOf } from '../../launch/source/pin-source.ts';
import { listChannelFiles } from '../../records/channel-files.ts';
import { readProgress } from '../../records/progress.ts';
import { keepAttempt, restoreAttempts } from '../../records/record-copies.ts';
import { type Dataset, datasetOf } from '../../records/run-dataset.ts';
import { type AttemptRecord, type RunRecord } from '../../records/run-records.ts';
import { raisedDisk, safeRemedies, withRemedies } from '../../records/safe-remedies.ts';
import type { FilesDeps } from '../../records/sealed-files.ts';
import type { Stores } from '../../records/stores.ts';
import { evaluationOf } from '../models/evaluation.ts';
import { modelToStartFrom } from '../models/start-model.ts';
import { recordCreateOutcome } from './creation-outcome.ts';
import { endWithoutJob, type ObserveDeps, observeAttempt } from './observe-attempt.ts';

export interface LaunchDeps
  extends ObserveDeps,
    Pick<Stores, 'placements' | 'models'>,
    Pick<FilesDeps, 'blobs'> {
  readonly starters: Starters;
  readonly store: ObjectStore;
  readonly region: string;
  readonly publishAgent: PublishAgent;
  /** Absent where no other region is set up. */
  readonly otherRegion?: ((name: string) => OtherRegion) | undefined;
}

/** Writes these files of the agent to the bucket if they are missing, and returns their key prefix. */
type PublishAgent = (files: readonly AgentFile[]) => Promise<string>;

interface OtherRegion {
  readonly region: RegionBucket;
  readonly publishAgent: PublishAgent;
}

/** The function's timeout is 15 minutes. Copies that take longer continue in the next try. */
const COPY_MILLISECONDS = 780_000;

export interface LaunchInput {
  readonly runId: string;
  readonly attempt: number;
  readonly taskToken: string;
}

/**
 * Safe to repeat: the job's name derives from run and attempt. The attempt and its token are on record before the job
 * exists, so an event that comes at once finds them.
 * @throws LaunchRefusedError when no retry can succeed; its message names every problem
 */
export async function launchAttempt(
  deps: LaunchDeps,
  input: LaunchInput,
): Promise<{ readonly jobName: string }> {
  const run = await deps.runs.get(input.runId);
  if (run?.declaration === undefined) throw new RunNotFoundError(input.runId);
  if (run.stop !== undefined) return launchNothing(deps, input);
  const attempt = await recordAttempt(deps, run, input);
  // No job without a copy of its attempt: a table that is lost is completed from it.
  if (attempt.outcome === undefined) await keepAttempt(deps.store, attempt);
  if (attempt.outcome === undefined) await startJob(deps, run, attempt);
  else await observeAttempt(deps, attempt);
  return { jobName: attempt.jobName };
}

/** A person stopped the run before its job existed. An attempt on record ends here, unless its job does exist. */
async function launchNothing(
  deps: LaunchDeps,
  { runId, attempt: number, taskToken }: LaunchInput,
): Promise<{ readonly jobName: string }> {
  const attempt = await deps.attempts.get(runId, number);
  if (attempt !== undefined) await endUnlaunched(deps, attempt);
  await deps.executions.succeed(taskToken, { attempt: number, outcome: 'recalled' });
  return { jobName: attempt?.jobName ?? '' };
}

async function endUnlaunched(deps: LaunchDeps, attempt: AttemptRecord): Promise<void> {
  if ((await observeAttempt(deps, attempt)).kind !== 'absent') return;
  const message = 'the run was stopped before the job was created';
  await endWithoutJob(deps, attempt, { kind: 'recalled', message });
}

async function recordAttempt(deps: LaunchDeps, run: RunRecord, input: LaunchInput): Promise<AttemptRecord> {
  const { runId, attempt: number, taskToken } = input;
  const updatedAt = deps.clock.now().toISOString();
  const attempts = await restoreAttempts(deps, run);
  const known = attempts.find(({ attempt }) => attempt === number);
  if (known !== undefined) return deps.attempts.update(runId, number, { taskToken, updatedAt });
  const placement = onlyItsRows(await placementOf(deps, runId, number));
  const raised = run.declaration ? raisedDisk(run.declaration, attempts, placement) : [];
  const applied = [...(await safeRemedies(deps, run, attempts)), ...raised];
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
    ...(applied.length > 0 && { applied }),
  };
  if ((await deps.attempts.create(fresh)) === 'created') return fresh;
  return deps.attempts.update(runId, number, { taskToken, updatedAt });
}

/** Every look reads the attempts of the run. The whole table may have hundreds of rows, and lies in its own item. */
const onlyItsRows = (placement: Placement): Placement => ({
  ...placement,
  considered: placement.considered.filter(({ pool }) =>
    namedPools(placement).some((named) => samePool(pool, named)),
  ),
});

async function placementOf(deps: LaunchDeps, runId: string, attempt: number): Promise<Placement> {
  const stored = await deps.placements.get(runId, attempt);
  if (stored?.decision.kind === 'launch') return stored.decision.placement;
  // The table lost it after Place: the next execution places again.
  if (stored === undefined)
    throw new TransientError(`the placement of attempt ${attempt} of ${runId} is lost`);
  throw new LaunchRefusedError(
    `attempt ${attempt} of ${runId} has no placement to launch: start a new run (POST /pipelines/{name}/runs)`,
  );
}

async function startJob(deps: LaunchDeps, run: RunRecord, attempt: AttemptRecord): Promise<void> {
  const { declaration } = run;
  if (declaration === undefined) throw new RunNotFoundError(run.runId);
  const otherRegion = otherRegionOf(deps, attempt);
  const [dataset, pinnedSource, agentPrefix] = await Promise.all([
    datasetOf(deps.store, run),
    pinnedSourceOf(deps.store, run),
    (otherRegion?.publishAgent ?? deps.publishAgent)(agentFilesOf(declaration.training)),
  ]);
  const source = pinnedSource?.digest;
  if (otherRegion !== undefined) await copyInputs(deps, { run, dataset, source }, otherRegion);
  const channelLists = await listChannelFiles({ ...deps, isOutOfTime: outOfTime(deps) }, run, dataset);
  const evaluation = await evaluationOf(deps, { ...run, source }, dataset.shards);
  const { isKnown, ...models } = await modelsOf(deps, run, { attempt, evaluation });
  const inputs = { source, channelLists, ...models, agentPrefix, otherRegion };
  const { prepared, applied } = await prepareJob(deps, { run, declaration, attempt, dataset, ...inputs });
  const store = otherRegion?.region.store ?? deps.store;
  for (const { key, text } of prepared.objects) await store.writeText(key, text);
  const updatedAt = deps.clock.now().toISOString();
  await deps.runs.update(run.runId, {
    status: 'training',
    generations: dataset.generations,
    ...onRecord(pinnedSource, evaluation),
    updatedAt,
  });
  if (isKnown) return endWithoutJob(deps, attempt, { kind: 'completed', message: 'all was scored before' });
  // Inputs may have been copied for minutes.
  if (await isStopped(deps, run)) return endUnlaunched(deps, attempt);
  const created = await prepared.start();
  await recordCreateOutcome(deps, { attempt, applied, created, dataset, prepared });
  // A look before this job existed found nothing to stop.
  if (await isStopped(deps, run)) await observeAttempt(deps, attempt);
}

/** The model that the script begins from, or scores, beside the one in use; `isKnown`: nothing is left to score. */
async function modelsOf(
  { store }: LaunchDeps,
  run: RunRecord,
  { attempt, evaluation }: { readonly attempt: AttemptRecord; readonly evaluation: RunRecord['evaluation'] },
) {
  const isEvaluation = run.probe?.evaluates !== undefined;
  const model = await modelToStartFrom(store, run, !isEvaluation && attempt.progressBefore !== undefined);
  const { candidate, current: currentModel } = evaluation ?? {};
  const isKnown = isEvaluation && candidate === undefined && currentModel === undefined;
  return { isEvaluation, isKnown, model: isEvaluation ? candidate : model, currentModel };
}

const onRecord = (
  source: PinnedSource | undefined,
  evaluation: RunRecord['evaluation'],
): Pick<RunRecord, 'source' | 'git' | 'evaluation'> => ({
  ...(source && { source: source.digest, ...(source.git && { git: source.git }) }),
  ...(evaluation && { evaluation }),
});

const isStopped = async ({ runs }: LaunchDeps, { runId }: RunRecord): Promise<boolean> =>
  (await runs.get(runId))?.stop !== undefined;

function otherRegionOf(
  { otherRegion }: LaunchDeps,
  { placement, jobName }: AttemptRecord,
): OtherRegion | undefined {
  const { region } = placement.pool;
  if (region === undefined) return undefined;
  if (otherRegion !== undefined) return otherRegion(region);
  throw new LaunchRefusedError(
    `${jobName} is placed in ${region}, where nothing can be launched: take ${region} out of compute.regions`,
  );
}

function outOfTime({ clock }: LaunchDeps): () => boolean {
  const end = clock.now().getTime() + COPY_MILLISECONDS;
  return () => clock.now().getTime() > end;
}

/** Copies everything that the job reads to the bucket of its region. */
async function copyInputs(
  deps: LaunchDeps,
  { run, dataset, source }: Pick<JobSources, 'run' | 'dataset' | 'source'>,
  { region }: OtherRegion,
): Promise<void> {
  const { pipeline, runId } = run;
  await copyInputsToRegion({ pipeline, runId, home: deps.store, region, isOutOfTime: outOfTime(deps) }, [
    ...dataset.shards.map(({ shardsPrefix }) => shardsPrefix),
    ...(source === undefined ? [] : [bucketKeys.packedSource(pipeline, source)]),
  ]);
}

interface JobSources extends Pick<JobInput, 'channelLists' | 'model' | 'currentModel' | 'agentPrefix'> {
  readonly run: RunRecord;
  readonly declaration: Pipeline;
  readonly attempt: AttemptRecord;
  readonly dataset: Dataset;
  readonly source: string | undefined;
  readonly isEvaluation: boolean;
  readonly otherRegion: OtherRegion | undefined;
}

/** Remedies that the launcher refuses, such as shards beyond the disk, are left out. */
async function prepareJob(
  deps: LaunchDeps,
  sources: JobSources,
): Promise<{ readonly prepared: PreparedJob; readonly applied: readonly Change[] }> {
  const { declaration, attempt } = sources;
  const { applied = [] } = attempt;
  const remedied = await prepareAs(deps, sources, withRemedies(declaration, applied));
  if (remedied.kind !== 'problems') return { prepared: advised(remedied, applied), applied };
  const built = applied.length === 0 ? remedied : await prepareAs(deps, sources, declaration);
  if (built.kind !== 'problems') return { prepared: built, applied: [] };
  throw new LaunchRefusedError(`${attempt.jobName} cannot be launched: ${problemsText(built.problems)}`);
}

/** What the doctor changed is not what the pipeline declares. */
const advised = (prepared: PreparedJob, applied: readonly Change[]): PreparedJob =>
  applied.some((change) => change.kind === 'input-mode' && change.inputMode === prepared.inputMode)
    ? { ...prepared, inputReason: `${prepared.inputMode}: as the doctor advised` }
    : prepared;

async function prepareAs(
  deps: LaunchDeps,
  { run: { runId }, attempt, dataset, source, otherRegion, ...given }: JobSources,
  declaration: Pipeline,
): Promise<ReturnType<Starters[keyof Starters]['prepare']>> {
  const earlier = (await deps.attempts.list(runId)).filter((each) => each.attempt < attempt.attempt);
  const { placement } = attempt;
  return portOf(deps.starters, attempt).prepare({
    ...given,
    runId,
    attempt: attempt.attempt,
    declaration: withHelpers(
      otherRegion === undefined ? declaration : declaredIn(declaration, otherRegion.region.name),
      placement,
    ),
    placement,
    bucket: otherRegion?.region.store.bucket ?? deps.store.bucket,
    ...(otherRegion !== undefined && { dataBucket: deps.store.bucket, dataRegion: deps.region }),
    region: otherRegion?.region.name ?? deps.region,
    sourceDigest: source,
    generations: dataset.shards,
    checkpointSeconds: intervalOf(attempt, earlier),
    hardware: await hardwareOf(deps, attempt),
  });
}

/** What EC2 had answered when the attempt was placed; undefined where the table has lost the decision. */
async function hardwareOf(
  { placements }: LaunchDeps,
  { runId, attempt }: AttemptRecord,
): Promise<FactsOf | undefined> {
  const stored = await placements.get(runId, attempt);
  try {
    return stored && factsWith(storedQuestion(stored.decision).hardware);
  } catch (error) {
    return noneIfUnreadable(error);
  }
}

/** Adds the instance groups that placement chose. */
const withHelpers = (declaration: Pipeline, { topology: { helpers } }: Placement): Pipeline =>
  helpers === undefined
    ? declaration
    : { ...declaration, compute: { ...declaration.compute, helpers: [...helpers] } };

/** Replaces the VPC, because a subnet belongs to one region. */
function declaredIn(declaration: Pipeline, region: string): Pipeline {
  const { vpc: _home, ...compute } = declaration.compute;
  const vpc = compute.regions?.find(({ name }) => name === region)?.vpc;
  return { ...declaration, compute: { ...compute, ...(vpc === undefined ? {} : { vpc }) } };
}
