/** What the timeline says of automatic checkpoints, from the agent's note. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import { tellAutomatic } from '../../../functions/records/automatic.ts';
import { attemptOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';
import { memoryStores } from '../../support/fakes/stores.ts';

const RUN = 'digits-000001';

async function entriesAfter(...notes: string[]) {
  const clock = fakeClock();
  const store = memoryObjectStore(clock);
  const { timeline } = memoryStores();
  const attempt = attemptOf(RUN, 2);
  for (const note of notes) {
    await store.writeText(bucketKeys.automatic(attempt.pipeline, RUN), note);
    await tellAutomatic({ store, clock, timeline }, attempt);
  }
  return (await timeline.list(RUN)).map(({ text }) => text);
}

const trial = { attempt: 1, step: 12, seconds: 9.5, reason: '' };

it('reports a trial that passed once', async () => {
  const note = JSON.stringify({ trial: { ...trial, result: 'passed' } });
  expect(await entriesAfter(note, note)).toEqual([
    'attempt 1: a second process restored the script and came to the same bits at step 12, in 9.5 s: automatic checkpoints are on',
  ]);
});

it('says that automatic checkpoints are off, and why', async () => {
  const note = JSON.stringify({ trial: { ...trial, result: 'refused', reason: 'x is not there' } });
  expect(await entriesAfter(note)).toEqual([
    expect.stringContaining(
      'attempt 1: automatic checkpoints are off, so an interruption loses all of the training: x is not there',
    ),
  ]);
});

it('names a later refusal of a script that passed', async () => {
  const passed = { trial: { ...trial, result: 'passed' } };
  const refused = { trial: { ...trial, step: 90, result: 'refused', reason: 'x is not there' } };
  const notes = [passed, refused, refused].map((note) => JSON.stringify(note));
  expect(await entriesAfter(...notes)).toEqual([
    expect.stringContaining('automatic checkpoints are on'),
    expect.stringContaining('automatic checkpoints are off'),
  ]);
});

it('adds what a later attempt finds', async () => {
  const first = { trial: { ...trial, result: 'untried', reason: 'no memory' } };
  const then = { ...first, stopped: { attempt: 2, step: 40, reason: 'the disk is full' } };
  expect(await entriesAfter(JSON.stringify(first), JSON.stringify(then))).toEqual([
    expect.stringContaining('attempt 1: automatic checkpoints are on and untried: no memory'),
    expect.stringContaining('attempt 2: no automatic checkpoints from step 40 on'),
  ]);
});

it('offers automatic checkpoints to a script that saves nothing', async () => {
  expect(await entriesAfter(JSON.stringify({ offer: { attempt: 1, seconds: 600 } }))).toEqual([
    expect.stringContaining('the script has saved nothing for 600 s'),
  ]);
});

it.each(['', 'no JSON', '[]', '{"trial":{"attempt":"1","result":"passed"}}', '{"offer":{"attempt":-1}}'])(
  'passes over %j, written by a script',
  async (note) => {
    expect(await entriesAfter(note)).toEqual([]);
  },
);
