/** UploadPartCopy: the store copies a range of one of its objects itself. */
import type { CopiedPart, OpenUpload, PartSource } from '@tidewheel/packing/store.ts';
import { classify, ofObject } from './errors.ts';
import type { Requester, S3Request } from './requester.ts';
import { encodeKey } from './sigv4.ts';
import { type Answer, bodyText } from './transport.ts';
import { elementText, parseError } from './xml.ts';

/** The error in a body that came with 200. It is sent again. */
function damageOf(answer: Answer): string | undefined {
  const xml = bodyText(answer);
  if (answer.status !== 200 || elementText(xml, 'ETag') !== undefined) return undefined;
  return parseError(xml).code || 'IncompleteAnswer';
}

/**
 * S3 sends the checksum of the part when the upload was created with one; it may answer 200 and still say in the body
 * that it failed. https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
 */
export async function copyPart(
  requester: Requester,
  {
    bucket,
    upload,
    number,
  }: { readonly bucket: string; readonly upload: OpenUpload; readonly number: number },
  source: PartSource,
): Promise<CopiedPart> {
  const { key, etag, offset, length } = source;
  const request: S3Request = {
    operation: 'UploadPartCopy',
    method: 'PUT',
    key: upload.key,
    query: [
      ['partNumber', String(number)],
      ['uploadId', upload.id],
    ],
    amzHeaders: [
      ['x-amz-copy-source', `/${bucket}/${encodeKey(key)}`],
      ['x-amz-copy-source-if-match', `"${etag}"`],
      ['x-amz-copy-source-range', `bytes=${offset}-${offset + length - 1}`],
    ],
    accept: [200, 404, 412],
    damage: damageOf,
  };
  const answer = await requester.send(request).catch((error: unknown) => {
    throw ofObject(error);
  });
  const xml = bodyText(answer);
  const { code } = parseError(xml);
  const { status } = answer;
  const failure = { operation: 'UploadPartCopy', key: upload.key, code };
  if (status === 412) return { kind: 'changed' };
  if (status === 404 && code === 'NoSuchKey') return { kind: 'missing' };
  const copied = elementText(xml, 'ETag')?.replaceAll('"', '');
  if (copied === undefined) throw classify({ ...failure, status });
  const sum = elementText(xml, `Checksum${upload.sum.toUpperCase()}`);
  return sum === undefined
    ? { kind: 'unchecked' }
    : { kind: 'copied', part: { etag: copied, [upload.sum]: sum } };
}
