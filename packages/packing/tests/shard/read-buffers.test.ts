import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReadBuffers } from '../../shard/read-buffers.ts';

describe('memory for reads', () => {
  it('reuses memory only after its release', () => {
    const step = fc.oneof(fc.integer({ min: 1, max: 1_100 }), fc.constant('release' as const));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const buffers = new ReadBuffers(4_000, 1_000);
        const held: { taken: Buffer; mark: number }[] = [];
        const spoilt: Buffer[] = [];
        const wrongLengths: number[] = [];
        let mark = 0;
        const releaseFirst = (): void => {
          const first = held.shift();
          if (first === undefined) return;
          if (first.taken.some((byte) => byte !== first.mark)) spoilt.push(first.taken);
          buffers.release(first.taken);
        };
        for (const one of steps) {
          if (one === 'release') {
            releaseFirst();
            continue;
          }
          const hadRoom = buffers.hasRoom(one);
          const taken = buffers.take(one);
          const isKnown = one > 1_000 / 32 && one <= 1_000;
          if ((taken?.length ?? one) !== one || (isKnown && hadRoom !== (taken !== undefined)))
            wrongLengths.push(one);
          mark = (mark + 1) % 256;
          if (taken !== undefined) held.push({ taken: taken.fill(mark), mark });
        }
        while (held.length > 0) releaseFirst();
        expect([spoilt, wrongLengths, buffers.hasRoom(1_000)]).toEqual([[], [], true]);
      }),
    );
  });

  it('holds no more than its limit', () => {
    const buffers = new ReadBuffers(4_000, 1_000);
    const taken = (length: number): number => {
      let count = 0;
      while (buffers.take(length) !== undefined) count += 1;
      return count;
    };
    expect([taken(1_000), buffers.hasRoom(100)]).toEqual([4, false]);
    const others = new ReadBuffers(4_000, 1_000);
    for (const one of Array.from({ length: 16 }, () => others.take(200))) if (one) others.release(one);
    expect(others.hasRoom(600)).toBe(true);
    expect(others.take(600)).toHaveLength(600);
  });
});
