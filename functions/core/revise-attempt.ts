/** A look at a running attempt with the policy's eyes: is it still where it should be? Recalls it where it is not. */
import { advanced } from './judge.ts';
import type { TrainingJobDescription } from './launch/port.ts';
import { type ObserveDeps, takeBack } from './observe-attempt.ts';
import { sightingsOfOthers } from './placement/encounters.ts';
import { refreshedBy, samplesFor } from './placement/market-memory.ts';
import { questionOf } from './placement/replay.ts';
import { revise } from './placement/revise.ts';
import type { PlacementInput } from './placement/situation.ts';
import { typesOf } from './placement/topologies.ts';
import type { ObjectStore } from './ports.ts';
import { readProgress } from './progress.ts';
import type { AttemptRecord, Progress, RunRecord } from './records.ts';

type ReviseDeps = ObserveDeps & { readonly store: ObjectStore };

/** @param job as it was just described, running; safe to repeat: an attempt is recalled once */
export async function reviseAttempt(
  deps: ReviseDeps,
  attempt: AttemptRecord,
  job: TrainingJobDescription,
): Promise<'recalled' | 'left'> {
  const trainingSince = trainingSinceOf(job);
  // What trains in another region saves there.
  if (trainingSince === undefined || attempt.placement.pool.region !== undefined) return 'left';
  const run = await deps.runs.getRun(attempt.runId);
  if (run?.declaration?.compute.market !== 'spot-then-on-demand') return 'left';
  const progress = await progressOf(deps.store, attempt);
  if (progress === undefined) return 'left';
  const now = deps.clock.now();
  const question = await questionNow(deps, { run, attempt, now });
  if (question === undefined) return 'left';
  const why = revise({ attempt, progress, trainingSince, now, question });
  if (why === undefined) return 'left';
  const current = await deps.runs.getAttempt(attempt.runId, attempt.attempt);
  if (current === undefined || isOver(current)) return 'left';
  await takeBack(deps, current, why);
  return 'recalled';
}

const isOver = ({ outcome, takenBackAt }: AttemptRecord): boolean =>
  outcome !== undefined || takenBackAt !== undefined;

/** Work goes as fast on demand as an earlier attempt has shown; a Spot job that may be too slow must show its own pace. */
async function progressOf(store: ObjectStore, attempt: AttemptRecord): Promise<Progress | undefined> {
  const own = await newProgress(store, attempt);
  return attempt.placement.pool.market === 'on-demand' ? (own ?? attempt.progressBefore) : own;
}

/** Without a checkpoint of its own nothing has been measured of an attempt. */
async function newProgress(store: ObjectStore, attempt: AttemptRecord): Promise<Progress | undefined> {
  const progress = await readProgress(store, attempt.pipeline, attempt.runId);
  return advanced(attempt.progressBefore, progress) ? progress : undefined;
}

/** The attempt's own question, with the prices, scores and encounters of now. */
async function questionNow(
  { runs }: ReviseDeps,
  { run, attempt, now }: { readonly run: RunRecord; readonly attempt: AttemptRecord; readonly now: Date },
): Promise<PlacementInput | undefined> {
  const { runId } = run;
  const placements = await runs.listPlacements(runId);
  const stored = placements.find((each) => each.attempt === attempt.attempt);
  if (stored === undefined || run.declaration === undefined) return undefined;
  const { compute } = run.declaration;
  const instanceTypes = typesOf(compute);
  const [attempts, sightings] = await Promise.all([
    runs.listAttempts(runId),
    sightingsOfOthers(runs, { runId, instanceTypes, now }),
  ]);
  const { decision } = stored;
  const question = questionOf({ run, attempts, attempt: attempt.attempt, decision, sightings });
  if (question === undefined || attempt.placement.pool.market === 'spot') return question;
  const asked = { compute, region: question.market.region, now };
  const market = refreshedBy(await samplesFor(runs, asked), question.market, {
    ...asked,
    readAt: question.now,
  });
  return { ...question, market };
}

/** The start of the status that it is in, if that is Training. */
const trainingSinceOf = ({
  TrainingJobStatus,
  SecondaryStatus,
  SecondaryStatusTransitions,
}: TrainingJobDescription): Date | undefined =>
  TrainingJobStatus === 'InProgress' && SecondaryStatus === 'Training'
    ? SecondaryStatusTransitions.findLast(({ Status }) => Status === 'Training')?.StartTime
    : undefined;
