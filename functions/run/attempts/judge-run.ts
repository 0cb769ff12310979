/** The Judge state: decides what a run does next. A new execution of the run starts here, too. */

import { parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import { RunNotFoundError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import {
  batchOf,
  isReleased,
  newestVersion,
  objectVersions,
  reportedHeld,
  type VersionStore,
} from '@tidewheel/packing/dataset.ts';
import { type AttemptOutcome, type PlatformFault } from '@tidewheel/placement/records.ts';
import { jobOf, portOf } from '../../launch/launcher.ts';
import { copyResultsBack, homeUri, type RegionBucket } from '../../launch/regions/region-copy.ts';
import { tellAutomatic } from '../../records/automatic.ts';
import { advanced, readProgress } from '../../records/progress.ts';
import { restoreAttempts } from '../../records/record-copies.ts';
import type { AttemptRecord, Resume, RunRecord, StopRequest } from '../../records/run-records.ts';
import { modelBeforeEvaluation } from '../models/evaluation.ts';
import type { AloneDeps } from './evaluate-alone.ts';
import { type AttemptObservation, type ObserveDeps, observeAttempt } from './observe-attempt.ts';
import { attemptTimeoutSeconds } from './stop-rules.ts';
import { stopScoring, trainingNeedOf } from './train-when.ts';
import { remedyFor, startedOver, watchResume } from './watch-resume.ts';

export type NextStep =
  | { readonly kind: 'place'; readonly reason: string }
  | { readonly kind: 'relaunch'; readonly attempt: number; readonly timeoutSeconds: number }
  | { readonly kind: 'wait'; readonly seconds: number; readonly reason: string }
  | { readonly kind: 'nextExecution'; readonly reason: string }
  | { readonly kind: 'done' | 'failed' | 'stopped' | 'empty' | 'notNeeded'; readonly reason: string };

export interface JudgeDeps extends ObserveDeps, Pick<AloneDeps, 'models' | 'executions'> {
  readonly store: ObjectStore;
  /** Another region by its name. */
  readonly regionOf?: ((name: string) => RegionBucket) | undefined;
}

export interface JudgeInput {
  readonly runId: string;
  /** Whether the attempt's time ran out before its end was reported. */
  readonly timedOut?: boolean | undefined;
}

/** One attempt adds about 30 events to the history, and Step Functions ends an execution at 25,000. */
const ATTEMPTS_PER_EXECUTION = 300;
const STOP_PAUSE_SECONDS = 15;

export async function judgeRun(deps: JudgeDeps, input: JudgeInput): Promise<NextStep> {
  const run = await deps.runs.get(input.runId);
  if (run === undefined) throw new RunNotFoundError(input.runId);
  const attempts = await restoreAttempts(deps, run);
  // What a person has tried again is not judged again.
  const since = run.retry?.attempts ?? 0;
  const last = attempts.slice(since).at(-1);
  if (last === undefined) return firstPlacement(deps, run);
  await observeEarlier(deps, attempts);
  let ended = last;
  if (last.outcome === undefined) {
    const seen = await observeAttempt(deps, last);
    if (seen.kind !== 'ended') return openAttempt(deps, last, { ...input, stop: run.stop, seen });
    ended = seen.attempt;
  }
  ended = await withProgress(deps, await withModel(deps, run, ended));
  const judged = judge([...attempts.slice(since, -1), ended]);
  if (run.stop !== undefined && isStoppable(judged, ended)) return stopped(run.stop);
  if (judged.kind !== 'again') return { kind: judged.kind, reason: judged.reason };
  if (attempts.length >= ATTEMPTS_PER_EXECUTION * run.execution) {
    const reason = `${attempts.length} attempts: the run continues in its next execution`;
    return { kind: 'nextExecution', reason };
  }
  await setStatus(deps, run, 'placing');
  return { kind: 'place', reason: judged.reason };
}

/** A run whose training completed, or whose script failed, ends with that. */
const isStoppable = ({ kind }: Judgement, last: AttemptRecord): boolean =>
  kind !== 'done' && last.outcome?.kind !== 'userError';

const stopped = ({ requestedBy }: StopRequest): NextStep => ({
  kind: 'stopped',
  reason: `stopped by ${requestedBy}`,
});

/** The launch function may still create the job of an attempt on record, until its timeout of 15 minutes. */
const LAUNCH_SECONDS = 960;

/** A look at the job has stopped it, or the launch that sees the stop ends the attempt. */
function stoppingAttempt(
  { clock }: JudgeDeps,
  stop: StopRequest,
  { attempt, seen }: { readonly attempt: AttemptRecord; readonly seen: AttemptObservation },
): NextStep {
  const ageSeconds = (clock.now().getTime() - Date.parse(attempt.updatedAt)) / 1_000;
  if (seen.kind === 'absent' && ageSeconds > LAUNCH_SECONDS) return stopped(stop);
  return { kind: 'wait', seconds: STOP_PAUSE_SECONDS, reason: `${attempt.jobName} is being stopped` };
}

/** Only restored attempts before the last one are open: their jobs have ended, and their costs count. */
async function observeEarlier(deps: JudgeDeps, attempts: AttemptRecord[]): Promise<void> {
  for (const [index, attempt] of attempts.slice(0, -1).entries()) {
    if (attempt.outcome !== undefined) continue;
    const seen = await observeAttempt(deps, attempt);
    if (seen.kind === 'ended') attempts[index] = seen.attempt;
  }
}

async function firstPlacement(deps: JudgeDeps, run: RunRecord): Promise<NextStep> {
  if (run.stop !== undefined) {
    if (run.declaration?.training.when !== undefined) await stopScoring(deps, run);
    return stopped(run.stop);
  }
  const held = await whyHeld(deps.store, run);
  if (held !== undefined) return { kind: 'failed', reason: held };
  await setStatus(deps, run, 'placing');
  const need = await trainingNeedOf(deps, run);
  if (need === undefined) return { kind: 'place', reason: 'first attempt' };
  if ('wait' in need) return { kind: 'wait', seconds: need.wait, reason: need.reason };
  return { kind: need.isNeeded ? 'place' : 'notNeeded', reason: need.reason };
}

async function setStatus(deps: JudgeDeps, run: RunRecord, status: RunRecord['status']): Promise<void> {
  if (run.status === status) return;
  await deps.runs.update(run.runId, { status, updatedAt: deps.clock.now().toISOString() });
}

interface OpenAttempt extends Pick<JudgeInput, 'timedOut'> {
  readonly stop: StopRequest | undefined;
  readonly seen: AttemptObservation;
}

/** The attempt has no recorded end: an earlier execution left it, or its end was not reported in time. */
async function openAttempt(
  deps: JudgeDeps,
  last: AttemptRecord,
  { timedOut, stop, seen }: OpenAttempt,
): Promise<NextStep> {
  if (stop !== undefined) return stoppingAttempt(deps, stop, { attempt: last, seen });
  const relaunch: NextStep = {
    kind: 'relaunch',
    attempt: last.attempt,
    timeoutSeconds: attemptTimeoutSeconds(last.placement),
  };
  if (timedOut !== true) return relaunch;
  // The recall is recorded before the stop, so that the end does not look like a stop by a user.
  const updatedAt = deps.clock.now().toISOString();
  await deps.attempts.update(last.runId, last.attempt, {
    recall: last.recall ?? { at: updatedAt, cause: 'time', why: 'ran out of its time' },
    updatedAt,
  });
  if ((await portOf(deps.launchers, last).stop(jobOf(last))) === 'notFound') return relaunch;
  const reason = `${last.jobName} ran out of time and is being stopped`;
  return { kind: 'wait', seconds: STOP_PAUSE_SECONDS, reason };
}

/** Records the model of an attempt that was lost after its training. */
async function withModel(deps: JudgeDeps, run: RunRecord, last: AttemptRecord): Promise<AttemptRecord> {
  const modelUri = await modelBeforeEvaluation(deps.store, run, last);
  if (last.outcome === undefined || modelUri === undefined) return last;
  const updatedAt = deps.clock.now().toISOString();
  return deps.attempts.update(run.runId, last.attempt, { outcome: { ...last.outcome, modelUri }, updatedAt });
}

/** Records the progress that the bucket proves after the end of the job. */
async function withProgress(deps: JudgeDeps, ended: AttemptRecord): Promise<AttemptRecord> {
  if (ended.progressAfter !== undefined) return ended;
  const last = await watchResume(deps, await withResultsCopiedBack(deps, ended));
  await tellAutomatic(deps, last);
  const progressAfter = await readProgress(deps.store, last.pipeline, last.runId);
  if (progressAfter === undefined) return last;
  const updatedAt = deps.clock.now().toISOString();
  return deps.attempts.update(last.runId, last.attempt, { progressAfter, updatedAt });
}

/** The function's timeout is two minutes. Copies that take longer continue in the next try. */
const COPY_MILLISECONDS = 90_000;

/** The judgement reads progress in the data bucket, so the results of another region are copied there first. */
async function withResultsCopiedBack(deps: JudgeDeps, last: AttemptRecord): Promise<AttemptRecord> {
  const { region } = last.placement.pool;
  if (last.outcome === undefined || region === undefined || deps.regionOf === undefined) return last;
  const end = deps.clock.now().getTime() + COPY_MILLISECONDS;
  const copy = {
    pipeline: last.pipeline,
    runId: last.runId,
    home: deps.store,
    region: deps.regionOf(region),
    isOutOfTime: () => deps.clock.now().getTime() > end,
  };
  await copyResultsBack(copy);
  const { modelUri } = last.outcome;
  if (modelUri === undefined) return last;
  const outcome = { ...last.outcome, modelUri: homeUri(modelUri, copy) };
  const updatedAt = deps.clock.now().toISOString();
  return deps.attempts.update(last.runId, last.attempt, { outcome, updatedAt });
}

/**
 * A report that could not be made holds training too: otherwise its failure would pass for good data. A pinned version
 * was chosen by a person.
 * @returns what holds the run back and which command lets it go; undefined if nothing does
 */
async function whyHeld(store: ObjectStore, run: RunRecord): Promise<string | undefined> {
  const { pipeline, declaration } = run;
  if (declaration === undefined || declaration.dataset?.pin !== undefined) return undefined;
  const versions = objectVersions(store);
  const generation = run.generation ?? (await lastSealed(versions, pipeline));
  if (generation === undefined || (await isReleased(versions, pipeline, generation))) return undefined;
  const held = await reportedHeld(versions, pipeline, generation);
  // Where no limit is declared, a report that could not be made holds nothing.
  if (held?.length === 0 || (held === undefined && declaration.packing.hold === undefined)) return undefined;
  const command = (verb: string): string =>
    `tidewheel data ${verb} s3://${store.bucket}/${pipeline} ${generation}`;
  const then = `then retry ${run.runId}`;
  return held === undefined
    ? `packing.hold cannot be checked, because ${generation} has no quality report: run ${command('report')}, ${then}`
    : `held back by packing.hold: ${held.join('; ')}. Look at ${generation}, then let it go with ${command('release')}, ${then}`;
}

/** The newest generation that a run packed and that a version holds, alone or joined with others. */
async function lastSealed(versions: VersionStore, pipeline: string): Promise<string | undefined> {
  const newest = await newestVersion(versions, pipeline);
  return Object.keys(newest?.added ?? {})
    .filter((name) => parseGeneration(name)?.isCompacted === false)
    .sort((a, b) => batchOf(a) - batchOf(b))
    .at(-1);
}

/** Judges an ended attempt by its progress, not its time: the run is done, tries again, or has failed for good. */
interface Judgement {
  readonly kind: 'done' | 'again' | 'failed';
  readonly reason: string;
}

/** If so many started attempts in a row prove no new work, saving or reading checkpoints does not work. */
const FRUITLESS_ATTEMPTS = 3;

/** @param attempts of a run, oldest first; the last one has an outcome and is judged */
function judge(attempts: readonly AttemptRecord[]): Judgement {
  const last = attempts.at(-1);
  const outcome = last?.outcome;
  if (last === undefined || outcome === undefined)
    return { kind: 'failed', reason: 'the attempt left no outcome' };
  return lostInEvaluation(outcome) ?? judgeEnd(last, outcome, attempts);
}

/** Its model is whole, however the attempt ended. */
const lostInEvaluation = ({ kind, modelUri, message }: AttemptOutcome): Judgement | undefined =>
  kind === 'completed' || modelUri === undefined
    ? undefined
    : { kind: 'done', reason: `training completed; then its evaluation was lost: ${message}` };

function judgeEnd(
  last: AttemptRecord,
  outcome: AttemptOutcome,
  attempts: readonly AttemptRecord[],
): Judgement {
  switch (outcome.kind) {
    case 'completed':
      return { kind: 'done', reason: 'training completed' };
    case 'userError':
      return { kind: 'failed', reason: `the training script failed: ${outcome.message}` };
    case 'stopped':
      return {
        kind: 'failed',
        reason: 'the training job was stopped from outside Tidewheel: start a new run to train again',
      };
    case 'timeLimit':
      return atTimeLimit(last, attempts.at(-2));
    case 'interrupted':
    case 'capacity':
    case 'serviceError':
    case 'recalled':
      return againUnlessFruitless(attempts, describeLoss(outcome));
  }
}

/**
 * Work that later attempts can build on. A script that began again has left behind what was saved before it. Where no
 * checkpoint proves it, two witnesses show that the attempt before had saved something: positions that go on further,
 * and files that have grown and are read again.
 */
const isFruitful = (attempt: AttemptRecord, previous: AttemptRecord | undefined): boolean =>
  (advanced(attempt.progressBefore, attempt.progressAfter) && !startedOver(attempt)) ||
  wentFurther(attempt.resume, previous?.resume);

function wentFurther(resume: Resume | undefined, earlier: Resume | undefined): boolean {
  if (resume === undefined || resume.verdict?.kind === 'beganAgain') return false;
  const { verdict, read = [] } = resume;
  const isFurther =
    verdict !== undefined && verdict.position > (earlier?.verdict?.position ?? Number.NEGATIVE_INFINITY);
  const before = new Map(earlier?.read?.map(({ name, bytes }) => [name, bytes]));
  return isFurther || read.some(({ name, bytes }) => bytes > (before.get(name) ?? 0));
}

const atTimeLimit = (last: AttemptRecord, previous: AttemptRecord | undefined): Judgement =>
  isFruitful(last, previous)
    ? { kind: 'again', reason: 'the attempt reached its time limit with progress saved' }
    : {
        kind: 'failed',
        reason:
          'the attempt reached its time limit and no checkpoint proves new work: raise limits.maximumRunSeconds or save more often',
      };

/** Fails the run when the same platform keeps failing: further attempts would only cost more. */
function failedPlatform(attempts: readonly AttemptRecord[]): Judgement | undefined {
  // A capacity error reached no host.
  const outcomes = attempts.flatMap(({ outcome }) =>
    outcome === undefined || outcome.kind === 'capacity' ? [] : [outcome],
  );
  const last = outcomes.at(-1);
  if (last?.fault === undefined) return undefined;
  const limit = MOST_FAULTS[last.fault];
  const recent = outcomes.slice(-limit);
  const isEnough = recent.every(({ fault }) => (limit < 3 ? fault === last.fault : fault !== undefined));
  if (recent.length < limit || !isEnough) return undefined;
  const which = limit === 1 ? 'the attempt' : `${limit} attempts in a row`;
  return { kind: 'failed', reason: `${which} ${REMEDIES[last.fault]}; ${last.message}` };
}

/** So many in a row end the run. What happens in two pools happens in all; some faults pass more often. */
const MOST_FAULTS: Readonly<Record<PlatformFault, 1 | 2 | 3>> = {
  silent: 2,
  storage: 3,
  disk: 3,
  memory: 1,
  packages: 3,
  image: 2,
  network: 2,
  hardware: 3,
  refused: 2,
};

/** Completes "2 attempts in a row ...". */
const REMEDIES: Readonly<Record<PlatformFault, string>> = {
  silent:
    'had hosts that wrote no report: check that the subnets reach S3 (a NAT gateway or a VPC endpoint), that compute.ec2.image has the AWS CLI, and that compute.ec2.python names its Python',
  storage:
    'could not use the bucket: check the route to S3 (a NAT gateway or a VPC endpoint), the endpoint’s policy, the policy of the pipeline’s role or instance profile, and the bucket’s own',
  disk: 'ran out of disk, although the volume was raised once where one can be: raise compute.volumeGigabytes, or choose types with more local NVMe',
  memory:
    'ran out of memory: choose instance types with more of it, or lower the batch size or the number of data-loading workers',
  packages:
    'could not install requirements.txt: check that the subnets reach the package index, or name one that they reach (training.packageIndex)',
  image:
    'could not fetch the image: check that training.image or compute.ec2.image is there in this region, that the pipeline’s role may pull it, and that the subnets reach its registry',
  network:
    'could not mount a file system: check that it is in the VPC of compute.vpc, and that its security group lets the hosts in',
  hardware:
    'met broken hosts, by what their GPUs, network or EC2 said: choose other instance types; if they say the same, look at the script and its image',
  refused:
    'met an answer of AWS that Tidewheel does not know: its words tell what to change, then start a new run',
};

function againUnlessFruitless(attempts: readonly AttemptRecord[], reason: string): Judgement {
  const failed = failedPlatform(attempts);
  if (failed !== undefined) return failed;
  const started = attempts.filter((attempt) => (attempt.outcome?.trainingSeconds ?? 0) > 0);
  const recent = started.slice(-FRUITLESS_ATTEMPTS);
  const fruitless =
    recent.length === FRUITLESS_ATTEMPTS &&
    recent.every((attempt) => !isFruitful(attempt, started[started.indexOf(attempt) - 1]));
  if (!fruitless) return { kind: 'again', reason };
  const unread = recent.findLast(startedOver)?.resume?.checkpoint;
  if (unread !== undefined)
    return {
      kind: 'failed',
      reason: `${FRUITLESS_ATTEMPTS} attempts in a row made no lasting progress, because the script begins again although ${unread.name} is there: ${remedyFor(unread)}`,
    };
  return {
    kind: 'failed',
    reason: `${FRUITLESS_ATTEMPTS} attempts in a row trained without a new complete checkpoint: check that the script saves to TIDEWHEEL_CHECKPOINT_DIR and reads it back`,
  };
}

function describeLoss(outcome: AttemptOutcome): string {
  switch (outcome.kind) {
    case 'capacity':
      return 'no capacity was found in time';
    case 'interrupted':
      return 'AWS reclaimed the capacity';
    case 'recalled':
      return outcome.message;
    case 'serviceError':
    case 'completed':
    case 'stopped':
    case 'timeLimit':
    case 'userError':
      return `the service failed: ${outcome.message}`;
  }
}
