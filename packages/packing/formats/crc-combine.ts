/**
 * A CRC of two texts together from that of each, and of the first one from that of both. A CRC is a remainder modulo a
 * polynomial: text that follows multiplies it by x^(8 * length), by squaring, and the inverse of x undoes that. This is
 * the method of zlib's crc32_combine.
 */
import { CRC32C_POLYNOMIAL } from './crc32c.ts';
import { CRC64_NVME_POLYNOMIAL, type Crc64 } from './crc64-nvme.ts';

/**
 * A power by squaring, in any arithmetic.
 *
 * @param one what changes nothing in a product
 * @param exponent a whole number of any size, 0 or more
 */
function power<T>(multiply: (a: T, b: T) => T, one: T, base: T, exponent: number): T {
  let square = base;
  let result = one;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

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

// Values are halves of 32 bits, because V8 takes 50 times as long for a BigInt.

const POLYNOMIAL_HIGH = Number(BigInt.asIntN(32, CRC64_NVME_POLYNOMIAL >> 32n));
const POLYNOMIAL_LOW = Number(BigInt.asIntN(32, CRC64_NVME_POLYNOMIAL));
const ONE64: Crc64 = { high: 1 << 31, low: 0 };

/** a(x) * b(x) modulo the polynomial */
function multiply64(a: Crc64, b: Crc64): Crc64 {
  let [high, low] = [0, 0];
  let { high: factorHigh, low: factorLow } = b;
  for (let at = 0; at < 64; at += 1) {
    const bit = at < 32 ? a.high >>> (31 - at) : a.low >>> (63 - at);
    if ((bit & 1) !== 0) {
      high ^= factorHigh;
      low ^= factorLow;
    }
    const isOdd = (factorLow & 1) !== 0;
    factorLow = (factorLow >>> 1) | (factorHigh << 31);
    factorHigh >>>= 1;
    if (!isOdd) continue;
    factorHigh ^= POLYNOMIAL_HIGH;
    factorLow ^= POLYNOMIAL_LOW;
  }
  return { high: high | 0, low: low | 0 };
}

/** value(x) / x modulo the polynomial, whose coefficient of x^0 is 1 */
function divideByX({ high, low }: Crc64): Crc64 {
  const isOdd = high < 0;
  const [evenHigh, evenLow] = isOdd ? [high ^ POLYNOMIAL_HIGH, low ^ POLYNOMIAL_LOW] : [high, low];
  return { high: (evenHigh << 1) | (evenLow >>> 31), low: (evenLow << 1) | (isOdd ? 1 : 0) };
}

function byteBack64(): Crc64 {
  let value = ONE64;
  for (let bit = 0; bit < 8; bit += 1) value = divideByX(value);
  return value;
}

const BYTE64: Crc64 = { high: 1 << 23, low: 0 };
const BACK64 = byteBack64();

/** @param bytes length of the second text */
export function combineCrc64(first: Crc64, second: Crc64, bytes: number): Crc64 {
  const moved = multiply64(power(multiply64, ONE64, BYTE64, bytes), first);
  return { high: moved.high ^ second.high, low: moved.low ^ second.low };
}

/** CRC of the first text, from that of both together. @param bytes length of the second text */
export function firstOfCrc64(both: Crc64, second: Crc64, bytes: number): Crc64 {
  const moved = { high: both.high ^ second.high, low: both.low ^ second.low };
  return multiply64(power(multiply64, ONE64, BACK64, bytes), moved);
}
