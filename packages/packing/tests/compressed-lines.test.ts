import { describe, expect, it } from 'vitest';
import { compress, compressPlanned, decompress } from '../documents/compressed-lines.ts';

describe.each([
  ['gzip', compress],
  ['zstd', compressPlanned],
])('lines in %s', (_name, make) => {
  it('hold no more memory than a short list needs', () => {
    const packed = make('{"key":"a"}\n');
    expect(packed.buffer.byteLength).toBeLessThan(256 * 1024);
    expect(decompress(packed)).toBe('{"key":"a"}\n');
  });

  it('come back where they do not shrink', () => {
    const random = Array.from({ length: 200_000 }, () => String.fromCharCode(0x800 + Math.random() * 0xc000));
    const text = `${random.join('')}\n`;
    expect(decompress(make(text))).toBe(text);
  });
});
