/**
 * Checksums that S3 keeps of whole objects and that follow from those of consecutive pieces:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html
 */
import { crc32 } from 'node:zlib';
import type { KeptSums, SumKind } from '../model/blob-store.ts';
import { combineCrc32, firstOfCrc32 } from './crc32-combine.ts';
import { combineCrc64, firstOfCrc64 } from './crc64-combine.ts';
import { type Crc64, Crc64Nvme, crc64FromBase64, crc64ToBase64 } from './crc64-nvme.ts';

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

class RunningCrc32 implements RunningSum {
  readonly kind = 'crc32';
  #value = 0;

  get base64(): string {
    return crc32ToBase64(this.#value);
  }

  add(bytes: Uint8Array): void {
    this.#value = crc32(bytes, this.#value);
  }

  append(sum: string, bytes: number): void {
    this.#value = combineCrc32(this.#value, crc32FromBase64(sum), bytes);
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
  kind === 'crc32' ? new RunningCrc32() : new RunningCrc64();

export function sumOf(kind: SumKind, bytes: Uint8Array): string {
  const sum = startSum(kind);
  sum.add(bytes);
  return sum.base64;
}

/** The sum of the first bytes, from that of all and that of the last ones. @param bytes how many the last ones are */
export const sumOfFirst = (kind: SumKind, all: string, last: string, bytes: number): string =>
  kind === 'crc32'
    ? crc32ToBase64(firstOfCrc32(crc32FromBase64(all), crc32FromBase64(last), bytes))
    : crc64ToBase64(firstOfCrc64(crc64FromBase64(all), crc64FromBase64(last), bytes));

/** As records, manifests and member lists hold it. */
export const keptSum = ({ kind, base64 }: Pick<RunningSum, 'kind' | 'base64'>): KeptSums =>
  kind === 'crc32' ? { crc32: Buffer.from(base64, 'base64').toString('hex') } : { crc64nvme: base64 };

/** The sum of this kind, as S3's headers hold it. */
export function keptBase64({ crc32: hex, crc64nvme }: KeptSums, kind: SumKind): string | undefined {
  if (kind === 'crc64nvme') return crc64nvme;
  return hex === undefined ? undefined : Buffer.from(hex, 'hex').toString('base64');
}

/** Compares bytes that come in order with the checksum of all. */
export class SumCheck {
  readonly #expected: KeptSums;
  readonly #sum: RunningSum;

  constructor(expected: KeptSums) {
    this.#expected = expected;
    this.#sum = startSum(expected.crc32 === undefined ? 'crc64nvme' : 'crc32');
  }

  add(bytes: Uint8Array): void {
    this.#sum.add(bytes);
  }

  /** What is wrong, after the last byte. */
  get problem(): string | undefined {
    const { kind } = this.#sum;
    const [found, expected] = [keptSum(this.#sum)[kind], this.#expected[kind]];
    const name = kind === 'crc32' ? 'CRC-32' : 'CRC-64/NVME';
    return found === expected ? undefined : `has ${name} ${found}, not ${expected}`;
  }
}
