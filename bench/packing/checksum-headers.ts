/** The checksums that the made-up S3 keeps of objects, and those that it is sent. */
import type http from 'node:http';
import { crc32 } from 'node:zlib';
import { crc64NvmeBase64 } from '../../functions/core/packing/formats/crc64-nvme.ts';
import { sumOf } from '../../functions/core/packing/formats/running-sum.ts';

/**
 * S3 keeps CRC-64/NVME of an object whose client chose no checksum. An object that is older than December 2024 may have
 * none.
 */
export type StoredChecksum = 'crc32' | 'crc64nvme' | 'none';

export function checksumHeaders(
  headers: http.IncomingHttpHeaders,
  body: Buffer,
  checksum: StoredChecksum = 'crc32',
): Record<string, string> {
  if (headers['x-amz-checksum-mode'] !== 'ENABLED' || checksum === 'none') return {};
  if (checksum === 'crc64nvme') return { 'x-amz-checksum-crc64nvme': crc64NvmeBase64([body]) };
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return { 'x-amz-checksum-crc32': sum.toString('base64') };
}

/** Whether the body is what the request's checksum says. */
export const isAsSummed = (headers: http.IncomingHttpHeaders, body: Buffer): boolean =>
  (['crc32', 'crc64nvme'] as const).every((kind) => {
    const sum = headers[`x-amz-checksum-${kind}`];
    return sum === undefined || sum === sumOf(kind, body);
  });
