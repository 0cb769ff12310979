/** The Launch state: start the attempt's training job, or find it started, and leave the waiting to the task token. */
import { datasetOf } from './dataset.ts';
import { LaunchRefusedError, RunNotFoundError, TransientError } from './errors.ts';
import { jobNameOf, jobSaltOf } from './launch/job-name.ts';
import type { CreateOutcome } from './launch/port.ts';
import { buildTrainingJob } from './launch/training-job.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';
import type { ObjectStore } from './ports.ts';
import { readProgress } from './progress.ts';
import type { AttemptRecord, Placement, RunRecord } from './records.ts';

export interface LaunchDeps extends ObserveDeps {
  readonly store: ObjectStore;
  readonly region: string;
  readonly trainingRoleArn: string;
  /** Puts the agent's files into the bucket if they are not there; answers their key prefix. */
  readonly publishAgent: () => Promise<string>;
}

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
  const run = await deps.runs.getRun(input.runId);
  if (run?.declaration === undefined) throw new RunNotFoundError(input.runId);
  const attempt = await recordAttempt(deps, run, input);
  if (attempt.outcome === undefined) await startJob(deps, run, attempt);
  else await observeAttempt(deps, attempt);
  return { jobName: attempt.jobName };
}

async function recordAttempt(deps: LaunchDeps, run: RunRecord, input: LaunchInput): Promise<AttemptRecord> {
  const { runId, attempt: number, taskToken } = input;
  const updatedAt = deps.clock.now().toISOString();
  const known = await deps.runs.getAttempt(runId, number);
  if (known !== undefined) return deps.runs.updateAttempt(runId, number, { taskToken, updatedAt });
  const fresh: AttemptRecord = {
    runId,
    pipeline: run.pipeline,
    attempt: number,
    jobName: jobNameOf(runId, number, jobSaltOf(deps.store.bucket)),
    placement: await placementOf(deps, runId, number),
    status: 'starting',
    taskToken,
    createdAt: updatedAt,
    updatedAt,
    progressBefore: await readProgress(deps.store, run.pipeline, runId),
  };
  if ((await deps.runs.createAttempt(fresh)) === 'created') return fresh;
  return deps.runs.updateAttempt(runId, number, { taskToken, updatedAt });
}

async function placementOf(deps: LaunchDeps, runId: string, attempt: number): Promise<Placement> {
  const stored = (await deps.runs.listPlacements(runId)).find((placement) => placement.attempt === attempt);
  if (stored?.decision.kind === 'launch') return stored.decision.placement;
  throw new LaunchRefusedError(`attempt ${attempt} of ${runId} has no placement to launch`);
}

async function startJob(deps: LaunchDeps, run: RunRecord, attempt: AttemptRecord): Promise<void> {
  const declaration = run.declaration;
  if (declaration === undefined) throw new RunNotFoundError(run.runId);
  const dataset = await datasetOf(deps.store, run);
  const job = buildTrainingJob({
    runId: run.runId,
    attempt: attempt.attempt,
    declaration,
    placement: attempt.placement,
    bucket: deps.store.bucket,
    region: deps.region,
    roleArn: deps.trainingRoleArn,
    agentPrefix: await deps.publishAgent(),
    generations: dataset.shards,
  });
  if (job.kind === 'problems') {
    const all = job.problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new LaunchRefusedError(`the training job of ${run.runId} cannot be made: ${all}`);
  }
  for (const { key, text } of job.objects) await deps.store.writeText(key, text);
  const updatedAt = deps.clock.now().toISOString();
  await deps.runs.updateRun(run.runId, { status: 'training', generations: dataset.generations, updatedAt });
  await settleCreation(deps, attempt, await deps.training.create(job.request));
}

async function settleCreation(
  deps: LaunchDeps,
  attempt: AttemptRecord,
  created: CreateOutcome,
): Promise<void> {
  switch (created.kind) {
    case 'created':
      return announce(deps, attempt);
    case 'alreadyExists':
      // This very attempt, created before a crash: nobody may have been told, and it may have ended since.
      await announce(deps, attempt);
      await observeAttempt(deps, attempt);
      return;
    case 'quota':
    case 'capacity':
      return refuse(deps, attempt, created.message);
    case 'invalid':
    case 'denied':
      throw new LaunchRefusedError(`SageMaker does not take ${attempt.jobName}: ${created.message}`);
    case 'throttled':
      throw new TransientError(`SageMaker cannot take ${attempt.jobName} now: ${created.message}`);
  }
}

async function announce(deps: LaunchDeps, attempt: AttemptRecord): Promise<void> {
  const { runId, pipeline, jobName, placement } = attempt;
  const { pool, topology } = placement;
  await deps.runs.addTimeline(runId, {
    id: `started-${attempt.attempt}`,
    at: deps.clock.now().toISOString(),
    kind: 'AttemptStarted',
    text: `attempt ${attempt.attempt}: ${topology.nodes} x ${pool.instanceType} ${pool.market}${pool.zoneId ? ` in ${pool.zoneId}` : ''} (${jobName})`,
  });
  await deps.notifier.notify(
    { runId, pipeline },
    { type: 'AttemptStarted', attempt: attempt.attempt, jobName, ...pool },
  );
}

/** Refused at the door: an attempt that cost nothing, so that placement sees the refusal and looks elsewhere. */
async function refuse(deps: LaunchDeps, attempt: AttemptRecord, message: string): Promise<void> {
  const ended = await deps.runs.updateAttempt(attempt.runId, attempt.attempt, {
    status: 'interrupted',
    outcome: { kind: 'capacity', message, trainingSeconds: 0, billableSeconds: 0, interruptions: 0 },
    updatedAt: deps.clock.now().toISOString(),
  });
  await observeAttempt(deps, ended);
}
