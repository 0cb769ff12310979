/** `whenDone: delete`: what a generation packed is deleted after the run, and nothing else. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { incoming, now, PIPELINE, packAll, RUN, settings } from '../../../test/support/builders/packing.ts';
import { persist } from '../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { executeStates } from '../../../test/support/world/execute-states.ts';
import { compact } from '../compaction/compact.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { planShards } from '../plan/plan-shards.ts';
import { deletePacked } from '../seal/delete-packed.ts';

const run = { pipeline: PIPELINE, runId: RUN };
const OBJECTS = 40;
const REJECTED = `${incoming}notes.txt`;

let store: MemoryBlobStore;

beforeEach(async () => {
  store = new MemoryBlobStore();
  for (let index = 0; index < OBJECTS; index += 1) store.seed(`${incoming}1/${index}.bin`, `data ${index}`);
  store.seed(REJECTED, 'x');
  await packAll(store, settings({ accept: ['.bin'] }));
});

const never = () => false;
const next = { pipeline: PIPELINE, runId: `${PIPELINE}-000002` };

async function sealNext(packing: PackingSettings): Promise<void> {
  await planShards({ store, now }, { ...next, packing, onChange: 'replace' });
  await packAll(store, packing, next.runId);
}

const joinNext = (packing: PackingSettings) =>
  compact(store, { pipeline: PIPELINE, packing, after: 'never', onChange: 'replace' });

describe('what was packed', () => {
  it('is deleted, without asking for each object', async () => {
    let heads = 0;
    const head = store.head.bind(store);
    store.head = (key) => {
      heads += 1;
      return head(key);
    };
    expect(await deletePacked({ store, isTimeUp: never }, run)).toEqual({ status: 'done', deleted: OBJECTS });
    expect(store.keys(incoming)).toEqual([REJECTED]);
    expect(heads).toBe(0);
  });

  it('stays where a newer version came', async () => {
    store.seed(`${incoming}1/7.bin`, 'newer');
    expect(await deletePacked({ store, isTimeUp: never }, run)).toMatchObject({ deleted: OBJECTS - 1 });
    expect(store.keys(incoming)).toEqual([`${incoming}1/7.bin`, REJECTED]);
  });

  it('stays while its generation waits for a compaction', async () => {
    const packing = settings({ accept: ['.bin', '.json'] });
    store.seed(`${incoming}1/7.json`, '{}');
    store.objects.delete(`${incoming}1/8.bin`);
    store.seed(`${incoming}1/9.bin`, 'corrected');
    await sealNext(packing);
    expect(await deletePacked({ store, isTimeUp: never }, next)).toMatchObject({ deleted: 0 });
    await joinNext(packing);
    expect(await deletePacked({ store, isTimeUp: never }, next)).toMatchObject({ deleted: 3 });
    expect(store.keys(`${incoming}1/7.`)).toEqual([]);
  });

  it('stays where a compaction has rejected it', async () => {
    const packing = settings({ accept: ['.bin', '.json'] });
    store = new MemoryBlobStore();
    store.seed(`${incoming}a.bin`, 'data');
    store.seed(`${incoming}a.json`, '{}');
    await packAll(store, packing);
    await deletePacked({ store, isTimeUp: never }, run);
    store.seed(`${incoming}a.json`, '{"corrected":true}');
    store.seed(`${incoming}b.bin`, 'more');
    await sealNext(packing);
    await joinNext(packing);
    expect(await deletePacked({ store, isTimeUp: never }, next)).toMatchObject({ deleted: 1 });
    expect(store.keys(incoming)).toEqual([`${incoming}a.json`]);
  });

  it('stays beside the rejected rest of its sample', async () => {
    const packing = settings({ label: 'none' });
    store = new MemoryBlobStore();
    for (const key of ['a.jpg', 'a.json', 'a.txt', 'b.jpg']) store.seed(incoming + key, key);
    await packAll(store, packing);
    store.objects.delete(`${incoming}a.txt`);
    store.seed(`${incoming}a.json`, 'corrected');
    store.seed(`${incoming}b.jpg`, 'corrected');
    await sealNext(packing);
    await joinNext(packing);
    expect(await deletePacked({ store, isTimeUp: never }, next)).toMatchObject({ deleted: 1 });
    expect(store.keys(incoming)).toEqual([`${incoming}a.jpg`, `${incoming}a.json`]);
  });

  it('stays where its sample was not corrected', async () => {
    const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
    const packing = settings({ label: 'annotations', annotations });
    store = new MemoryBlobStore();
    for (const key of ['a.jpg', 'a.json', 'b.jpg']) store.seed(incoming + key, key);
    store.seed(`${incoming}labels.csv`, 'key,label\na,cat\nb,cat\n');
    await packAll(store, packing);
    store.objects.delete(`${incoming}a.json`);
    store.seed(`${incoming}labels.csv`, 'key,label\na,dog\nb,dog\n');
    await sealNext(packing);
    await joinNext(packing);
    expect(await deletePacked({ store, isTimeUp: never }, next)).toMatchObject({ deleted: 1 });
    expect(store.keys(incoming)).toEqual([`${incoming}a.jpg`, `${incoming}labels.csv`]);
  });

  it('stays while nothing is sealed', async () => {
    const other = { pipeline: PIPELINE, runId: `${PIPELINE}-000009` };
    expect(await deletePacked({ store, isTimeUp: never }, other)).toEqual({ status: 'done', deleted: 0 });
    expect(store.keys(incoming)).toHaveLength(OBJECTS + 1);
  });
});

describe('a deletion that takes long', () => {
  it('continues from its bookmark', async () => {
    const deleted: string[] = [];
    const remove = store.delete.bind(store);
    store.delete = (key, etag) => {
      deleted.push(key);
      return remove(key, etag);
    };
    const statuses: string[] = [];
    while (statuses.at(-1) !== 'done') {
      let looks = 0;
      const isTimeUp = () => {
        looks += 1;
        return looks > 1;
      };
      statuses.push((await deletePacked({ store, isTimeUp, deletesPerBookmark: 15 }, run)).status);
    }
    // 41 lines, one of them the rejected object's.
    expect(statuses).toEqual(['more', 'more', 'done']);
    expect(deleted).toHaveLength(OBJECTS);
    expect(new Set(deleted).size).toBe(OBJECTS);
  });

  it('survives the death of its function', async () => {
    const work = (dying: BlobStore) =>
      deletePacked({ store: dying, isTimeUp: never, deletesPerBookmark: 5 }, run);
    await persist(store, 'deletion', work, 0.1);
    expect(store.keys(incoming)).toEqual([REJECTED]);
  });
});

describe('the states after the report', () => {
  const finish = (whenDone: string, deletePart: () => Promise<unknown>) =>
    executeStates({
      startAt: 'Report',
      input: run,
      call: (name) =>
        name === 'Report' ? Promise.resolve({ status: 'succeeded', failure: '', whenDone }) : deletePart(),
      readItems: () => [],
    });

  it('delete turn by turn', async () => {
    const turns = ['more', 'more', 'done'];
    const { end, visited } = await finish('delete', () => Promise.resolve({ status: turns.shift() }));
    expect(end).toBe('RunFinished');
    expect(visited.filter((name) => name === 'DeletePacked')).toHaveLength(3);
  });

  it('finish the run although deletion fails', async () => {
    const { end } = await finish('delete', () => Promise.reject(new Error('access denied')));
    expect(end).toBe('RunFinished');
  });

  it('delete nothing that is to be kept', async () => {
    const { visited } = await finish('keep', () => Promise.reject(new Error('called')));
    expect(visited).not.toContain('DeletePacked');
  });
});
