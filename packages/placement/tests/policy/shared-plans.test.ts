import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tidewheel } from '../../../../bench/sim/tidewheel.ts';
import { simulate } from '../../../../bench/sim/world.ts';
import type { Setting } from '../../../../test/support/market/job.ts';
import { type Terms } from '../../policy/plan-pass.ts';
import { keptPlans, type PolicyPlan } from '../../policy/value-function.ts';

const chain = {
  upStates: 2,
  step: [
    [0.7, 0.1, 0.15, 0.05],
    [0, 0.95, 0.04, 0.01],
    [0.3, 0.1, 0.5, 0.1],
    [0.02, 0, 0.08, 0.9],
  ],
};
const seconds = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: most });
const terms: fc.Arbitrary<Terms> = fc.record({
  tickSeconds: fc.constantFrom(195, 600),
  restartSeconds: seconds(900),
  spotUsd: fc.constantFrom(0.9, 1.4),
  onDemandUsd: fc.constant(3),
});
const horizon = fc
  .record({ workSeconds: seconds(9_000), slackSeconds: seconds(6_000) })
  .map(({ workSeconds, slackSeconds }) => ({ workSeconds, deadlineSeconds: workSeconds + slackSeconds }));

describe('a table that several jobs share', () => {
  it("equals each job's own table to the bit", () => {
    const weights = [0.4, 0.1, 0.3, 0.2].map((chance, state) => ({ state, chance }));
    const plans = () => keptPlans(() => chain, { cellsPerTick: 4, mostTables: 1, spare: 0 });
    fc.assert(
      fc.property(terms, horizon, horizon, (on, one, more) => {
        const job = { ...on, ...one };
        const wider = {
          ...job,
          workSeconds: Math.min(job.workSeconds, more.workSeconds),
          deadlineSeconds: job.deadlineSeconds + more.deadlineSeconds,
        };
        const sharing = plans();
        sharing(wider);
        const [alone, shared] = [plans()(job), sharing(job)];
        const ticks = Math.floor(job.deadlineSeconds / on.tickSeconds);
        const debt = Math.max(0, on.restartSeconds - on.tickSeconds);
        for (let ticksLeft = 0; ticksLeft < ticks; ticksLeft += 1)
          for (let part = 0; part <= 1; part += 0.125) {
            const most = job.deadlineSeconds - job.workSeconds;
            // A start that is under way has taken its whole length from the slack, which was there to be taken.
            const started = most - on.restartSeconds;
            const ends: Parameters<PolicyPlan['value']>[1][] = [
              { ran: 0, slack: most * part, debt: 0 },
              { ran: 2, slack: most * part, debt: 0 },
            ];
            if (started >= 0) ends.push({ ran: 1, slack: started * part, debt });
            for (const end of ends)
              expect(shared.value(ticksLeft, end, weights)).toBe(alone.value(ticksLeft, end, weights));
          }
      }),
      { numRuns: 40 },
    );
  });

  it('decides each run independently', () => {
    const setting = (workSeconds: number, deadlineSeconds: number): Setting => ({
      tickSeconds: 600,
      workSeconds,
      deadlineSeconds,
      restartSeconds: 720,
      spotUsd: [0.9],
      onDemandUsd: 3,
    });
    const settings = [setting(10_000, 15_000), setting(4_000, 20_000), setting(14_000, 16_000)];
    const zones = [Array.from({ length: 40 }, (_, tick) => tick % 11 < 7)];
    const together = tidewheel();
    for (const each of settings) {
      const alone = simulate(tidewheel(), each, zones);
      expect(simulate(together, each, zones)).toEqual(alone);
      expect(alone.late).toBe(false);
    }
  });
});
