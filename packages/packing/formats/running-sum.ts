/**
 * Checksums that S3 keeps of whole objects and that follow from those of consecutive pieces:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html
 */
import { crc32 } from 'node:zlib';
import { type KeptSums, kindsIn, type SumKind } from '../documents/blob-store.ts';
import {
  COMBINING_CRC32,
  COMBINING_CRC32C,
  type Combining,
  combineCrc64,
  firstOfCrc64,
} from './crc-combine.ts';
import { crc32c } from './crc32c.ts';
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

type Crc32Kind = 'crc32' | 'crc32c';
interface Crc32Rules extends Combining {
  readonly crc: (bytes: Uint8Array, before: number) => number;
}
const CRC32_RULES: Readonly<Record<Crc32Kind, Crc32Rules>> = {
  crc32: { crc: crc32, ...COMBINING_CRC32 },
  crc32c: { crc: crc32c, ...COMBINING_CRC32C },
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
