import { createHash } from 'node:crypto';
import { crc32, inflateSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { type DigitImage, digitImages } from '../../../cli/demo/digits.ts';

/** An independent, small PNG reader: checks every length and checksum on the way. */
function readPng(bytes: Buffer): { width: number; height: number; pixels: number[] } {
  expect(bytes.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a');
  const chunks = new Map<string, Buffer>();
  let offset = 8;
  while (offset < bytes.length) {
    const length = bytes.readUInt32BE(offset);
    const body = bytes.subarray(offset + 4, offset + 8 + length);
    expect(bytes.readUInt32BE(offset + 8 + length)).toBe(crc32(body));
    chunks.set(body.subarray(0, 4).toString('latin1'), body.subarray(4));
    offset += 12 + length;
  }
  expect(offset).toBe(bytes.length);
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND']);
  const header = chunks.get('IHDR') ?? Buffer.alloc(0);
  expect(header.subarray(8).toString('hex')).toBe('0800000000');
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const rows = inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0));
  const pixels: number[] = [];
  for (let row = 0; row < height; row += 1) {
    expect(rows.readUInt8(row * (width + 1))).toBe(0);
    pixels.push(...rows.subarray(row * (width + 1) + 1, (row + 1) * (width + 1)));
  }
  return { width, height, pixels };
}

describe('digitImages', () => {
  let images: DigitImage[];
  beforeAll(async () => {
    images = [];
    for await (const image of digitImages()) images.push(image);
  });

  it('yields 1,797 images with distinct keys', () => {
    expect(images).toHaveLength(1797);
    expect(new Set(images.map((image) => image.key)).size).toBe(1797);
  });

  it('holds as many digits as the source', () => {
    const counts = Array.from(
      { length: 10 },
      (_, digit) => images.filter(({ label }) => label === digit).length,
    );
    expect(counts).toEqual([178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
  });

  it('names each image by its label and line', () => {
    expect(images[0]?.key).toBe('0/0000.png');
    expect(images[1796]?.key).toBe('8/1796.png');
    expect(images.every(({ key, label }) => key.startsWith(`${label}/`))).toBe(true);
  });

  it('writes valid grayscale PNGs of 8 by 8 pixels', () => {
    for (const { bytes } of images) {
      const { width, height, pixels } = readPng(bytes);
      expect([width, height, pixels.length]).toEqual([8, 8, 64]);
    }
  });

  it('stretches shades to the whole range', () => {
    const { pixels } = readPng(images[0]?.bytes ?? Buffer.alloc(0));
    expect(pixels.slice(0, 8)).toEqual([0, 0, 80, 207, 143, 16, 0, 0]);
  });

  it('writes the same bytes on every machine', () => {
    const digest = createHash('sha256');
    for (const { key, bytes } of images) digest.update(key).update(bytes);
    expect(digest.digest('hex')).toBe('2b893fefc3b3be21d64bae53b0292b281ff7885566a907bee7a71ed2fd6bff09');
  });
});
