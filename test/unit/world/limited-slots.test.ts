/**
 * The state machine in an account with few concurrent executions: Lambda refuses what is above, and most items of a
 * Map wait for the others. Time is virtual.
 */
import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../support/fakes/clock.ts';
import { type Data, runMachine } from '../../support/world/asl.ts';
import { stateOf } from '../../support/world/execute-states.ts';
import { type Answer, type Execution, execute } from '../../support/world/execution.ts';
import { simulatedLoop } from '../../support/world/loop.ts';
import { seededChoices } from '../../support/world/random.ts';

/** The default of `--param packers=`. */
const PACKERS = 100;

interface Drop {
  readonly runId: string;
  readonly items: number;
  readonly itemSeconds: number;
}

const OTHER_SECONDS = 5;
const ok = (value: unknown): Answer => ({ kind: 'ok', value });

/** Packs and seals the drops side by side. `slots`: concurrent executions of the account. */
async function packTogether(slots: number, drops: readonly Drop[], seed = 1) {
  const random = seededChoices(seed);
  const clock = fakeClock();
  const loop = simulatedLoop(clock, random);
  const began = clock.now().getTime();
  const packed = new Map(drops.map(({ runId }) => [runId, new Set<number>()]));
  const count = { used: 0, mostUsed: 0, throttled: 0 };
  const dropOf = (runId: unknown): Drop => {
    const found = drops.find((drop) => drop.runId === runId);
    if (found === undefined) throw new Error(`no drop ${String(runId)}`);
    return found;
  };
  const functions: Readonly<Record<string, (event: Data) => Answer>> = {
    PlanShards: () => ok({ status: 'planned', packers: PACKERS }),
    PackShards: ({ runId, item }) => {
      packed.get(dropOf(runId).runId)?.add(Number(item));
      return ok({ item });
    },
    SealDataset: ({ runId }) => {
      const { items } = dropOf(runId);
      return packed.get(String(runId))?.size === items
        ? ok({ status: 'sealed' })
        : { kind: 'error', name: 'PackingIncompleteError', cause: 'not all are packed' };
    },
    PlanCompaction: () => ok({ status: 'nothingToCompact' }),
  };
  const invoke = async (name: string, event: Data): Promise<Answer> => {
    if (count.used >= slots) {
      count.throttled += 1;
      return { kind: 'error', name: 'Lambda.TooManyRequestsException', cause: 'Rate Exceeded.' };
    }
    count.used += 1;
    count.mostUsed = Math.max(count.mostUsed, count.used);
    await loop.sleep(name === 'PackShards' ? dropOf(event['runId']).itemSeconds : OTHER_SECONDS);
    count.used -= 1;
    return functions[name]?.(event) ?? { kind: 'error', name: 'Error', cause: `no function ${name}` };
  };
  const executions = drops.map(({ runId }): Execution => ({ name: runId, status: 'running' }));
  for (const execution of executions) {
    void execute(
      {
        machine: {
          StartAt: 'PlanShards',
          States: { ...runMachine.States, Judge: stateOf('RunFinished'), Report: stateOf('RunFailed') },
        },
        loop,
        random,
        invoke,
        awaitToken: () => Promise.reject(new Error('no task waits for a token here')),
        readItems: (key) =>
          Array.from({ length: dropOf(/runs\/([^/]+)\//.exec(key)?.[1]).items }, (_, item) => item),
        entered: () => {},
      },
      execution,
      { runId: execution.name, pipeline: 'tide', settle: { trainAnyway: false } },
    );
  }
  const limit = new Date(began + 24 * 3_600_000);
  const isOver = () => executions.every(({ status }) => status === 'ended');
  expect(await loop.run({ isOver, limit, onTime: () => {} })).toBe(true);
  return {
    ends: executions.map(({ end }) => end),
    minutes: (clock.now().getTime() - began) / 60_000,
    throttled: count.throttled,
    mostUsed: count.mostUsed,
  };
}

describe('a drop in an account with few slots', () => {
  it.each([
    [10, 100, 60],
    [10, 100, 15],
    [50, 400, 60],
    [80, 400, 180],
  ])('is sealed: %i slots, %i items of %i s', async (slots, items, itemSeconds) => {
    const { ends, minutes, throttled, mostUsed } = await packTogether(slots, [
      { runId: 'tide-000001', items, itemSeconds },
    ]);
    expect(ends).toEqual(['Judge']);
    expect(mostUsed).toBe(slots);
    expect(throttled).toBeGreaterThan(items / 2);
    // Slots stand empty only while every waiting item waits for its next try.
    expect(minutes).toBeLessThan(1.5 * ((items / slots) * (itemSeconds / 60)) + 5);
  });

  it('is sealed beside the drop of another pipeline', async () => {
    const { ends } = await packTogether(10, [
      { runId: 'tide-000001', items: 100, itemSeconds: 60 },
      { runId: 'ebb-000001', items: 40, itemSeconds: 30 },
    ]);
    expect(ends).toEqual(['Judge', 'Judge']);
  });
});
