/** The real sharp on images that are small, odd and hostile. */

import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type ImageSettings, packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { IMAGE_ENGINE, type ImageEngine } from '@tidewheel/packing/images.ts';
import * as fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { openImageEngine } from '../../../functions/aws/images/image-engine.ts';

let engine: ImageEngine;
beforeAll(() => {
  const opened = openImageEngine();
  if (opened === undefined) throw new Error('sharp is not installed: npm ci');
  engine = opened;
});

const settings = (image: Readonly<Record<string, unknown>> = {}): ImageSettings => {
  const { prepare } = packingSchema.parse({ prepare: { image } });
  if (prepare === undefined) throw new Error('nothing is prepared');
  return prepare.image;
};

const NOISE = Buffer.from(
  Uint8Array.from({ length: 200 * 150 * 3 }, (_, index) => (index * 2_654_435_761) >>> 24),
);
const noise = (): Sharp => sharp(NOISE, { raw: { width: 200, height: 150, channels: 3 } });
const plain = (background: string, width = 40, height = 30): Sharp =>
  sharp({ create: { width, height, channels: 3, background } });

async function prepared(source: Uint8Array, image: Readonly<Record<string, unknown>> = {}): Promise<Buffer> {
  const result = await engine.prepare(source, settings(image));
  if (result.kind === 'rejected') throw new Error(result.reason);
  return Buffer.from(result.bytes);
}

async function look(bytes: Uint8Array): Promise<string> {
  const { width, height, format, channels, space, pages = 1 } = await sharp(bytes).metadata();
  return `${format} ${width}x${height} ${space} ${channels} channels, ${pages} frame`;
}

async function pixel(bytes: Uint8Array, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const at = (y * info.width + x) * info.channels;
  return [...data.subarray(at, at + info.channels)];
}

const reasonOf = async (bytes: Uint8Array, image = {}): Promise<string> => {
  const result = await engine.prepare(bytes, settings(image));
  return result.kind === 'rejected' ? result.reason : 'prepared';
};

describe('the image engine', () => {
  it('is the version that package.json pins and plans name', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(IMAGE_ENGINE).toBe(`sharp ${dependencies.sharp}, 6 formats`);
    expect(engine.name).toBe(IMAGE_ENGINE);
    expect(engine.build).toMatch(/^sharp [\d.]+, 6 formats, libvips [\d.]+, \w+$/);
  });

  it.each(['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const)(
    'decodes %s and gives the same bytes again',
    async (format) => {
      const source = await noise()[format]().toBuffer();
      const bytes = await prepared(source, { maxSide: 64 });
      expect(await look(bytes)).toBe('jpeg 64x48 srgb 3 channels, 1 frame');
      expect(await prepared(source, { maxSide: 64 })).toEqual(bytes);
    },
  );

  it.each([
    [{ maxSide: 100, format: 'png' }, 'png 100x75'],
    [{ maxSide: 1_000, format: 'webp' }, 'webp 200x150'],
    [{ width: 50 }, 'jpeg 50x38'],
    [{ height: 300 }, 'jpeg 400x300'],
    [{ width: 64, height: 64 }, 'jpeg 64x64'],
    [{ width: 64, height: 64, fit: 'contain' }, 'jpeg 64x64'],
    [{ width: 64, height: 64, fit: 'inside' }, 'jpeg 64x48'],
    [{}, 'jpeg 200x150'],
  ])('%j gives %s', async (image, expected) => {
    expect(await look(await prepared(await noise().png().toBuffer(), image))).toContain(expected);
  });

  it('pads with the background', async () => {
    const wide = await plain('#ff0000', 40, 20).png().toBuffer();
    const square = { width: 40, height: 40, fit: 'contain', format: 'png', background: '#0000ff' };
    const padded = await prepared(wide, square);
    expect(await pixel(padded, 20, 1)).toEqual([0, 0, 255]);
    expect(await pixel(padded, 20, 20)).toEqual([255, 0, 0]);
    const clear = await sharp({ create: { width: 9, height: 9, channels: 4, background: '#ff000000' } })
      .png()
      .toBuffer();
    const [red, green = 0] = await pixel(await prepared(clear, { background: '#00ff00' }), 4, 4);
    expect(red).toBeLessThan(5);
    expect(green).toBeGreaterThan(250);
    expect(await look(await prepared(clear, { format: 'webp' }))).toContain('4 channels');
  });

  it('turns photographs upright and leaves no metadata in them', async () => {
    const sideways = await plain('#123456', 40, 20)
      .withMetadata({ orientation: 6 })
      .withExifMerge({ IFD0: { Copyright: 'where I live' } })
      .jpeg()
      .toBuffer();
    const bytes = await prepared(sideways);
    expect(await look(bytes)).toContain('20x40');
    expect(bytes.includes('where I live')).toBe(false);
    expect((await sharp(bytes).metadata()).exif).toBeUndefined();
  });

  it('makes sRGB of other color spaces', async () => {
    const cmyk = await plain('#ff0000').toColourspace('cmyk').jpeg().toBuffer();
    expect((await sharp(cmyk).metadata()).space).toBe('cmyk');
    const [red = 0, green = 255] = await pixel(await prepared(cmyk, { format: 'png' }), 5, 5);
    expect(red).toBeGreaterThan(200);
    expect(green).toBeLessThan(50);
    for (const source of [
      plain('#777777').greyscale().jpeg(),
      noise().png({ palette: true, colours: 16 }),
      noise().toColourspace('rgb16').png(),
      noise().jpeg({ progressive: true }),
    ])
      expect(await look(await prepared(await source.toBuffer(), { format: 'png' }))).toContain(
        'srgb 3 channels',
      );
  });

  it('takes the first frame of an animation', async () => {
    const frames = [plain('#ff0000'), plain('#0000ff')].map((one) => one.png().toBuffer());
    for (const format of ['gif', 'webp'] as const) {
      const joined = sharp(await Promise.all(frames), { join: { animated: true } });
      const animated = await joined[format]().toBuffer();
      expect((await sharp(animated).metadata()).pages).toBe(2);
      const bytes = await prepared(animated, { format: 'png' });
      expect(await look(bytes)).toContain('40x30');
      expect((await pixel(bytes, 5, 5))[0]).toBeGreaterThan(200);
    }
  });

  it('goes by the bytes, whatever the name says', async () => {
    expect(await look(await prepared(await plain('#00ff00').png().toBuffer()))).toContain('jpeg 40x30');
  });
});

describe('what cannot be decoded', () => {
  it('is refused where the declaration accepts it', () => {
    const declared = packingSchema.safeParse({
      accept: ['.jpg', '.HEIC'],
      prepare: { image: { maxSide: 64 } },
    });
    expect(declared.error?.issues).toMatchObject([
      {
        path: ['accept'],
        message: expect.stringMatching(/no HEIC and BMP can be prepared: convert/) as string,
      },
    ]);
  });

  it('is rejected as unknown when of another kind', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
    for (const text of ['', 'text', svg, 'BM', '%PDF-1.7', '\xff\xd8'])
      expect(await reasonOf(Buffer.from(text, 'latin1'))).toBe('imageUnknown');
  });

  it('is rejected as such where sharp has no decoder', async () => {
    const heic = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0mif1heic')]);
    const bmp = Buffer.alloc(58);
    bmp.write('BM');
    bmp.writeUInt32LE(58, 2);
    bmp.writeUInt32LE(54, 10);
    for (const bytes of [heic, bmp]) expect(await reasonOf(bytes)).toBe('imageNotDecodable');
  });

  it('is no AVIF of a general brand', async () => {
    const avif = await noise().avif().toBuffer();
    avif.write('mif1', 8);
    expect(await reasonOf(avif)).toBe('prepared');
  });

  it('finds a TIFF or AVIF cut off', async () => {
    for (const format of ['tiff', 'avif'] as const) {
      const whole = await noise()[format]().toBuffer();
      expect(await reasonOf(whole)).toBe('prepared');
      expect(await reasonOf(whole.subarray(0, Math.floor(whole.length / 2)))).toBe('imageDamaged');
    }
    expect(await reasonOf(Buffer.from('II*\0', 'latin1'))).toBe('imageDamaged');
  });

  it('reaches no other decoder of libvips', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    await expect(sharp(svg).png().toBuffer()).rejects.toThrow(/unsupported|blocked/);
  });

  it('is rejected for its dimensions before it is decoded', async () => {
    const bomb = await plain('#000000').png().toBuffer();
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    expect(await reasonOf(bomb)).toBe('imageTooManyPixels');
    const flat = await plain('#000000', 3_000, 2_000).png().toBuffer();
    expect(flat.length).toBeLessThan(40_000);
    expect(await reasonOf(flat, { mostMegapixels: 5.9 })).toBe('imageTooManyPixels');
    expect(await reasonOf(flat, { mostMegapixels: 6, maxSide: 32 })).toBe('prepared');
  });

  it('is rejected when it would grow too large', async () => {
    const thin = await plain('#ffffff', 1, 60_000).png().toBuffer();
    const lying = await plain('#ffffff', 60_000, 1).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    for (const image of [{ width: 256 }, { width: 256, height: 256, fit: 'outside' }])
      for (const source of [thin, lying])
        expect(await reasonOf(source, { ...image, format: 'png' })).toBe('imageTooManyPixels');
    for (const fit of ['cover', 'contain', 'fill', 'inside'])
      expect(await reasonOf(thin, { width: 64, height: 64, fit })).toBe('prepared');
    expect(await reasonOf(lying, { height: 60_000 / 4 })).toBe('prepared');
  });

  it.each([
    ['jpeg', 3],
    ['png', 13],
    ['webp', 1],
  ] as const)('is rejected when %s loses its last %i bytes', async (format, most) => {
    const whole = await noise()[format]().toBuffer();
    for (let length = 100; length <= whole.length - most; length += 997)
      expect(await reasonOf(whole.subarray(0, length))).toBe('imageDamaged');
    expect(await reasonOf(whole.subarray(0, whole.length - most))).toBe('imageDamaged');
  });

  it('never fails except by a rejection', async () => {
    const sources = await Promise.all(
      (['jpeg', 'png', 'webp', 'gif'] as const).map((format) => plain('#a0b0c0')[format]().toBuffer()),
    );
    const change = fc.record({
      source: fc.constantFrom(...sources),
      flips: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 8 }),
      cut: fc.nat(),
      tail: fc.uint8Array({ maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ source, flips, cut, tail }) => {
        const bytes = Buffer.from(source);
        for (const [at, value] of flips) bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ value;
        const hostile = Buffer.concat([bytes.subarray(0, Math.max(4, cut % (2 * bytes.length))), tail]);
        const one = await engine.prepare(hostile, settings({ maxSide: 16 }));
        expect(await engine.prepare(hostile, settings({ maxSide: 16 }))).toEqual(one);
      }),
      // A changed header may claim an image that is large and allowed.
      { numRuns: 150, interruptAfterTimeLimit: 4_000 },
    );
  });
});
