/**
 * CRC-32C (Castagnoli): the native implementation if it is installed, otherwise slicing-by-8 in JavaScript (0.8
 * GB/s).
 */
import nodeModule from 'node:module';
import { once } from '@tidewheel/kit/once.ts';

/** Bit-reflected. */
export const CRC32C_POLYNOMIAL = 0x82f63b78;

const TABLES = ((): Uint32Array[] => {
  const first = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    let value = byte;
    for (let bit = 0; bit < 8; bit += 1)
      value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ CRC32C_POLYNOMIAL;
    first[byte] = value;
  }
  const tables = [first];
  for (let index = 1; index < 8; index += 1) {
    const before = tables[index - 1] ?? first;
    tables.push(before.map((value) => (value >>> 8) ^ (first[value & 0xff] ?? 0)));
  }
  return tables;
})();
const [T0, T1, T2, T3, T4, T5, T6, T7] = TABLES as [
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
];

/* oxlint-disable typescript/no-non-null-assertion -- indexes are masked to a byte or bounded by the loop; checks would halve the speed */
/** In JavaScript, which is fastest for a few bytes. */
function crc32cPlain(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  let at = 0;
  for (const end = bytes.length - 7; at < end; at += 8) {
    const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      T7[low & 0xff]! ^
      T6[(low >>> 8) & 0xff]! ^
      T5[(low >>> 16) & 0xff]! ^
      T4[low >>> 24]! ^
      T3[bytes[at + 4]!]! ^
      T2[bytes[at + 5]!]! ^
      T1[bytes[at + 6]!]! ^
      T0[bytes[at + 7]!]!;
  }
  for (; at < bytes.length; at += 1) crc = (crc >>> 8) ^ T0[(crc ^ bytes[at]!) & 0xff]!;
  return ~crc >>> 0;
}
/* oxlint-enable typescript/no-non-null-assertion */

type Crc = (bytes: Uint8Array, before?: number) => number;

function native(): Crc | undefined {
  try {
    const loaded: { crc32c?: unknown } = nodeModule.createRequire(import.meta.url)('@node-rs/crc32');
    const { crc32c } = loaded;
    return typeof crc32c === 'function' ? (bytes, before) => Number(crc32c(bytes, before)) : undefined;
  } catch {
    /** A bundle without the native package is a supported case, not a failure. */
    return undefined;
  }
}

const fast = once(() => native() ?? crc32cPlain);
const WORTH_A_CALL = 64;

/** Goes on from the CRC of what came before. */
export const crc32c: Crc = (bytes, before = 0) =>
  bytes.length < WORTH_A_CALL ? crc32cPlain(bytes, before) : fast()(bytes, before);

/** TFRecord stores CRCs masked, since CRCs of data that holds CRCs are weak. */
export const maskedCrc32c = (crc: number): number => (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
