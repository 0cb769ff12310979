/** The Launch state: start the attempt's job, on SageMaker or on EC2, or find it started, and leave the waiting to the task token. */
import { type Dataset, datasetOf } from './dataset.ts';
import { LaunchRefusedError, RunNotFoundError, TransientError } from './errors.ts';
import { intervalOf } from './launch/checkpoint-interval.ts';
import { jobNameOf, jobSaltOf } from './launch/job-name.ts';
import { type AttemptRequest, buildAttempt } from './launch/launcher.ts';
import type { CreateOutcome } from './launch/port.ts';
import { priced } from './launch/prices.ts';
import { type ObserveDeps, observeAttempt } from './observe-attempt.ts';
import type { ObjectStore } from './ports.ts';
import { readProgress } from './progress.ts';
import type { AttemptRecord, Placement, RunRecord } from './records.ts';

export interface LaunchDeps extends ObserveDeps {
  readonly store: ObjectStore;
  readonly region: string;
  readonly trainingRoleArn: string;
  /** The instance profile of hosts on EC2, where a pipeline names none of its own. */
  readonly hostProfileArn?: string | undefined;
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
    placement: priced(await placementOf(deps, runId, number), run.declaration?.compute, deps.region),
    ...(run.declaration?.compute.launcher === 'ec2' && { launcher: 'ec2' }),
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
  const dataset = await datasetOf(deps.store, run);
  const request = await requestOf(deps, run, attempt, dataset);
  for (const { key, text } of request.objects) await deps.store.writeText(key, text);
  const updatedAt = deps.clock.now().toISOString();
  await deps.runs.updateRun(run.runId, { status: 'training', generations: dataset.generations, updatedAt });
  const created = await deps.launcher.start(request);
  await settleCreation(deps, { attempt, created, inputReason: request.inputReason });
}

async function requestOf(
  deps: LaunchDeps,
  run: RunRecord,
  attempt: AttemptRecord,
  dataset: Dataset,
): Promise<AttemptRequest> {
  const { runId, declaration } = run;
  if (declaration === undefined) throw new RunNotFoundError(runId);
  const earlier = (await deps.runs.listAttempts(runId)).filter((each) => each.attempt < attempt.attempt);
  const built = buildAttempt({
    runId,
    attempt: attempt.attempt,
    declaration,
    placement: attempt.placement,
    bucket: deps.store.bucket,
    region: deps.region,
    roleArn: deps.trainingRoleArn,
    hostProfileArn: deps.hostProfileArn,
    agentPrefix: await deps.publishAgent(),
    generations: dataset.shards,
    checkpointSeconds: intervalOf(attempt, earlier),
  });
  if (built.kind !== 'problems') return built;
  const all = built.problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new LaunchRefusedError(`the job of ${attempt.jobName} cannot be made: ${all}`);
}

interface Creation {
  readonly attempt: AttemptRecord;
  readonly created: CreateOutcome;
  readonly inputReason: string;
}

async function settleCreation(deps: LaunchDeps, creation: Creation): Promise<void> {
  const { attempt, created } = creation;
  switch (created.kind) {
    case 'created':
      return announce(deps, creation);
    case 'alreadyExists':
      // This very attempt, created before a crash: nobody may have been told, and it may have ended since.
      await announce(deps, creation);
      await observeAttempt(deps, attempt);
      return;
    case 'quota':
    case 'capacity':
      return refuse(deps, attempt, created.message);
    case 'invalid':
    case 'denied':
      throw new LaunchRefusedError(
        `${serviceOf(attempt)} does not take ${attempt.jobName}: ${created.message}`,
      );
    case 'throttled':
      throw new TransientError(
        `${serviceOf(attempt)} cannot take ${attempt.jobName} now: ${created.message}`,
      );
  }
}

const serviceOf = ({ launcher }: AttemptRecord): string => (launcher === 'ec2' ? 'EC2' : 'SageMaker');

async function announce(deps: LaunchDeps, { attempt, inputReason }: Creation): Promise<void> {
  const { runId, pipeline, jobName, placement } = attempt;
  const { pool, topology } = placement;
  await deps.runs.addTimeline(runId, {
    id: `started-${attempt.attempt}`,
    at: deps.clock.now().toISOString(),
    kind: 'AttemptStarted',
    text: `attempt ${attempt.attempt}: ${topology.nodes} x ${pool.instanceType} ${pool.market}${pool.zoneId ? ` in ${pool.zoneId}` : ''} on ${serviceOf(attempt)} (${jobName}); shards: ${inputReason}`,
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
