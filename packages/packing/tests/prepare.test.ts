/** Images are prepared before they are packed, by the real sharp. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { openImageEngine } from '../../../functions/aws/images/image-engine.ts';
import { compactAll, current, packedInDrops, problems } from '../../../test/support/builders/compaction.ts';
import {
  incoming,
  manifestOf,
  memberLines,
  now,
  PIPELINE,
  packAll,
  RUN,
  settings,
  unpack,
} from '../../../test/support/builders/packing.ts';
import { persist } from '../../../test/support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';
import { readPlan } from '../documents/committed-plan.ts';
import type { ImageEngine } from '../documents/image-preparation.ts';
import { planShards } from '../plan/plan-shards.ts';
import { writeQualityReport } from '../quality/quality-report.ts';
import { packItem } from '../shard/pack-item.ts';
import { verifyGeneration } from '../verify/verify.ts';

const FORMATS = ['webdataset', 'tfrecord', 'mds', 'parquet', 'recordio'] as const;
const SEEDS = Number(process.env['TIDEWHEEL_SEEDS'] ?? 3);

const preparing = (image: Readonly<Record<string, unknown>> = { maxSide: 16 }): PackingSettings['prepare'] =>
  packingSchema.parse({ prepare: { image } }).prepare;
const packing = (changes: Partial<PackingSettings> = {}): PackingSettings =>
  settings({ prepare: preparing(), shardMegabytes: 0.01, ...changes });

/** 40 images of 30 to 2,500 bytes. Every tenth is cut off, no image, or far too large. */
const pictures: Buffer[] = [];
beforeAll(async () => {
  const suffixes = ['jpeg', 'png', 'webp', 'gif'] as const;
  for (let index = 0; index < 8; index += 1) {
    const side = 24 + index * 3;
    const pixels = Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * (index + 3) * 40_503) >>> 8);
    const image = sharp(pixels, { raw: { width: side, height: side, channels: 3 } });
    pictures.push(await image[suffixes[index % 4] ?? 'png']().toBuffer());
  }
});

const isBad = (index: number): boolean => index % 10 === 3;
function badOf(index: number): Buffer {
  const whole = pictures[1] ?? Buffer.alloc(0);
  if (index < 10) return whole.subarray(0, 700);
  return index < 20 ? Buffer.from('this is no picture') : Buffer.alloc(0);
}

function filled(count = 40): MemoryBlobStore {
  const store = new MemoryBlobStore();
  for (let index = 0; index < count; index += 1)
    store.seed(
      `${incoming}${index % 3}/${String(index).padStart(2, '0')}.png`,
      isBad(index) ? badOf(index) : (pictures[index % 8] ?? Buffer.alloc(0)),
    );
  return store;
}

describe('preparing images', () => {
  it.each(FORMATS)('packs images into %s and rejects undecodable ones', async (format) => {
    const store = filled();
    expect(await packAll(store, packing({ format }))).toMatchObject({
      status: 'sealed',
      samples: 36,
      rejected: 4,
    });
    const manifest = manifestOf(store);
    expect(manifest.rejections.byReason).toEqual({ imageDamaged: 1, imageUnknown: 3 });
    expect(manifest.prepared).toMatchObject({ by: [openImageEngine()?.build], images: 36 });
    expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
    const lines = memberLines(store).filter(({ key }) => key !== undefined);
    expect(new Set(lines.map(({ key }) => key)).size).toBe(36);
    for (const { key, name, source } of lines) {
      expect(name).toBe(key?.slice(incoming.length).replace('.png', '.jpg'));
      expect(source?.size).toBe(store.body(key ?? '').length);
    }
  });

  it('names prepared images by their new format', async () => {
    const store = filled();
    await packAll(store, packing({ prepare: preparing({ width: 8, height: 8, format: 'webp' }) }));
    const sources = await unpack(store);
    expect(sources.size).toBe(36);
    for (const bytes of sources.values())
      expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 8, height: 8 });
  });

  it('takes TIFF and AVIF, but no BMP or HEIC', async () => {
    const store = new MemoryBlobStore();
    const image = sharp(pictures[1]);
    const bmp = Buffer.alloc(58);
    bmp.write('BM');
    store.seed(`${incoming}0/a.tiff`, await image.clone().tiff().toBuffer());
    store.seed(`${incoming}0/b.tif`, await image.clone().tiff().toBuffer());
    store.seed(`${incoming}0/c.avif`, await image.clone().avif().toBuffer());
    store.seed(`${incoming}0/d.bmp`, bmp);
    // Of the same container as AVIF, by its brand.
    const heic = await image.clone().avif().toBuffer();
    heic.write('heic', 8);
    store.seed(`${incoming}0/e.heic`, heic);
    await packAll(store, packing({ prepare: preparing({ width: 8, height: 8 }) }));
    expect(manifestOf(store).rejections.byReason).toEqual({ imageNotDecodable: 1 });
    const sources = await unpack(store);
    for (const name of ['a.tiff', 'b.tif', 'c.avif'])
      expect(await sharp(sources.get(`${incoming}0/${name}`)).metadata()).toMatchObject({
        format: 'jpeg',
        width: 8,
      });
    expect(sources.get(`${incoming}0/e.heic`)).toEqual(heic);
    const report = await writeQualityReport({ store }, { pipeline: PIPELINE, generation: RUN });
    expect(report?.unprepared).toEqual({ heic: 1 });
  });

  it('leaves labels, masks and JSON unchanged', async () => {
    const store = new MemoryBlobStore();
    const others = { 'seg.png': 'a mask', json: '{"box":[1,2]}', cls: '7' };
    store.seed(`${incoming}a.png`, pictures[0] ?? '');
    for (const [suffix, body] of Object.entries(others)) store.seed(`${incoming}a.${suffix}`, body);
    await packAll(store, packing());
    const sources = await unpack(store);
    for (const [suffix, body] of Object.entries(others))
      expect(sources.get(`${incoming}a.${suffix}`)?.toString()).toBe(body);
    expect(memberLines(store).map(({ name }) => name)).toEqual(['a.cls', 'a.jpg', 'a.json', 'a.seg.png']);
  });

  it.each(FORMATS)('rejects a huge image for %s without reading', async (format) => {
    const store = filled(3);
    const huge = `${incoming}0/huge.png`;
    store.seed(huge, pictures[0] ?? '');
    const listPage = store.listPage.bind(store);
    store.listPage = async (prefix, options) => {
      const page = await listPage(prefix, options);
      return {
        ...page,
        objects: page.objects.map((one) => (one.key === huge ? { ...one, size: 5e9 } : one)),
      };
    };
    const get = store.get.bind(store);
    store.get = (key, options) =>
      key === huge ? Promise.reject(new Error('it was read')) : get(key, options);
    expect(await packAll(store, packing({ format }))).toMatchObject({
      samples: 3,
      rejections: { byReason: { tooLarge: 1 } },
    });
  });

  const masked = async (format: 'webdataset' | 'tfrecord' | 'mds') => {
    const store = new MemoryBlobStore();
    const classes = Buffer.from(Array.from({ length: 40 * 30 }, (_, at) => (at % 40 < 20 ? 3 : 200)));
    const mask = await sharp(classes, { raw: { width: 40, height: 30, channels: 1 } })
      .png()
      .toBuffer();
    for (const name of ['a', 'b']) store.seed(`${incoming}7/${name}.jpg`, pictures[0] ?? '');
    store.seed(`${incoming}7/a.seg.png`, mask);
    store.seed(`${incoming}7/b.seg.png`, await sharp(mask).jpeg().toBuffer());
    const prepare = preparing({ maxSide: 8, masks: ['seg'] });
    return { store, size: mask.length, sealed: await packAll(store, packing({ format, prepare })) };
  };

  it.each(['webdataset', 'tfrecord', 'mds'] as const)(
    'resizes masks in %s and rejects invalid ones',
    async (format) => {
      const { store, size, sealed } = await masked(format);
      expect(sealed).toMatchObject({
        samples: 1,
        rejections: { byReason: { maskNotPng: 1, sampleIncomplete: 1 } },
      });
      expect((await verifyGeneration(store, manifestOf(store))).problems).toEqual([]);
      const line = memberLines(store).find(({ key }) => key === `${incoming}7/a.seg.png`);
      expect(line).toMatchObject({ source: { size }, column: 'seg' });
    },
  );

  it('keeps the values and the name of masks', async () => {
    const { store } = await masked('webdataset');
    expect(memberLines(store).map(({ name }) => name)).toEqual(['7/a.cls', '7/a.jpg', '7/a.seg.png']);
    const seen = (await unpack(store)).get(`${incoming}7/a.seg.png`);
    const { data, info } = await sharp(seen).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, new Set(data)]).toEqual([8, 6, new Set([3, 200])]);
  });

  it('gives a free suffix if one is taken', async () => {
    const store = new MemoryBlobStore();
    store.seed(`${incoming}a.jpg`, pictures[0] ?? '');
    store.seed(`${incoming}a.png`, pictures[1] ?? '');
    await packAll(store, packing({ prepare: preparing({ format: 'png' }) }));
    const names = memberLines(store).map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
    expect((await verifyGeneration(store, manifestOf(store))).problems).toEqual([]);
    expect((await unpack(store)).get(`${incoming}a.png`)).toEqual(pictures[1]);
  });

  it('rejects the whole sample of an undecodable image', async () => {
    const store = filled(3);
    store.seed(`${incoming}0/bad.jpg`, 'no picture');
    store.seed(`${incoming}0/bad.json`, '{}');
    await packAll(store, packing());
    expect(manifestOf(store).rejections.examples).toEqual([
      { key: `${incoming}0/bad.jpg`, reason: 'imageUnknown' },
      { key: `${incoming}0/bad.json`, reason: 'sampleIncomplete' },
    ]);
  });

  it.each(FORMATS)('keeps even counts in %s despite rejected images', async (format) => {
    const store = filled();
    await packAll(store, packing({ format, remainder: 'even', shardsMultipleOf: 4 }));
    const manifest = manifestOf(store);
    expect(manifest.shards).toHaveLength(4);
    expect(new Set(manifest.shards.map(({ samples }) => samples)).size).toBe(1);
    expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
  });

  it('defers an image that changed after the plan', async () => {
    const store = filled(3);
    await planShards({ store, now }, { runId: RUN, pipeline: PIPELINE, packing: packing() });
    store.seed(`${incoming}1/01.png`, pictures[7] ?? '');
    expect(await packAll(store, packing())).toMatchObject({ samples: 2, rejected: 0 });
    expect(await packAll(store, packing(), 'digits-000002')).toMatchObject({ samples: 1, rejected: 0 });
  });

  it.each(['webdataset', 'mds'] as const)(
    'gives the same %s bytes wherever killed',
    async (format) => {
      const calm = filled();
      await packAll(calm, packing({ format }));
      for (let seed = 0; seed < SEEDS; seed += 1) {
        const store = filled();
        await persist(store, `${format} ${seed}`, (faulty) => packAll(faulty, packing({ format })), 0.02);
        for (const key of calm.keys(bucketKeys.generation(PIPELINE, RUN)))
          expect(store.body(key).equals(calm.body(key))).toBe(true);
      }
    },
    60_000,
  );

  it('decodes each image once if shards are rebuilt', async () => {
    const real = openImageEngine();
    if (real === undefined) throw new Error('sharp is not installed');
    let decoded = 0;
    const counting: ImageEngine = {
      ...real,
      prepare: (source, image) => {
        decoded += 1;
        return real.prepare(source, image);
      },
    };
    const store = filled();
    const input = { runId: RUN, pipeline: PIPELINE, packing: packing({ format: 'mds', shardMegabytes: 1 }) };
    const { digest } =
      (await planShards({ store, now }, input), (await readPlan(store, input)) ?? { digest: '' });
    await packItem({ store, images: () => counting }, { ...input, item: { item: 0, plan: digest } });
    expect(decoded).toBe(40);
  });

  it('keeps the source digests in a joined generation', async () => {
    const drop = (number: number) =>
      Object.fromEntries(pictures.map((body, index) => [`${index % 2}/${number}-${index}.png`, body]));
    const joining = packing({ shardMegabytes: 0.06 });
    const store = await packedInDrops([1, 2, 3, 4].map(drop), joining);
    expect(await compactAll(store, joining)).toMatchObject({ status: 'compacted' });
    expect(await problems(store)).toEqual([]);
    const sealed = await current(store);
    expect(sealed.map(({ prepared }) => prepared?.images)).toEqual([32]);
  });

  it('plans by prepared size and decoding time', async () => {
    const store = new MemoryBlobStore();
    for (let index = 0; index < 60; index += 1) store.seed(`${incoming}${index}.png`, Buffer.alloc(20_000));
    const planned = async (run: string, image?: Readonly<Record<string, unknown>>): Promise<number> => {
      const { prepare: _, ...plain } = settings({ shardMegabytes: 0.1 });
      const one = image === undefined ? plain : { ...plain, prepare: preparing(image) };
      await planShards({ store, now }, { runId: run, pipeline: PIPELINE, packing: one });
      return (await readPlan(store, { pipeline: PIPELINE, runId: run }))?.shards ?? 0;
    };
    expect(await planned('digits-000001')).toBe(13);
    expect(await planned('digits-000002', { maxSide: 32 })).toBe(1);
    expect(await planned('digits-000003', { maxSide: 32, expectedKilobytes: 10 })).toBe(7);
  });
});

const packWith = async (images: (() => ImageEngine | undefined) | undefined): Promise<unknown> => {
  const store = filled(3);
  const input = { runId: RUN, pipeline: PIPELINE, packing: packing() };
  await planShards({ store, now }, input);
  const plan = await readPlan(store, input);
  const item = { item: 0, plan: plan?.digest ?? '' };
  return packItem({ store, ...(images && { images }) }, { ...input, item });
};

describe('a plan that prepares images', () => {
  it('is refused without sharp, with the remedy', async () => {
    await expect(packWith(undefined)).rejects.toThrow(/--param="images=yes"/);
    await expect(packWith(() => undefined)).rejects.toThrow(/deployed without it/);
  });

  it('is refused by another version of sharp', async () => {
    const other = { ...openImageEngine(), name: 'sharp 0.99.0' } as ImageEngine;
    await expect(packWith(() => other)).rejects.toThrow(/this stack has sharp 0\.99\.0/);
  });

  it('loads no image engine for a plan without images', async () => {
    const store = filled(3);
    const input = { runId: RUN, pipeline: PIPELINE, packing: settings() };
    await planShards({ store, now }, input);
    const plan = await readPlan(store, input);
    let loads = 0;
    const images = (): undefined => void (loads += 1);
    const item = { item: 0, plan: plan?.digest ?? '' };
    expect(await packItem({ store, images }, { ...input, item })).toMatchObject({ shards: 1 });
    expect(loads).toBe(0);
  });

  it.each([
    [{ image: { maxSide: 8, width: 9 } }, /not both/],
    [{ image: { fit: 'cover', width: 9 } }, /width and height/],
    [{ image: { format: 'png', quality: 9 } }, /loses nothing/],
    [{ image: { maxSide: 0 } }, /maxSide/],
    [{ image: { background: 'red' } }, /#000000/],
  ])('refuses %j', (prepare, message) => {
    expect(JSON.stringify(packingSchema.safeParse({ prepare }).error?.issues)).toMatch(message);
  });

  it('refuses formats that are joined as they are', () => {
    for (const format of ['lines', 'records'])
      expect(packingSchema.safeParse({ format, prepare: { image: {} } }).success).toBe(false);
  });
});
