/**
 * Handles the outcome of a job's creation. A created job is announced. An error that another pool may not have ends the
 * attempt. Any other error is thrown, and its class decides whether the state machine retries.
 */

import { datasetSizeOf } from '@tidewheel/catalog/data-on-hosts.ts';
import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import { type Change, remedyOf } from '@tidewheel/doctor/verdict.ts';
import { LaunchRefusedError, TransientError } from '@tidewheel/kit/errors.ts';
import { namedPools, type Placement } from '@tidewheel/placement/records.ts';
import type { CreateOutcome } from '../../launch/job/training-service.ts';
import { jobOf, type PreparedJob, portOf } from '../../launch/launcher.ts';
import type { Dataset } from '../../records/run-dataset.ts';
import type { AttemptRecord } from '../../records/run-records.ts';
import { endWithoutJob, type ObserveDeps, observeAttempt } from './observe-attempt.ts';

interface Creation {
  readonly attempt: AttemptRecord;
  readonly created: CreateOutcome;
  readonly dataset: Dataset;
  /** The doctor's remedies in it. */
  readonly applied: readonly Change[];
  readonly prepared: Pick<PreparedJob, 'inputMode' | 'inputReason' | 'log'>;
}

/** @throws LaunchRefusedError when no retry can succeed, TransientError when a retry may */
export async function recordCreateOutcome(deps: ObserveDeps, requested: Creation): Promise<void> {
  const { created } = requested;
  const attempt = await asRequested(deps, requested);
  const creation = { ...requested, attempt };
  switch (created.kind) {
    case 'created':
      return announce(deps, creation);
    case 'alreadyExists':
      return adoptOrLeave(deps, creation);
    case 'quota':
    case 'capacity':
      return endWithoutJob(deps, attempt, {
        kind: 'capacity',
        message: created.message,
        ...(created.kind === 'quota' && { quota: true }),
      });
    case 'unknown':
      return endWithoutJob(deps, attempt, {
        kind: 'serviceError',
        fault: 'refused',
        message: `${serviceOf(attempt)} says: ${created.message}`,
      });
    case 'invalid':
    case 'denied':
      throw new LaunchRefusedError(`${serviceOf(attempt)} rejects ${attempt.jobName}: ${created.message}`);
    case 'throttled':
      return tryAgain(deps, attempt, created.message);
  }
}

const whyAlone = (created: CreateOutcome): string | undefined =>
  'alone' in created ? created.alone : undefined;

/** Its record names what the request named: a later capacity error says nothing of other types. */
async function asRequested(deps: ObserveDeps, { attempt, created }: Creation): Promise<AttemptRecord> {
  if (whyAlone(created) === undefined) return attempt;
  const { alternatives: _refused, ...placement } = attempt.placement;
  const updatedAt = deps.clock.now().toISOString();
  return deps.attempts.update(attempt.runId, attempt.attempt, { placement, updatedAt });
}

/** Most refusals of a busy service pass sooner, and are no news. */
const REPORTED_AFTER_MILLISECONDS = 60_000;

async function tryAgain(deps: ObserveDeps, attempt: AttemptRecord, message: string): Promise<never> {
  const text = `${serviceOf(attempt)} cannot start ${attempt.jobName} now: ${message}`;
  const now = deps.clock.now();
  if (now.getTime() - Date.parse(attempt.createdAt) > REPORTED_AFTER_MILLISECONDS)
    await deps.timeline.add(attempt.runId, {
      id: `delayed-${attempt.attempt}`,
      at: now.toISOString(),
      kind: 'LaunchDelayed',
      text: `attempt ${attempt.attempt}: ${text}; the launch is tried again`,
    });
  throw new TransientError(text);
}

const serviceOf = ({ launcher }: AttemptRecord): string => launcherFacts[launcher].serviceName;

/** The record of an attempt precedes its job, so an older job is not its own. */
const CLOCK_SKEW_MILLISECONDS = 60_000;

/**
 * Usually a crash followed the creation: the job may not be announced, and it may have ended. SageMaker also keeps the
 * names of jobs whose run was removed from bucket and table: the next attempt has the next number.
 */
async function adoptOrLeave(deps: ObserveDeps, creation: Creation): Promise<void> {
  const { attempt } = creation;
  const job = await portOf(deps.launchers, attempt).describe(jobOf(attempt));
  const recordedAt = new Date(attempt.createdAt);
  // A job that is not seen yet would count as running, and its end would never come.
  if (job === undefined)
    return tryAgain(deps, attempt, `it says that ${attempt.jobName} is there, and does not describe it`);
  if (recordedAt.getTime() - job.CreationTime.getTime() > CLOCK_SKEW_MILLISECONDS) {
    const message = `${serviceOf(attempt)} has another ${attempt.jobName} already, of ${job.CreationTime.toISOString()}`;
    return endWithoutJob(deps, attempt, { kind: 'serviceError', message });
  }
  await announce(deps, creation, recordedAt);
  await observeAttempt(deps, attempt);
}

function typesNamed(placement: Placement, created: CreateOutcome): string {
  const types = namedPools(placement).map(({ instanceType }) => instanceType);
  const alone = whyAlone(created);
  return `${types.join(' or ')}${alone === undefined ? '' : ` alone (${alone})`}`;
}

async function announce(
  deps: ObserveDeps,
  { attempt, applied, created, dataset, prepared }: Creation,
  at = deps.clock.now(),
): Promise<void> {
  const { inputMode, inputReason, log } = prepared;
  const { shards, bytes } = datasetSizeOf(dataset.shards);
  const updatedAt = deps.clock.now().toISOString();
  await deps.attempts.update(attempt.runId, attempt.attempt, {
    input: { mode: inputMode, shards, bytes },
    // Of what placement saw on the attempt's record, the launcher may have refused some.
    ...(attempt.applied !== undefined && { applied }),
    ...(log !== undefined && { log }),
    updatedAt,
  });
  const { runId, pipeline, jobName, placement } = attempt;
  const { pool, topology } = placement;
  await deps.timeline.add(runId, {
    id: `started-${attempt.attempt}`,
    at: at.toISOString(),
    kind: 'AttemptStarted',
    text: `attempt ${attempt.attempt}: ${topology.nodes} x ${typesNamed(placement, created)} ${pool.purchaseOption}${pool.zoneId ? ` in ${pool.zoneId}` : ''}${pool.region ? ` (${pool.region})` : ''} on ${serviceOf(attempt)} (${jobName}); data: ${inputReason}${log === undefined ? '' : `; log: ${log.group}, streams ${log.streamPrefix}…`}`,
  });
  const [raised = [], advised = []] = [true, false].map((isRaised) =>
    applied.filter(({ kind }) => (kind === 'volume') === isRaised).map((change) => remedyOf(change).text),
  );
  if (advised.length > 0)
    await deps.timeline.add(runId, {
      id: `applied-${attempt.attempt}`,
      at: at.toISOString(),
      kind: 'DoctorApplied',
      text: `attempt ${attempt.attempt} starts with ${advised.join(', ')}, as the doctor advised (doctor.apply: safe)`,
    });
  if (raised.length > 0)
    await deps.timeline.add(runId, {
      id: `raised-${attempt.attempt}`,
      at: at.toISOString(),
      kind: 'DiskRaised',
      text: `attempt ${attempt.attempt} starts with ${raised.join(', ')}, because a disk was full before: declare it, or save less`,
    });
  await deps.notifier.notify(
    { runId, pipeline },
    { type: 'AttemptStarted', attempt: attempt.attempt, jobName, ...pool, log },
  );
}
