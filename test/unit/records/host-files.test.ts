/** A script owns its host and may write anything where the service reads: of any size, number, depth and value. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { describe, expect, it } from 'vitest';
import { readFleetMemory } from '../../../functions/aws/ec2/fleet-memory.ts';
import { tellAutomatic } from '../../../functions/records/automatic.ts';
import { readMeasured, readStepSpeed, tellStart } from '../../../functions/records/evidence-files.ts';
import { MOST_FILES, MOST_LISTED } from '../../../functions/records/host-files.ts';
import { readProgress } from '../../../functions/records/progress.ts';
import { readSeries } from '../../../functions/records/series.ts';
import { readUtilisation } from '../../../functions/records/utilisation.ts';
import { watchHangs } from '../../../functions/run/attempts/watch-attempt.ts';
import { watchResume } from '../../../functions/run/attempts/watch-resume.ts';
import { evidenceOf } from '../../support/builders/evidence.ts';
import { planOf } from '../../support/builders/fleet.ts';
import { attemptOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryNotifier } from '../../support/fakes/notifier.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';
import { memoryStores } from '../../support/fakes/stores.ts';

const RUN = 'digits-000001';
const attempt = attemptOf(RUN, 1);
const [point] = evidenceOf([{}]).points;
const job = {
  TrainingJobName: attempt.jobName,
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: 'Training',
  CreationTime: new Date(0),
  TrainingStartTime: new Date(0),
  SecondaryStatusTransitions: [{ Status: 'Training', StartTime: new Date(0) }],
};
const plan = planOf({ nodes: 1 });
const attemptFolder = plan.objects.at(-1)?.key.replace(/job\.json$/, '') ?? '';

/** What a reader makes of the store: an empty list, or undefined, where there is nothing. */
type Read = (store: ObjectStore) => Promise<unknown>;

const entriesOf =
  (tell: (deps: ReturnType<typeof watching>) => Promise<unknown>): Read =>
  async (store) => {
    const deps = watching(store);
    await tell(deps);
    return deps.timeline.list(RUN);
  };
const watching = (store: ObjectStore) => ({
  ...memoryStores(),
  store,
  clock: fakeClock(),
  notifier: memoryNotifier(),
});

const folders = {
  checkpoints: bucketKeys.checkpoints('digits', RUN),
  evidence: bucketKeys.evidence('digits', RUN),
};
const START = {
  startedAt: '2026-11-25T10:00:00.000Z',
  phases: { download: null, install: 0, scriptStart: 1, firstBatch: null, firstStep: null },
};

const READERS: readonly (readonly [name: string, files: Readonly<Record<string, unknown>>, read: Read])[] = [
  [
    'progress',
    {
      [bucketKeys.progress('digits', RUN)]: {
        step: 4,
        totalSteps: 9,
        checkpoint: 'a.pt',
        updatedAt: START.startedAt,
      },
      [`${folders.checkpoints}a.pt`]: {},
    },
    (store) => readProgress(store, 'digits', RUN),
  ],
  [
    'the marker of a checkpoint',
    {
      [bucketKeys.progress('digits', RUN)]: {
        step: 4,
        totalSteps: 9,
        checkpoint: 'step-4',
        updatedAt: START.startedAt,
      },
      [`${folders.checkpoints}step-4/COMPLETE.json`]: {},
    },
    (store) => readProgress(store, 'digits', RUN),
  ],
  [
    'how it resumed',
    {
      [bucketKeys.resume('digits', RUN, 1)]: { repairs: [{ name: 'a', problem: 'cut off', instead: 'b' }] },
    },
    entriesOf(async (deps) => {
      await deps.attempts.create(attempt);
      await watchResume(deps, attempt);
    }),
  ],
  [
    'automatic checkpoints',
    { [bucketKeys.automatic('digits', RUN)]: { offer: { attempt: 1, seconds: 9 } } },
    entriesOf((deps) => tellAutomatic(deps, attempt)),
  ],
  [
    'hangs',
    { [`${bucketKeys.hangs('digits', RUN)}algo-1.json`]: { hangsSince: START.startedAt } },
    entriesOf((deps) => watchHangs(deps, attempt, job)),
  ],
  [
    'hooks',
    {
      [`${folders.evidence}1-algo-1-phases.json`]: {
        ...START,
        hooks: { kind: 'removed', hook: 'x', reason: 'y' },
      },
    },
    entriesOf((deps) => tellStart(deps, attempt)),
  ],
  [
    'measurements',
    { [`${folders.evidence}1-algo-1.jsonl`]: { ...point, at: START.startedAt } },
    async (store) => (await readMeasured(store, attempt)).points,
  ],
  [
    'utilisation',
    { [`${folders.evidence}1-algo-1.jsonl`]: { ...point, at: START.startedAt } },
    async (store) => (await readUtilisation(store, { pipeline: 'digits', runId: RUN, most: 9 })).points,
  ],
  [
    'step speeds',
    {
      [`${folders.evidence}1-algo-1-steps.json`]: {
        basis: 'hooks',
        steps: 9,
        samplesPerStep: null,
        blockSeconds: [1, 1, 1],
        blockSteps: [1, 1, 1],
      },
    },
    (store) => readStepSpeed(store, { pipeline: 'digits', runId: RUN }),
  ],
  [
    'series',
    { [`${bucketKeys.series('digits', RUN)}attempt-1.jsonl`]: { startedAt: 1 } },
    (store) => readSeries(store, 'digits', RUN),
  ],
  [
    'reports of hosts',
    {
      [`${attemptFolder}hosts/i-1.json`]: {
        instanceId: 'i-1',
        startedAt: START.startedAt,
        seenAt: START.startedAt,
        phase: 'script',
      },
    },
    async (store) => (await readFleetMemory(store, plan.name))?.reports,
  ],
];

async function storeWith(files: Readonly<Record<string, unknown>>): Promise<ObjectStore> {
  const store = memoryObjectStore(fakeClock(), 'tw-data');
  for (const { key, text } of plan.objects) await store.writeText(key, text);
  for (const [key, content] of Object.entries(files)) await store.writeText(key, JSON.stringify(content));
  return store;
}
const isNothing = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0);
/** The service's own. */
const isJob = (key: string) => key.endsWith('/job.json') || key.includes('/requests/');

describe.each(READERS)('%s', (name, files, read) => {
  const key =
    Object.keys(files).find((each) => /json/.test(each) && !/progress/.test(each)) ??
    Object.keys(files)[0] ??
    '';

  it('are read', async () => {
    const store = await storeWith(files);
    if (name === 'series')
      await store.writeText(
        key,
        '{"startedAt":1}\n{"source":"log","unit":"step","position":1,"at":1,"values":{"x":1}}',
      );
    expect(isNothing(await read(store))).toBe(false);
  });

  it('of any length count as none', async () => {
    const store = await storeWith(files);
    const long: ObjectStore = {
      ...store,
      readText: (each, mostBytes) => {
        if (each !== key) return store.readText(each, mostBytes);
        if (mostBytes !== undefined) return Promise.resolve(undefined);
        return Promise.reject(new Error('Cannot create a string longer than 0x1fffffe8 characters'));
      },
    };
    expect(isNothing(await read(long))).toBe(true);
  });

  it('of any depth are no error', async () => {
    const store = await storeWith(files);
    await store.writeText(key, '[{"a":'.repeat(200_000));
    // Markers of other writers say nothing but that they are there.
    expect(isNothing(await read(store))).toBe(!key.endsWith('/COMPLETE.json'));
  });

  it('among files without end are found in bounded time', async () => {
    const store = await storeWith(files);
    let reads = 0;
    const endless: ObjectStore = {
      ...store,
      readText: (each, mostBytes) => {
        if (!isJob(each)) reads += 1;
        return store.readText(each, mostBytes);
      },
      list: withoutEnd,
    };
    await read(endless);
    expect(reads).toBeLessThanOrEqual(MOST_FILES);
  });
});

async function* withoutEnd(prefix: string): AsyncGenerator<ListedObject> {
  const names = ['attempt-#.jsonl', '1-h#.jsonl', '1-h#-phases.json', '1-h#-steps.json', 'h#.json'];
  for (let number = 1; number <= 4 * MOST_LISTED; number += 1) {
    const name = names[number % names.length]?.replace('#', String(number)) ?? '';
    yield await Promise.resolve({ key: `${prefix}${name}`, size: 1, etag: '', lastModified: new Date(0) });
  }
  throw new Error('all of it was listed');
}
