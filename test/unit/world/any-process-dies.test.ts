/** Any process can die at any line, any event can be lost, doubled, late: every history still ends well. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { violations } from '../../support/world/facts.ts';
import { type History, live } from '../../support/world/history.ts';
import { PIPELINE } from '../../support/world/world.ts';

/** The same histories each time; TIDEWHEEL_HISTORIES=2000 TIDEWHEEL_SEED=$RANDOM looks at others. */
const numRuns = Number(process.env['TIDEWHEEL_HISTORIES'] ?? 10);
const seed = Number(process.env['TIDEWHEEL_SEED'] ?? 1);

/** Ends of attempts, so that a world in which no job starts passes no test. */
async function addEnds(ends: Set<string>, { world }: History): Promise<void> {
  for (const { runId } of await world.runs.list(PIPELINE, 1_000))
    for (const { outcome } of await world.attempts.list(runId)) ends.add(outcome?.kind ?? 'none');
}

describe('a run in any weather', () => {
  it('has one outcome and a report that adds up', async () => {
    const ends = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (history) => {
        const lived = await live(history);
        expect(await violations(lived)).toEqual([]);
        await addEnds(ends, lived);
      }),
      { numRuns, seed, endOnFailure: true },
    );
    for (const end of ['completed', 'interrupted', 'capacity', 'timeLimit']) expect(ends).toContain(end);
  }, 300_000);

  it('does so on EC2, leaving no fleet', async () => {
    const ends = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (history) => {
        const lived = await live(history, 'ec2');
        expect(await violations(lived)).toEqual([]);
        await addEnds(ends, lived);
      }),
      { numRuns, seed, endOnFailure: true },
    );
    for (const end of ['completed', 'recalled', 'capacity']) expect(ends).toContain(end);
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

  it('does so when the table is lost', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (history) => {
        const lived = await live(history, 'cheapest', { losesTable: true });
        expect(await violations(lived)).toEqual([]);
      }),
      { numRuns: Math.ceil(numRuns / 3), seed, endOnFailure: true },
    );
  }, 300_000);
});
