/** A corrected row of annotations replaces the label of a packed sample, although its objects are the same. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { OnChange, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { current, incoming, linesIn, problems, runOf } from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';
import { compareContents, versionContents } from '../../versions/version-contents.ts';

const PACKING = settings({
  label: 'annotations',
  annotations: { file: 'labels.csv', key: 'key', label: 'label' },
});

const annotate = (store: MemoryBlobStore, rows: Readonly<Record<string, string>>): void => {
  const text = Object.entries(rows).map(([key, label]) => `${key},${label}\n`);
  store.seed(`${incoming}labels.csv`, `key,label\n${text.join('')}`);
};

async function run(
  store: MemoryBlobStore,
  batch: number,
  { onChange = 'replace', packing = PACKING }: { onChange?: OnChange; packing?: PackingSettings } = {},
) {
  const input = { runId: runOf(batch), pipeline: PIPELINE, packing };
  const planned = await planShards({ store, now }, { ...input, onChange });
  if (planned.status === 'planned') {
    await planAndPack(store, packing, input.runId);
    await sealDataset({ store }, input);
  }
  const choice = { pipeline: PIPELINE, packing, after: 'never', onChange } as const;
  await compact(store, choice, { ...SMALL, readBytes: 1_000 });
  return planned;
}

/** The label of each member of the newest version that packing made. */
/** That packing made. */
async function labels(store: MemoryBlobStore): Promise<string[]> {
  const lines = (await current(store)).flatMap((manifest) => linesIn(store, manifest));
  return lines.flatMap(({ name, label, made }) => (made === undefined ? [] : [`${name} ${label}`])).sort();
}

async function packed(rows: Readonly<Record<string, string>>): Promise<MemoryBlobStore> {
  const store = new MemoryBlobStore();
  for (const key of ['1.jpg', '1.json', '2.jpg', '3.jpg', '3.cls']) store.seed(incoming + key, key);
  annotate(store, rows);
  await run(store, 1);
  return store;
}

describe('a corrected row of annotations', () => {
  it('replaces the label of its sample', async () => {
    const store = await packed({ '1': 'cat', '2': 'dog', '3': 'cow' });
    annotate(store, { '1': 'cat', '2': 'cow', '3': 'dog' });
    expect(await run(store, 2)).toMatchObject({ status: 'planned', objects: 1 });
    expect(await labels(store)).toEqual(['1.cls cat', '2.cls cow']);
    expect(await problems(store)).toEqual([]);
    expect(await run(store, 3)).toMatchObject({ status: 'nothingNew' });
    annotate(store, { '1.json': 'dog', '2': 'dog', '3': 'cat' });
    expect(await run(store, 4)).toMatchObject({ status: 'planned', objects: 3 });
    expect(await labels(store)).toEqual(['1.cls dog', '2.cls dog']);
  });

  it('shows all objects of its sample as replaced', async () => {
    const store = await packed({ '1': 'cat', '2': 'dog', '3': 'cow' });
    const held = async () =>
      versionContents(store, PIPELINE, {
        generations: (await current(store)).map(({ generation }) => generation),
      });
    const before = await held();
    annotate(store, { '1': 'cow', '2': 'dog', '3': 'dog' });
    await run(store, 2);
    const replaced = [`${incoming}1.jpg`, `${incoming}1.json`];
    expect(compareContents(before, await held())).toEqual({ added: [], replaced, retracted: [] });
  });

  it('is applied once while its compaction waits', async () => {
    const store = await packed({ '1': 'cat', '2': 'dog' });
    annotate(store, { '1': 'cat', '2': 'cow' });
    const input = { runId: runOf(2), pipeline: PIPELINE, packing: PACKING };
    await planShards({ store, now }, { ...input, onChange: 'replace' });
    await planAndPack(store, PACKING, input.runId);
    await sealDataset({ store }, input);
    expect(await run(store, 3)).toMatchObject({ status: 'nothingNew' });
    expect(await labels(store)).toEqual(['1.cls cat', '2.cls cow']);
  });

  it('is read from another column once that is declared', async () => {
    const store = new MemoryBlobStore();
    for (const key of ['1.jpg', '2.jpg', '3.jpg']) store.seed(incoming + key, key);
    store.seed(`${incoming}labels.csv`, 'key,label,kind\n1,cat,pet\n2,dog,dog\n3,,wild\n');
    await run(store, 1);
    expect(await labels(store)).toEqual(['1.cls cat', '2.cls dog']);
    const annotations = { file: 'labels.csv', key: 'key', label: 'kind' };
    const packing = settings({ label: 'annotations', annotations });
    expect(await run(store, 2, { packing })).toMatchObject({ status: 'planned', objects: 2 });
    expect(await labels(store)).toEqual(['1.cls pet', '2.cls dog', '3.cls wild']);
    expect(await run(store, 3, { packing })).toMatchObject({ status: 'nothingNew' });
  });

  it('is applied once its whole sample is back', async () => {
    const store = await packed({ '1': 'cat', '2': 'dog' });
    store.objects.delete(`${incoming}1.json`);
    annotate(store, { '1': 'cow', '2': 'dog' });
    await run(store, 2);
    expect(await labels(store)).toEqual(['1.cls cat', '2.cls dog']);
    expect(await run(store, 3)).toMatchObject({ status: 'nothingNew' });
    store.seed(`${incoming}1.json`, '1.json');
    await run(store, 4);
    expect(await labels(store)).toEqual(['1.cls cow', '2.cls dog']);
    expect(await problems(store)).toEqual([]);
    expect(await run(store, 5)).toMatchObject({ status: 'nothingNew' });
  });

  it('is looked for once, while file and data stay', async () => {
    const store = await packed({ '1': 'cat', '2': 'dog' });
    store.objects.delete(`${incoming}1.json`);
    annotate(store, { '1': 'cow', '2': 'cow' });
    await run(store, 2);
    await run(store, 3);
    const read: string[] = [];
    const get = store.get.bind(store);
    store.get = (key, ...rest) => {
      read.push(key);
      return get(key, ...rest);
    };
    const lists = () => read.filter((key) => key.includes('/members/'));
    expect(await run(store, 4)).toMatchObject({ status: 'nothingNew' });
    expect(lists()).toEqual([]);
    store.seed(`${incoming}2.txt`, 'more');
    await planShards(
      { store, now },
      { runId: runOf(5), pipeline: PIPELINE, packing: PACKING, onChange: 'replace' },
    );
    expect(lists()).toEqual([]);
    store.seed(bucketKeys.comparedLabels(PIPELINE), 'not ours');
    await planShards(
      { store, now },
      { runId: runOf(6), pipeline: PIPELINE, packing: PACKING, onChange: 'replace' },
    );
    expect(lists()).not.toEqual([]);
    store.seed(`${incoming}1.json`, '1.json');
    await run(store, 7);
    expect(await labels(store)).toEqual(['1.cls cow', '2.cls cow']);
  });

  it('leaves the label where it gives none', async () => {
    const store = await packed({ '1': 'cat', '2': 'dog' });
    annotate(store, { '1.jpg': 'cat', '1.json': 'cow' });
    expect(await run(store, 2)).toMatchObject({ status: 'nothingNew' });
    expect(await labels(store)).toEqual(['1.cls cat', '2.cls dog']);
  });

  it('needs the objects, and replaces nothing with keep', async () => {
    const store = await packed({ '1': 'cat', '2': 'dog' });
    store.objects.delete(`${incoming}2.jpg`);
    annotate(store, { '1': 'cow', '2': 'cow' });
    expect(await run(store, 2, { onChange: 'keep' })).toMatchObject({ status: 'nothingNew' });
    await run(store, 3);
    expect(await labels(store)).toEqual(['1.cls cow', '2.cls dog']);
    expect(await run(store, 4)).toMatchObject({ status: 'nothingNew' });
  });
});
