/**
 * Computes a CRC of 32 bits of two texts together from that of each, and of the first one from that of both: it
 * multiplies by x^(8 * length) modulo the polynomial, by squaring. This is the method of zlib's crc32_combine.
 */
import { CRC32C_POLYNOMIAL } from './crc32c.ts';
import { power } from './power.ts';

/** Bit-reflected. */
const CRC32_POLYNOMIAL = 0xedb88320;

const ONE = 0x8000_0000;
/** x^8 */
const BYTE = 0x0080_0000;

/** a(x) * b(x) modulo the polynomial, bit-reflected. */
function multiply(polynomial: number, a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ polynomial;
  }
  return product >>> 0;
}

/** x^-8: the polynomial's coefficient of x^0 is 1, so x divides any value or its sum with the polynomial. */
function byteBackOf(polynomial: number): number {
  let value = ONE;
  for (let bit = 0; bit < 8; bit += 1)
    value = (value & ONE) === 0 ? value << 1 : ((value ^ polynomial) << 1) | 1;
  return value >>> 0;
}

export interface Combining {
  /** @param bytes length of the second text */
  combine(first: number, second: number, bytes: number): number;
  /** CRC of the first text, from that of both together. @param bytes length of the second text */
  firstOf(both: number, second: number, bytes: number): number;
}

function combining(polynomial: number): Combining {
  const times = (a: number, b: number): number => multiply(polynomial, a, b);
  const byteBack = byteBackOf(polynomial);
  return {
    combine: (first, second, bytes) => (times(power(times, ONE, BYTE, bytes), first) ^ second) >>> 0,
    firstOf: (both, second, bytes) => times(power(times, ONE, byteBack, bytes), (both ^ second) >>> 0),
  };
}

export const COMBINING_CRC32 = combining(CRC32_POLYNOMIAL);
export const COMBINING_CRC32C = combining(CRC32C_POLYNOMIAL);
