/**
 * The index of a bundle: gzip of JSON lines. The first one has the version, the bytes of the data and the number of
 * members. Each of the others is a member: key below incoming/, offset, bytes and MD5, in the order of keys. Anybody
 * who may write to the bucket can write one, so nothing of it is believed.
 */

import { hash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { hasCode } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { compress, compressPlanned, decompress, linesOf } from '../documents/compressed-lines.ts';
import { compareKeys } from '../documents/order.ts';
import type { Rejection } from '../documents/rejections.ts';
import { BUNDLE_VERSION, LARGEST_MEMBER_BYTES, md5Of } from './bundle-place.ts';

/** Bytes of an index as it lies in the bucket, and of its text. */
export const MOST_INDEX_BYTES = 32 * 1024 * 1024;
const MOST_TEXT_BYTES = 128 * 1024 * 1024;
const MOST_MEMBERS = 500_000;
/** One PUT takes so much. https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html */
const MOST_DATA_BYTES = 5 * 1024 ** 3;

const headSchema = z.strictObject({
  version: z.literal(BUNDLE_VERSION),
  bytes: z.int().min(0).max(MOST_DATA_BYTES),
  members: z.int().min(1).max(MOST_MEMBERS),
});

const memberSchema = z.tuple([
  z.string(),
  z.int().min(0).max(MOST_DATA_BYTES),
  z.int().min(0).max(LARGEST_MEMBER_BYTES),
  z.string().regex(/^[0-9a-f]{32}$/),
]);
/** Key below incoming/, offset, bytes, MD5. */
export type IndexedMember = z.infer<typeof memberSchema>;

/** @param members in the order of compareKeys */
function bundleIndexBody(members: readonly IndexedMember[], bytes: number): Buffer {
  const head: z.input<typeof headSchema> = { version: BUNDLE_VERSION, bytes, members: members.length };
  return compress([head, ...members].map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** Members of one index in the order of keys, held compressed. */
export class BundleIndex {
  readonly #parts: readonly Buffer[];
  readonly members: number;

  constructor(parts: readonly Buffer[], members: number) {
    this.#parts = parts;
    this.members = members;
  }

  *read(): Generator<IndexedMember> {
    for (const part of this.#parts)
      for (const line of linesOf(decompress(part))) yield memberSchema.parse(JSON.parse(line));
  }
}

interface IndexPlace {
  /** Bytes of the data object. */
  readonly dataBytes: number;
  /** Bytes that stand before each key. */
  readonly prefixBytes: number;
}

/** @returns the reason if the index is not one that can be taken */
export function readBundleIndex(body: Uint8Array, place: IndexPlace): BundleIndex | Rejection {
  try {
    const text = gunzipSync(body, { maxOutputLength: MOST_TEXT_BYTES }).toString('utf8');
    return checkedIndex(linesOf(text), place);
  } catch (error: unknown) {
    return isTooLong(error) ? 'bundleTooLarge' : 'bundleNotReadable';
  }
}

const isTooLong = (error: unknown): boolean => hasCode(error, 'ERR_BUFFER_TOO_LARGE');

/** Members of one compressed part: so few that many bundles can be read at once. */
const PART_MEMBERS = 1_000;

function checkedIndex(
  lines: Iterator<string> & Iterable<string>,
  { dataBytes, prefixBytes }: IndexPlace,
): BundleIndex | Rejection {
  const first: unknown = JSON.parse(String(lines.next().value));
  const head = headSchema.parse(first);
  if (head.bytes !== dataBytes) return 'bundleEndsBefore';
  const [offsets, ends] = [new Float64Array(head.members), new Float64Array(head.members)];
  const parts: Buffer[] = [];
  let pending = '';
  let [count, before] = [0, ''];
  for (const line of lines) {
    if (count === head.members) return 'bundleNotReadable';
    const [key, offset, size] = memberSchema.parse(JSON.parse(line));
    if (!isAllowed(key, prefixBytes)) return 'bundleKeyNotAllowed';
    if (compareKeys(key, before) <= 0) return 'bundleKeysNotInOrder';
    if (offset + size > dataBytes) return 'bundleEndsBefore';
    offsets[count] = offset;
    ends[count] = offset + size;
    count += 1;
    before = key;
    pending += `${line}\n`;
    if (count % PART_MEMBERS > 0) continue;
    parts.push(compressPlanned(pending));
    pending = '';
  }
  if (count !== head.members) return 'bundleNotReadable';
  // Without overlaps, the members have no more bytes than the bundle.
  if (overlaps(offsets.sort(), ends.sort())) return 'bundleMembersOverlap';
  if (pending !== '') parts.push(compressPlanned(pending));
  return new BundleIndex(parts, count);
}

/** Intervals do not overlap if and only if the sorted beginnings and ends alternate. */
function overlaps(begins: Float64Array, ends: Float64Array): boolean {
  for (let index = 1; index < begins.length; index += 1)
    if ((begins[index] ?? 0) < (ends[index - 1] ?? 0)) return true;
  return false;
}

/** S3's limit. */
const MOST_KEY_BYTES = 1_024;

/** What `drop` writes: a path below its folder. A plain object may have any key, but that key is seen in the bucket. */
export function isAllowed(key: string, prefixBytes: number): boolean {
  if (Buffer.byteLength(key) + prefixBytes > MOST_KEY_BYTES || !key.isWellFormed()) return false;
  if (/\p{Cc}/u.test(key)) return false;
  const [top, ...rest] = key.split('/');
  if (top === '.tidewheel') return false;
  return [top, ...rest].every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Makes a bundle of small files. The same files in the same order make the same bundle, under the same name. */
export interface BundledFile {
  /** Key below incoming/. */
  readonly key: string;
  readonly body: Uint8Array;
}

interface MadeBundle {
  readonly id: string;
  readonly data: Buffer;
  /** To be written after the data. */
  readonly index: Buffer;
}

/** @param owner apart from bundles of the same files that another owner may delete */
export function makeBundle(files: readonly BundledFile[], owner?: string): MadeBundle {
  let bytes = 0;
  const members = files.map(({ key, body }): IndexedMember => {
    const offset = bytes;
    bytes += body.length;
    return [key, offset, body.length, md5Of(body)];
  });
  members.sort(([a], [b]) => compareKeys(a, b));
  return {
    id: hash('sha256', JSON.stringify(owner === undefined ? members : [owner, members])).slice(0, 32),
    data: Buffer.concat(
      files.map(({ body }) => body),
      bytes,
    ),
    index: bundleIndexBody(members, bytes),
  };
}
