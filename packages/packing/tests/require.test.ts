/** Samples whose parts come in several drops. */

import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { accounts, contents, current, linesIn, problems } from '../../../test/support/builders/compaction.ts';
import { DatasetWorld } from '../../../test/support/builders/dataset-world.ts';
import type { SealResult } from '../seal/seal-dataset.ts';

const HOUR = 3_600_000;
const START = Date.parse('2026-11-21T00:00:00Z');

class World extends DatasetWorld {
  hour = 0;

  constructor(changes: Partial<PackingSettings> = {}) {
    super(changes);
    this.now = () => new Date(START + this.hour * HOUR);
    this.store.now = this.now;
  }

  drop(hour: number, ...names: readonly string[]): void {
    this.hour = hour;
    for (const name of names) this.put({ [name]: `${name} of hour ${hour}` });
  }

  async runAt(hour: number): Promise<SealResult> {
    this.hour = hour;
    const sealed = await this.run();
    const wrong = await problems(this.store);
    if (wrong.length > 0) throw new Error(wrong.join('; '));
    return sealed;
  }
}

/** Names of the members of each sample in the newest version. */
async function samples({ store }: DatasetWorld): Promise<string[]> {
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
  const packing = { require: ['image', 'json'] };

  it.each(['replace', 'keep'] as const)('is joined when the rest comes, onChange %s', async (onChange) => {
    const world = new World(packing);
    world.onChange = onChange;
    world.drop(0, ...pairs(1, 3), 'a/7.jpg', 'a/8.json', 'a/9.cls');
    const first = await world.runAt(1);
    expect(first).toMatchObject({ samples: 3, rejected: 0 });
    expect(first.left).toMatchObject({
      objects: 3,
      byReason: { incomplete: 3 },
      since: '2026-11-21T00:00:00.000Z',
    });
    world.drop(2, 'a/7.json', 'a/9.jpg');
    await world.runAt(3);
    expect(await samples(world)).toEqual(times(4));
    world.drop(4, 'a/8.jpg', 'a/9.json');
    await world.runAt(5);
    expect(await samples(world)).toEqual(times(6));
  });

  it.each(['replace', 'keep'] as const)(
    'is rejected after waitHours and joined later, onChange %s',
    async (onChange) => {
      const world = new World({ ...packing, waitHours: 24 });
      world.onChange = onChange;
      world.drop(0, ...pairs(1, 3), 'a/7.jpg');
      await world.runAt(1);
      world.drop(25, ...pairs(4, 1));
      expect(await world.runAt(26)).toMatchObject({
        rejections: { byReason: { requiredMissing: 1 } },
        left: { objects: 0 },
      });
      world.drop(30, ...pairs(5, 1));
      expect(await world.runAt(31)).toMatchObject({ rejected: 0 });
      world.drop(40, 'a/7.json');
      await world.runAt(41);
      expect(await samples(world)).toEqual(times(6));
      expect((await accounts(world.store)).filter((line) => /\/7\.jpg.*packed/.test(line))).toHaveLength(1);
    },
  );

  it('keeps its place in a compaction', async () => {
    const world = new World(packing);
    world.drop(0, ...pairs(1, 2), 'a/7.jpg');
    const declared = world.packing;
    world.packing = { ...declared, waitHours: 0 };
    await world.runAt(1);
    world.packing = declared;
    world.drop(2, ...pairs(3, 2), 'a/7.json');
    await world.runAt(3);
    await world.compact({ after: 2, everything: true });
    expect(await problems(world.store)).toEqual([]);
    expect(await samples(world)).toEqual(times(5));
    world.drop(4, 'a/7.json');
    await world.runAt(5);
    expect(await samples(world)).toEqual(times(5));
    expect((await contents(world.store)).filter((line) => line.includes('/7.json'))).toHaveLength(1);
  });
});

describe('without a declaration', () => {
  it('a lone sidecar is no sample beside images', async () => {
    const world = new World();
    world.drop(0, ...pairs(1, 3));
    await world.runAt(0);
    world.drop(1, 'a/8.json', 'a/9.cls', 'a/4.jpg');
    expect(await world.runAt(2)).toMatchObject({ samples: 1, left: { objects: 2 } });
    world.drop(3, 'a/8.jpg', 'a/9.jpg');
    await world.runAt(4);
    expect(await samples(world)).toEqual(['cls+jpg', 'cls+jpg', ...times(4)]);
  });

  it('a dataset of texts is packed', async () => {
    const world = new World();
    world.drop(0, 'a/1.json', 'a/2.json', 'a/3.txt', 'a/4.jpg');
    expect(await world.runAt(0)).toMatchObject({ samples: 4 });
  });
});

describe('require: learn', () => {
  const packing = { require: 'learn' } as const;

  it('takes the columns of the first generation', async () => {
    const world = new World(packing);
    world.drop(0, ...pairs(100, 20), 'a/1.jpg');
    const first = await world.runAt(1);
    expect(first).toMatchObject({
      samples: 20,
      learnt: ['image', 'json'],
      left: { byReason: { incomplete: 1 } },
    });
    world.drop(2, ...Array.from({ length: 30 }, (_, index) => `b/${index}.jpg`));
    expect(await world.runAt(3)).toMatchObject({ samples: 0, left: { objects: 31 } });
  });

  it('learns nothing from few samples', async () => {
    const world = new World(packing);
    world.drop(0, ...pairs(1, 8), 'a/9.jpg');
    expect(await world.runAt(0)).toMatchObject({ samples: 9, learnt: [] });
  });
});

it('require is refused for formats of files', () => {
  const parsed = packingSchema.safeParse({ format: 'lines', require: ['image'] });
  expect(parsed.error?.issues[0]?.path).toEqual(['require']);
});
