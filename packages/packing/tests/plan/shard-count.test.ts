import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import { likelyReaders } from '@tidewheel/placement/estimate.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { now, PIPELINE, planAndPack, RUN, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { chooseInputs } from '../../compaction/choose-generations.ts';
import { readPlan } from '../../documents/committed-plan.ts';
import { type Manifest, manifestSchema } from '../../documents/manifest.ts';
import { numberOfShards, shardCountRules } from '../../documents/shard-count.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

const MB = 1e6;
const readers = { processes: 8, multipleOf: 8 };
/** The number of shards for many small samples of this total size. */
const shardsOf = (megabytes: number, changes = {}, likely = readers, pieces = 1e6): number => {
  const packing = settings(changes);
  const bytes = megabytes * MB;
  const bySize = Math.max(1, Math.ceil(bytes / (packing.shardMegabytes * MB)));
  return numberOfShards({ bytes, bySize, pieces }, shardCountRules(packing, likely));
};

const upTo = (count: number, step: number): number => Math.ceil(count / step) * step;

describe('the number of shards', () => {
  it('is at least four for each training process', () => {
    // For more data the size decides: 256 MB per shard.
    expect(shardsOf(1_000)).toBe(32);
    expect(shardsOf(100)).toBe(32);
    expect(shardsOf(32 * 256)).toBe(32);
    expect(shardsOf(33 * 256)).toBe(40);
  });

  it('falls if shards would be below 1 MB', () => {
    expect([30, 20, 9, 5, 0.2].map((megabytes) => shardsOf(megabytes))).toEqual([24, 16, 8, 5, 1]);
    expect(shardsOf(1_000, {}, readers, 3)).toBe(4);
  });

  it('is the declared number, however small the shards', () => {
    expect(shardsOf(0.2, { shardsMultipleOf: 6 })).toBe(6);
    expect(shardsOf(0.2, { leastShardsPerWorker: 3 })).toBe(24);
    expect(shardsOf(0.2, { shardsMultipleOf: 2, leastShardsPerWorker: 3 })).toBe(6);
    expect(shardsOf(1_000, { leastShardsPerWorker: 1 })).toBe(8);
    expect(shardsOf(1_000, { shardsMultipleOf: 6 })).toBe(36);
  });

  it('gives every process a shard if possible', () => {
    // It divides among the processes if that costs nothing.
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
          const input = { bytes, bySize, pieces };
          const shards = numberOfShards(input, shardCountRules(packing, { processes, multipleOf }));
          const without = numberOfShards(input, shardCountRules(packing, undefined));
          const step = declared ?? multipleOf;
          const room = Math.min(pieces, Math.floor(bytes / MB));
          const promises = {
            'the declared number and the size are lower bounds':
              shards >= without && shards % (declared ?? 1) === 0,
            'further shards have at least 1 MB and one sample each': shards === without || shards <= room,
            'each process has four if possible': room < upTo(4 * processes, step) || shards >= 4 * processes,
            'each process has one if possible': room < upTo(processes, step) || shards >= processes,
            'the shards divide evenly if possible': room < upTo(bySize, step) || shards % step === 0,
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

  it('are the accelerators or the declared processes', () => {
    expect(of({}, { nodes: 2 })).toEqual({ processes: 8, multipleOf: 8 });
    expect(of({ processesPerHost: 3 }, { nodes: 2 })).toEqual({ processes: 6, multipleOf: 6 });
    expect(of({ strategy: 'single', processesPerHost: 3 }, {})).toEqual({ processes: 4, multipleOf: 4 });
    expect(of({}, { instanceTypes: ['m5.xlarge', 'm6i.xlarge'], nodes: 3 })).toEqual({
      processes: 3,
      multipleOf: 3,
    });
  });

  it('divide among every possible topology, within limits', () => {
    expect(of({}, { instanceTypes: ['g5.xlarge', 'g5.12xlarge', 'g5.48xlarge'] })).toEqual({
      processes: 8,
      multipleOf: 8,
    });
    const needs = { accelerators: 0, maximumNodes: 8 };
    expect(of({}, { instanceTypes: ['m5.xlarge'], needs })).toEqual({ processes: 8, multipleOf: 8 });
  });

  it('are the helpers if those are more', () => {
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

  it('records the workers and is the same anywhere', async () => {
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

  it('has its own lists for other readers', async () => {
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

  it('gives as many shards as one plan would', () => {
    const several = [generation(1, 32, 100), generation(2, 32, 90), generation(3, 16, 20)];
    expect(join(several, 'ragged')?.assigned.shards).toHaveLength(32);
    const equal = [generation(1, 32, 100), generation(2, 32, 90)];
    expect(join(equal, 'even')?.assigned).toMatchObject({ even: { shards: 32, samples: 20 } });
    const unlike = [generation(1, 40, 100), generation(2, 40, 90)];
    expect(join(unlike, 'even')?.assigned.shards).toHaveLength(40);
  });

  it('joins small generations only with each other', () => {
    // If counts are equal, a joined generation has as few shards as its smallest input, too few for many readers.
    const tiny = [generation(1, 1, 0.5), generation(2, 1, 0.5), generation(3, 32, 100)];
    const chosen = join(tiny, 'even');
    expect(chosen?.inputs.map(({ shards }) => shards.length)).toEqual([1, 1]);
    expect(chosen?.assigned.shards).toHaveLength(1);
    expect(join(tiny, 'ragged')?.assigned.shards).toHaveLength(32);
  });
});
