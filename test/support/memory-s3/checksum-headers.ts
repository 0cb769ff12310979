/** The checksums that the made-up S3 keeps of objects, and those that it is sent. */

import type http from 'node:http';
import { sumOf } from '@tidewheel/packing/checksums.ts';
import { SUM_KINDS, type SumKind } from '@tidewheel/packing/store.ts';
import type { Reply } from './exchange.ts';

/**
 * S3 keeps CRC-64/NVME of an object whose client chose no checksum. An object that is older than December 2024 may have
 * none. `composite`: of the CRC-32 of parts of 8 MiB, as boto3 and the AWS CLI send them. `compositeCrc32c`: of CRC-32C.
 */
export type StoredChecksum = SumKind | 'composite' | 'compositeCrc32c' | 'none';

const kindOfParts = (checksum: StoredChecksum | undefined): SumKind =>
  checksum === 'compositeCrc32c' ? 'crc32c' : 'crc32';

const PART_BYTES = 8 * 1024 * 1024;

const partsOf = (body: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(body.length / PART_BYTES) }, (_, index) =>
    body.subarray(index * PART_BYTES, (index + 1) * PART_BYTES),
  );

/** To GetObjectAttributes of an object that has a composite checksum, two parts a page. */
export function attributesAnswer(
  { body, etag }: { readonly body: Buffer; readonly etag: string },
  headers: http.IncomingHttpHeaders,
  checksum: StoredChecksum | undefined,
): Reply {
  const kind = kindOfParts(checksum);
  const name = `Checksum${kind.toUpperCase()}`;
  const after = Number(headers['x-amz-part-number-marker']);
  const all = partsOf(body).map(
    (part, index) =>
      `<Part><${name}>${sumOf(kind, part)}</${name}><PartNumber>${index + 1}</PartNumber>` +
      `<Size>${part.length}</Size></Part>`,
  );
  const page = all.slice(after, after + 2);
  const last = after + page.length;
  const text =
    `<GetObjectAttributesResponse><ETag>${etag}</ETag><ObjectParts><IsTruncated>${last < all.length}</IsTruncated>` +
    `<NextPartNumberMarker>${last}</NextPartNumberMarker>${page.join('')}<PartsCount>${all.length}</PartsCount>` +
    '</ObjectParts></GetObjectAttributesResponse>';
  return { status: 200, body: text };
}

function compositeOf(body: Buffer, kind: SumKind): Record<string, string> {
  const sums = partsOf(body).map((part) => Buffer.from(sumOf(kind, part), 'base64'));
  return {
    [`x-amz-checksum-${kind}`]: `${sumOf(kind, Buffer.concat(sums))}-${sums.length}`,
    'x-amz-checksum-type': 'COMPOSITE',
  };
}

export function checksumHeaders(
  headers: http.IncomingHttpHeaders,
  body: Buffer,
  checksum: StoredChecksum = 'crc32',
): Record<string, string> {
  if (headers['x-amz-checksum-mode'] !== 'ENABLED' || checksum === 'none') return {};
  if (checksum === 'composite' || checksum === 'compositeCrc32c')
    return compositeOf(body, kindOfParts(checksum));
  return { [`x-amz-checksum-${checksum}`]: sumOf(checksum, body) };
}

/** Whether the body is what the request's checksum says. */
export const isAsSummed = (headers: http.IncomingHttpHeaders, body: Buffer): boolean =>
  SUM_KINDS.every((kind) => {
    const sum = headers[`x-amz-checksum-${kind}`];
    return sum === undefined || sum === sumOf(kind, body);
  });
