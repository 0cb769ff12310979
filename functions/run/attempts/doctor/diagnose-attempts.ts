/**
 * Diagnoses attempts by what the agent has measured: on the record, and each change of the first verdict on the timeline
 * and the event bus. It has a function of its own, so that no error or delay here touches a run.
 */

import { diagnose, type Evidence } from '@tidewheel/doctor/diagnose.ts';
import { gainText, readingOf, speedOf, type Verdict } from '@tidewheel/doctor/verdict.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { eachItem } from '@tidewheel/kit/each-item.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { tellStart } from '../../../records/evidence-files.ts';
import type { Notifier } from '../../../records/ports.ts';
import type { AttemptRecord, Diagnosis } from '../../../records/run-records.ts';
import type { Stores } from '../../../records/stores.ts';
import { evidenceOfAttempt, runsPerMonth } from './attempt-evidence.ts';

interface DoctorDeps extends Pick<Stores, 'runs' | 'attempts' | 'timeline'> {
  readonly store: ObjectStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
  /** Rejects when an attempt takes too long. Absent: no limit. */
  readonly withinLimit?: ((work: Promise<unknown>) => Promise<unknown>) | undefined;
}

/** Steps before this are warm-up: kernels are tuned, caches are filled. */
const FIRST_VERDICT_SECONDS = 120;

export interface Diagnosed {
  readonly diagnosed: readonly { readonly pipeline: string; readonly diagnosis: Diagnosis }[];
  /** Errors of this pass; the next pass tries again. */
  readonly failures: readonly string[];
}

/** A diagnosis stands this long: its measurements are up to 64 MB. */
const STANDS_SECONDS = 270;
/** A pass ends before the next begins, a minute after it: two at once would announce a verdict twice. */
const PASS_SECONDS = 45;

/** @param runId absent: every open attempt */
export const diagnoseAttempts = (deps: DoctorDeps, runId?: string): Promise<Diagnosed> =>
  runId === undefined ? diagnoseOpen(deps) : diagnoseEnded(deps, runId);

/** Open attempts that are due; the next pass takes what is left. */
async function diagnoseOpen(deps: DoctorDeps): Promise<Diagnosed> {
  const diagnosed: { readonly pipeline: string; readonly diagnosis: Diagnosis }[] = [];
  const failures: string[] = [];
  const now = deps.clock.now();
  const act = async (attempt: AttemptRecord): Promise<void> => {
    const diagnosis = await diagnoseAttempt(deps, attempt);
    if (diagnosis !== undefined) diagnosed.push({ pipeline: attempt.pipeline, diagnosis });
  };
  await eachItem(dueOf(await deps.attempts.listOpen(), now), ({ jobName }) => jobName, act, {
    now,
    failures,
    withinLimit: deps.withinLimit,
    isTimeUp: () => deps.clock.now().getTime() - now.getTime() > PASS_SECONDS * 1_000,
  });
  return { diagnosed, failures };
}

const dueOf = (open: readonly AttemptRecord[], now: Date): readonly AttemptRecord[] =>
  open.filter(
    ({ diagnosis }) =>
      diagnosis === undefined || now.getTime() - Date.parse(diagnosis.at) >= STANDS_SECONDS * 1_000,
  );

/** The newest attempt of a run, once after its end. Judge has copied home what it measured in another region. */
async function diagnoseEnded(deps: DoctorDeps, runId: string): Promise<Diagnosed> {
  const last = (await deps.attempts.list(runId)).at(-1);
  if (last?.outcome !== undefined && last.diagnosis?.isFinal !== true) await diagnoseAttempt(deps, last);
  return { diagnosed: [], failures: [] };
}

/** Safe to repeat: the same measurements give the same verdicts, and a verdict that stands is announced once. */
async function diagnoseAttempt(deps: DoctorDeps, attempt: AttemptRecord): Promise<Diagnosis | undefined> {
  const isFinal = attempt.outcome !== undefined;
  // Measurements of another region are copied home when the attempt ends.
  if (!isFinal && attempt.placement.pool.region !== undefined) return undefined;
  await tellStart(deps, attempt);
  const run = await deps.runs.get(attempt.runId);
  // Without hooks the points tell no steps, however many there are.
  if (run === undefined || run.declaration?.training.instrument === false) return undefined;
  const evidence = await evidenceOfAttempt(deps.store, {
    run,
    attempt,
    startUp: attempt.outcome?.startUp ?? attempt.startUp,
    leastSeconds: isFinal ? 0 : FIRST_VERDICT_SECONDS,
    runsPerMonth: await runsPerMonth(deps, run),
  });
  if (evidence === undefined) return undefined;
  const at = deps.clock.now().toISOString();
  const diagnosis: Diagnosis = {
    at,
    isFinal,
    speed: speedOf(evidence),
    reading: readingOf(evidence),
    start: startOf(evidence.phases),
    verdicts: diagnose(evidence),
  };
  const [first] = diagnosis.verdicts;
  if (first !== undefined) await announce(deps, attempt, first);
  await deps.attempts.update(attempt.runId, attempt.attempt, { diagnosis, updatedAt: at });
  return diagnosis;
}

/** @returns undefined where nothing measured it: a script takes time to start */
const startOf = ({ install, scriptStart, firstBatch, firstStep }: Evidence['phases']): Diagnosis['start'] =>
  scriptStart > 0
    ? { requirements: install, resume: scriptStart, firstStep: firstBatch + firstStep }
    : undefined;

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

function sentence({ cause, remedy, gain }: Verdict): string {
  if (remedy === undefined) return `${cause}: no change that is known would save 5 % of the job`;
  // Cents are nothing of a short job, whose gain is not nothing.
  const cents = Math.abs(gain.dollars.high) < 0.1 ? 4 : 2;
  const saved = gainText(gain, ({ low, high }, unit) => {
    const digits = unit === 'seconds' ? 0 : cents;
    return `${low.toFixed(digits)} to ${high.toFixed(digits)}`;
  });
  return `${cause}. Change (${remedy.where}): ${remedy.text}. ${saved === undefined ? 'It may save or cost' : `It would save ${saved} over the job`}; npx --no-install tidewheel doctor shows the evidence`;
}
