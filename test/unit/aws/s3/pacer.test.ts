import { describe, expect, it } from 'vitest';
import { Pacer } from '../../../../functions/aws/s3/pacer.ts';

const LIMITS = { least: 2, most: 10, calmMilliseconds: 500 };

describe('the pace of requests', () => {
  it('admits the allowed number, in turn', async () => {
    const pacer = new Pacer(() => 0, LIMITS);
    const turns = Array.from({ length: 12 }, () => pacer.enter());
    expect(turns.filter((turn) => turn === undefined)).toHaveLength(10);
    let entered = false;
    const eleventh = turns[10]?.then(() => (entered = true));
    await Promise.resolve();
    expect(entered).toBe(false);
    pacer.leave(false);
    await eleventh;
    expect(entered).toBe(true);
  });

  it('falls once per burst, never below minimum', () => {
    let now = 0;
    const pacer = new Pacer(() => now, LIMITS);
    for (let burst = 0; burst < 3; burst += 1) {
      for (let request = 0; request < 5; request += 1) {
        void pacer.enter();
        pacer.leave(true);
      }
      now += 1_000;
    }
    expect(pacer.limit).toBe(3);
    for (let burst = 0; burst < 20; burst += 1) {
      void pacer.enter();
      pacer.leave(true);
      now += 1_000;
    }
    expect(pacer.limit).toBe(2);
  });

  it('rises again while S3 is calm', () => {
    const pacer = new Pacer(() => 0, LIMITS);
    void pacer.enter();
    pacer.leave(true);
    expect(pacer.limit).toBe(7);
    for (let request = 0; request < 100; request += 1) {
      void pacer.enter();
      pacer.leave(false);
    }
    expect(pacer.limit).toBe(10);
  });
});
