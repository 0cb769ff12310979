/** Checksums that S3 keeps beside an object, checked on whole reads. https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';

/** A CRC-32 as S3's headers hold it. */
export function crc32Base64(value: number): string {
  const bytes = Buffer.alloc(4);
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

/**
 * False when a checksum that we can compute differs. Composite checksums of multipart uploads end in `-<parts>`
 * and say nothing of the whole; CRC-32C and CRC-64/NVME are left to the caller's own proof (length and ETag).
 */
export function isIntact(headers: IncomingHttpHeaders, chunks: readonly Uint8Array[]): boolean {
  const crc = headers['x-amz-checksum-crc32'];
  if (typeof crc === 'string' && !crc.includes('-')) {
    let value = 0;
    for (const chunk of chunks) value = crc32(chunk, value);
    return crc32Base64(value) === crc;
  }
  const sha256 = headers['x-amz-checksum-sha256'];
  if (typeof sha256 === 'string' && !sha256.includes('-')) return digestOf('sha256', chunks) === sha256;
  const sha1 = headers['x-amz-checksum-sha1'];
  if (typeof sha1 === 'string' && !sha1.includes('-')) return digestOf('sha1', chunks) === sha1;
  return true;
}
