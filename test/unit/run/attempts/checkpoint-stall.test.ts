import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { watchCheckpoints } from '../../../../functions/run/attempts/watch-attempt.ts';
import { attemptOf, placementOf, progressOf } from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryNotifier } from '../../../support/fakes/notifier.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';

const RUN = 'digits-000001';
const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21) + seconds * 1_000);

interface Question {
  readonly now: number;
  readonly trainingSince?: number | undefined;
  /** When the checkpoint of step 40 was saved. */
  readonly savedAt?: number | undefined;
  /** An interruption is expected in so many seconds: in 18,000, the interval is 600 s. */
  readonly expectedUpSeconds?: number;
  readonly isEvaluated?: boolean;
}

/** The notice of a look at a running attempt. */
async function stall({ now, expectedUpSeconds = 18_000, isEvaluated = false, ...question }: Question) {
  const { trainingSince, savedAt } = { trainingSince: 0, savedAt: 1_000, ...question };
  const clock = fakeClock(at(now).toISOString());
  const [store, notifier] = [memoryObjectStore(clock), memoryNotifier()];
  if (savedAt !== undefined) {
    const updatedAt = at(savedAt).toISOString();
    store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(40, { updatedAt })));
    store.put(`${bucketKeys.checkpoints('digits', RUN)}step-40/COMPLETE.json`, '{}');
  }
  const note = { version: 1, bytes: 1, digest: 'a'.repeat(64), evaluations: [] };
  if (isEvaluated) store.put(bucketKeys.finished('digits', RUN, 1), JSON.stringify(note));
  const considered = placementOf().considered.map((row) => ({ ...row, expectedUpSeconds }));
  const attempt = attemptOf(RUN, 1, { placement: placementOf({ considered }) });
  await watchCheckpoints({ ...memoryStores(), store, notifier, clock }, attempt, {
    TrainingJobName: attempt.jobName,
    TrainingJobStatus: 'InProgress',
    SecondaryStatus: trainingSince === undefined ? 'Starting' : 'Training',
    CreationTime: at(0),
    SecondaryStatusTransitions:
      trainingSince === undefined ? [] : [{ Status: 'Training', StartTime: at(trainingSince) }],
  });
  return notifier.notices[0]?.notice;
}

describe('a stall of checkpoints', () => {
  it('is three intervals without a new checkpoint', async () => {
    expect(await stall({ now: 2_799 })).toBeUndefined();
    expect(await stall({ now: 2_800 })).toMatchObject({ step: 40, ageSeconds: 1_800, expectedSeconds: 600 });
  });

  it('is never less than a quarter of an hour', async () => {
    expect(await stall({ expectedUpSeconds: 1, now: 1_899 })).toBeUndefined();
    expect(await stall({ expectedUpSeconds: 1, now: 1_900 })).toMatchObject({ ageSeconds: 900 });
  });

  it('is none while the model is evaluated', async () => {
    expect(await stall({ now: 2_800, isEvaluated: true })).toBeUndefined();
  });

  it("counts from the start of this attempt's training", async () => {
    expect(await stall({ trainingSince: 100_000, now: 101_000 })).toBeUndefined();
    expect(await stall({ trainingSince: 100_000, now: 101_800 })).toMatchObject({ ageSeconds: 1_800 });
  });

  it('leaves half an hour for the first checkpoint', async () => {
    expect(await stall({ savedAt: undefined, now: 1_799 })).toBeUndefined();
    expect(await stall({ savedAt: undefined, now: 1_800 })).toMatchObject({ step: 0 });
  });

  it('is none while the job does not train', async () => {
    expect(await stall({ trainingSince: undefined, now: 1e6 })).toBeUndefined();
  });
});
