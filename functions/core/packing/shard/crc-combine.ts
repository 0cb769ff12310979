/**
 * Computes the CRC-32 of two texts together from the CRC-32 of each: it multiplies by x^(8 * length) modulo the
 * polynomial, by squaring. This is the method of zlib's crc32_combine.
 */
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

/** x^(8 * bytes) */
function shiftOf(bytes: number): number {
  let power = 0x0080_0000;
  let result = 0x8000_0000;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, power);
    power = multiply(power, power);
  }
  return result;
}

/** @param bytes length of the second text */
export const combineCrc32 = (first: number, second: number, bytes: number): number =>
  (multiply(shiftOf(bytes), first) ^ second) >>> 0;
