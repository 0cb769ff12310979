/** UploadPartCopy of the made-up S3. https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html */

import { createHash } from 'node:crypto';
import type http from 'node:http';
import { sumOf } from '@tidewheel/packing/checksums.ts';
import type { SumKind } from '@tidewheel/packing/store.ts';
import { type Call, failure, type Reply } from './exchange.ts';

interface Part {
  readonly body: Buffer;
  readonly size: number;
}

export interface OpenUpload {
  readonly parts: Map<number, Part>;
  /** Kind of the checksums of its parts. */
  readonly sum: SumKind;
}

interface Source {
  readonly body: Buffer;
  readonly etag: string;
}

/** `/bucket/key` or `bucket/key`, the key percent-encoded. */
const keyOf = (source: string): string => decodeURIComponent(source.replace(/^\/?[^/]+\//, ''));

/** The bytes that the headers ask for, or the refusal. */
export function copiedBytes(
  headers: http.IncomingHttpHeaders,
  find: (key: string) => Source | undefined,
): Buffer | Reply {
  const found = find(keyOf(String(headers['x-amz-copy-source'])));
  if (found === undefined) return failure(404, 'NoSuchKey');
  const wanted = headers['x-amz-copy-source-if-match'];
  if (wanted !== undefined && wanted !== `"${found.etag}"`) return failure(412, 'PreconditionFailed');
  const range = headers['x-amz-copy-source-range'];
  if (range === undefined) return found.body;
  const [, first = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(String(range)) ?? [];
  if (first === '' || Number(last) >= found.body.length) return failure(400, 'InvalidArgument');
  return found.body.subarray(Number(first), Number(last) + 1);
}

/** The call for as many bytes that begin one byte sooner. */
export function ofOtherBytes(call: Call): Call {
  const range = String(call.headers['x-amz-copy-source-range']);
  const sooner = range.replaceAll(/[0-9]+/g, (place) => String(Number(place) - 1));
  return { ...call, headers: { ...call.headers, 'x-amz-copy-source-range': sooner } };
}

/**
 * @param kind of the upload's checksums
 * @param isKept MD5 takes longer than all the rest, and the ETag of a part that is not kept says nothing
 */
export function copyAnswer(copied: Buffer, kind: SumKind, isKept: boolean): Reply {
  const sum = sumOf(kind, copied);
  const etag = isKept ? createHash('md5').update(copied).digest('hex') : sum;
  const name = `Checksum${kind.toUpperCase()}`;
  const checksum = `<${name}>${sum}</${name}>`;
  return {
    status: 200,
    body: `<CopyPartResult><ETag>&quot;${etag}&quot;</ETag>${checksum}</CopyPartResult>`,
  };
}
