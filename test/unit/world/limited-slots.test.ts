/**
 * Runs in an account with few concurrent executions: Lambda refuses what is above, and most items of a Map wait for
 * the others. Time is virtual.
 */
import { describe, expect, it } from 'vitest';
import { type Drop, trainDrops } from '../../support/world/drops.ts';

/** The default of `--param packers=`. */
const packers = 100;
/** S3 and DynamoDB answer in a moment. */
const callSeconds = () => 0.02;

const inAccount = (concurrentExecutions: number, drops: readonly Drop[]) =>
  trainDrops({ concurrentExecutions, packers, callSeconds }, drops);

describe('a drop in an account with few slots', () => {
  it.each([
    [10, 100, 60],
    [10, 100, 15],
    [50, 400, 60],
    [80, 400, 180],
  ])('is sealed: %i slots, %i items of %i s', async (slots, items, itemSeconds) => {
    const { runs, usage } = await inAccount(slots, [{ pipeline: 'tide', items, itemSeconds }]);
    expect(runs.map(({ status }) => status)).toEqual(['succeeded']);
    expect(usage.mostSlots).toBe(slots);
    expect(usage.throttled).toBeGreaterThan(items / 2);
    const settleSeconds = 60;
    const minutes = ((runs[0]?.sealedSeconds ?? Number.NaN) - settleSeconds) / 60;
    // Slots stand empty only while every waiting item waits for its next try.
    expect(minutes).toBeLessThan(1.5 * ((items / slots) * (itemSeconds / 60)) + 5);
  });

  it('takes no more slots than its packers', async () => {
    const drops = [{ pipeline: 'tide', items: 40, itemSeconds: 60 }];
    const account = { concurrentExecutions: 1_000, packers: 6, callSeconds };
    const { runs, usage } = await trainDrops(account, drops);
    expect(runs.map(({ status }) => status)).toEqual(['succeeded']);
    // Forty without the limit; one or two are of functions that look after runs.
    expect(usage.mostSlots).toBeLessThanOrEqual(8);
  });

  it('is sealed beside the drop of another pipeline', async () => {
    const { runs } = await inAccount(10, [
      { pipeline: 'tide', items: 100, itemSeconds: 60 },
      { pipeline: 'ebb', items: 40, itemSeconds: 30 },
    ]);
    expect(runs.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  });
});
