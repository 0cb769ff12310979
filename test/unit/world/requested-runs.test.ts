/** A person asks for runs with changes while any process dies at any line and events are lost, doubled or late. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { violations } from '../../support/world/facts.ts';
import { live } from '../../support/world/history.ts';

/** A fifth of the histories of any-process-dies.test.ts. */
const numRuns = Math.ceil(Number(process.env['TIDEWHEEL_HISTORIES'] ?? 20) / 5);
const seed = Number(process.env['TIDEWHEEL_SEED'] ?? 1);

it('trains once with what each request changes', async () => {
  let answered = 0;
  let trained = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (history) => {
      const lived = await live(history, 'sagemaker', { stops: history % 2 === 1, changes: true });
      expect(await violations(lived)).toEqual([]);
      for (const { runIds } of lived.changed) {
        const [runId] = runIds;
        if (runId === undefined) continue;
        answered += 1;
        if ((await lived.world.runs.get(runId))?.declaration !== undefined) trained += 1;
      }
    }),
    { numRuns, seed, endOnFailure: true },
  );
  expect(answered).toBeGreaterThan(numRuns);
  expect(trained / answered).toBeGreaterThan(0.5);
}, 300_000);
