/** Tells on the timeline what became of automatic checkpoints: their trial, their end, or that they would help. */

import { type AutomaticNote, automaticNote } from '@tidewheel/contract/automatic.ts';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { valueOf } from '@tidewheel/contract/document.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readNote } from './host-files.ts';
import type { AttemptRecord } from './run-records.ts';
import type { Stores } from './stores.ts';

/** Safe to repeat: each fact has one entry. */
export async function tellAutomatic(
  deps: Pick<Stores, 'timeline'> & { readonly store: ObjectStore; readonly clock: Clock },
  { pipeline, runId }: Pick<AttemptRecord, 'pipeline' | 'runId'>,
): Promise<void> {
  const note =
    valueOf(await readNote(deps.store, bucketKeys.automatic(pipeline, runId), automaticNote)) ?? {};
  for (const [id, attempt, text] of sentences(note))
    await deps.timeline.add(runId, {
      id: `automatic-${id}-${attempt}`,
      at: deps.clock.now().toISOString(),
      kind: 'AutomaticCheckpoints',
      text: `attempt ${attempt}: ${text}`,
    });
}

function* sentences({
  trial,
  stopped,
  offer,
}: AutomaticNote): Generator<readonly [id: string, attempt: number, text: string]> {
  // A script that has passed may be refused in a later epoch of the same attempt.
  if (trial !== undefined)
    yield [trial.result === 'refused' ? 'refused' : 'trial', trial.attempt, describeTrial(trial)];
  if (stopped !== undefined)
    yield [
      'stopped',
      stopped.attempt,
      `no automatic checkpoints from step ${stopped.step} on, so an interruption loses what comes after it: ${stopped.reason}`,
    ];
  if (offer !== undefined)
    yield [
      'offer',
      offer.attempt,
      `the script has saved nothing for ${offer.seconds} s, so an interruption loses all of it: training.checkpoint: automatic would save and restore it, without a change to it`,
    ];
}

function describeTrial({ result, reason, step, seconds }: NonNullable<AutomaticNote['trial']>): string {
  switch (result) {
    case 'passed':
      return reason === ''
        ? `a second process restored the script and came to the same bits at step ${step}, in ${seconds} s: automatic checkpoints are on`
        : `a second process restored the script, and automatic checkpoints are on; ${reason}`;
    case 'refused':
      return `automatic checkpoints are off, so an interruption loses all of the training: ${reason}. Let the script save by itself`;
    case 'untried':
      return `automatic checkpoints are on and untried: ${reason}. tidewheel interrupt shows whether the script can be restored`;
  }
}
