/**
 * Plan, then pack, then read is the identity, in every format, for any keys, sizes, groups, limits and buffers. The
 * decoders share no code with the encoders. TIDEWHEEL_SEEDS=500 runs 500 cases; TIDEWHEEL_SEED=n sets the first seed.
 */

import { gunzipSync } from 'node:zlib';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as decoders from '../../../test/support/builders/decoders.ts';
import { recordioFrame, tfrecordFrame } from '../../../test/support/builders/frames.ts';
import {
  incoming,
  memberLines,
  PIPELINE,
  planAndPack,
  RUN,
  readTar,
  settings,
} from '../../../test/support/builders/packing.ts';
import { HOSTILE_KEYS } from '../../../test/support/contracts/blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { decompress, linesOf } from '../documents/compressed-lines.ts';
import { type MemberLine } from '../documents/documents.ts';
import { type Manifest } from '../documents/manifest.ts';
import { readSealedManifest } from '../documents/sealed-arrivals.ts';
import { sealDataset } from '../seal/seal-dataset.ts';
import type { PackItemDeps } from '../shard/pack-item.ts';
import { verifyGeneration } from '../verify/verify.ts';

const RUNS = Number(process.env['TIDEWHEEL_SEEDS'] ?? 12);
const seed = process.env['TIDEWHEEL_SEED'];
const choices = { numRuns: RUNS, ...(seed !== undefined && { seed: Number(seed) }) };
const LIMIT_MILLISECONDS = 20_000 + RUNS * 1_000;

const MOST_KEY_BYTES = 1_024 - incoming.length; // S3's limit

const PIECES = [
  'a',
  'A',
  'b',
  'é',
  'e\u0301',
  ' ',
  '+',
  '%',
  '%2F',
  '"',
  "'",
  '\n',
  '\t',
  '😀',
  '\u202e',
  'שלום',
  '~',
  '\\',
  '\u0085',
];
const WHOLE = [
  ...HOSTILE_KEYS,
  '..',
  '.',
  '...',
  '....jpg',
  '../../etc/passwd',
  '/leading',
  '//two',
  'a//b',
  'a/../b',
  './a',
  'a/.',
  '.a/.b',
  'x.JPG',
  'x.jpg',
  'X.jpg',
  'x.jPg',
  'x',
  'x.',
  'x..jpg',
  '__x__/a.jpg',
  'a/__b__',
  'a.b.c.d.e',
  'CON',
  'a.json',
  'k'.repeat(MOST_KEY_BYTES),
  `${'d/'.repeat(480)}k.png`,
  `${'😀'.repeat(240)}.jpg`,
  `s.${'u'.repeat(900)}`,
];
const made = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.constantFrom('/', '.', '..', 'jpg', '.json', '__')), {
    minLength: 1,
    maxLength: 12,
  })
  .map((pieces) => pieces.join(''));
const hostileKey = fc
  .oneof(made, fc.constantFrom(...WHOLE))
  .filter((key) => Buffer.byteLength(key) <= MOST_KEY_BYTES && key.isWellFormed());

/** Keys and bodies. An empty object whose key ends with a slash is a folder, not an arrival. */
const arrivals = (suffix = '', body: fc.Arbitrary<Buffer> = anyBody): fc.Arbitrary<Map<string, Buffer>> =>
  fc
    .uniqueArray(fc.tuple(hostileKey, body), { selector: ([key]) => key, maxLength: 25 })
    .map((all) => new Map(all.map(([key, bytes]) => [fitting(key, suffix), bytes])))
    .map((all) => new Map([...all].filter(([key, bytes]) => !(key.endsWith('/') && bytes.length === 0))));
const fitting = (key: string, suffix: string): string =>
  Buffer.byteLength(key) + suffix.length > MOST_KEY_BYTES ? `short${suffix}` : `${key}${suffix}`;
const anyBody = fc
  .tuple(fc.integer({ min: 0, max: 5_000 }), fc.nat(255))
  .map(([size, value]) => Buffer.alloc(size, `${value}`));

const limits: fc.Arbitrary<Partial<PackingSettings>> = fc.record({
  shardMegabytes: fc.constantFrom(0.001, 0.01, 0.05, 1),
  seed: fc.nat(1_000),
  shuffle: fc.boolean(),
  shardsMultipleOf: fc.integer({ min: 1, max: 5 }),
  remainder: fc.constantFrom('ragged', 'even', 'drop'),
});
const buffers: fc.Arbitrary<Pick<PackItemDeps, 'window' | 'upload'>> = fc.record({
  window: fc.record({
    parallel: fc.integer({ min: 1, max: 9 }),
    bytes: fc.integer({ min: 1, max: 20_000 }),
    pieceBytes: fc.integer({ min: 1_000, max: 9_000 }),
  }),
  upload: fc.record({
    partBytes: fc.integer({ min: 1_500, max: 9_000 }),
    parallelParts: fc.integer({ min: 1, max: 3 }),
  }),
});

interface Packed {
  readonly store: MemoryBlobStore;
  readonly manifest: Manifest | undefined;
  /** By shard name, gunzipped. */
  readonly shards: ReadonlyMap<string, Buffer>;
  readonly lines: readonly MemberLine[];
}

async function pack(
  all: ReadonlyMap<string, Buffer>,
  packing: PackingSettings,
  limits?: Pick<PackItemDeps, 'window' | 'upload'>,
): Promise<Packed> {
  const store = new MemoryBlobStore();
  for (const [key, body] of all) store.seed(`${incoming}${key}`, body);
  await planAndPack(store, packing, RUN, limits);
  await sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing });
  const manifest = await readSealedManifest(store, PIPELINE, RUN);
  expect(manifest === undefined ? [] : (await verifyGeneration(store, manifest)).problems).toEqual([]);
  const shards = new Map<string, Buffer>();
  for (const key of store.keys(`${bucketKeys.shards(PIPELINE, RUN)}shard-`)) {
    const bytes = store.body(key);
    shards.set(
      key.slice(bucketKeys.shards(PIPELINE, RUN).length),
      key.endsWith('.gz') ? gunzipSync(bytes) : bytes,
    );
  }
  return { store, manifest, shards, lines: memberLines(store) };
}

/** Keys without the prefix: those in a shard, and those that were rejected or deferred. */
function fates({ store, manifest, lines }: Packed): { packed: Set<string>; others: number } {
  const sources = lines.filter(({ key, repeat }) => key !== undefined && repeat === undefined);
  const packed = new Set(sources.map(({ key = '' }) => key.slice(incoming.length)));
  expect(sources).toHaveLength(packed.size);
  if (manifest === undefined) return { packed, others: store.keys(incoming).length };
  return { packed, others: manifest.arrivals.rejected + manifest.arrivals.deferred };
}

/** Each key is in one shard, rejected or deferred. `wrong` are keys whose bytes differ from the source. */
async function readBack(
  all: ReadonlyMap<string, Buffer>,
  packing: PackingSettings,
  { buffers, bodiesOf }: { buffers?: Pick<PackItemDeps, 'window' | 'upload'>; bodiesOf: Bodies },
): Promise<Packed & { readonly wrong: readonly string[] }> {
  const result = await pack(all, packing, buffers);
  const { packed, others } = fates(result);
  expect(packed.size + others).toBe(all.size);
  expect(packing.remainder === 'drop' ? 0 : (result.manifest?.arrivals.deferred ?? 0)).toBe(0);
  const found = await bodiesOf(result);
  const sources = result.lines.filter(({ key }) => key !== undefined);
  expect([...found.keys()].sort()).toEqual([...new Set(sources.map(({ name }) => name))].sort());
  const isWrong = ({ name, key = '' }: MemberLine): boolean =>
    !sameAs(found.get(name), all.get(key.slice(incoming.length)));
  return { ...result, wrong: sources.filter(isWrong).map(({ name }) => name) };
}
type Bodies = (packed: Packed) => Promise<Map<string, Buffer>> | Map<string, Buffer>;
const sameAs = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && Buffer.from(a).equals(b);

/** Splits a name into the key and column of its sample, at the first dot of the last segment. */
const stemOf = (name: string): string => name.slice(0, name.indexOf('.', name.lastIndexOf('/') + 1));

const fromTar: Bodies = async ({ shards, lines }) => {
  const made = new Set(lines.filter(({ key }) => key === undefined).map(({ name }) => name));
  const bodies = new Map<string, Buffer>();
  for (const shard of shards.values())
    for (const { name, body } of await readTar(shard)) {
      expect(bodies.has(name)).toBe(false);
      if (!made.has(name)) bodies.set(name, body);
    }
  return bodies;
};

/** Bodies of columns by their names in the member lists. */
function named({ lines }: Packed, samples: Iterable<ReadonlyMap<string, Buffer>>): Map<string, Buffer> {
  const byKey = new Map<string, ReadonlyMap<string, Buffer>>();
  for (const sample of samples) {
    const key = sample.get('__key__')?.toString() ?? '';
    expect(byKey.has(key)).toBe(false);
    byKey.set(key, sample);
  }
  const bodies = new Map<string, Buffer>();
  for (const { key, name, column } of lines) {
    const body = byKey.get(stemOf(name))?.get(column ?? '');
    if (key !== undefined && body !== undefined) bodies.set(name, body);
  }
  return bodies;
}

const fromTfrecord: Bodies = (packed) =>
  named(
    packed,
    [...packed.shards.values()].flatMap(decoders.tfrecords).map((record) => {
      const { feature } = (decoders.example.decode(record) as unknown as decoders.Decoded).features;
      return new Map(
        Object.entries(feature).map(([name, { bytesList }]) => [
          name,
          Buffer.from(bytesList?.value[0] ?? []),
        ]),
      );
    }),
  );

const fromMds: Bodies = (packed) => named(packed, [...packed.shards.values()].flatMap(decoders.mdsSamples));

const fromParquet: Bodies = async (packed) =>
  named(packed, (await Promise.all([...packed.shards.values()].map(decoders.parquetSamples))).flat());

const fromRecordio: Bodies = ({ shards, lines }) => {
  const byId = new Map<number, Buffer>();
  for (const record of [...shards.values()].flatMap(decoders.recordio))
    byId.set(Number(record.readBigUInt64LE(8)), record.subarray(24));
  return new Map(lines.map(({ name, sample }) => [name, byId.get(sample) ?? Buffer.from('not found')]));
};

/** Slices a shard by its member list, which covers it without gaps. */
const fromSlices: Bodies = ({ shards, store, manifest }) => {
  const bodies = new Map<string, Buffer>();
  for (const { name: shard, memberList } of manifest?.shards ?? []) {
    const bytes = shards.get(shard) ?? Buffer.alloc(0);
    let end = 0;
    for (const text of linesOf(
      decompress(store.body(`${bucketKeys.generation(PIPELINE, RUN)}${memberList}`)),
    )) {
      const { name, offset, size }: MemberLine = JSON.parse(text);
      expect(offset).toBe(end);
      end = offset + size;
      bodies.set(name, bytes.subarray(offset, end));
    }
    expect(end).toBe(bytes.length);
  }
  return bodies;
};

/** A source of lines as it lies in a shard. */
const ended = ([key, body]: [string, Buffer]): [string, Buffer] => [
  key,
  body.length === 0 || body.at(-1) === 10 ? body : Buffer.concat([body, Buffer.from('\n')]),
];

/** Samples of several members, some with suffixes that fold into one column or name. */
const SUFFIXES = 'jpg png json seg.png cls label x-y x_y X_y __key__ image txt'.split(' ');
const groups: fc.Arbitrary<Map<string, Buffer>> = fc
  .uniqueArray(fc.tuple(hostileKey, fc.subarray(SUFFIXES, { minLength: 1 }), anyBody), {
    selector: ([stem]) => stem,
    maxLength: 8,
  })
  .map(
    (all) =>
      new Map(
        all.flatMap(([stem, suffixes, body]) =>
          suffixes.map((suffix) => [fitting(stem, `.${suffix}`), body] as const),
        ),
      ),
  );

const CASES = {
  webdataset: { bodiesOf: fromTar, drops: fc.oneof(arrivals(), groups), settings: {} },
  tfrecord: { bodiesOf: fromTfrecord, drops: fc.oneof(arrivals(), groups), settings: { format: 'tfrecord' } },
  'tfrecord in gzip': {
    bodiesOf: fromTfrecord,
    drops: fc.oneof(arrivals(), groups),
    settings: { format: 'tfrecord', tfrecord: { compression: 'gzip' } },
  },
  mds: {
    bodiesOf: fromMds,
    drops: fc.oneof(arrivals('.jpg'), groups),
    settings: { format: 'mds', label: 'none' },
  },
  parquet: {
    bodiesOf: fromParquet,
    drops: fc.oneof(arrivals('.jpg'), groups),
    settings: { format: 'parquet', label: 'none' },
  },
  recordio: {
    bodiesOf: fromRecordio,
    drops: fc.oneof(arrivals('.jpg'), groups),
    settings: { format: 'recordio', label: 'none' },
  },
} as const satisfies Record<
  string,
  { bodiesOf: Bodies; drops: fc.Arbitrary<Map<string, Buffer>>; settings: Partial<PackingSettings> }
>;

describe('plan, then pack, then read is the identity', () => {
  it.each(Object.entries(CASES))(
    'in %s, for any input and buffers',
    async (_name, { bodiesOf, drops, settings: own }) => {
      await fc.assert(
        fc.asyncProperty(drops, limits, buffers, async (all, changes, buffers) => {
          const result = await readBack(all, settings({ ignore: 'none', ...changes, ...own }), {
            buffers,
            bodiesOf,
          });
          expect(result.wrong).toEqual([]);
        }),
        choices,
      );
    },
    LIMIT_MILLISECONDS,
  );

  it(
    'in lines, for whole newline-terminated sources',
    async () => {
      const text = fc
        .array(fc.constantFrom('a', 'line', '\n', '\r\n', ',', '"', 'é', 'x'.repeat(900)), { maxLength: 9 })
        .map((pieces) => Buffer.from(pieces.join('')));
      await fc.assert(
        fc.asyncProperty(arrivals('', text), limits, buffers, async (all, changes, buffers) => {
          const packing = settings({ ignore: 'none', ...changes, format: 'lines' });
          const result = await pack(all, packing, buffers);
          const bodies = await fromSlices(result);
          const expected = new Map([...all].map(ended));
          for (const { key, name } of result.lines)
            expect(bodies.get(name)).toEqual(expected.get(key?.slice(incoming.length) ?? ''));
          const { packed, others } = fates(result);
          expect(packed.size + others).toBe(all.size);
        }),
        choices,
      );
    },
    LIMIT_MILLISECONDS,
  );

  it.each(['tfrecord', 'recordio'] as const)(
    'in records of %s, without decoding',
    async (kind) => {
      const frame = kind === 'recordio' ? recordioFrame : tfrecordFrame;
      const file = fc.array(anyBody, { maxLength: 4 }).map((bodies) => Buffer.concat(bodies.map(frame)));
      const decode = kind === 'recordio' ? decoders.recordio : decoders.tfrecords;
      await fc.assert(
        fc.asyncProperty(arrivals('', file), limits, buffers, async (all, changes, buffers) => {
          const packing = settings({ ignore: 'none', ...changes, format: 'records', records: { kind } });
          const result = await readBack(all, packing, { buffers, bodiesOf: fromSlices });
          expect(result.wrong).toEqual([]);
          const sealed = [...result.shards.values()].flatMap(decode).length;
          const dropped = [...all.values()].flatMap(decode).length;
          expect(packing.remainder === 'ragged' ? sealed : dropped).toBe(dropped);
        }),
        choices,
      );
    },
    LIMIT_MILLISECONDS,
  );

  it(
    'with the same sealed bytes for any buffers',
    async () => {
      await fc.assert(
        fc.asyncProperty(arrivals(), limits, buffers, async (all, changes, buffers) => {
          const packing = settings({ ignore: 'none', ...changes });
          const [one, other] = [await pack(all, packing), await pack(all, packing, buffers)];
          expect([...other.shards.keys()]).toEqual([...one.shards.keys()]);
          for (const [name, bytes] of one.shards) expect(sameAs(bytes, other.shards.get(name))).toBe(true);
        }),
        choices,
      );
    },
    LIMIT_MILLISECONDS,
  );
});
