/** What the first bytes of a member say about it. */
import * as fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { imageLook } from '../../media/image-look.ts';
import { mediaFacts } from '../../media/media-facts.ts';

const picture = sharp({ create: { width: 37, height: 21, channels: 3, background: '#336699' } });
const factsOf = (name: string, bytes: Uint8Array) => mediaFacts(name, [bytes], bytes.length);

function wave(seconds: number, rate: number): Buffer {
  const bytes = Buffer.alloc(44 + seconds * rate * 2);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt32LE(rate * 2, 28);
  bytes.write('data', 36);
  bytes.writeUInt32LE(seconds * rate * 2, 40);
  return bytes;
}

/** A JPEG whose frame header lies behind a preview. */
async function withPreview(bytes: number): Promise<Buffer> {
  const jpeg = await picture.jpeg().toBuffer();
  const segments = Math.ceil(bytes / 60_000);
  const preview = Buffer.alloc(60_002);
  preview.writeUInt16BE(60_002);
  const all = Array.from({ length: segments }, () => [Buffer.of(0xff, 0xe2), preview]).flat();
  return Buffer.concat([jpeg.subarray(0, 2), ...all, jpeg.subarray(2)]);
}

describe('the size of an image', () => {
  it.each(['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const)(
    'is read from the header of a %s',
    async (format) => {
      const suffix = format === 'jpeg' ? 'jpg' : format;
      const bytes = await picture.toFormat(format).toBuffer();
      expect(factsOf(`a.${suffix}`, bytes)).toEqual({ width: 37, height: 21 });
    },
  );

  it('is read from a lossless webp and a bmp', async () => {
    expect(factsOf('a.webp', await picture.webp({ lossless: true }).toBuffer())).toEqual({
      width: 37,
      height: 21,
    });
    const bmp = Buffer.alloc(54);
    bmp.write('BM');
    bmp.writeUInt32LE(40, 14);
    bmp.writeInt32LE(37, 18);
    bmp.writeInt32LE(-21, 22);
    expect(factsOf('a.bmp', bmp)).toEqual({ width: 37, height: 21 });
  });

  it('is found behind a preview, in any chunks', async () => {
    const jpeg = await withPreview(120_000);
    const chunks = [jpeg.subarray(0, 7), jpeg.subarray(7, 9_000), jpeg.subarray(9_000)];
    expect(mediaFacts('a.JPG', chunks, jpeg.length)).toEqual({ width: 37, height: 21 });
  });

  it('is not guessed from damaged bytes', async () => {
    const whole = await picture.png().toBuffer();
    fc.assert(
      fc.property(fc.nat(whole.length), fc.uint8Array({ maxLength: 64 }), (cut, noise) => {
        const facts = factsOf('a.png', Buffer.concat([whole.subarray(0, cut), noise]));
        expect(facts === undefined || (facts.width ?? 0) > 0).toBe(true);
      }),
    );
    expect(factsOf('a.jpg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0]))).toBeUndefined();
  });

  it('is absent from a format that ends early', () => {
    // JPEG XL, whose reader throws another error than the others do.
    expect(mediaFacts('a.png', [Buffer.from([0xff, 0x0a])], 2)).toBeUndefined();
  });
});

describe('the duration of a sound', () => {
  it('is read from the header of a WAV', () => {
    expect(factsOf('a.wav', wave(2, 8_000))).toEqual({ rate: 8_000, seconds: 2 });
  });

  it("is the file's where a stream had none", () => {
    const streamed = wave(3, 8_000);
    streamed.writeUInt32LE(0xff_ff_ff_ff, 40);
    expect(factsOf('a.wav', streamed)).toEqual({ rate: 8_000, seconds: 3 });
  });

  it('is absent from hostile bytes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('RIFF....WAVE', 'fLaC', 'ID3', '....ftypmvhd', '\u00ff\u00fb'),
        fc.uint8Array({ maxLength: 300 }),
        (magic, rest) => {
          const facts = factsOf('a.mp4', Buffer.concat([Buffer.from(magic, 'latin1'), rest]));
          expect(Object.values(facts ?? {}).every((value) => Number.isFinite(value))).toBe(true);
        },
      ),
    );
  });
});

describe('text', () => {
  it('has the lines and tokens that splitting gives', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'é', ' ', '\n', '\t', '漢')), fc.nat(9), (parts, cut) => {
        const text = parts.join('');
        const bytes = Buffer.from(text);
        const facts = mediaFacts('a.txt', [bytes.subarray(0, cut), bytes.subarray(cut)], bytes.length);
        const lines = text.split('\n');
        if (lines.at(-1) === '') lines.pop();
        expect(facts).toEqual({ lines: lines.length, tokens: text.split(/[ \n\t]+/).filter(Boolean).length });
      }),
    );
  });

  it('is not counted when only its head is held', () => {
    expect(mediaFacts('a.txt', [Buffer.from('one two')], 1_000)).toBeUndefined();
  });
});

describe('the look of an image', () => {
  it('hardly changes when scaled and saved again', async () => {
    const pixels = Uint8Array.from({ length: 96 * 64 * 3 }, (_, at) => {
      const [x, y] = [Math.floor(at / 3) % 96, Math.floor(at / 288)];
      return Math.floor(127 + 80 * Math.sin(x / 9) + 40 * Math.cos(y / 7));
    });
    const image = sharp(pixels, { raw: { width: 96, height: 64, channels: 3 } });
    const smaller = await image.clone().resize(48, 32).jpeg({ quality: 80 }).toBuffer();
    const raw = await sharp(smaller).raw().toBuffer();
    const [a, b] = [imageLook(pixels, 96, 64), imageLook(raw, 48, 32)];
    const differing = (BigInt(`0x${a.dhash}`) ^ BigInt(`0x${b.dhash}`)).toString(2).replaceAll('0', '');
    expect(differing.length).toBeLessThanOrEqual(3);
    expect(b.mean[0]).toBeCloseTo(a.mean[0] ?? 0, -1);
  });

  it('has the mean and deviation of its pixels', () => {
    const pixels = Uint8Array.of(0, 10, 20, 100, 10, 40);
    expect(imageLook(pixels, 2, 1)).toMatchObject({ mean: [50, 10, 30], std: [50, 0, 10] });
  });
});
