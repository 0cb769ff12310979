/**
 * What may become of a training job: every end that DescribeTrainingJob knows. Chance decides what the training code does,
 * the market when a Spot job has capacity.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { DOCUMENT_FILES } from '@tidewheel/contract/files.ts';
import type { CreateTrainingJobRequest } from '../../../functions/launch/job/request.ts';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import type { FakeClock } from '../fakes/clock.ts';
import type { MemoryObjectStore } from '../fakes/object-store.ts';
import type { JobScript, ScriptedStatus } from '../fakes/training.ts';
import type { Spell } from '../market/traces.ts';
import type { Random } from './random.ts';

export const TOTAL_STEPS = 100;

/** The training code's view: what it saves is what the next attempt begins with. */
export interface Trainee {
  readonly store: MemoryObjectStore;
  readonly clock: FakeClock;
  readonly random: Random;
  /** Of the zone, from now on. */
  readonly spell: () => Spell | undefined;
}

const status = (at: number, secondary: string, effect?: () => void): ScriptedStatus => ({
  at,
  status: 'InProgress',
  secondary,
  effect,
});
const end = (
  at: number,
  kind: ScriptedStatus['status'],
  secondary: string,
  reason?: string,
): ScriptedStatus => ({
  at,
  status: kind,
  secondary,
  reason,
});

export function scriptOf(trainee: Trainee, request: CreateTrainingJobRequest): JobScript {
  const script = undisturbed(trainee, request);
  return request.EnableManagedSpotTraining ? onSpot(script, trainee.spell()) : script;
}

/** SageMaker waits for capacity and starts then; the job is interrupted when it goes. */
function onSpot(script: JobScript, spell: Spell | undefined): JobScript {
  if (spell === undefined) return [status(0, 'Starting')];
  const later = script.map((each) => (each.at === 0 ? each : { ...each, at: each.at + spell.startsIn }));
  const lived = later.filter(({ at }) => at < spell.endsIn);
  return lived.length === later.length ? later : [...lived, status(spell.endsIn, 'Interrupted')];
}

function undisturbed(trainee: Trainee, request: CreateTrainingJobRequest): JobScript {
  const { random } = trainee;
  const run = runOf(request);
  const save = () => checkpoint(trainee, run, random.whole(5, 40));
  const finish = () => checkpoint(trainee, run, TOTAL_STEPS);
  const starts = [
    status(0, 'Starting'),
    status(random.whole(20, 300), 'Downloading'),
    status(310, 'Training'),
  ];
  const saves = random.chance(0.8) ? [status(900, 'Training', save)] : [];
  const later = random.whole(1_000, 3_000);
  const dice = random.next();
  if (dice < 0.6)
    return [
      ...starts,
      ...saves,
      status(later, 'Uploading', finish),
      end(later + 60, 'Completed', 'Completed'),
    ];
  if (dice < 0.68) return [status(0, 'Starting'), end(400, 'Failed', 'Failed', 'CapacityError: no capacity')];
  if (dice < 0.76) return [...starts, ...saves, end(later, 'Failed', 'Failed', 'InternalServerError: sorry')];
  if (dice < 0.84) return [status(0, 'Starting')];
  if (dice < 0.89) return [...starts, ...saves, end(7_000, 'Stopped', 'MaxRuntimeExceeded')];
  if (dice < 0.93) return [...starts, ...saves, end(7_000, 'Stopped', 'MaxWaitTimeExceeded')];
  if (dice < 0.97) return [...starts, end(later, 'Failed', 'Failed', 'AlgorithmError: the script raised')];
  return [...starts, end(later, 'Stopped', 'Stopped')];
}

export function refusalOf({ random }: Trainee): CreateOutcome | undefined {
  const dice = random.next();
  if (dice < 0.05) return { kind: 'quota', message: 'the limit is 0' };
  if (dice < 0.1) return { kind: 'capacity', message: 'none here' };
  if (dice < 0.15) return { kind: 'throttled', message: 'slow down' };
  return dice < 0.16 ? { kind: 'invalid', message: 'never' } : undefined;
}

export function runOf({ Tags }: Pick<CreateTrainingJobRequest, 'Tags'>): { pipeline: string; runId: string } {
  const tag = (name: string) => Tags?.find(({ Key }) => Key === name)?.Value ?? '';
  return { pipeline: tag('tidewheel:pipeline'), runId: tag('tidewheel:run') };
}

/** Marker last, note after it, as the recipes and the agent do. */
export function checkpoint(
  { store, clock }: Trainee,
  { pipeline, runId }: { pipeline: string; runId: string },
  steps: number,
): void {
  const note = store.json(bucketKeys.progress(pipeline, runId));
  const before = typeof note === 'object' && note !== null && 'step' in note ? Number(note.step) : 0;
  const step = Math.min(TOTAL_STEPS, before + steps);
  const folder = `step-${step}`;
  store.put(`${bucketKeys.checkpoints(pipeline, runId)}${folder}/${DOCUMENT_FILES.completion}`, '{}');
  const updatedAt = clock.now().toISOString();
  store.put(
    bucketKeys.progress(pipeline, runId),
    JSON.stringify({ step, totalSteps: TOTAL_STEPS, checkpoint: folder, updatedAt }),
  );
}
