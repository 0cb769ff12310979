/** Workers killed with SIGKILL at seeded moments, against a server that throttles, resets, truncates and corrupts. */
import { describe, expect, it } from 'vitest';
import { survive, undisturbed } from './kill-campaign.ts';
import { startWorker } from './run-worker.ts';

/** A few in CI; `TIDEWHEEL_SEEDS=500` tries hundreds, about two seconds each. */
const SEEDS = Number(process.env['TIDEWHEEL_SEEDS'] ?? 3);
const KILLS = 5;

describe('workers killed beside a faulty server', () => {
  it(
    'end with the same sealed bytes',
    async () => {
      const calm = await undisturbed(startWorker);
      expect(calm.size).toBeGreaterThan(5);
      let faults = 0;
      let kills = 0;
      for (let seed = 0; seed < SEEDS; seed += 1) {
        const outcome = await survive(startWorker, seed, KILLS);
        faults += outcome.faults;
        kills += outcome.kills;
        expect(outcome.sealed).toEqual(calm);
      }
      expect(faults).toBeGreaterThan(SEEDS * 5);
      expect(kills).toBeGreaterThanOrEqual(SEEDS);
    },
    SEEDS * 200_000,
  );
});
