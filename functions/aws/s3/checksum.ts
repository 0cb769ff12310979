/** Checks the checksum that S3 keeps of an object, on whole reads. https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html */

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { Crc64Nvme, crc32c, crc32ToBase64 } from '@tidewheel/packing/checksums.ts';
import type { KeptSums, WholeCheck } from '@tidewheel/packing/store.ts';

/** CRC-32 of the body as S3's `x-amz-checksum-crc32` wants it. */
export const crc32Of = (body: Uint8Array): string => crc32ToBase64(crc32(body));

/** Takes a body in pieces. */
export interface Summing {
  add(chunk: Uint8Array): void;
  /** In base64, if it is not the MD5 of an ETag. */
  sum(): string;
}

function hashing(algorithm: 'sha1' | 'sha256' | 'md5', encoding: 'base64' | 'hex' = 'base64'): Summing {
  const digest = createHash(algorithm);
  return { add: (chunk) => void digest.update(chunk), sum: () => digest.digest(encoding) };
}

function counting(crc: (chunk: Uint8Array, before: number) => number): Summing {
  let value = 0;
  return {
    add: (chunk) => {
      value = crc(chunk, value);
    },
    sum: () => crc32ToBase64(value),
  };
}

function counting64(): Summing {
  const crc = new Crc64Nvme();
  return { add: (chunk) => crc.add(chunk), sum: () => crc.base64 };
}

/** The cheapest comes first. S3 sends one, seldom two. */
const CHECKS: readonly (readonly [string, () => Summing])[] = [
  ['x-amz-checksum-crc32', () => counting(crc32)],
  ['x-amz-checksum-crc64nvme', counting64],
  ['x-amz-checksum-crc32c', () => counting(crc32c)],
  ['x-amz-checksum-sha256', () => hashing('sha256')],
  ['x-amz-checksum-sha1', () => hashing('sha1')],
];

/** An ETag is the MD5 of an object that was sent in one part and is not encrypted with KMS or a customer's key. */
function md5In(headers: IncomingHttpHeaders): string | undefined {
  const encryption = headers['x-amz-server-side-encryption'];
  const isPlain = encryption === undefined || encryption === 'AES256';
  if (!isPlain || headers['x-amz-server-side-encryption-customer-algorithm'] !== undefined) return undefined;
  return /^"?([0-9a-f]{32})"?$/.exec(headers.etag ?? '')?.[1];
}

/** The checksum of a multipart upload that S3 made from those of its parts. */
export interface CompositeSum {
  /** `CRC32`, as S3's XML names it. */
  readonly algorithm: string;
  /** Of a part, and of the checksums of all parts in a row. */
  readonly start: () => Summing;
  readonly expected: string;
  readonly parts: number;
}

export function compositeIn(headers: IncomingHttpHeaders): CompositeSum | undefined {
  for (const [name, start] of CHECKS) {
    const [, expected, parts] = /^([A-Za-z0-9+/]+=*)-(\d{1,5})$/.exec(String(headers[name])) ?? [];
    if (expected === undefined) continue;
    const algorithm = name.slice('x-amz-checksum-'.length).toUpperCase();
    return { algorithm, start, expected, parts: Number(parts) };
  }
  return undefined;
}

/** @param sums of the parts, in base64 */
export function isComposedOf({ start, expected }: CompositeSum, sums: readonly string[]): boolean {
  const summing = start();
  for (const sum of sums) summing.add(Buffer.from(sum, 'base64'));
  return summing.sum() === expected;
}

/**
 * What compares a body, added in pieces, with the checksum that S3 keeps of the whole object. Undefined if it keeps none.
 * The composite checksum of several parts says nothing about the whole without their sizes: see object-parts.ts.
 */
export function wholeCheckOf(headers: IncomingHttpHeaders): WholeCheck | undefined {
  const kept = keptSum(headers);
  if (kept === undefined) return undefined;
  const summing = kept.start();
  return {
    add: (chunk) => summing.add(chunk),
    isIntact: () => summing.sum() === kept.expected,
    sums: keptSums(headers),
  };
}

/** Those that follow from the sums of parts. */
export const keptSums = (headers: IncomingHttpHeaders): KeptSums => ({
  crc32: hexOf(wholeSum(headers, 'x-amz-checksum-crc32')),
  crc32c: hexOf(wholeSum(headers, 'x-amz-checksum-crc32c')),
  crc64nvme: wholeSum(headers, 'x-amz-checksum-crc64nvme'),
});

const hexOf = (base64: string | undefined): string | undefined =>
  base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('hex');

/** A checksum of the whole object. */
function wholeSum(headers: IncomingHttpHeaders, name: string): string | undefined {
  const sum = headers[name];
  const isWhole = headers['x-amz-checksum-type'] !== 'COMPOSITE';
  return isWhole && typeof sum === 'string' && !sum.includes('-') ? sum : undefined;
}

function keptSum(headers: IncomingHttpHeaders) {
  for (const [name, start] of CHECKS) {
    const expected = wholeSum(headers, name);
    if (expected !== undefined) return { start, expected };
  }
  const composite = compositeIn(headers);
  if (composite?.parts === 1) return { start: () => ofOnePart(composite), expected: composite.expected };
  const md5 = md5In(headers);
  return md5 === undefined ? undefined : { start: () => hashing('md5', 'hex'), expected: md5 };
}

/** The checksum of the checksum of the only part. */
function ofOnePart({ start }: CompositeSum): Summing {
  const part = start();
  return {
    add: (chunk) => part.add(chunk),
    sum: () => {
      const whole = start();
      whole.add(Buffer.from(part.sum(), 'base64'));
      return whole.sum();
    },
  };
}

/** False if a checksum of the whole object differs. */
export function isIntact(headers: IncomingHttpHeaders, chunks: readonly Uint8Array[]): boolean {
  const check = wholeCheckOf(headers);
  if (check === undefined) return true;
  for (const chunk of chunks) check.add(chunk);
  return check.isIntact();
}

/** Whether anything but length and ETag guards the body of a whole object. */
export const isCheckable = (headers: IncomingHttpHeaders): boolean => keptSum(headers) !== undefined;
