import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlotRing } from '../../shard/read-buffers.ts';

describe('a ring of slots', () => {
  it('reuses memory only after its release', () => {
    const steps = fc.array(fc.oneof(fc.nat(200), fc.constant('release' as const)), { maxLength: 400 });
    fc.assert(
      fc.property(fc.integer({ min: 64, max: 1_024 }), steps, (bytes, all) => {
        const ring = new SlotRing(bytes);
        const held: { slot: Buffer; mark: number }[] = [];
        const lengths: [number, number][] = [];
        let mark = 0;
        const giveBack = (): void => {
          const first = held.shift();
          if (first === undefined) return;
          expect(first.slot.every((byte) => byte === first.mark)).toBe(true);
          ring.release();
        };
        for (const step of all) {
          if (step === 'release') giveBack();
          else {
            const slot = ring.take(step);
            if (slot === undefined) continue;
            lengths.push([slot.length, step]);
            mark = (mark + 1) % 256;
            slot.fill(mark);
            held.push({ slot, mark });
          }
        }
        while (held.length > 0) giveBack();
        expect(lengths.every(([got, wanted]) => got === wanted)).toBe(true);
        expect(ring.take(Math.floor(bytes / 8))).toBeDefined();
        expect(() => [ring.release(), ring.release()]).toThrow('never taken');
      }),
    );
  });

  it('touches little memory while little is in use', () => {
    const ring = new SlotRing(8_000);
    let furthest = 0;
    for (let turn = 0; turn < 500; turn += 1) {
      const slot = ring.take(100);
      furthest = Math.max(furthest, (slot?.byteOffset ?? 0) + 100);
      if (turn >= 5) ring.release();
    }
    expect(furthest).toBeLessThanOrEqual(2_100);
  });

  it('has no slot for empty or very large bodies', () => {
    const ring = new SlotRing(800);
    expect([ring.take(101), ring.take(0)]).toEqual([undefined, undefined]);
    expect(ring.take(100)).toHaveLength(100);
  });

  it('takes no memory before its first slot', () => {
    const before = process.memoryUsage().arrayBuffers;
    const ring = new SlotRing(64e6);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32e6);
    expect(ring.take(100)).toHaveLength(100);
    expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(32e6);
  });
});
