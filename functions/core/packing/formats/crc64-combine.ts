/**
 * CRC-64/NVME of two texts together from that of each, and of the first one from that of both. A CRC is a remainder
 * modulo a polynomial: text that follows multiplies it by x^(8 * length), and the inverse of x undoes that. This is the
 * method of zlib's crc32_combine. Values are halves of 32 bits, because V8 takes 50 times as long for a BigInt.
 */
import { CRC64_NVME_POLYNOMIAL, type Crc64 } from './crc64-nvme.ts';
import { power } from './power.ts';

const POLYNOMIAL_HIGH = Number(BigInt.asIntN(32, CRC64_NVME_POLYNOMIAL >> 32n));
const POLYNOMIAL_LOW = Number(BigInt.asIntN(32, CRC64_NVME_POLYNOMIAL));
const ONE: Crc64 = { high: 1 << 31, low: 0 };

/** a(x) * b(x) modulo the polynomial */
function multiply(a: Crc64, b: Crc64): Crc64 {
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

function byteBack(): Crc64 {
  let value = ONE;
  for (let bit = 0; bit < 8; bit += 1) value = divideByX(value);
  return value;
}

const BYTE: Crc64 = { high: 1 << 23, low: 0 };
const BYTE_BACK = byteBack();

/** @param bytes length of the second text */
export function combineCrc64(first: Crc64, second: Crc64, bytes: number): Crc64 {
  const moved = multiply(power(multiply, ONE, BYTE, bytes), first);
  return { high: moved.high ^ second.high, low: moved.low ^ second.low };
}

/** CRC of the first text, from that of both together. @param bytes length of the second text */
export function firstOfCrc64(both: Crc64, second: Crc64, bytes: number): Crc64 {
  const moved = { high: both.high ^ second.high, low: both.low ^ second.low };
  return multiply(power(multiply, ONE, BYTE_BACK, bytes), moved);
}
