import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SUM_KINDS } from '../../documents/blob-store.ts';
import { startSum, sumOf, sumOfFirst } from '../../formats/running-sum.ts';

const bytes = fc.uint8Array({ maxLength: 3_000 });
const kind = fc.constantFrom(...SUM_KINDS);

describe('the checksum of two texts', () => {
  it('is as its standard says', () => {
    const text = Buffer.from('123456789');
    expect(Buffer.from(sumOf('crc32', text), 'base64').toString('hex')).toBe('cbf43926');
    expect(Buffer.from(sumOf('crc32c', text), 'base64').toString('hex')).toBe('e3069283');
    expect(Buffer.from(sumOf('crc64nvme', text), 'base64').toString('hex')).toBe('ae8b14860a799888');
  });

  it('follows from their own', () => {
    fc.assert(
      fc.property(kind, bytes, bytes, bytes, (one, a, b, c) => {
        const sum = startSum(one);
        sum.add(a);
        sum.append(sumOf(one, b), b.length);
        sum.add(c);
        expect(sum.base64).toBe(sumOf(one, Buffer.concat([a, b, c])));
      }),
    );
  });

  it('gives that of the first one', () => {
    fc.assert(
      fc.property(kind, bytes, bytes, (one, a, b) => {
        const [all, last] = [sumOf(one, Buffer.concat([a, b])), sumOf(one, b)];
        expect(sumOfFirst(one, all, last, b.length)).toBe(sumOf(one, a));
      }),
    );
  });

  it.each(SUM_KINDS)('follows for gigabytes too (%s)', (one) => {
    const [first, last] = [sumOf(one, Buffer.from('a')), sumOf(one, Buffer.from('b'))];
    const sum = startSum(one);
    sum.append(first, 1);
    sum.append(last, 3_000_000_000);
    expect(sumOfFirst(one, sum.base64, last, 3_000_000_000)).toBe(first);
  });
});
