/** The packing port over S3: see packages/packing/documents/blob-store.ts for what each call promises. */

import type { StoredBytes } from '@tidewheel/kit/object-store.ts';
import {
  type BlobStore,
  type CopiedPart,
  type GetOptions,
  type GetResult,
  type HeadResult,
  hasSum,
  joinChunks,
  type KeyFailure,
  type ListOptions,
  type ListPage,
  type OpenUpload,
  type PartSource,
  type PutOptions,
  type PutResult,
  type SumKind,
  type Upload,
  type UploadedPart,
  type WholeCheck,
} from '@tidewheel/packing/store.ts';
import { compositeIn, crc32Of, isCheckable, keptSums, wholeCheckOf } from './checksum.ts';
import { classify, isRetryable, ofObject, S3Error, S3Refused } from './errors.ts';
import { type Answer, bodyText, etagOf, headerOf } from './http-transport.ts';
import { checkByParts } from './object-parts.ts';
import type { Requester, S3Request } from './requester.ts';
import { encodeKey } from './sigv4.ts';
import {
  completeUploadXml,
  deleteXml,
  elementText,
  isWholeListing,
  parseDeletion,
  parseError,
  parseListing,
} from './xml.ts';

/** The error in a body that came with 200. It is sent again. */
function damageOf(answer: Answer): string | undefined {
  const xml = bodyText(answer);
  if (answer.status !== 200 || elementText(xml, 'ETag') !== undefined) return undefined;
  return parseError(xml).code || 'IncompleteAnswer';
}

const MOST_KEYS = 1_000;
/** Of keys that failed for a reason that may have passed. */
const MOST_TRIES = 3;

/** XML 1.0 has no way to write these: such a key goes in a request of its own. */
const UNWRITABLE = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

const asError = ({ key, code }: KeyFailure): S3Error =>
  classify({ operation: 'DeleteObjects', key, status: 400, code });

function listQuery(prefix: string, options: ListOptions): [string, string][] {
  const query: [string, string][] = [
    ['encoding-type', 'url'],
    ['list-type', '2'],
    ['max-keys', String(options.maximum ?? 1_000)],
    ['prefix', prefix],
  ];
  if (options.next !== undefined) query.push(['continuation-token', options.next]);
  if (options.delimiter !== undefined) query.push(['delimiter', options.delimiter]);
  if (options.startAfter !== undefined) query.push(['start-after', options.startAfter]);
  return query.sort((a, b) => (a[0] < b[0] ? -1 : 1));
}

function conditionOf(options: PutOptions): string[] {
  const headers: string[] = [];
  if (options.contentType !== undefined) headers.push('content-type', options.contentType);
  if (options.only === 'absent') headers.push('if-none-match', '*');
  else if (options.only !== undefined) headers.push('if-match', `"${options.only.etag}"`);
  return headers;
}

/** An object that is gone has no ETag; for a new one, 404 says that the bucket is. */
function acceptedBy({ only }: PutOptions): readonly number[] {
  if (only === undefined) return [200];
  return only === 'absent' ? [200, 412] : [200, 404, 412];
}

function unlessRefused(error: unknown): undefined {
  if (error instanceof S3Refused) return undefined;
  throw error;
}

const WITH_CHECKSUM = [['x-amz-checksum-mode', 'ENABLED']] as const;
/** An object of an archive class may be restored for a while, and S3 says so only if the request wants it. */
const WITH_RESTORES = [['x-amz-optional-object-attributes', 'RestoreStatus']] as const;
const NO_HEADERS = [] as const;
const WHOLE_ANSWERS = [200, 404, 412];
const RANGE_ANSWERS = [206, 404, 412];

/** A server or proxy may answer with the right number of bytes from another place, and says so. */
function otherRange({
  offset,
  length,
}: NonNullable<GetOptions['range']>): (answer: Answer) => string | undefined {
  const asked = `bytes ${offset}-${offset + length - 1}/`;
  return (answer) => {
    const given = answer.status === 206 ? headerOf(answer, 'content-range') : '';
    return given === '' || given.startsWith(asked) ? undefined : 'OtherRange';
  };
}

/** Request for an object. */
function reading(key: string, { ifMatch, range, size, into }: GetOptions): S3Request {
  const headers: string[] = [];
  if (ifMatch !== undefined) headers.push('if-match', `"${ifMatch}"`);
  if (range !== undefined) headers.push('range', `bytes=${range.offset}-${range.offset + range.length - 1}`);
  const whole = range === undefined;
  return {
    operation: 'GetObject',
    method: 'GET',
    key,
    headers,
    amzHeaders: whole ? WITH_CHECKSUM : NO_HEADERS,
    accept: whole ? WHOLE_ANSWERS : RANGE_ANSWERS,
    verify: whole,
    size: range?.length ?? size,
    damage: range && otherRange(range),
    into,
  };
}

function unlessTooLong(error: unknown): undefined {
  if (error instanceof S3Refused && error.failure.code === 'BodyTooLong') return undefined;
  throw error;
}

type PartHead = Parameters<BlobStore['uploadPart']>[1];

export class S3BlobStore implements BlobStore {
  readonly bucket: string;
  readonly #requester: Requester;

  constructor(bucket: string, requester: Requester) {
    this.bucket = bucket;
    this.#requester = requester;
  }

  async listPage(prefix: string, options: ListOptions = {}): Promise<ListPage> {
    const answer = await this.#requester.send({
      operation: 'ListObjectsV2',
      method: 'GET',
      key: '',
      query: listQuery(prefix, options),
      amzHeaders: WITH_RESTORES,
      accept: [200],
      damage: (cut) => (isWholeListing(bodyText(cut)) ? undefined : 'DamagedListing'),
    });
    const serverTime = Date.parse(headerOf(answer, 'date'));
    const page = parseListing(bodyText(answer));
    // Such a server never comes to an end.
    if (page.next !== undefined && page.next === options.next)
      throw classify({ operation: 'ListObjectsV2', key: '', status: 0, code: 'RepeatedToken' });
    return {
      ...page,
      serverTime: Number.isNaN(serverTime) ? undefined : serverTime,
    };
  }

  get(key: string, options: GetOptions = {}): Promise<GetResult> {
    return this.#requester
      .send(reading(key, options), (answer) => this.#found(key, answer))
      .catch((error: unknown) => {
        throw ofObject(error);
      });
  }

  /** Undefined if there is no such version of the object, or it is longer than `mostBytes`. */
  async read(
    key: string,
    { mostBytes, ...options }: GetOptions & { readonly mostBytes?: number | undefined } = {},
  ): Promise<StoredBytes | undefined> {
    const answer = await this.#requester.send({ ...reading(key, options), mostBytes }).catch(unlessTooLong);
    if (answer === undefined || this.#found(key, answer).kind !== 'found') return undefined;
    const lastModified = new Date(headerOf(answer, 'last-modified') || 0);
    return { bytes: joinChunks(answer.chunks), etag: etagOf(answer), lastModified };
  }

  #found(key: string, answer: Answer): GetResult {
    if (answer.status === 412) return { kind: 'changed' };
    if (answer.status === 404) return this.#absent(key, answer);
    const found = { kind: 'found', chunks: answer.chunks, size: answer.size, etag: etagOf(answer) } as const;
    const isUnchecked = answer.status === 200 && answer.size > 0 && !isCheckable(answer.headers);
    return isUnchecked ? { ...found, unchecked: true } : found;
  }

  /** A missing bucket is a failure, a missing key an answer. */
  #absent(key: string, answer: Answer): GetResult {
    const { code } = parseError(bodyText(answer));
    if (code === 'NoSuchBucket') throw classify({ operation: 'GetObject', key, status: 404, code });
    return { kind: 'missing' };
  }

  async head(key: string): Promise<HeadResult | undefined> {
    const answer = await this.#requester.send({
      operation: 'HeadObject',
      method: 'HEAD',
      key,
      amzHeaders: WITH_CHECKSUM,
      accept: [200, 404],
    });
    if (answer.status === 404) return undefined;
    const size = Number(headerOf(answer, 'content-length'));
    return { size, etag: etagOf(answer), sums: keptSums(answer.headers) };
  }

  async wholeCheck(key: string, etag: string): Promise<WholeCheck | undefined> {
    const request: S3Request = {
      operation: 'HeadObject',
      method: 'HEAD',
      key,
      headers: ['if-match', `"${etag}"`],
      amzHeaders: WITH_CHECKSUM,
      accept: [200, 404, 412],
    };
    // A read of the object says what is wrong with it.
    const answer = await this.#requester.send(request).catch(unlessRefused);
    if (answer?.status !== 200) return undefined;
    const { headers } = answer;
    const whole = wholeCheckOf(headers);
    if (whole?.sums !== undefined && hasSum(whole.sums)) return whole;
    const composite = compositeIn(headers);
    if (composite === undefined) return whole;
    const composed = { key, etag, size: Number(headerOf(answer, 'content-length')), composite };
    return (await checkByParts(this.#requester, composed).catch(unlessRefused)) ?? whole;
  }

  async put(key: string, body: Uint8Array, options: PutOptions = {}): Promise<PutResult> {
    const answer = await this.#requester.send({
      operation: 'PutObject',
      method: 'PUT',
      key,
      body,
      headers: conditionOf(options),
      amzHeaders: [['x-amz-checksum-crc32', crc32Of(body)]],
      accept: acceptedBy(options),
    });
    return answer.status === 200 ? { kind: 'written', etag: etagOf(answer) } : { kind: 'refused' };
  }

  async delete(key: string, ifMatch?: string): Promise<'deleted' | 'changed'> {
    const answer = await this.#requester.send({
      operation: 'DeleteObject',
      method: 'DELETE',
      key,
      headers: ifMatch === undefined ? [] : ['if-match', `"${ifMatch}"`],
      accept: [200, 204, 404, 412],
    });
    return answer.status === 412 ? 'changed' : 'deleted';
  }

  /**
   * DeleteObjects: up to a thousand keys in one request, each with a fate of its own. The request must bring a checksum of
   * its body. A missing object counts as deleted.
   * https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
   * @returns the keys that are still there, and why
   */
  async deleteMany(keys: readonly string[]): Promise<readonly KeyFailure[]> {
    const failures: KeyFailure[] = [];
    const writable = keys.filter((key) => !UNWRITABLE.test(key));
    for (let first = 0; first < writable.length; first += MOST_KEYS)
      failures.push(...(await this.#deleteSome(writable.slice(first, first + MOST_KEYS))));
    for (const key of keys.filter((each) => UNWRITABLE.test(each)))
      failures.push(...(await this.#deleteOne(key)));
    return failures;
  }

  async #deleteSome(keys: readonly string[]): Promise<readonly KeyFailure[]> {
    const final: KeyFailure[] = [];
    let left = keys;
    for (let tries = 1; left.length > 0; tries += 1) {
      const failures = await this.#sendDeletion(left);
      const mayPass = failures.filter((each) => tries < MOST_TRIES && isRetryable(asError(each)));
      final.push(...failures.filter((each) => !mayPass.includes(each)));
      left = mayPass.map(({ key }) => key);
    }
    return final;
  }

  async #sendDeletion(keys: readonly string[]): Promise<readonly KeyFailure[]> {
    const body = Buffer.from(deleteXml(keys));
    const answer = await this.#requester.send({
      operation: 'DeleteObjects',
      method: 'POST',
      key: '',
      query: [['delete', '']],
      body,
      headers: ['content-type', 'application/xml'],
      amzHeaders: [['x-amz-checksum-crc32', crc32Of(body)]],
      accept: [200],
    });
    const failures = parseDeletion(bodyText(answer));
    if (failures !== undefined) return failures;
    throw classify({ operation: 'DeleteObjects', key: keys[0] ?? '', status: 500, code: 'IncompleteAnswer' });
  }

  async #deleteOne(key: string): Promise<readonly KeyFailure[]> {
    try {
      await this.#requester.send({
        operation: 'DeleteObject',
        method: 'DELETE',
        key,
        accept: [200, 204, 404],
      });
      return [];
    } catch (error: unknown) {
      if (!(error instanceof S3Error)) throw error;
      return [{ key, code: error.failure.code, message: error.message }];
    }
  }

  async createUpload(key: string, sum: SumKind): Promise<OpenUpload> {
    const answer = await this.#requester.send({
      operation: 'CreateMultipartUpload',
      method: 'POST',
      key,
      query: [['uploads', '']],
      amzHeaders: [
        ['x-amz-checksum-algorithm', sum.toUpperCase()],
        ['x-amz-checksum-type', 'FULL_OBJECT'],
      ],
      accept: [200],
    });
    const id = elementText(bodyText(answer), 'UploadId');
    if (id === undefined)
      throw classify({ operation: 'CreateMultipartUpload', key, status: 0, code: 'NoUploadId' });
    return { key, id, sum };
  }

  async uploadPart(upload: OpenUpload, part: PartHead, body: Uint8Array): Promise<UploadedPart> {
    const answer = await this.#requester.send({
      operation: 'UploadPart',
      method: 'PUT',
      key: upload.key,
      query: [
        ['partNumber', String(part.number)],
        ['uploadId', upload.id],
      ],
      body,
      amzHeaders: [[`x-amz-checksum-${upload.sum}`, part.sum]],
      accept: [200],
    });
    return { etag: etagOf(answer), [upload.sum]: part.sum };
  }

  /** All of an object of another bucket as it is now, of at most 5 GB. S3 may answer 200 and still say in the body that it failed. */
  async copyFrom(bucket: string, key: string): Promise<void> {
    await this.#requester.send({
      operation: 'CopyObject',
      method: 'PUT',
      key,
      amzHeaders: [
        ['x-amz-copy-source', `/${bucket}/${encodeKey(key)}`],
        // Copying tags would need further permissions, and no object here has any.
        ['x-amz-tagging-directive', 'REPLACE'],
      ],
      accept: [200],
      damage: damageOf,
    });
  }

  /** The region of the bucket, where S3 names it. Rejects if there is no such bucket or it may not be used. */
  async region(): Promise<string | undefined> {
    const answer = await this.#requester.send({
      operation: 'HeadBucket',
      method: 'HEAD',
      key: '',
      accept: [200],
    });
    return headerOf(answer, 'x-amz-bucket-region') || undefined;
  }

  /**
   * S3 sends the checksum of the part when the upload was created with one; it may answer 200 and still say in the body
   * that it failed. https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
   */
  async copyPart(
    upload: OpenUpload,
    part: { readonly number: number },
    source: PartSource & { readonly bucket?: string },
  ): Promise<CopiedPart> {
    const { key, etag, offset, length, bucket = this.bucket } = source;
    const request: S3Request = {
      operation: 'UploadPartCopy',
      method: 'PUT',
      key: upload.key,
      query: [
        ['partNumber', String(part.number)],
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
    const answer = await this.#requester.send(request).catch((error: unknown) => {
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

  /** S3 may answer 200 and still say in the body that it failed. */
  async completeUpload(
    upload: Upload,
    parts: readonly UploadedPart[],
  ): Promise<{ readonly etag: string } | 'gone'> {
    const answer = await this.#requester.send({
      operation: 'CompleteMultipartUpload',
      method: 'POST',
      key: upload.key,
      query: [['uploadId', upload.id]],
      body: Buffer.from(completeUploadXml(parts)),
      headers: ['content-type', 'application/xml'],
      accept: [200, 404],
    });
    const xml = bodyText(answer);
    const { code } = parseError(xml);
    const failure = { operation: 'CompleteMultipartUpload', key: upload.key, code };
    if (answer.status === 404) {
      if (code === 'NoSuchUpload') return 'gone';
      throw classify({ ...failure, status: 404 });
    }
    const etag = elementText(xml, 'ETag');
    if (etag === undefined) throw classify({ ...failure, status: 500, code: code || 'IncompleteAnswer' });
    return { etag: etag.replaceAll('"', '') };
  }

  async abortUpload(upload: Upload): Promise<void> {
    await this.#requester.send({
      operation: 'AbortMultipartUpload',
      method: 'DELETE',
      key: upload.key,
      query: [['uploadId', upload.id]],
      accept: [200, 204, 404],
    });
  }
}
