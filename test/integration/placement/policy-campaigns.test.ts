/** Whole campaigns by the thousand: too long for a unit test, no service needed. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { optimumUsd } from '../../../bench/sim/optimum.ts';
import { peers } from '../../../bench/sim/peers.ts';
import { decidedTogether } from '../../../bench/sim/short-ticks.ts';
import { tidewheel } from '../../../bench/sim/tidewheel.ts';
import { simulate } from '../../../bench/sim/world.ts';
import { drawLattice } from '../../../bench/sim/write-lattice.ts';
import { fittedRegimes } from '../../../packages/placement/belief/regimes.ts';
import shipped from '../../../packages/placement/policy/lattice-600.json' with { type: 'json' };
import { evenly } from '../../support/builders/evenly.ts';
import type { Setting } from '../../support/market/job.ts';
import { drawTrace } from '../../support/market/traces.ts';

const HOUR = 3_600;
const setting = (change: Partial<Setting> = {}): Setting => ({
  tickSeconds: 600,
  workSeconds: 24 * HOUR,
  deadlineSeconds: 32 * HOUR,
  restartSeconds: 360,
  spotUsd: [0.9731],
  onDemandUsd: 3.06,
  ...change,
});
const ours = tidewheel();
const trace = (seed: number, ticks = 260) => drawTrace(seed, ticks);
/** Fewer on a pull request, more by FUZZ_RUNS=2000: every failure prints its seed. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 250);

/** Capacity as it never comes in nature: random, alternating, cut off, nearly always, in blocks. */
const adversarialTrace = fc.oneof(
  fc.array(fc.boolean(), { minLength: 400, maxLength: 400 }),
  fc
    .integer({ min: 1, max: 9 })
    .map((period) => Array.from({ length: 400 }, (_, t) => t % (2 * period) < period)),
  fc.integer({ min: 0, max: 200 }).map((end) => Array.from({ length: 400 }, (_, t) => t < end)),
  fc.integer({ min: 2, max: 40 }).map((gap) => Array.from({ length: 400 }, (_, t) => t % gap !== 0)),
  fc.integer().map((seed) => trace(seed, 400)),
);

describe('the deadline', () => {
  it('is never missed, whatever capacity does', { timeout: 120_000 }, () => {
    const job = fc.record({
      tickSeconds: fc.constantFrom(600, 900),
      workTicks: evenly(3, 60),
      slackShare: evenly(0, 1),
      restartSeconds: fc.integer({ min: 0, max: 1_500 }),
      prices: fc.array(evenly(0.1, 4), { minLength: 1, maxLength: 3 }),
      zones: fc.array(adversarialTrace, { minLength: 3, maxLength: 3 }),
    });
    fc.assert(
      fc.property(job, ({ tickSeconds, workTicks, slackShare, restartSeconds, prices, zones }) => {
        const workSeconds = workTicks * tickSeconds;
        // The least that On-Demand needs from a cold start, in whole ticks, and some slack beyond.
        const least = Math.ceil((workSeconds + restartSeconds) / tickSeconds) * tickSeconds;
        const odd = setting({
          tickSeconds,
          workSeconds,
          deadlineSeconds: Math.round(least + slackShare * workSeconds),
          restartSeconds,
          spotUsd: prices,
        });
        const outcome = simulate(ours, odd, zones.slice(0, prices.length));
        expect(outcome.late).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  it('is never missed with joined short ticks', { timeout: 120_000 }, () => {
    const together = decidedTogether(ours);
    const job = fc.record({
      tickSeconds: fc.constantFrom(30, 60),
      workTicks: evenly(3, 200),
      slackTicks: evenly(0, 60),
      restartSeconds: fc.integer({ min: 0, max: 400 }),
      zones: fc.array(adversarialTrace, { minLength: 2, maxLength: 2 }),
    });
    fc.assert(
      fc.property(job, ({ tickSeconds, workTicks, slackTicks, restartSeconds, zones }) => {
        const workSeconds = workTicks * tickSeconds;
        const deadlineSeconds = workSeconds + restartSeconds + slackTicks * tickSeconds;
        const odd = setting({ tickSeconds, workSeconds, deadlineSeconds, restartSeconds, spotUsd: [1, 0.8] });
        expect(simulate(together, odd, zones).late).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  it('keeps plans of short ticks small', () => {
    const before = process.memoryUsage().arrayBuffers;
    decidedTogether(ours).begin(
      setting({ tickSeconds: 30, workSeconds: 4 * HOUR, deadlineSeconds: 8 * HOUR }),
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1e8);
  });

  it('is kept when Spot never comes', () => {
    const outcome = simulate(ours, setting(), [Array.from({ length: 300 }, () => false)]);
    expect(outcome.late).toBe(false);
    expect(outcome.finishSeconds).toBeLessThanOrEqual(32 * HOUR);
    expect(outcome.actions).not.toContain(1);
  });
});

describe('on traces drawn from the fitted chain', () => {
  const seeds = Array.from({ length: 25 }, (_, k) => k + 1);
  const ratioOf = (policy: Parameters<typeof simulate>[0], change: Partial<Setting> = {}): number => {
    const ratios = seeds.map((seed) => {
      const job = setting(change);
      const zones = [trace(seed)];
      return simulate(policy, job, zones).costUsd / optimumUsd(job, zones);
    });
    return ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  };

  it('costs less than every peer', { timeout: 60_000 }, () => {
    for (const restartSeconds of [180, 720]) {
      const own = ratioOf(ours, { restartSeconds });
      expect(own).toBeLessThan(1.1);
      for (const peer of peers) {
        expect(own).toBeLessThan(ratioOf(peer, { restartSeconds }));
      }
    }
  });

  it('never costs less than the clairvoyant optimum', () => {
    for (const seed of seeds) {
      const zones = [trace(seed), trace(seed + 1_000)];
      const job = setting({ spotUsd: [0.95, 1.2] });
      expect(simulate(ours, job, zones).costUsd).toBeGreaterThanOrEqual(optimumUsd(job, zones) - 1e-9);
    }
  });

  it('decides the same twice', () => {
    const zones = [trace(5), trace(6)];
    const job = setting({ spotUsd: [0.95, 1.2] });
    expect(simulate(tidewheel(), job, zones)).toEqual(simulate(tidewheel(), job, zones));
  });
});

it('ships the lattice that its table draws', { timeout: 60_000 }, () => {
  const fresh = drawLattice(fittedRegimes, 600);
  expect(shipped.table).toBe(fittedRegimes.name);
  for (const [state, row] of fresh.step.entries()) {
    for (const [next, share] of row.entries()) expect(shipped.step[state]?.[next]).toBeCloseTo(share, 4);
  }
});
