/** How an attempt went on from the checkpoint that was there. The agent notes it beside the checkpoints. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { valueOf } from '@tidewheel/contract/document.ts';
import { resumeNote } from '@tidewheel/contract/resume.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readNote } from '../../records/host-files.ts';
import type { AttemptRecord, Resume } from '../../records/run-records.ts';
import type { WatchDeps } from './watch-attempt.ts';

/** Safe to repeat: the agent's note grows with what it sees. */
export async function watchResume(
  deps: Omit<WatchDeps, 'notifier'>,
  attempt: AttemptRecord,
): Promise<AttemptRecord> {
  // The end may show more of what it read.
  const isSettled = attempt.resume?.verdict !== undefined && attempt.outcome === undefined;
  const resume = isSettled ? undefined : await readResume(deps.store, attempt);
  if (resume === undefined) return attempt;
  const at = deps.clock.now().toISOString();
  const { runId, attempt: number } = attempt;
  for (const [index, { name, problem, instead }] of resume.repairs.entries())
    await deps.timeline.add(runId, {
      id: `replaced-${number}-${index}`,
      at,
      kind: 'CheckpointReplaced',
      text: `attempt ${number}: ${name} is damaged (${problem}); it goes on from ${instead}`,
    });
  const text = describeResume(number, resume);
  if (text !== undefined)
    await deps.timeline.add(runId, {
      id: `resumed-${number}`,
      at,
      kind: resume.verdict?.kind === 'beganAgain' ? 'BeganAgain' : 'Resumed',
      text,
    });
  if (JSON.stringify(resume) === JSON.stringify(attempt.resume)) return attempt;
  return deps.attempts.update(runId, number, { resume, updatedAt: at });
}

/** @returns undefined without a readable note, as in a run's first attempt */
async function readResume(
  store: ObjectStore,
  { pipeline, runId, attempt }: Pick<AttemptRecord, 'pipeline' | 'runId' | 'attempt'>,
): Promise<Resume | undefined> {
  const note = valueOf(await readNote(store, bucketKeys.resume(pipeline, runId, attempt), resumeNote));
  if (note === undefined) return undefined;
  const { startedAt: _, ...resume } = note;
  return resume;
}

/** Where an attempt began that did not go on from its checkpoint. */
export const beganAt = ({ resume }: Pick<AttemptRecord, 'resume'>): number | undefined =>
  startedOver({ resume }) ? resume?.verdict?.beganAt : undefined;

/** A checkpoint was there, and the script did not go on from it. */
export const startedOver = ({ resume }: Pick<AttemptRecord, 'resume'>): boolean =>
  resume?.verdict?.kind === 'beganAgain' && resume.checkpoint !== undefined;

/** A sentence on the timeline; undefined while nothing is known. */
function describeResume(attempt: number, resume: Resume): string | undefined {
  const { checkpoint, verdict, replaySeconds, uncounted, read: [file] = [] } = resume;
  if (checkpoint !== undefined && replaySeconds !== undefined)
    return `attempt ${attempt} went on from ${checkpoint.name}, after ${Math.round(replaySeconds)} s in which its earlier steps were replayed`;
  if (verdict === undefined) return undefined;
  if (checkpoint === undefined) {
    if (verdict.kind === 'resumed')
      return `attempt ${attempt} went on at ${verdict.position}, from ${file === undefined ? 'files that are' : `${file.name}, which is`} not known as a checkpoint: name it in training.checkpoint`;
    return `attempt ${attempt} began again at ${verdict.position}: no checkpoint counted${uncounted === undefined ? '' : ` (${uncounted})`}`;
  }
  const word = checkpoint.unit === 'epoch' ? 'epoch' : 'step';
  if (verdict.kind === 'resumed') return `attempt ${attempt} went on from ${checkpoint.name}`;
  const there = checkpoint.unit === 'saves' ? checkpoint.name : `${word} ${checkpoint.step}`;
  return `attempt ${attempt} began at ${word} ${verdict.beganAt} although ${there} was there: ${remedyFor(checkpoint)}`;
}

/** The line to change, by what wrote the checkpoint. */
export function remedyFor({ name, format = '' }: NonNullable<Resume['checkpoint']>): string {
  if (name.endsWith('.ckpt')) return 'pass ckpt_path to Lightning’s fit';
  if (format.includes('Hugging Face')) return 'call train(resume_from_checkpoint=True)';
  if (format.includes('Accelerate')) return 'call load_state() when the script starts';
  if (format.includes('Keras')) return 'add the callback BackupAndRestore';
  return 'load the newest file of TIDEWHEEL_CHECKPOINT_DIR when the script starts';
}
