import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { optimumUsd } from '../../../../bench/sim/optimum.ts';
import { peers } from '../../../../bench/sim/peers.ts';
import { type Decision, type Strategy, simulate, type View } from '../../../../bench/sim/world.ts';
import type { Setting } from '../../../../test/support/market/job.ts';
import { IDLE, SPOT } from '../../policy/plan-pass.ts';

const setting = (change: Partial<Setting> = {}): Setting => ({
  tickSeconds: 600,
  workSeconds: 1_800,
  deadlineSeconds: 6_000,
  restartSeconds: 120,
  spotUsd: [0.9],
  onDemandUsd: 3,
  ...change,
});
const scripted = (letters: string, zones: readonly number[] = []): Strategy => ({
  name: 'scripted',
  begin:
    () =>
    (view: View): Decision => ({
      action: ({ I: 0, S: 1, O: 2 } as const)[letters[view.tick] as 'I' | 'S' | 'O'] ?? 2,
      zone: zones[view.tick] ?? view.zone,
    }),
});
const bits = (text: string): boolean[] => Array.from(text, (bit) => bit === '1');

describe('the simulated market', () => {
  it('bills whole ticks, the start first', () => {
    const outcome = simulate(scripted('OOOO'), setting(), [bits('0000')]);
    expect(outcome.costUsd).toBeCloseTo(4 * (3 / 6), 10);
    expect(outcome.finishSeconds).toBe(1_920);
    expect(outcome.starts).toBe(1);
  });

  it('makes an interruption cost one new start', () => {
    const outcome = simulate(scripted('SISSS'), setting(), [bits('10111')]);
    expect(outcome.actions).toEqual([SPOT, IDLE, SPOT, SPOT, SPOT]);
    expect(outcome.starts).toBe(2);
    expect(outcome.finishSeconds).toBe(1_200 + 1_800 - 480 + 120);
  });

  it('turns Spot without capacity into waiting', () => {
    const { actions } = simulate(scripted('SSOOOO'), setting(), [bits('000000')]);
    expect(actions.slice(0, 2)).toEqual([IDLE, IDLE]);
  });

  it("bills each zone's price, and moves as starts", () => {
    const two = setting({ spotUsd: [0.6, 1.2] });
    const outcome = simulate(scripted('SSSS', [0, 1, 1, 1]), two, [bits('1111'), bits('1111')]);
    expect(outcome.starts).toBe(2);
    expect(outcome.costUsd).toBeCloseTo(0.1 + 3 * 0.2, 10);
  });

  it('spills a long start into the next tick', () => {
    const slow = setting({ restartSeconds: 720 });
    expect(simulate(scripted('OOOOO'), slow, [bits('00000')]).finishSeconds).toBe(720 + 1_800);
  });
});

const LETTERS = ['I', 'S0', 'S1', 'O'] as const;

/** Every schedule of six ticks over two zones, lived through. */
function cheapestOfAll(job: Setting, zones: boolean[][]): number {
  let least = Number.POSITIVE_INFINITY;
  for (let code = 0; code < 4 ** 6; code += 1) {
    const picks = Array.from({ length: 6 }, (_, t) => LETTERS[Math.floor(code / 4 ** t) % 4] ?? 'I');
    const text = picks.map((pick) => pick[0]).join('');
    const where = picks.map((pick) => (pick === 'S1' ? 1 : 0));
    const outcome = simulate(scripted(text, where), job, zones);
    if (!outcome.late && outcome.costUsd < least) least = outcome.costUsd;
  }
  return least;
}

describe('the clairvoyant optimum', () => {
  it('waits for Spot and moves when that pays', () => {
    expect(optimumUsd(setting(), [bits('0000111100')])).toBeCloseTo(4 * 0.15, 10);
    const two = setting({ spotUsd: [1.8, 0.6] });
    expect(optimumUsd(two, [bits('1111000000'), bits('0111100000')])).toBeCloseTo(4 * 0.1, 10);
  });

  /** Seconds with and without a fraction; 795 s and a start are five ticks of 195 s, 795.3 s are one more. */
  const small = [
    { tickSeconds: 600, workSeconds: 1_200, deadlineSeconds: 3_600, restartSeconds: 240 },
    { tickSeconds: 195, workSeconds: 795.3, deadlineSeconds: 1_170, restartSeconds: 180 },
    { tickSeconds: 195, workSeconds: 466.45, deadlineSeconds: 1_100.7, restartSeconds: 118.8 },
    { tickSeconds: 195, workSeconds: 334.4, deadlineSeconds: 1_170, restartSeconds: 250.2 },
  ];
  it.each(small)('is what trying every schedule finds: %j', (times) => {
    const job = setting({ ...times, spotUsd: [0.9, 1.1] });
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (flags) => {
        const zones = [flags.slice(0, 6), flags.slice(6)];
        expect(optimumUsd(job, zones)).toBeCloseTo(cheapestOfAll(job, zones), 9);
      }),
      { numRuns: 6 },
    );
  });

  it('is a lower bound for every timely peer', () => {
    const job = setting({ workSeconds: 12_000, deadlineSeconds: 18_000, spotUsd: [0.9, 1.1] });
    const flags = fc.array(fc.boolean(), { minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(flags, flags, (first, second) => {
        const least = optimumUsd(job, [first, second]);
        const inTime = peers
          .map((peer) => simulate(peer, job, [first, second]))
          .filter((outcome) => !outcome.late);
        for (const outcome of inTime) expect(outcome.costUsd).toBeGreaterThanOrEqual(least - 1e-9);
      }),
      { numRuns: 50 },
    );
  });
});
