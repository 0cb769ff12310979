/** Judges an ended attempt by its progress, not its time: the run is done, tries again, or has failed for good. */
import type { AttemptOutcome, PlatformFault, Progress } from '@tidewheel/placement/records.ts';
import { remedyFor, startedOver } from '../../records/resume.ts';
import type { AttemptRecord, Resume } from '../../records/run-records.ts';

export type Judgement =
  | { readonly kind: 'done'; readonly reason: string }
  | { readonly kind: 'again'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** If so many started attempts in a row prove no new work, saving or reading checkpoints does not work. */
const FRUITLESS_ATTEMPTS = 3;

const FAULTY_ATTEMPTS = 3;
/** What happens in two pools happens in all. Other faults pass more often. */
const TWICE: ReadonlySet<PlatformFault> = new Set(['silent', 'refused']);

/** The first checkpoint is progress whatever its step: many scripts count their epochs from 0. */
export const advanced = (before: Progress | undefined, after: Progress | undefined): boolean =>
  after !== undefined && (before === undefined || after.step > before.step);

/** @param attempts of a run, oldest first; the last one has an outcome and is judged */
export function judge(attempts: readonly AttemptRecord[]): Judgement {
  const last = attempts.at(-1);
  const outcome = last?.outcome;
  if (last === undefined || outcome === undefined)
    return { kind: 'failed', reason: 'the attempt left no outcome' };
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
 * Work that later attempts can build on. A script that began again has left behind what was saved before it. One whose
 * files are unknown shows by where it goes on that the attempt before it had saved something.
 */
const isFruitful = (attempt: AttemptRecord, previous: AttemptRecord | undefined): boolean =>
  (advanced(attempt.progressBefore, attempt.progressAfter) && !startedOver(attempt)) ||
  wentFurther(attempt.resume, previous?.resume);

const wentFurther = (resume: Resume | undefined, earlier: Resume | undefined): boolean =>
  resume?.verdict?.kind === 'resumed' &&
  resume.checkpoint === undefined &&
  resume.verdict.position > (earlier?.verdict?.position ?? Number.NEGATIVE_INFINITY);

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
  const isTwice = TWICE.has(last.fault);
  const limit = isTwice ? 2 : FAULTY_ATTEMPTS;
  const recent = outcomes.slice(-limit);
  const isEnough = recent.every(({ fault }) => (isTwice ? fault === last.fault : fault !== undefined));
  if (recent.length < limit || !isEnough) return undefined;
  return { kind: 'failed', reason: `${limit} attempts in a row ${REMEDIES[last.fault]}; ${last.message}` };
}

const REMEDIES: Readonly<Record<PlatformFault, string>> = {
  silent:
    'had hosts that wrote no report: check that the subnets reach S3 (a NAT gateway or a VPC endpoint), that compute.ec2.image has the AWS CLI, and that compute.ec2.python names its Python',
  storage:
    'could not use the bucket: check the route to S3 (a NAT gateway or a VPC endpoint), the endpoint’s policy and the policy of the pipeline’s instance profile',
  disk: 'ran out of disk: raise compute.volumeGigabytes, or choose types with more local NVMe',
  packages:
    'could not install requirements.txt: check that the subnets reach the package index, or name one that they reach (training.packageIndex)',
  refused:
    'were not started, and what AWS said is no error that Tidewheel knows: its words tell what to change, then start a new run',
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
