import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseInputs } from '../../../../functions/core/packing/compaction/choose-generations.ts';
import { readPlan } from '../../../../functions/core/packing/model/committed-plan.ts';
import { type Manifest, manifestSchema } from '../../../../functions/core/packing/model/documents.ts';
import { numberOfShards, shardCountRules } from '../../../../functions/core/packing/model/shard-count.ts';
import { planShards } from '../../../../functions/core/packing/plan/plan-shards.ts';
import { sealDataset } from '../../../../functions/core/packing/seal/seal-dataset.ts';
import { pipelineSchema } from '../../../../functions/core/pipeline/pipeline.ts';
import { likelyReaders } from '../../../../functions/core/placement/candidates/likely-readers.ts';
import { bucketKeys } from '../../../../functions/core/shared/keys.ts';
import { now, PIPELINE, planAndPack, RUN, settings } from '../../../support/builders/whole-way.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';

const MB = 1e6;
const readers = { processes: 8, multipleOf: 8 };
/** Of many small samples. */
const shardsOf = (megabytes: number, changes = {}, likely = readers, pieces = 1e6): number => {
  const packing = settings(changes);
  const bytes = megabytes * MB;
  const bySize = Math.max(1, Math.ceil(bytes / (packing.shardMegabytes * MB)));
  return numberOfShards({ bytes, bySize, pieces }, shardCountRules(packing, likely));
};

const upTo = (count: number, step: number): number => Math.ceil(count / step) * step;

describe('the number of shards', () => {
  it('is four for each process that trains where 256 MB would leave some without, and by size above', () => {
    expect(shardsOf(1_000)).toBe(32);
    expect(shardsOf(100)).toBe(32);
    expect(shardsOf(32 * 256)).toBe(32);
    expect(shardsOf(33 * 256)).toBe(40);
  });

  it('falls with the size of the data, since no shard is made smaller than 1 MB for it', () => {
    expect([30, 20, 9, 5, 0.2].map((megabytes) => shardsOf(megabytes))).toEqual([24, 16, 8, 5, 1]);
    expect(shardsOf(1_000, {}, readers, 3)).toBe(4);
  });

  it('is what is declared, however small the shards get', () => {
    expect(shardsOf(0.2, { shardsMultipleOf: 6 })).toBe(6);
    expect(shardsOf(0.2, { leastShardsPerWorker: 3 })).toBe(24);
    expect(shardsOf(0.2, { shardsMultipleOf: 2, leastShardsPerWorker: 3 })).toBe(6);
    expect(shardsOf(1_000, { leastShardsPerWorker: 1 })).toBe(8);
    expect(shardsOf(1_000, { shardsMultipleOf: 6 })).toBe(36);
  });

  it('never leaves a process without a shard that could have one, and divides where that costs nothing', () => {
    fc.assert(
      fc.property(
        fc.record({
          bytes: fc.integer({ min: 1, max: 20e9 }),
          shardMegabytes: fc.constantFrom(1, 7, 64, 256, 4_000),
          pieces: fc.integer({ min: 1, max: 1e6 }),
          processes: fc.integer({ min: 1, max: 64 }),
          factor: fc.integer({ min: 1, max: 4 }),
          declared: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
        }),
        ({ bytes, shardMegabytes, pieces, processes, factor, declared }) => {
          const packing = settings({ shardMegabytes, shardsMultipleOf: declared });
          const multipleOf = processes * factor;
          const bySize = Math.ceil(bytes / (shardMegabytes * MB));
          const asked = { bytes, bySize, pieces };
          const shards = numberOfShards(asked, shardCountRules(packing, { processes, multipleOf }));
          const without = numberOfShards(asked, shardCountRules(packing, undefined));
          const step = declared ?? multipleOf;
          const room = Math.min(pieces, Math.floor(bytes / MB));
          const promises = {
            'nothing that is declared or by size is given up':
              shards >= without && shards % (declared ?? 1) === 0,
            'more shards than that are at least of 1 MB, and of a sample each':
              shards === without || shards <= room,
            'all have their four where there is room':
              room < upTo(4 * processes, step) || shards >= 4 * processes,
            'each has one where there is room': room < upTo(processes, step) || shards >= processes,
            'they divide where there is room': room < upTo(bySize, step) || shards % step === 0,
          };
          expect(promises).toEqual(Object.fromEntries(Object.keys(promises).map((name) => [name, true])));
        },
      ),
    );
  });
});

describe('likely readers', () => {
  const of = (training: object, compute: object) =>
    likelyReaders(
      pipelineSchema.parse({
        name: PIPELINE,
        training: { strategy: 'ddp', ...training },
        compute: { instanceTypes: ['g5.12xlarge'], ...compute },
      }),
    );

  it('are one for each accelerator of each node, or as many processes as are declared', () => {
    expect(of({}, { nodes: 2 })).toEqual({ processes: 8, multipleOf: 8 });
    expect(of({ processesPerHost: 3 }, { nodes: 2 })).toEqual({ processes: 6, multipleOf: 6 });
    expect(of({ strategy: 'single', processesPerHost: 3 }, {})).toEqual({ processes: 4, multipleOf: 4 });
    expect(of({}, { instanceTypes: ['m5.xlarge', 'no.such'], nodes: 3 })).toEqual({
      processes: 3,
      multipleOf: 3,
    });
  });

  it('divide among every topology that may come, unless that asks for too many shards', () => {
    expect(of({}, { instanceTypes: ['g5.xlarge', 'g5.12xlarge', 'g5.48xlarge'] })).toEqual({
      processes: 8,
      multipleOf: 8,
    });
    const needs = { accelerators: 0, maximumNodes: 8 };
    expect(of({}, { instanceTypes: ['m5.xlarge'], needs })).toEqual({ processes: 8, multipleOf: 8 });
  });

  it('are the helpers where those are more than the processes that train', () => {
    const helpers = [{ name: 'cpu', instanceType: 'c5.4xlarge', nodes: 12 }];
    expect(
      of({ strategy: 'data-service', framework: 'tensorflow', frameworkVersion: '2.19' }, { helpers }),
    ).toEqual({ processes: 12, multipleOf: 4 });
  });
});

describe('a plan for likely readers', () => {
  const two = { processes: 2, multipleOf: 2 };
  const ground = (): MemoryBlobStore => {
    const store = new MemoryBlobStore();
    for (let index = 0; index < 9; index += 1)
      store.seed(`${bucketKeys.incoming(PIPELINE)}a/${index}.bin`, Buffer.alloc(500_000, index));
    return store;
  };

  it('has shards that divide among them, says so, and is the same whoever makes it', async () => {
    const input = { runId: RUN, pipeline: PIPELINE, packing: settings(), readers: two };
    const [a, b] = [ground(), ground()];
    await planShards({ store: a, now }, input);
    await planShards({ store: b, now }, input);
    const plan = await readPlan(a, input);
    expect(plan).toMatchObject({ shards: 4, workers: 2 });
    expect((await readPlan(b, input))?.digest).toBe(plan?.digest);
    await planAndPack(a, settings(), RUN, {});
    await sealDataset({ store: a }, input);
    const manifest = manifestSchema.parse(JSON.parse(a.body(bucketKeys.manifest(PIPELINE, RUN)).toString()));
    expect(manifest.workers).toBe(2);
    expect(manifest.shards.map(({ samples }) => samples).toSorted((a, b) => a - b)).toEqual([2, 2, 2, 3]);
  });

  it('keeps its lists apart from those of a planner that counts on others', async () => {
    const input = { runId: RUN, pipeline: PIPELINE, packing: settings() };
    const [store, other] = [ground(), ground()];
    await planShards({ store, now }, { ...input, readers: two });
    await planShards({ store: other, now }, { ...input, readers: { processes: 3, multipleOf: 3 } });
    expect((await readPlan(store, input))?.digest).not.toBe((await readPlan(other, input))?.digest);
  });
});

describe('compaction for likely readers', () => {
  const generation = (batch: number, shards: number, megabytes: number): Manifest =>
    manifestSchema.parse({
      version: 1,
      pipeline: PIPELINE,
      generation: `${PIPELINE}-${String(batch).padStart(6, '0')}`,
      format: 'webdataset',
      schema: {},
      seed: 0,
      plan: 'plan',
      listedAt: '2026-11-21T00:00:00Z',
      samples: shards * 10,
      members: shards * 10,
      bytes: megabytes * MB,
      even: { shards, samples: 10 },
      shards: Array.from({ length: shards }, (_, shard) => ({
        name: `shard-${shard}.tar`,
        bytes: (megabytes * MB) / shards,
        crc32: '',
        etag: '',
        samples: 10,
        members: 10,
        memberList: '',
        memberListSha256: '',
      })),
      arrivals: { objects: shards * 10, packed: shards * 10, rejected: 0, deferred: 0, parts: [] },
      rejections: { byReason: {}, examples: [] },
    });
  const join = (inputs: readonly Manifest[], remainder: 'ragged' | 'even') =>
    chooseInputs(inputs, [], { packing: settings({ remainder }), readers, after: 2, everything: true });

  it('leaves as many shards as a plan of all that data would have', () => {
    const several = [generation(1, 32, 100), generation(2, 32, 90), generation(3, 16, 20)];
    expect(join(several, 'ragged')?.assigned.shards).toHaveLength(32);
    const equal = [generation(1, 32, 100), generation(2, 32, 90)];
    expect(join(equal, 'even')?.assigned).toMatchObject({ even: { shards: 32, samples: 20 } });
    const unlike = [generation(1, 40, 100), generation(2, 40, 90)];
    expect(join(unlike, 'even')?.assigned.shards).toHaveLength(40);
  });

  it('does not take the shards from many readers where counts are equal: small ones are joined among themselves', () => {
    const tiny = [generation(1, 1, 0.5), generation(2, 1, 0.5), generation(3, 32, 100)];
    const chosen = join(tiny, 'even');
    expect(chosen?.inputs.map(({ shards }) => shards.length)).toEqual([1, 1]);
    expect(chosen?.assigned.shards).toHaveLength(1);
    expect(join(tiny, 'ragged')?.assigned.shards).toHaveLength(32);
  });
});
