/** Listings of the made-up S3, and corpora whose objects exist without being stored. */
import { createHash } from 'node:crypto';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';

/** Objects that exist without being stored, in sorted order. */
export interface Corpus {
  readonly count: number;
  keyAt(index: number): string;
  /** Number of the object, or undefined. */
  indexOf(key: string): number | undefined;
  sizeAt(index: number): number;
}

const STARTS = 8 * 1024 * 1024;
let pattern = Buffer.alloc(0);

/** Noise of at least this length, of which the beginning is always the same. */
function noiseOf(length: number): Buffer {
  if (pattern.length >= length) return pattern;
  const noise = seededUint32('noise');
  pattern = Buffer.alloc(Math.ceil(length / STARTS) * STARTS);
  for (let index = 0; index < pattern.length; index += 4) pattern.writeUInt32LE(noise(), index);
  return pattern;
}

/** Bytes of a made-up object: a window into noise, at a place of its own. */
export function corpusBody(index: number, size: number): Buffer {
  const start = (index * 64) % STARTS;
  return noiseOf(STARTS + size).subarray(start, start + size);
}

export const corpusEtag = (index: number): string => createHash('md5').update(String(index)).digest('hex');

const xmlEscape = (text: string): string => encodeURIComponent(text).replaceAll('%2F', '/');

export interface Entry {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
}

export interface Page {
  readonly entries: readonly Entry[];
  readonly folders: readonly string[];
  readonly next: string | undefined;
}

function lowerBound(count: number, isAfter: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export const STAMP = '2026-11-21T00:00:00.000Z';

export function listingXml({ entries, folders, next }: Page): string {
  const contents = entries.map(
    ({ key, size, etag }) =>
      `<Contents><Key>${xmlEscape(key)}</Key><LastModified>${STAMP}</LastModified><ETag>&quot;${etag}&quot;</ETag>` +
      `<Size>${size}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
  );
  const prefixes = folders.map(
    (folder) => `<CommonPrefixes><Prefix>${xmlEscape(folder)}</Prefix></CommonPrefixes>`,
  );
  const more =
    next === undefined
      ? ''
      : `<NextContinuationToken>${next.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</NextContinuationToken>`;
  return (
    `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><EncodingType>url</EncodingType>` +
    `<IsTruncated>${next !== undefined}</IsTruncated>${more}${contents.join('')}${prefixes.join('')}</ListBucketResult>`
  );
}

/** Keys of equal form: `<prefix>d<folder>/<number>.<suffix>`, sorted because the numbers are padded. */
export function regularCorpus(options: {
  prefix: string;
  count: number;
  size: (index: number) => number;
  suffix: string;
}): Corpus {
  const form = new RegExp(`^${options.prefix}d(\\d{4})/(\\d{9})\\.${options.suffix}$`);
  return {
    count: options.count,
    keyAt: (index) =>
      `${options.prefix}d${String(Math.floor(index / 1_000) % 10_000).padStart(4, '0')}/${String(index).padStart(9, '0')}.${options.suffix}`,
    indexOf: (key) => {
      const index = Number(form.exec(key)?.[2] ?? Number.NaN);
      return index < options.count ? index : undefined;
    },
    sizeAt: options.size,
  };
}

export interface PageRequest {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
}

export interface Keyed {
  readonly count: number;
  entryAt(index: number): Entry;
}

/** One page of a sorted sequence. */
export function pageOf(all: Keyed, { prefix, after, limit }: PageRequest): Page {
  const entries: Entry[] = [];
  const first = lowerBound(all.count, (index) => {
    const { key } = all.entryAt(index);
    return key > after && key >= prefix;
  });
  for (let index = first; index < all.count; index += 1) {
    const entry = all.entryAt(index);
    if (!entry.key.startsWith(prefix)) break;
    if (entries.length === limit) return { entries, folders: [], next: entries.at(-1)?.key };
    entries.push(entry);
  }
  return { entries, folders: [], next: undefined };
}
