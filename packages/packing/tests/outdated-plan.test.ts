/** A release is deployed while a run packs, so its functions read the plan of another release. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { openImageEngine } from '../../../functions/aws/images/image-engine.ts';
import { datasetOf } from '../../../functions/records/run-dataset.ts';
import {
  now,
  PIPELINE,
  packAll,
  RUN,
  SMALL,
  settings,
  unpack,
} from '../../../test/support/builders/packing.ts';
import { runOf } from '../../../test/support/builders/records.ts';
import { fakeClock } from '../../../test/support/fakes/clock.ts';
import { faultyStore, Killed } from '../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { memoryObjectStore } from '../../../test/support/fakes/object-store.ts';
import type { Data } from '../../../test/support/world/asl.ts';
import { type Executed, executeStates, stateOf } from '../../../test/support/world/execute-states.ts';
import { seededChoices } from '../../../test/support/world/random.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { readPlan } from '../documents/committed-plan.ts';
import { itemSchema } from '../documents/documents.ts';
import { manifestSchema } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { planShards } from '../plan/plan-shards.ts';
import { sealDataset } from '../seal/seal-dataset.ts';
import { packItem } from '../shard/pack-item.ts';
import { verifyGeneration } from '../verify/verify.ts';

const packing = settings({ shardMegabytes: 0.02 });
const run = { runId: RUN, pipeline: PIPELINE, packing };
const keys = packingKeys(PIPELINE, RUN);
const SEEDS = Number(process.env['TIDEWHEEL_SEEDS'] ?? 10);

function filled(): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (let index = 0; index < 30; index += 1)
    store.seed(`${bucketKeys.incoming(PIPELINE)}${index % 3}/${index}.jpg`, Buffer.alloc(index * 97, index));
  return store;
}

const whole = (store: MemoryBlobStore, key: string) =>
  manifestSchema.parse(JSON.parse(store.body(key).toString()));
/** All shards, including those in revision folders. */
const shardsIn = (store: MemoryBlobStore, revision?: string): string[] =>
  store.keys(keys.shards(revision)).map((key) => key.slice(keys.shards(revision).length));

/** Changes the stored plan to one that another release would have made. */
function makeOutdated(store: MemoryBlobStore, how: 'form' | 'engine'): void {
  if (!store.objects.has(keys.planCommit)) return;
  const plan = JSON.parse(store.body(keys.planCommit).toString()) as object;
  const changes = how === 'form' ? { version: 0 } : { prepare: { engine: 'sharp 0.30.0' } };
  store.seed(keys.planCommit, JSON.stringify({ ...plan, ...changes }));
}

const functions: Readonly<Record<string, (store: BlobStore, event: Data) => Promise<unknown>>> = {
  PlanShards: async (store, { replaceOutdated }) => ({
    ...(await planShards({ store, now }, { ...run, replaceOutdated: replaceOutdated === true })),
    packers: 1,
  }),
  PlanCompaction: () => Promise.resolve({ status: 'nothingToCompact' }),
  PackShards: (store, { item }) =>
    packItem({ store, ...SMALL, images: openImageEngine }, { ...run, item: itemSchema.parse(item) }),
  SealDataset: async (store) => ({ ...(await sealDataset({ store }, run)), mayCompact: false }),
};

/** The packing states, with the real steps. `onCall` sees every call of a function. */
function packByMachine(
  store: MemoryBlobStore,
  onCall: (name: string, number: number) => BlobStore = () => store,
): Promise<Executed> {
  let calls = 0;
  return executeStates({
    startAt: 'PlanShards',
    input: { runId: RUN, pipeline: PIPELINE, settle: { trainAnyway: false, draws: false } },
    states: { Judge: stateOf('RunFinished'), Report: stateOf('RunFailed') },
    call: async (name, event) => {
      calls += 1;
      try {
        return await functions[name]?.(onCall(name, calls), event);
      } catch (error: unknown) {
        throw error instanceof Killed ? Object.assign(error, { name: 'Runtime.ExitError' }) : error;
      }
    },
    readItems: (key) => JSON.parse(store.body(key).toString()) as unknown[],
  });
}

async function expectWhole(store: MemoryBlobStore, calm: MemoryBlobStore): Promise<void> {
  const manifest = whole(store, keys.manifest);
  expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
  expect(shardsIn(store, manifest.revision)).toEqual(manifest.shards.map(({ name }) => name));
  expect(await unpack(store)).toEqual(await unpack(calm));
}

describe('a release deployed while a run packs', () => {
  it.each(['form', 'engine'] as const)('makes the run plan again for another %s', async (how) => {
    const calm = filled();
    await packAll(calm, packing);
    const store = filled();
    let left = 0;
    const ended = await packByMachine(store, (name, number) => {
      // A worker of the old release dies after some shards.
      if (number === 2 && name === 'PackShards') return faultyStore(store, 'old release', 0.02);
      if (number === 3) {
        left = shardsIn(store).length;
        makeOutdated(store, how);
      }
      return store;
    });
    expect(left).toBeGreaterThan(0);
    expect(ended.end).toBe('Judge');
    expect(ended.visited).toContain('PlanShardsAgain');
    // As long as a worker of the old release can live. After that, no worker writes its shards.
    expect(ended.waitedSeconds).toBeGreaterThan(900);
    await expectWhole(store, calm);
    const { revision } = whole(store, keys.manifest);
    expect(revision).toMatch(/^[0-9a-f]{6}$/);
    // Training does not read the shards of the old workers, even those that are written later.
    expect(shardsIn(store).filter((name) => !name.includes('/')).length).toBeGreaterThanOrEqual(left);
    const control = memoryObjectStore(fakeClock());
    control.put(keys.manifest, store.body(keys.manifest).toString());
    const trained = await datasetOf(control, { ...runOf(PIPELINE, 1), generations: [RUN] });
    expect(trained.shards[0]?.shardsPrefix).toBe(keys.shards(revision));
  });

  it('seals a fully packed run by the old plan', async () => {
    const [store, calm] = [filled(), filled()];
    await packAll(calm, packing);
    const ended = await packByMachine(store, (name) => {
      if (name === 'SealDataset') makeOutdated(store, 'engine');
      return store;
    });
    expect(ended).toMatchObject({ end: 'Judge', waitedSeconds: 0 });
    expect(shardsIn(store)).toEqual(shardsIn(calm));
    await expectWhole(store, calm);
  });

  it('leaves a sealed run unchanged if steps repeat', async () => {
    for (const how of ['form', 'engine'] as const) {
      const store = filled();
      await packAll(store, packing);
      const before = new Map(store.objects);
      makeOutdated(store, how);
      expect(await packByMachine(store)).toMatchObject({ end: 'Judge', waitedSeconds: 0 });
      for (const key of store.keys(keys.generation)) expect(store.objects.get(key)).toEqual(before.get(key));
    }
  });

  it('packs every arrival once at any call', async () => {
    // The release comes at any call, and processes die.
    const calm = filled();
    await packAll(calm, packing);
    const replanned = new Set<boolean>();
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const store = filled();
      const random = seededChoices(seed);
      const deployedAt = random.whole(2, 8);
      const ended = await packByMachine(store, (_, number) => {
        if (number === deployedAt) makeOutdated(store, random.pick(['form', 'engine']));
        return number > 12 ? store : faultyStore(store, `${seed} ${number}`, 0.02);
      });
      expect(ended.end).toBe('Judge');
      replanned.add(ended.visited.includes('PlanShardsAgain'));
      await expectWhole(store, calm);
    }
    expect(replanned.size).toBe(2);
  }, 60_000);
});

describe('planning again', () => {
  it('is refused by default, with the consequence', async () => {
    const store = filled();
    await planShards({ store, now }, run);
    makeOutdated(store, 'engine');
    await expect(planShards({ store, now }, run)).rejects.toMatchObject({
      name: 'PlanOutdatedError',
      message: expect.stringMatching(
        /sharp 0\.30\.0.*plans again by itself; nothing is sealed yet/,
      ) as string,
    });
  });

  it('keeps a plan of this release', async () => {
    // Two concurrent planners, or one that runs twice, replace an outdated plan once.
    const store = filled();
    await planShards({ store, now }, run);
    const current = await readPlan(store, run);
    await planShards({ store, now }, { ...run, replaceOutdated: true });
    expect(await readPlan(store, run)).toEqual(current);
    makeOutdated(store, 'form');
    const planAnew = () => planShards({ store, now }, { ...run, replaceOutdated: true });
    const [one, other] = await Promise.all([planAnew(), planAnew()]);
    expect(one).toEqual(other);
    const plan = await readPlan(store, run);
    expect(plan?.digest).not.toBe(current?.digest);
    expect(plan?.revision).toBe(plan?.digest.slice(0, 6));
    await planAnew();
    expect(await readPlan(store, run)).toEqual(plan);
  });
});
