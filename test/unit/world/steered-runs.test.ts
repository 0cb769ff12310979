/** A person stops and retries runs while any process dies at any line and events are lost, doubled or late. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { violations } from '../../support/world/facts.ts';
import { live } from '../../support/world/history.ts';

/** A third of the histories of any-process-dies.test.ts, for each launcher. */
const numRuns = Math.ceil(Number(process.env['TIDEWHEEL_HISTORIES'] ?? 14) / 3);
const seed = Number(process.env['TIDEWHEEL_SEED'] ?? 1);

describe('a run that a person steers', () => {
  it('ends as asked, and leaves nothing running', async () => {
    const ends = new Map<string, number>();
    for (const launcher of ['sagemaker', 'ec2'] as const)
      await fc.assert(
        fc.asyncProperty(fc.nat(), async (history) => {
          const lived = await live(history, launcher, { stops: true });
          expect(await violations(lived)).toEqual([]);
          for (const runId of lived.stopped) {
            const run = await lived.world.runs.get(runId);
            const end = `${run?.retry === undefined ? '' : 'retried, '}${run?.status ?? 'none'}`;
            ends.set(end, (ends.get(end) ?? 0) + 1);
          }
        }),
        { numRuns, seed, endOnFailure: true },
      );
    const stopped = [...ends].filter(([end]) => end.endsWith('stopped')).map(([, count]) => count);
    expect(Math.max(0, ...stopped)).toBeGreaterThan(numRuns / 10);
    expect(ends.get('retried, succeeded')).toBeGreaterThan(0);
  }, 300_000);
});
