/** Data of projects for SageMaker: little, learnable, and the same at each call. */
import { crc32, deflateSync } from 'node:zlib';

/** Numbers from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Lines of CSV without a header: the class, then three numbers. */
export function rows(count: number, seed: number): string {
  const next = numbers(seed);
  return lines(count, () => {
    const [a, b, c] = [next(), next(), next()];
    return [a + b > 1 ? 1 : 0, a, b, c].map((value) => value.toFixed(4)).join(',');
  });
}

export const churned = (count: number, seed: number): string =>
  `churned,calls,bill,age\n${rows(count, seed)}`;

/** Texts of five words. */
export function reviews(count: number): string {
  const next = numbers(count);
  return lines(count, () => {
    const label = next() > 0.5 ? 1 : 0;
    const words = Array.from(
      { length: 5 },
      () => `${next() > 0.3 ? label : 1 - label}${Math.floor(next() * 9)}`,
    );
    return JSON.stringify({ text: words.join(' '), label });
  });
}

const lines = (count: number, line: () => string): string =>
  `${Array.from({ length: count }, line).join('\n')}\n`;

const SIDE = 16;

/** Images of noise with a bright square, and their masks. */
export function cells(count: number): [name: string, png: Uint8Array][] {
  const next = numbers(count);
  return Array.from({ length: count }, (_, index) => {
    const [left, top] = [Math.floor(next() * 10), Math.floor(next() * 10)];
    const isInside = (at: number): boolean => {
      const [x, y] = [(at % SIDE) - left, Math.floor(at / SIDE) - top];
      return x >= 0 && x < 6 && y >= 0 && y < 6;
    };
    const pixels = (value: (at: number) => number) =>
      png(Uint8Array.from({ length: SIDE ** 2 }, (__, at) => value(at)));
    const name = `${index}`.padStart(3, '0');
    return [
      [`data/images/${name}.png`, pixels((at) => (isInside(at) ? 120 : 60) + next() * 100)],
      [`data/masks/${name}.png`, pixels((at) => (isInside(at) ? 255 : 0))],
    ] satisfies [string, Uint8Array][];
  }).flat();
}

/** A grey PNG. */
function png(pixels: Uint8Array): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE, 0);
  header.writeUInt32BE(SIDE, 4);
  header[8] = 8;
  const scanlines = Array.from({ length: SIDE }, (_, row) => [
    0,
    ...pixels.subarray(row * SIDE, (row + 1) * SIDE),
  ]);
  const data = deflateSync(Uint8Array.from(scanlines.flat()));
  const parts = [chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts]);
}

function chunk(kind: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(kind), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
