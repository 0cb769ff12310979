/**
 * Diagnoses an attempt by what the agent has measured: on its record, and each change of the first verdict on the
 * timeline and the event bus.
 */
import { diagnose } from '../../doctor/diagnose.ts';
import { speedOf } from '../../doctor/speed.ts';
import type { Verdict } from '../../doctor/verdict.ts';
import { startUpOf } from '../../launch/job/job-state.ts';
import type { TrainingJobDescription } from '../../launch/job/training-service.ts';
import type { Diagnosis } from '../../runs/diagnosis.ts';
import type { AttemptRecord } from '../../runs/run-records.ts';
import type { Stores } from '../../runs/stores.ts';
import type { WatchDeps } from '../watch/training-since.ts';
import { evidenceOfAttempt } from './attempt-evidence.ts';

export type DoctorDeps = WatchDeps & Pick<Stores, 'runs'>;

/** Steps before this are warm-up: kernels are tuned, caches are filled. */
const FIRST_VERDICT_SECONDS = 120;

/**
 * Safe to repeat: the same measurements give the same verdicts, and a verdict that stands is announced once.
 * @param job a fresh description; without it the attempt has ended, and whatever was measured has to do
 */
export async function watchDoctor(
  deps: DoctorDeps,
  attempt: AttemptRecord,
  job?: TrainingJobDescription,
): Promise<AttemptRecord> {
  // Measurements of another region are copied home when the attempt ends.
  if (job !== undefined && attempt.placement.pool.region !== undefined) return attempt;
  const run = await deps.runs.get(attempt.runId);
  if (run === undefined) return attempt;
  const evidence = await evidenceOfAttempt(deps.store, {
    run,
    attempt,
    startUp: job === undefined ? attempt.outcome?.startUp : startUpOf(job),
    leastSeconds: job === undefined ? 0 : FIRST_VERDICT_SECONDS,
  });
  if (evidence === undefined) return attempt;
  const at = deps.clock.now().toISOString();
  const diagnosis: Diagnosis = { at, speed: speedOf(evidence), verdicts: diagnose(evidence) };
  const [first] = diagnosis.verdicts;
  if (first !== undefined) await announce(deps, attempt, first);
  return deps.attempts.update(attempt.runId, attempt.attempt, { diagnosis, updatedAt: at });
}

/** The notice precedes its entry: after a crash between the two it comes again. */
async function announce(deps: DoctorDeps, attempt: AttemptRecord, verdict: Verdict): Promise<void> {
  const { runId, pipeline, jobName, attempt: number } = attempt;
  const prefix = `doctor-${number}-`;
  const earlier = (await deps.timeline.list(runId)).filter(({ id }) => id.startsWith(prefix));
  if (earlier.at(-1)?.id.endsWith(`-${verdict.cause}`) === true) return;
  const { cause, evidence, remedy, gain, unknown } = verdict;
  await deps.notifier.notify(
    { runId, pipeline },
    {
      type: 'DoctorVerdict',
      attempt: number,
      jobName,
      cause,
      evidence,
      remedy: remedy?.text,
      gainSeconds: gain.seconds,
      gainUsd: gain.dollars,
      unknown,
    },
  );
  await deps.timeline.add(runId, {
    id: `${prefix}${earlier.length + 1}-${cause}`,
    at: deps.clock.now().toISOString(),
    kind: 'DoctorVerdict',
    text: `attempt ${number}: ${sentence(verdict)}`,
  });
}

function sentence({ cause, remedy, gain: { seconds, dollars } }: Verdict): string {
  if (remedy === undefined) return `${cause}: no change that is known would save 5 % of the job`;
  const within = ({ low, high }: { readonly low: number; readonly high: number }, digits: number): string =>
    `${low.toFixed(digits)} to ${high.toFixed(digits)}`;
  return `${cause}. Change (${remedy.where}): ${remedy.text}. It would save ${within(seconds, 0)} s and $${within(dollars, 2)} over the job; npx tidewheel doctor shows the evidence`;
}
