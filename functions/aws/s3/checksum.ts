/** Checks the checksum that S3 keeps of an object, on whole reads. https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { crc32c } from '../../core/packing/formats/crc32c.ts';
import { crc64NvmeBase64 } from './crc64-nvme.ts';

/** A CRC-32 as S3's headers hold it. Node's pool gives the memory: a buffer of its own takes five times as long as all the rest. */
export function crc32Base64(value: number): string {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes.toString('base64');
}

/** CRC-32 of the body as S3's `x-amz-checksum-crc32` wants it. */
export const crc32Of = (body: Uint8Array): string => crc32Base64(crc32(body));

function digestOf(algorithm: 'sha1' | 'sha256', chunks: readonly Uint8Array[]): string {
  const digest = createHash(algorithm);
  for (const chunk of chunks) digest.update(chunk);
  return digest.digest('base64');
}

function crcOf(chunks: readonly Uint8Array[], crc: (chunk: Uint8Array, before: number) => number): string {
  let value = 0;
  for (const chunk of chunks) value = crc(chunk, value);
  return crc32Base64(value);
}

/** The cheapest comes first. S3 sends one, seldom two. */
const CHECKS: readonly (readonly [string, (chunks: readonly Uint8Array[]) => string])[] = [
  ['x-amz-checksum-crc32', (chunks) => crcOf(chunks, crc32)],
  ['x-amz-checksum-crc64nvme', crc64NvmeBase64],
  ['x-amz-checksum-crc32c', (chunks) => crcOf(chunks, crc32c)],
  ['x-amz-checksum-sha256', (chunks) => digestOf('sha256', chunks)],
  ['x-amz-checksum-sha1', (chunks) => digestOf('sha1', chunks)],
];

/**
 * False if a checksum of the whole object differs. The composite checksum of a multipart upload ends in `-<parts>` and
 * says nothing about the whole, so only length and ETag guard such a body.
 */
export function isIntact(headers: IncomingHttpHeaders, chunks: readonly Uint8Array[]): boolean {
  for (const [name, compute] of CHECKS) {
    const expected = headers[name];
    if (typeof expected === 'string' && !expected.includes('-')) return compute(chunks) === expected;
  }
  return true;
}
