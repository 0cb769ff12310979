/** Any process can die at any line, any event can be lost, doubled, late: every history still ends well. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { violations } from '../../support/world/facts.ts';
import { live } from '../../support/world/history.ts';
import { PIPELINE } from '../../support/world/world.ts';

/** The same histories each time; TIDEWHEEL_HISTORIES=2000 TIDEWHEEL_SEED=$RANDOM looks at others. */
const numRuns = Number(process.env['TIDEWHEEL_HISTORIES'] ?? 50);
const seed = Number(process.env['TIDEWHEEL_SEED'] ?? 1);

describe('a run in any weather', () => {
  it('has one outcome and a report that adds up', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (history) => {
        expect(await violations(await live(history))).toEqual([]);
      }),
      { numRuns, seed, endOnFailure: true },
    );
  }, 300_000);

  it('does so on EC2, leaving no fleet', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (history) => {
        expect(await violations(await live(history, 'ec2'))).toEqual([]);
      }),
      { numRuns, seed, endOnFailure: true },
    );
  }, 300_000);

  it('does so with both launchers', async () => {
    const used = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (history) => {
        const lived = await live(history, 'cheapest');
        expect(await violations(lived)).toEqual([]);
        for (const { runId } of await lived.world.runs.list(PIPELINE, 1_000))
          for (const { launcher } of await lived.world.attempts.list(runId)) used.add(launcher);
      }),
      { numRuns: Math.ceil(numRuns / 3), seed, endOnFailure: true },
    );
    expect(used).toEqual(new Set(['sagemaker', 'ec2']));
  }, 300_000);
});
