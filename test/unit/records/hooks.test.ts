/** What the timeline says of the way to the script, and of hooks that failed in it. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import { tellStart } from '../../../functions/records/evidence-files.ts';
import { attemptOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';
import { memoryStores } from '../../support/fakes/stores.ts';

const RUN = 'digits-000001';
const start = (hooks: object, more: object = {}) =>
  JSON.stringify({
    startedAt: '2026-11-25T10:00:00.000Z',
    phases: { download: null, install: 0, scriptStart: 1, firstBatch: null, firstStep: null },
    hooks,
    ...more,
  });
const removed = start({ kind: 'removed', hook: 'DataLoader', reason: 'TypeError: x' });

async function entriesAfter(files: Record<string, string>) {
  const clock = fakeClock();
  const store = memoryObjectStore(clock);
  const { timeline } = memoryStores();
  const attempt = attemptOf(RUN, 2);
  const folder = bucketKeys.evidence(attempt.pipeline, RUN);
  for (const [name, text] of Object.entries(files)) await store.writeText(`${folder}${name}`, text);
  for (let time = 0; time < 2; time += 1) await tellStart({ store, clock, timeline }, attempt);
  return (await timeline.list(RUN)).map(({ text }) => text);
}

it('names host, hook and reason once', async () => {
  expect(await entriesAfter({ '2-algo-1-phases.json': removed, '2-algo-1.jsonl': '' })).toEqual([
    expect.stringContaining('the script on algo-1 goes on unmeasured, since the hook on DataLoader failed'),
  ]);
});

it('says once that a host installs', async () => {
  const installing = { what: 'requirements.txt', packages: 47 };
  expect(await entriesAfter({ '2-algo-1-phases.json': start({ kind: 'on' }, { installing }) })).toEqual([
    'attempt 2: algo-1 installs 47 packages (requirements.txt) before the script starts',
  ]);
});

it.each([
  ['hooks that count', { '2-algo-1-phases.json': start({ kind: 'on' }) }],
  ['earlier attempts', { '1-algo-1-phases.json': removed }],
  ['what a script wrote there', { '2-algo-1-phases.json': '[]' }],
])('says nothing of %s', async (_, files) => {
  expect(await entriesAfter(files)).toEqual([]);
});
