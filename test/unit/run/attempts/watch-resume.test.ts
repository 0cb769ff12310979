/** How an attempt went on from its checkpoint, from the agent's note to the record and the timeline. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { watchResume } from '../../../../functions/run/attempts/watch-resume.ts';
import { attemptOf } from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';

const RUN = 'digits-000001';

async function world(note?: unknown) {
  const clock = fakeClock();
  const store = memoryObjectStore(clock);
  const { attempts, timeline } = memoryStores();
  const attempt = attemptOf(RUN, 2);
  await attempts.create(attempt);
  const key = bucketKeys.resume(attempt.pipeline, RUN, 2);
  if (note !== undefined) await store.writeText(key, typeof note === 'string' ? note : JSON.stringify(note));
  const deps = { store, clock, attempts, timeline };
  return {
    write: (next: unknown) => store.writeText(key, JSON.stringify(next)),
    watch: async () => watchResume(deps, (await attempts.get(RUN, 2)) ?? attempt),
    texts: async () => (await timeline.list(RUN)).map(({ text }) => text),
  };
}

const checkpoint = { name: 'epoch=1-step=20.ckpt', step: 20, unit: 'step', format: '.ckpt file' };
const note = { attempt: 2, startedAt: 1.5, checkpoint, repairs: [], verdict: null };
const beganAgain = { kind: 'beganAgain', evidence: 'log', position: 1, unit: 'step', beganAt: 0 };

describe('a resumed attempt', () => {
  it('that began again is reported with the remedy', async () => {
    const { watch, texts } = await world({ ...note, verdict: beganAgain });
    expect((await watch()).resume?.verdict?.kind).toBe('beganAgain');
    expect(await texts()).toEqual([
      'attempt 2 began at step 0 although step 20 was there: pass ckpt_path to Lightning’s fit',
    ]);
  });

  it('is on the timeline once, when something shows it', async () => {
    const { watch, texts, write } = await world(note);
    expect((await watch()).resume).toEqual({ checkpoint, repairs: [], verdict: undefined });
    expect(await texts()).toEqual([]);
    await write({ ...note, verdict: { ...beganAgain, kind: 'resumed', beganAt: 20 } });
    await watch();
    await watch();
    expect(await texts()).toEqual(['attempt 2 went on from epoch=1-step=20.ckpt']);
  });

  it.each([
    [
      {
        read: [{ name: 'study.journal', bytes: 9 }],
        verdict: { ...beganAgain, kind: 'resumed', position: 41 },
      },
      'went on at 41, from study.journal, which is not known as a checkpoint: name it in training.checkpoint',
    ],
    [
      { verdict: beganAgain, uncounted: 'model-last is not whole: lookups.bin is cut off' },
      'began again at 1: no checkpoint counted (model-last is not whole: lookups.bin is cut off)',
    ],
    [
      { checkpoint, replaySeconds: 247.6 },
      'went on from epoch=1-step=20.ckpt, after 248 s in which its earlier steps were replayed',
    ],
  ])('tells what was seen: %j', async (seen, text) => {
    const { watch, texts } = await world({ ...note, checkpoint: null, ...seen });
    await watch();
    expect(await texts()).toEqual([`attempt 2 ${text}`]);
  });

  it('names damaged checkpoints and their replacement', async () => {
    const repair = { name: 'ckpt.pt', problem: 'ckpt.pt is cut off', instead: 'its copy', step: 10 };
    const { watch, texts } = await world({ ...note, checkpoint: null, repairs: [repair] });
    await watch();
    await watch();
    expect(await texts()).toEqual([
      'attempt 2: ckpt.pt is damaged (ckpt.pt is cut off); it goes on from its copy',
    ]);
  });

  it.each(['no json', '{}', '{"repairs":3}', 'null', '[]'])(
    'without a readable note (%s) is left',
    async (text) => {
      const { watch, texts } = await world(text);
      expect((await watch()).resume).toBeUndefined();
      expect(await texts()).toEqual([]);
    },
  );
});
