import { expect, it } from 'vitest';
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
