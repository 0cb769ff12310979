/** Masks beside prepared images, by the real sharp: what a training reads as a class must have been one. */

import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { ImageEngine } from '@tidewheel/packing/images.ts';
import * as fc from 'fast-check';
import sharp, { type OutputInfo } from 'sharp';
import { describe, expect, it } from 'vitest';
import { openImageEngine } from '../../../functions/aws/images/image-engine.ts';
import { readIndexed } from '../../../functions/aws/images/png-palette.ts';

const engine = openImageEngine();
if (engine === undefined) throw new Error('sharp is not installed');
const prepare: ImageEngine['prepare'] = (source, how, as) => engine.prepare(source, how, as);

const settings = (image: object) => {
  const parsed = packingSchema.parse({ prepare: { image: { masks: ['seg'], ...image } } }).prepare?.image;
  if (parsed === undefined) throw new Error('no settings');
  return parsed;
};
async function prepared(source: Buffer, image: object, as: 'image' | 'mask' = 'mask'): Promise<Buffer> {
  const result = await prepare(source, settings(image), as);
  if (result.kind === 'rejected') throw new Error(result.reason);
  return Buffer.from(result.bytes);
}
const classAt = (x: number, y: number): number => ((x >> 3) * 31 + (y >> 3) * 17) % 7;

function classes(width: number, height: number): Buffer {
  return Buffer.from(
    Array.from({ length: width * height }, (_, at) => classAt(at % width, Math.floor(at / width))),
  );
}
const greyPng = (width: number, height: number): Promise<Buffer> =>
  sharp(classes(width, height), { raw: { width, height, channels: 1 } })
    .toColourspace('b-w')
    .png()
    .toBuffer();
/** With numbers of a palette; sharp chooses which colour has which. */
const indexedPng = (width: number, height: number, colours = 256): Promise<Buffer> =>
  sharp(
    Buffer.from(
      [...classes(width, height)].flatMap((each) => [each * 30, 255 - each * 30, (each * 97) % 256]),
    ),
    { raw: { width, height, channels: 3 } },
  )
    .png({ palette: true, colours, dither: 0, effort: 1 })
    .toBuffer();
const numbersOf = (png: Buffer): Promise<{ data: Buffer; info: OutputInfo }> =>
  sharp(png).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });

describe('a mask', () => {
  it('is resized like its image, without new classes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 90 }),
        fc.integer({ min: 1, max: 90 }),
        fc.oneof(
          fc.record({ maxSide: fc.integer({ min: 1, max: 100 }) }),
          fc.record({ width: fc.integer({ min: 1, max: 100 }) }),
          fc.record({
            width: fc.integer({ min: 1, max: 60 }),
            height: fc.integer({ min: 1, max: 60 }),
            fit: fc.constantFrom('cover', 'contain', 'fill', 'inside', 'outside'),
          }),
          fc.constant({}),
        ),
        async (width, height, image) => {
          const source = await greyPng(width, height);
          const mask = await numbersOf(await prepared(source, image));
          const size = await sharp(await prepared(source, image, 'image')).metadata();
          expect([mask.info.width, mask.info.height]).toEqual([size.width, size.height]);
          const had = new Set([
            ...classes(width, height),
            ...('fit' in image && image.fit === 'contain' ? [0] : []),
          ]);
          expect([...mask.data].filter((each) => !had.has(each))).toEqual([]);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('stays aligned with its image', async () => {
    // A white rectangle on black: where the image is more white than black, the mask must be white, its rim aside.
    const [width, height] = [120, 75];
    const pixels = Buffer.alloc(width * height);
    for (let y = 20; y < 51; y += 1) pixels.fill(255, y * width + 30, y * width + 97);
    const source = await sharp(pixels, { raw: { width, height, channels: 1 } })
      .toColourspace('b-w')
      .png()
      .toBuffer();
    for (const image of [
      { maxSide: 31 },
      { width: 50, height: 50, fit: 'cover' },
      { width: 51, height: 30, fit: 'cover' },
      { width: 50, height: 51, fit: 'contain' },
      { width: 200, height: 41, fit: 'contain' },
      { width: 240, height: 240, fit: 'cover' },
      { width: 33, height: 77, fit: 'fill' },
    ]) {
      const mask = await numbersOf(await prepared(source, image));
      const like = await sharp(await prepared(source, { ...image, format: 'png' }, 'image'))
        .toColourspace('b-w')
        .raw()
        .toBuffer();
      const across = mask.info.width;
      const neighbours = [-1, 1, -across, across, -across - 1, -across + 1, across - 1, across + 1];
      const isRim = (at: number): boolean =>
        neighbours.some((step) => Math.abs((like[at + step] ?? like[at] ?? 0) - (like[at] ?? 0)) > 40);
      const wrong = [...mask.data].filter(
        (value, at) => !isRim(at) && Math.abs(value - (like[at] ?? 0)) > 127,
      );
      expect({ image, wrong: wrong.length }).toEqual({ image, wrong: 0 });
      expect(new Set(mask.data)).toEqual(new Set([0, 255]));
    }
  });

  it('takes the pixel under each new centre', async () => {
    const ramp = Buffer.from(Array.from({ length: 81 }, (_, x) => x));
    const source = await sharp(ramp, { raw: { width: 81, height: 1, channels: 1 } })
      .toColourspace('b-w')
      .png()
      .toBuffer();
    const { data } = await numbersOf(await prepared(source, { width: 9, height: 1, fit: 'fill' }));
    expect([...data]).toEqual([4, 13, 22, 31, 40, 49, 58, 67, 76]);
  });

  it.each([256, 16, 8])('keeps its palette of %i colours', async (colours) => {
    const source = await indexedPng(64, 48, colours);
    const [before, mask] = [readIndexed(source), await prepared(source, { maxSide: 16 })];
    const after = readIndexed(mask);
    expect(before).toBeDefined();
    expect(after?.palette).toEqual(before?.palette);
    const [wide, small] = [
      await sharp(source).raw().toBuffer(),
      await sharp(mask).raw().toBuffer({ resolveWithObject: true }),
    ];
    expect(small.info).toMatchObject({ width: 16, height: 12, channels: 3 });
    for (let y = 0; y < 12; y += 1)
      for (let x = 0; x < 16; x += 1) {
        const from = ((y * 4 + 2) * 64 + x * 4 + 2) * 3;
        expect(small.data.subarray((y * 16 + x) * 3, (y * 16 + x) * 3 + 3)).toEqual(
          wide.subarray(from, from + 3),
        );
      }
  });

  it('keeps 16 bits, colours and what is behind transparency', async () => {
    const ids = Uint16Array.from({ length: 64 }, (_, at) => at * 1_021);
    const deep = await sharp(ids, { raw: { width: 8, height: 8, channels: 1 } })
      .toColourspace('grey16')
      .png()
      .toBuffer();
    const read = await sharp(await prepared(deep, { maxSide: 4 }))
      .toColourspace('grey16')
      .raw({ depth: 'ushort' })
      .toBuffer();
    const values = new Uint16Array(read.buffer.slice(read.byteOffset, read.byteOffset + read.length));
    expect([...values].slice(0, 4)).toEqual([9, 11, 13, 15].map((at) => at * 1_021));
    const rgba = Buffer.from(
      Array.from({ length: 16 }, (_, at) => [at, 200 - at, 7, at % 2 === 0 ? 0 : 128]).flat(),
    );
    const clear = await sharp(rgba, { raw: { width: 4, height: 4, channels: 4 } })
      .png()
      .toBuffer();
    expect(
      await sharp(await prepared(clear, {}))
        .raw()
        .toBuffer(),
    ).toEqual(rgba);
  });

  it('with a damaged palette is rejected', async () => {
    const whole = await indexedPng(40, 40);
    const name = whole.indexOf('PLTE');
    const length = whole.readUInt32BE(name - 4);
    const without = Buffer.concat([whole.subarray(0, name - 4), whole.subarray(name + 8 + length)]);
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(whole.readUInt8(name + 5) ^ 1, name + 5);
    for (const damaged of [without, flipped])
      expect(await prepare(damaged, settings({ maxSide: 20 }), 'mask')).toEqual({
        kind: 'rejected',
        reason: 'imageDamaged',
      });
    expect(await prepare(whole, settings({ maxSide: 20 }), 'mask')).toMatchObject({ kind: 'prepared' });
  });

  it('of one column stays within bounds', async () => {
    const reason = 'imageTooManyPixels';
    const thin = await greyPng(1, 3_000);
    expect(await prepare(thin, settings({ width: 256 }), 'mask')).toMatchObject({ reason });
  });

  it('must be a whole PNG', async () => {
    const jpeg = await sharp(await greyPng(20, 20))
      .jpeg()
      .toBuffer();
    expect(await prepare(jpeg, settings({}), 'mask')).toEqual({ kind: 'rejected', reason: 'maskNotPng' });
    for (const whole of [await greyPng(40, 40), await indexedPng(40, 40)])
      for (let cut = 9; cut < whole.length - 12; cut += 7)
        expect(await prepare(whole.subarray(0, cut), settings({}), 'mask')).toEqual({
          kind: 'rejected',
          reason: 'imageDamaged',
        });
    const large = await greyPng(200, 100);
    expect(await prepare(large, settings({ mostMegapixels: 0.01 }), 'mask')).toMatchObject({
      reason: 'imageTooManyPixels',
    });
  });
});
