/** Samples whose parts come in several drops. */

import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { OnChange, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  accounts,
  contents,
  current,
  incoming,
  linesIn,
  problems,
  runOf,
} from '../../../test/support/builders/compaction.ts';
import { PIPELINE, planAndPack, settings } from '../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../compaction/compact.ts';
import { planShards } from '../plan/plan-shards.ts';
import { type SealResult, sealDataset } from '../seal/seal-dataset.ts';

const HOUR = 3_600_000;
const START = Date.parse('2026-11-21T00:00:00Z');

function put(store: MemoryBlobStore, hours: number, ...names: readonly string[]): void {
  store.now = () => new Date(START + hours * HOUR);
  for (const name of names) store.seed(`${incoming}${name}`, `${name} of hour ${hours}`);
}

/** One run at an hour after the start. */
async function run(
  store: MemoryBlobStore,
  batch: number,
  {
    packing,
    hours = 0,
    onChange = 'replace',
  }: { packing: PackingSettings; hours?: number; onChange?: OnChange },
): Promise<SealResult> {
  const one = { runId: runOf(batch), pipeline: PIPELINE, packing };
  await planShards({ store, now: () => new Date(START + hours * HOUR) }, { ...one, onChange });
  await planAndPack(store, packing, one.runId);
  const sealed = await sealDataset({ store }, one);
  if (sealed.waiting > 0) await compact(store, { pipeline: PIPELINE, packing, onChange, after: 'never' });
  expect(await problems(store)).toEqual([]);
  return sealed;
}

/** Names of the members of each sample in the newest version. */
async function samples(store: MemoryBlobStore): Promise<string[]> {
  const all = new Map<string, string[]>();
  for (const manifest of await current(store))
    for (const { name, sample } of linesIn(store, manifest)) {
      const id = `${manifest.generation} ${sample}`;
      all.set(id, [...(all.get(id) ?? []), name.slice(name.indexOf('.') + 1)]);
    }
  return [...all.values()].map((names) => names.sort().join('+')).sort();
}

const pairs = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => [`a/${first + index}.jpg`, `a/${first + index}.json`]).flat();

const whole = 'cls+jpg+json';
const times = (count: number): string[] => Array.from({ length: count }, () => whole);

describe('a sample that lacks a required member', () => {
  const packing = settings({ require: ['image', 'json'], shardMegabytes: 0.06 });

  it.each(['replace', 'keep'] as const)('is joined when the rest comes, onChange %s', async (onChange) => {
    const store = new MemoryBlobStore();
    put(store, 0, ...pairs(1, 3), 'a/7.jpg', 'a/8.json', 'a/9.cls');
    const first = await run(store, 1, { packing, hours: 1, onChange });
    expect(first).toMatchObject({ samples: 3, rejected: 0 });
    expect(first.left).toMatchObject({
      objects: 3,
      byReason: { incomplete: 3 },
      since: '2026-11-21T00:00:00.000Z',
    });
    put(store, 2, 'a/7.json', 'a/9.jpg');
    await run(store, 2, { packing, hours: 3, onChange });
    expect(await samples(store)).toEqual(times(4));
    put(store, 4, 'a/8.jpg', 'a/9.json');
    await run(store, 3, { packing, hours: 5, onChange });
    expect(await samples(store)).toEqual(times(6));
  });

  it.each(['replace', 'keep'] as const)(
    'is rejected after waitHours and joined later, onChange %s',
    async (onChange) => {
      const store = new MemoryBlobStore();
      const soon = { ...packing, waitHours: 24 };
      put(store, 0, ...pairs(1, 3), 'a/7.jpg');
      await run(store, 1, { packing: soon, hours: 1, onChange });
      put(store, 25, ...pairs(4, 1));
      expect(await run(store, 2, { packing: soon, hours: 26, onChange })).toMatchObject({
        rejections: { byReason: { requiredMissing: 1 } },
        left: { objects: 0 },
      });
      put(store, 30, ...pairs(5, 1));
      expect(await run(store, 3, { packing: soon, hours: 31, onChange })).toMatchObject({ rejected: 0 });
      put(store, 40, 'a/7.json');
      await run(store, 4, { packing: soon, hours: 41, onChange });
      expect(await samples(store)).toEqual(times(6));
      expect((await accounts(store)).filter((line) => /\/7\.jpg.*packed/.test(line))).toHaveLength(1);
    },
  );

  it('keeps its place in a compaction', async () => {
    const store = new MemoryBlobStore();
    put(store, 0, ...pairs(1, 2), 'a/7.jpg');
    await run(store, 1, { packing: { ...packing, waitHours: 0 }, hours: 1 });
    put(store, 2, ...pairs(3, 2), 'a/7.json');
    await run(store, 2, { packing, hours: 3 });
    await compact(store, { pipeline: PIPELINE, packing, after: 2, everything: true });
    expect(await problems(store)).toEqual([]);
    expect(await samples(store)).toEqual(times(5));
    put(store, 4, 'a/7.json');
    await run(store, 3, { packing, hours: 5 });
    expect(await samples(store)).toEqual(times(5));
    expect((await contents(store)).filter((line) => line.includes('/7.json'))).toHaveLength(1);
  });
});

describe('without a declaration', () => {
  const packing = settings();

  it('a lone sidecar is no sample beside images', async () => {
    const store = new MemoryBlobStore();
    put(store, 0, ...pairs(1, 3));
    await run(store, 1, { packing });
    put(store, 1, 'a/8.json', 'a/9.cls', 'a/4.jpg');
    expect(await run(store, 2, { packing, hours: 2 })).toMatchObject({ samples: 1, left: { objects: 2 } });
    put(store, 3, 'a/8.jpg', 'a/9.jpg');
    await run(store, 3, { packing, hours: 4 });
    expect(await samples(store)).toEqual(['cls+jpg', 'cls+jpg', ...times(4)]);
  });

  it('a dataset of texts is packed', async () => {
    const store = new MemoryBlobStore();
    put(store, 0, 'a/1.json', 'a/2.json', 'a/3.txt', 'a/4.jpg');
    expect(await run(store, 1, { packing })).toMatchObject({ samples: 4 });
  });
});

describe('require: learn', () => {
  const packing = settings({ require: 'learn' });

  it('takes the columns of the first generation', async () => {
    const store = new MemoryBlobStore();
    put(store, 0, ...pairs(100, 20), 'a/1.jpg');
    const first = await run(store, 1, { packing, hours: 1 });
    expect(first).toMatchObject({
      samples: 20,
      learnt: ['image', 'json'],
      left: { byReason: { incomplete: 1 } },
    });
    put(store, 2, ...Array.from({ length: 30 }, (_, index) => `b/${index}.jpg`));
    expect(await run(store, 2, { packing, hours: 3 })).toMatchObject({ samples: 0, left: { objects: 31 } });
  });

  it('learns nothing from few samples', async () => {
    const store = new MemoryBlobStore();
    put(store, 0, ...pairs(1, 8), 'a/9.jpg');
    expect(await run(store, 1, { packing })).toMatchObject({ samples: 9, learnt: [] });
  });
});

it('require is refused for formats of files', () => {
  const parsed = packingSchema.safeParse({ format: 'lines', require: ['image'] });
  expect(parsed.error?.issues[0]?.path).toEqual(['require']);
});
