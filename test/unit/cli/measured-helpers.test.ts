/** What `npm run measure:helpers` makes of its runs, and what placement forecasts beside them. */
import { describe, expect, it } from 'vitest';
import { forecastWith, published } from '../../../bench/helpers/forecast.ts';
import { median, runSchema, tableOf } from '../../../bench/helpers/table.ts';

const run = (helpers: number, stepSeconds: number, acceleratorSeconds = 0.05) =>
  runSchema.parse({
    helpers,
    prepare_here: helpers === 0,
    accelerator_seconds: acceleratorSeconds,
    steps: 60,
    step_seconds: stepSeconds,
    accelerator_use: acceleratorSeconds / stepSeconds,
    cpu_use: [1],
    cpu_seconds_per_step: 0.11,
    slowdown: 1,
  });

describe('the forecast', () => {
  const hostBound = { stepSeconds: 0.4, steps: 180, acceleratorUse: 0.1, cpuUse: 1 };

  it('is the measurement itself without helpers', () => {
    expect(forecastWith(0, hostBound)).toEqual({ stepSeconds: 0.4, lowSeconds: 0.4, highSeconds: 0.4 });
  });

  it('is shorter with every helper, between its own ends', () => {
    const [one, two] = [forecastWith(1, hostBound), forecastWith(2, hostBound)];
    expect(one.stepSeconds).toBeLessThan(0.4);
    expect(two.stepSeconds).toBeLessThan(one.stepSeconds);
    expect(two.lowSeconds).toBeLessThan(two.stepSeconds);
    expect(two.highSeconds).toBeGreaterThan(two.stepSeconds);
  });

  it('never beats the accelerator', () => {
    expect(forecastWith(4, { ...hostBound, acceleratorUse: 0.6 }).stepSeconds).toBeCloseTo(0.24, 9);
  });

  it("comes within a tenth of AWS's published step", () => {
    const { forecast, measured } = published();
    expect(Math.abs(forecast / measured - 1)).toBeLessThan(0.1);
  });
});

describe('the table', () => {
  const lines = tableOf([[run(0, 0.4), run(0, 0.5), run(0, 0.41)], [run(2, 0.2)], [run(2, 0.1, 0.25)]]).split(
    '\n',
  );

  it('gives the median and range of the runs', () => {
    expect(lines[2]).toContain('| 0.410 (0.400 to 0.500) ');
    expect(lines[3]).toContain('| 0.200 (0.200 to 0.200) ');
  });

  it('compares runs of the same accelerator only', () => {
    expect(lines[3]).toContain('| 2.05 x ');
    // Nothing was measured without helpers on that accelerator.
    expect(lines[4]).not.toContain(' x ');
  });

  it('takes the middle of what it is given', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2);
    expect(median([])).toBeNaN();
  });
});
