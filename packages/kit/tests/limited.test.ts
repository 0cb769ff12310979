import { expect, it } from 'vitest';
import { eachItem } from '../each-item.ts';
import { eachLimited, mapLimited } from '../limited.ts';

it('no more than the limit work at once', async () => {
  let [now, most] = [0, 0];
  const results = await mapLimited([5, 4, 3, 2, 1, 0], 3, async (turns) => {
    most = Math.max(most, (now += 1));
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    now -= 1;
    return 2 * turns;
  });
  expect([most, results]).toEqual([3, [10, 8, 6, 4, 2, 0]]);
});

it('the first failure begins nothing more', async () => {
  const begun: number[] = [];
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    if (item === 1) throw new Error('no');
    await Promise.resolve();
  };
  await expect(eachLimited(Array(100).keys(), 2, work)).rejects.toThrow('no');
  expect(begun.length).toBeLessThan(5);
});

it.each([1, 5, 15, 60, 1_440])('rounds every %i minutes begin at each item', async (minutes) => {
  for (const count of [1, 2, 5, 50, 60]) {
    const items = [...Array(count).keys()];
    const first = new Set<number | undefined>();
    for (let round = 0; round < 10 * count; round += 1) {
      const begun: number[] = [];
      const now = new Date(Date.UTC(2026, 0, 1, 0, round * minutes));
      await eachItem(items, String, async (item) => void begun.push(item), { now, failures: [] });
      first.add(begun[0]);
      expect(begun.toSorted((a, b) => a - b)).toEqual(items);
    }
    expect(first.size).toBe(count);
  }
});

it('daily rounds do not begin at the same item for weeks', async () => {
  const first = new Set<number | undefined>();
  for (let day = 0; day < 5; day += 1) {
    const begun: number[] = [];
    const now = new Date(Date.UTC(2026, 0, 1 + day));
    await eachItem([0, 1], String, async (item) => void begun.push(item), { now, failures: [] });
    first.add(begun[0]);
  }
  expect(first).toEqual(new Set([0, 1]));
});
