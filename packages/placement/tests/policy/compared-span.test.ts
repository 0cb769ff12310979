import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { comparedSpan, type SpanQuestion } from '../../policy/value-function.ts';

const HOUR = 3_600;
const seconds = (most: number) => fc.integer({ min: 0, max: most });
const anyQuestion = fc.record({
  tickSeconds: fc.constantFrom(195, 600),
  restartSeconds: seconds(2_000),
  workLeft: seconds(30 * HOUR),
  slack: seconds(20 * HOUR),
  lasting: fc.double({ min: 0, max: 1, noNaN: true }),
  secondsIfRefused: fc.constantFrom(0, 900),
  mostWorkSeconds: fc.constant(6 * HOUR),
  mostSlackSeconds: fc.constant(4 * HOUR),
});
const isWhole = (amount: number, tick: number): boolean =>
  Math.abs(amount / tick - Math.round(amount / tick)) < 1e-9;

it('is whole ticks, within its bounds', () => {
  fc.assert(
    fc.property(anyQuestion, (asked) => {
      const span = comparedSpan(asked);
      if (span === undefined) return;
      for (const [amount, most] of [
        [span.workSeconds, asked.mostWorkSeconds],
        [span.slackSeconds, asked.mostSlackSeconds],
      ] as const) {
        expect(isWhole(amount, asked.tickSeconds)).toBe(true);
        expect(amount).toBeLessThan(most + asked.tickSeconds);
      }
      expect(span.workSeconds).toBeGreaterThanOrEqual(Math.min(asked.workLeft, asked.mostWorkSeconds));
    }),
  );
});

it('needs slack for three starts and a refused request', () => {
  fc.assert(
    fc.property(anyQuestion, (asked) => {
      const least = 3 * asked.restartSeconds + asked.secondsIfRefused + asked.tickSeconds;
      expect(comparedSpan(asked) === undefined).toBe(asked.slack < least || asked.workLeft === 0);
    }),
  );
});

it('waits for nothing where all capacity goes', () => {
  const ample: SpanQuestion = {
    tickSeconds: 600,
    restartSeconds: 720,
    workLeft: 12 * HOUR,
    slack: 12 * HOUR,
    lasting: 0.95,
    mostWorkSeconds: 6 * HOUR,
    mostSlackSeconds: 4 * HOUR,
  };
  expect(comparedSpan(ample)).toMatchObject({ mayWait: true });
  expect(comparedSpan({ ...ample, lasting: 0.4 })).toMatchObject({ mayWait: false });
  expect(comparedSpan({ ...ample, lasting: 0 })).toMatchObject({ mayWait: false });
});
