/**
 * DeleteObjects: up to a thousand keys in one request, each with a fate of its own. The request must bring a checksum of its body.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
 */
import type { KeyFailure } from '@tidewheel/packing/store.ts';
import { crc32Of } from './checksum.ts';
import { classify, isRetryable, S3Error } from './errors.ts';
import type { Requester } from './requester.ts';
import { bodyText } from './transport.ts';
import { deleteXml, parseDeletion } from './xml.ts';

const MOST_KEYS = 1_000;
/** Of keys that failed for a reason that may have passed. */
const MOST_TRIES = 3;

/** XML 1.0 has no way to write these: such a key goes in a request of its own. */
const UNWRITABLE = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** A missing object counts as deleted. @returns the keys that are still there, and why */
export async function deleteMany(
  requester: Requester,
  keys: readonly string[],
): Promise<readonly KeyFailure[]> {
  const failures: KeyFailure[] = [];
  const writable = keys.filter((key) => !UNWRITABLE.test(key));
  for (let first = 0; first < writable.length; first += MOST_KEYS)
    failures.push(...(await deleteSome(requester, writable.slice(first, first + MOST_KEYS))));
  for (const key of keys.filter((each) => UNWRITABLE.test(each)))
    failures.push(...(await deleteOne(requester, key)));
  return failures;
}

async function deleteSome(requester: Requester, keys: readonly string[]): Promise<readonly KeyFailure[]> {
  const final: KeyFailure[] = [];
  let left = keys;
  for (let tries = 1; left.length > 0; tries += 1) {
    const failures = await send(requester, left);
    const mayPass = failures.filter((each) => tries < MOST_TRIES && isRetryable(asError(each)));
    final.push(...failures.filter((each) => !mayPass.includes(each)));
    left = mayPass.map(({ key }) => key);
  }
  return final;
}

async function send(requester: Requester, keys: readonly string[]): Promise<readonly KeyFailure[]> {
  const body = Buffer.from(deleteXml(keys));
  const answer = await requester.send({
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

async function deleteOne(requester: Requester, key: string): Promise<readonly KeyFailure[]> {
  try {
    await requester.send({ operation: 'DeleteObject', method: 'DELETE', key, accept: [200, 204, 404] });
    return [];
  } catch (error: unknown) {
    if (!(error instanceof S3Error)) throw error;
    return [{ key, code: error.failure.code, message: error.message }];
  }
}

const asError = ({ key, code }: KeyFailure): S3Error =>
  classify({ operation: 'DeleteObjects', key, status: 400, code });
