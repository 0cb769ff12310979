import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Heap } from '../heap.ts';

it('gives sorted lists as one sorted list', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.integer(), { minLength: 1 })), (lists) => {
      const sorted = lists.map((list) => list.toSorted((a, b) => a - b));
      const cursors = sorted.map((list) => ({ list, at: 0 }));
      const valueOf = ({ list, at }: { list: number[]; at: number }): number => list[at] ?? 0;
      const heap = new Heap(cursors, (a, b) => valueOf(a) - valueOf(b));
      const merged: number[] = [];
      for (let { least } = heap; least !== undefined; least = heap.least) {
        merged.push(valueOf(least));
        least.at += 1;
        if (least.at === least.list.length) heap.drop();
        else heap.sink();
      }
      expect(merged).toEqual(lists.flat().toSorted((a, b) => a - b));
    }),
  );
});
