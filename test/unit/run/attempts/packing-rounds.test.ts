/** Items of the Map that fail, over the state machine: another round packs what the seal finds missing. */
import { ShardMissingError } from '@tidewheel/packing/seal.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { sealOrRepeat } from '../../../../functions/run/attempts/seal-run.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';
import type { Data } from '../../../support/world/asl.ts';
import { executeStates, stateOf } from '../../../support/world/execute-states.ts';

const RUN = { runId: 'digits-000001', pipeline: 'digits' };
const ITEMS = [0, 1, 2, 3, 4];

let packed: Set<number>;
let stores: ReturnType<typeof memoryStores>;
/** What Report got. */
let reported: Data;

beforeEach(() => {
  packed = new Set();
  stores = memoryStores();
  reported = {};
});

/** @param failing says whether an item fails in a round */
async function pack(failing: (item: number, round: number) => boolean, readItems = () => [...ITEMS]) {
  let round = 1;
  const functions: Readonly<Record<string, (event: Data) => unknown>> = {
    PackShards: ({ item }) => {
      if (failing(Number(item), round)) throw new Error(`item ${String(item)} is broken`);
      packed.add(Number(item));
    },
    SealDataset: async (event) => {
      expect(event).toEqual({ ...RUN, round });
      round += 1;
      return sealOrRepeat({ ...stores, clock: fakeClock() }, { ...RUN, round: round - 1 }, () => {
        const missing = ITEMS.find((item) => !packed.has(item));
        if (missing !== undefined) throw new ShardMissingError(RUN.runId, missing);
        return Promise.resolve({ status: 'sealed', mayCompact: false });
      });
    },
    PlanCompaction: () => ({ status: 'nothingToCompact' }),
    Report: (event) => {
      reported = event;
      return { status: 'failed', failure: '', whenDone: 'keep' };
    },
  };
  return executeStates({
    startAt: 'FirstRound',
    input: { ...RUN, plan: { packers: 2 }, settle: { draws: false } },
    states: { Judge: stateOf('RunFinished') },
    call: async (name, event) => functions[name]?.(event),
    readItems,
  });
}

describe('an item that fails', () => {
  it('stops no other item, and succeeds later', async () => {
    const packedFirst: number[][] = [];
    const { end, waitedSeconds } = await pack((item, round) => {
      if (round === 2 && packedFirst.length === 0) packedFirst.push([...packed]);
      return item === 0 && round < 3;
    });
    expect(end).toBe('Judge');
    expect(packedFirst).toEqual([[1, 2, 3, 4]]);
    expect(waitedSeconds).toBe(60 + 120);
    expect((await stores.timeline.list(RUN.runId)).map(({ text }) => text)).toEqual([
      'shard 0 of digits-000001 is not packed; round 2 of 5 starts in 60 s',
      'shard 0 of digits-000001 is not packed; round 3 of 5 starts in 120 s',
    ]);
  });

  it('fails the run after five rounds, with the remedy', async () => {
    const { end } = await pack((item) => item === 3);
    expect(end).toBe('RunFailed');
    expect(packed.size).toBe(4);
    expect(reported['error']).toEqual({
      Error: 'PackingIncompleteError',
      Cause:
        'shard 3 of digits-000001 is still not packed after 5 rounds. ' +
        'FAILED_*.json under digits/runs/digits-000001/map/ holds the error of each item: ' +
        'remove the cause, then start a run (POST /pipelines/digits/runs), which packs the same arrivals',
    });
  });
});

describe('a Map that fails itself', () => {
  it('is repeated', async () => {
    let reads = 0;
    const { end } = await pack(
      () => false,
      () => {
        reads += 1;
        if (reads === 1) throw new Error('S3 is not there');
        return [...ITEMS];
      },
    );
    expect(end).toBe('Judge');
    expect(reads).toBe(2);
  });
});
