/** What a probe recommends, and when it cannot tell. */
import { describe, expect, it } from 'vitest';
import { type ProbedCell, probeVerdict } from '../probe/probe-verdict.ts';

const spread = (mean: number, half: number) => ({ mean, low: mean - half, high: mean + half });

const cell = (
  name: string,
  stepSeconds: ReturnType<typeof spread>,
  { usdPerHour = 1, samples = true } = {},
): ProbedCell => ({
  name,
  usdPerHour,
  speed: {
    basis: 'hooks',
    clock: 'machine',
    hosts: 1,
    steps: 200,
    stepSeconds,
    ...(samples && {
      samplesPerSecond: { mean: 8 / stepSeconds.mean, low: 8 / stepSeconds.high, high: 8 / stepSeconds.low },
    }),
  },
});

describe('the recommendation', () => {
  it('tells the cheapest from the fastest', () => {
    const verdict = probeVerdict([
      cell('large', spread(0.5, 0.01), { usdPerHour: 4 }),
      cell('small', spread(1, 0.01), { usdPerHour: 1 }),
    ]);
    expect(verdict?.unit).toBe('samples');
    expect(verdict?.cheapest).toEqual({ best: 'small', alike: [], ahead: 1 });
    expect(verdict?.fastest).toEqual({ best: 'large', alike: [], ahead: 1 });
  });

  it('says which ones these steps do not tell apart', () => {
    const verdict = probeVerdict([
      cell('a', spread(1, 0.1)),
      cell('b', spread(1.1, 0.1)),
      cell('c', spread(3, 0.1)),
    ]);
    expect(verdict?.fastest).toMatchObject({ best: 'a', alike: ['b'] });
    expect(verdict?.fastest.ahead).toBeCloseTo(2);
    // Widths of 0.2 against a difference of 0.1 want four times the steps.
    expect(verdict?.fastest.stepsToTell).toBeGreaterThan(700);
    expect(verdict?.fastest.stepsToTell).toBeLessThan(1_000);
  });

  it('asks for no steps to tell equals apart', () => {
    const verdict = probeVerdict([cell('a', spread(1, 0.1)), cell('b', spread(1.001, 0.1))]);
    expect(verdict?.fastest).toEqual({ best: 'a', alike: ['b'], stepsToTell: undefined });
  });

  it('compares steps where a script tells no samples', () => {
    const verdict = probeVerdict([cell('a', spread(1, 0.1)), cell('b', spread(2, 0.1), { samples: false })]);
    expect(verdict?.unit).toBe('steps');
  });

  it('needs two that were measured', () => {
    expect(probeVerdict([cell('a', spread(1, 0.1))])).toBeUndefined();
  });
});
