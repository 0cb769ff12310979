/** The state machine of a compaction, with the real steps. */
import { datasetSchema } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, expect, it } from 'vitest';
import { announceCompaction } from '../../../../functions/run/attempts/seal-run-compaction.ts';
import {
  type Arrivals,
  contents,
  current,
  packedInDrops,
} from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, SMALL, settings } from '../../../../test/support/builders/packing.ts';
import { fakeClock } from '../../../../test/support/fakes/clock.ts';
import type { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import type { Data } from '../../../../test/support/world/asl.ts';
import { type Executed, executeStates } from '../../../../test/support/world/execute-states.ts';
import { packCompaction } from '../../compaction/compact-shards.ts';
import { compactionItemSchema, mayCompact, planCompaction } from '../../compaction/plan-compaction.ts';
import { sealCompaction } from '../../compaction/seal-compaction.ts';

const RUN = `${PIPELINE}-000003`;
const packing = settings({ shardMegabytes: 0.06 });
const drop = (number: number): Arrivals =>
  Object.fromEntries([1, 2, 3].map((index) => [`${index}/${number}.jpg`, Buffer.alloc(index * 90, number)]));

let store: MemoryBlobStore;
let stores: ReturnType<typeof memoryStores>;
/** The input of Report. */
let reported: Data;

beforeEach(async () => {
  store = await packedInDrops([1, 2, 3].map(drop), packing);
  stores = memoryStores();
});

const deps = () => ({ ...stores, clock: fakeClock() });
const functions: Readonly<Record<string, (event: Data) => Promise<unknown>>> = {
  PlanCompaction: async () => ({
    ...(await planCompaction(store, { pipeline: PIPELINE, packing, after: 2 })),
    packers: 1,
  }),
  CompactShards: ({ item }) =>
    packCompaction(
      { store, upload: SMALL.upload },
      { pipeline: PIPELINE, packing, item: compactionItemSchema.parse(item) },
    ),
  SealCompaction: async ({ generation }) => {
    const sealed = await sealCompaction(store, {
      pipeline: PIPELINE,
      packing,
      generation: String(generation),
    });
    return announceCompaction(deps(), { runId: RUN }, sealed);
  },
  AbandonCompaction: ({ error }) =>
    announceCompaction(
      deps(),
      { runId: RUN },
      { status: 'failed', Error: '', Cause: '', ...(error as object) },
    ),
  Judge: () => Promise.resolve({ kind: 'done', reason: 'training completed' }),
  Report: (event) => {
    reported = event;
    return Promise.resolve({ status: 'succeeded', failure: '', whenDone: 'keep' });
  },
};

const run = (broken: string[] = []): Promise<Executed> =>
  executeStates({
    startAt: 'PlanCompaction',
    input: { runId: RUN, pipeline: PIPELINE, settle: { draws: false } },
    call: (name, event) =>
      broken.includes(name)
        ? Promise.reject(new Error(`${name} is broken`))
        : (functions[name]?.(event) ?? Promise.reject(new Error(name))),
    readItems: (key) => JSON.parse(store.body(key).toString()) as unknown[],
  });
const timeline = async () => (await stores.timeline.list(RUN)).map(({ kind, text }) => `${kind}: ${text}`);

it('joins the small generations before training', async () => {
  const before = await contents(store);
  const { end, visited } = await run();
  expect(end).toBe('RunFinished');
  expect(visited.slice(0, 5)).toEqual([
    'PlanCompaction',
    'IsCompactionPlanned',
    'CompactInParallel',
    'CompactShards',
    'SealCompaction',
  ]);
  expect(await current(store)).toHaveLength(1);
  expect(await contents(store)).toEqual(before);
  expect(await timeline()).toEqual([expect.stringMatching(/^DatasetCompacted: 3 generations joined/)]);
});

it.each([['PlanCompaction'], ['CompactShards'], ['SealCompaction']])(
  'trains on the small generations when %s fails',
  async (broken) => {
    const before = await contents(store);
    const { end, visited } = await run([broken]);
    expect(end).toBe('RunFinished');
    expect(visited).toContain('AbandonCompaction');
    expect(await current(store)).toHaveLength(3);
    expect(await contents(store)).toEqual(before);
    expect(await timeline()).toEqual([expect.stringContaining(`DatasetNotCompacted: generations stay`)]);
    expect(reported).toMatchObject({ judgement: { kind: 'done' } });
    expect(reported).not.toHaveProperty('error');
  },
);

it.each([
  [true, 'PlanCompaction'],
  [false, 'IsDrawingWanted'],
])('plans a compaction where the seal says so: %s', async (mayCompact, next) => {
  const { visited } = await executeStates({
    startAt: 'IsSealed',
    input: {
      runId: RUN,
      pipeline: PIPELINE,
      settle: { draws: false },
      seal: { status: 'sealed', mayCompact },
    },
    call: (name, event) => functions[name]?.(event) ?? Promise.reject(new Error(name)),
    readItems: (key) => JSON.parse(store.body(key).toString()) as unknown[],
  });
  expect(visited[1]).toBe(next);
});

it('plans nothing where the seal expects nothing', async () => {
  const generations = (await current(store)).length;
  for (const after of [2, 3, 4, 5]) {
    const planned = await planCompaction(store, { pipeline: PIPELINE, packing, after });
    const dataset = datasetSchema.parse({ compactAfter: after });
    expect([after, mayCompact(dataset, { generations, waiting: 0 })]).toEqual([
      after,
      planned.status === 'planned',
    ]);
  }
});

it('trains even when the failure cannot be noted', async () => {
  const { end } = await run(['CompactShards', 'AbandonCompaction']);
  expect(end).toBe('RunFinished');
  expect(reported).toMatchObject({ judgement: { kind: 'done' } });
  expect(reported).not.toHaveProperty('error');
});
