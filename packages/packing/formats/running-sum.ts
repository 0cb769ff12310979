/**
 * Checksums that S3 keeps of whole objects and that follow from those of consecutive pieces:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html
 */

import { crc32 } from 'node:zlib';
import { type KeptSums, kindsIn, type SumKind } from '../documents/blob-store.ts';
import { CRC32C_POLYNOMIAL, crc32c } from './crc32c.ts';
import {
  CRC64_NVME_POLYNOMIAL,
  type Crc64,
  Crc64Nvme,
  crc64FromBase64,
  crc64ToBase64,
} from './crc64-nvme.ts';

// A CRC of two texts together from that of each, and of the first one from that of both. A CRC is a remainder modulo a
// polynomial: text that follows multiplies it by x^(8 * length), by squaring, and the inverse of x undoes that. This is
// the method of zlib's crc32_combine.

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

interface Combining {
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
function combineCrc64(first: Crc64, second: Crc64, bytes: number): Crc64 {
  const moved = multiply64(power(multiply64, ONE64, BYTE64, bytes), first);
  return { high: moved.high ^ second.high, low: moved.low ^ second.low };
}

/** CRC of the first text, from that of both together. @param bytes length of the second text */
function firstOfCrc64(both: Crc64, second: Crc64, bytes: number): Crc64 {
  const moved = { high: both.high ^ second.high, low: both.low ^ second.low };
  return multiply64(power(multiply64, ONE64, BACK64, bytes), moved);
}

/** The checksum of bytes that come in order. Sums are in base64, as S3's headers hold them. */
export interface RunningSum {
  readonly kind: SumKind;
  readonly base64: string;
  add(bytes: Uint8Array): void;
  /** Adds bytes of which only checksum and length are known. */
  append(sum: string, bytes: number): void;
}

/** A CRC-32 as S3's headers hold it. Node's pool gives the memory: a buffer of its own takes five times as long as all the rest. */
export function crc32ToBase64(value: number): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes.toString('base64');
}

const crc32FromBase64 = (base64: string): number => Buffer.from(base64, 'base64').readUInt32BE();

type Crc32Kind = 'crc32' | 'crc32c';
interface Crc32Rules extends Combining {
  readonly crc: (bytes: Uint8Array, before: number) => number;
}
const CRC32_RULES: Readonly<Record<Crc32Kind, Crc32Rules>> = {
  crc32: { crc: crc32, ...combining(CRC32_POLYNOMIAL) },
  crc32c: { crc: crc32c, ...combining(CRC32C_POLYNOMIAL) },
};

class RunningCrc32 implements RunningSum {
  readonly kind: Crc32Kind;
  readonly #rules: Crc32Rules;
  #value = 0;

  constructor(kind: Crc32Kind) {
    this.kind = kind;
    this.#rules = CRC32_RULES[kind];
  }

  get base64(): string {
    return crc32ToBase64(this.#value);
  }

  add(bytes: Uint8Array): void {
    this.#value = this.#rules.crc(bytes, this.#value);
  }

  append(sum: string, bytes: number): void {
    this.#value = this.#rules.combine(this.#value, crc32FromBase64(sum), bytes);
  }
}

class RunningCrc64 implements RunningSum {
  readonly kind = 'crc64nvme';
  #value: Crc64 = { high: 0, low: 0 };

  get base64(): string {
    return crc64ToBase64(this.#value);
  }

  add(bytes: Uint8Array): void {
    const crc = new Crc64Nvme(this.#value);
    crc.add(bytes);
    this.#value = crc.value;
  }

  append(sum: string, bytes: number): void {
    this.#value = combineCrc64(this.#value, crc64FromBase64(sum), bytes);
  }
}

export const startSum = (kind: SumKind): RunningSum =>
  kind === 'crc64nvme' ? new RunningCrc64() : new RunningCrc32(kind);

export function sumOf(kind: SumKind, bytes: Uint8Array): string {
  const sum = startSum(kind);
  sum.add(bytes);
  return sum.base64;
}

/** The sum of the first bytes, from that of all and that of the last ones. @param bytes how many the last ones are */
export function sumOfFirst(kind: SumKind, all: string, last: string, bytes: number): string {
  if (kind === 'crc64nvme')
    return crc64ToBase64(firstOfCrc64(crc64FromBase64(all), crc64FromBase64(last), bytes));
  return crc32ToBase64(CRC32_RULES[kind].firstOf(crc32FromBase64(all), crc32FromBase64(last), bytes));
}

/** As records, manifests and member lists hold it. */
export const keptSum = ({ kind, base64 }: Pick<RunningSum, 'kind' | 'base64'>): KeptSums => ({
  [kind]: kind === 'crc64nvme' ? base64 : Buffer.from(base64, 'base64').toString('hex'),
});

/** The sum of this kind, as S3's headers hold it. */
export function keptBase64(sums: KeptSums, kind: SumKind): string | undefined {
  const sum = sums[kind];
  if (sum === undefined || kind === 'crc64nvme') return sum;
  return Buffer.from(sum, 'hex').toString('base64');
}

const NAMES: Readonly<Record<SumKind, string>> = {
  crc32: 'CRC-32',
  crc32c: 'CRC-32C',
  crc64nvme: 'CRC-64/NVME',
};

/** Compares bytes that come in order with the checksums of all. */
export class SumCheck {
  readonly #expected: KeptSums;
  readonly #sums: readonly RunningSum[];

  constructor(expected: KeptSums) {
    this.#expected = expected;
    this.#sums = kindsIn(expected).map(startSum);
  }

  add(bytes: Uint8Array): void {
    for (const sum of this.#sums) sum.add(bytes);
  }

  /** What is wrong, after the last byte. */
  get problem(): string | undefined {
    if (this.#sums.length === 0) return 'has no checksum that it can be compared with';
    for (const sum of this.#sums) {
      const [found, expected] = [keptSum(sum)[sum.kind], this.#expected[sum.kind]];
      if (found !== expected) return `has ${NAMES[sum.kind]} ${found}, not ${expected}`;
    }
    return undefined;
  }
}
