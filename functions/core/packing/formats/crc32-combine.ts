/**
 * Computes the CRC-32 of two texts together from the CRC-32 of each: it multiplies by x^(8 * length) modulo the
 * polynomial, by squaring. This is the method of zlib's crc32_combine.
 */
import { power } from './power.ts';

const POLYNOMIAL = 0xedb88320;

/** a(x) * b(x) modulo the polynomial, bit-reflected. */
function multiply(a: number, b: number): number {
  let product = 0;
  let factor = b;
  for (let bit = 0x8000_0000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}

const ONE = 0x8000_0000;
/** x^8 */
const BYTE = 0x0080_0000;

/** x^-8: the polynomial's coefficient of x^0 is 1, so x divides any value or its sum with the polynomial. */
function byteBack(): number {
  let value = ONE;
  for (let bit = 0; bit < 8; bit += 1)
    value = (value & ONE) === 0 ? value << 1 : ((value ^ POLYNOMIAL) << 1) | 1;
  return value >>> 0;
}
const BYTE_BACK = byteBack();

/** @param bytes length of the second text */
export const combineCrc32 = (first: number, second: number, bytes: number): number =>
  (multiply(power(multiply, ONE, BYTE, bytes), first) ^ second) >>> 0;

/** CRC-32 of the first text, from that of both together. @param bytes length of the second text */
export const firstOfCrc32 = (both: number, second: number, bytes: number): number =>
  multiply(power(multiply, ONE, BYTE_BACK, bytes), (both ^ second) >>> 0);
