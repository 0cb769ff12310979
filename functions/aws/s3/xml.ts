/** Scans S3's few XML answers without a tree: a listing of 1,000 keys takes well under a millisecond. */
import type { KeyFailure, ListedBlob, ListPage, UploadedPart } from '@tidewheel/packing/store.ts';

const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }),
);

/** Resolves the predefined and numeric entities. */
function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(#x[0-9a-fA-F]+|#\d+|\w+);/g, (whole, name: string) => {
    if (name.startsWith('#x')) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
    if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)));
    return ENTITIES.get(name) ?? whole;
  });
}

function rawText(xml: string, name: string, from = 0): string | undefined {
  const open = xml.indexOf(`<${name}>`, from);
  if (open < 0) return undefined;
  const start = open + name.length + 2;
  const end = xml.indexOf(`</${name}>`, start);
  return end < 0 ? undefined : xml.slice(start, end);
}

/** Text of the first element of that name at or after `from`, or undefined. */
export function elementText(xml: string, name: string, from = 0): string | undefined {
  const raw = rawText(xml, name, from);
  return raw === undefined ? undefined : unescapeXml(raw);
}

/** Keys come url-encoded (`encoding-type=url`): XML 1.0 cannot carry all of their characters. A space comes as `+` or %20. */
function decodeKey(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  return decodeURIComponent(text.replaceAll('+', '%20'));
}

/** `&quot;abc&quot;`, `"abc"` or `abc` */
const bareEtag = (text: string): string =>
  text.startsWith('&quot;') ? text.slice(6, -6) : unescapeXml(text).replaceAll('"', '');

/** An element's tags, made once: a listing needs them a thousand times. */
interface Tags {
  readonly open: string;
  readonly close: string;
}
const tagsOf = (name: string): Tags => ({ open: `<${name}>`, close: `</${name}>` });
const KEY = tagsOf('Key');
const SIZE = tagsOf('Size');
const ETAG = tagsOf('ETag');
const MODIFIED = tagsOf('LastModified');
const STORAGE_CLASS = tagsOf('StorageClass');
const RESTORING = tagsOf('IsRestoreInProgress');
const RESTORED_UNTIL = tagsOf('RestoreExpiryDate');

interface Part {
  readonly from: number;
  readonly to: number;
}

/** The text between the tags in this part of the document, or undefined. */
function within(xml: string, { open, close }: Tags, { from, to }: Part): string | undefined {
  const found = xml.indexOf(open, from);
  if (found < 0 || found >= to) return undefined;
  const start = found + open.length;
  const end = xml.indexOf(close, start);
  return end < 0 || end > to ? undefined : xml.slice(start, end);
}

/** Of these classes an object is read only after its restore. GLACIER_IR is no archive in this sense. */
const ARCHIVES = new Set(['GLACIER', 'DEEP_ARCHIVE']);

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_RestoreStatus.html */
function isArchived(xml: string, part: Part): boolean {
  if (!ARCHIVES.has(within(xml, STORAGE_CLASS, part) ?? '')) return false;
  const isRestored =
    within(xml, RESTORING, part) === 'false' && within(xml, RESTORED_UNTIL, part) !== undefined;
  return !isRestored;
}

function parseEntry(xml: string, part: Part, decode: (text: string) => string): ListedBlob {
  const key = within(xml, KEY, part);
  const size = Number(within(xml, SIZE, part) ?? Number.NaN);
  const etag = within(xml, ETAG, part);
  if (key === undefined || etag === undefined || !Number.isSafeInteger(size)) {
    const entry = xml.slice(part.from, Math.min(part.to, part.from + 300));
    throw new SyntaxError(`a listing names an object without key, size or ETag: ${entry}`);
  }
  const lastModified = within(xml, MODIFIED, part) ?? '';
  const object = { key: decode(unescapeXml(key)), size, etag: bareEtag(etag), lastModified };
  return isArchived(xml, part) ? { ...object, archived: true } : object;
}

/** False for a listing that was cut off, that lacks keys, or that says it goes on but not where. */
export function isWholeListing(xml: string): boolean {
  if (!xml.slice(-100).trimEnd().endsWith('</ListBucketResult>')) return false;
  return (
    hasItsKeys(xml) &&
    (elementText(xml, 'IsTruncated') !== 'true' || elementText(xml, 'NextContinuationToken') !== undefined)
  );
}

/**
 * Whether a KeyCount is that of a page. S3 counts keys and common prefixes, and some servers count keys alone.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
 */
const isKeyCount = (count: number, keys: number, prefixes: number): boolean =>
  count === keys || count === keys + prefixes;

/** Where the answer has no KeyCount, its end must do. */
function hasItsKeys(xml: string): boolean {
  const declared = elementText(xml, 'KeyCount');
  if (declared === undefined) return true;
  return isKeyCount(Number(declared), countOf(xml, '</Contents>'), countOf(xml, '</CommonPrefixes>'));
}

function countOf(xml: string, tag: string): number {
  let count = 0;
  for (let at = xml.indexOf(tag); at >= 0; at = xml.indexOf(tag, at + tag.length)) count += 1;
  return count;
}

/** Parses a ListObjectsV2 answer. */
export function parseListing(xml: string): ListPage {
  const decode = elementText(xml, 'EncodingType') === 'url' ? decodeKey : (text: string) => text;
  const objects: ListedBlob[] = [];
  const prefixes: string[] = [];
  for (let at = xml.indexOf('<Contents>'); at >= 0; ) {
    const end = xml.indexOf('</Contents>', at);
    if (end < 0) throw new SyntaxError('a listing ends in the middle of an entry');
    objects.push(parseEntry(xml, { from: at, to: end }, decode));
    at = xml.indexOf('<Contents>', end);
  }
  for (let at = xml.indexOf('<CommonPrefixes>'); at >= 0; at = xml.indexOf('<CommonPrefixes>', at + 1)) {
    prefixes.push(decode(elementText(xml, 'Prefix', at) ?? ''));
  }
  const truncated = elementText(xml, 'IsTruncated') === 'true';
  const next = elementText(xml, 'NextContinuationToken');
  if (truncated && next === undefined) throw new SyntaxError('a truncated listing names no continuation');
  return { objects, prefixes, next: truncated ? next : undefined };
}

/** A part of an object that came by a multipart upload. */
export interface ObjectPart {
  /** Bytes. */
  readonly size: number;
  /** In base64. */
  readonly sum: string;
}

export interface PartsPage {
  /** Of the object. */
  readonly etag: string;
  /** In order. */
  readonly parts: readonly ObjectPart[];
  /** The marker of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** Parses an answer to GetObjectAttributes. Undefined if a part has no checksum of this algorithm. */
export function parseObjectParts(xml: string, algorithm: string): PartsPage | undefined {
  const parts: ObjectPart[] = [];
  for (let at = xml.indexOf('<Part>'); at >= 0; at = xml.indexOf('<Part>', at + 1)) {
    const part = rawText(xml, 'Part', at) ?? '';
    const size = Number(elementText(part, 'Size') ?? Number.NaN);
    const sum = elementText(part, `Checksum${algorithm}`);
    if (sum === undefined || !Number.isSafeInteger(size)) return undefined;
    parts.push({ size, sum });
  }
  const isTruncated = elementText(xml, 'IsTruncated') === 'true';
  return {
    etag: bareEtag(elementText(xml, 'ETag') ?? ''),
    parts,
    next: isTruncated ? elementText(xml, 'NextPartNumberMarker') : undefined,
  };
}

/** Code and message of S3's error document. An answer to HEAD has none. */
export function parseError(xml: string): { code: string; message: string; serverTime?: string | undefined } {
  return {
    code: elementText(xml, 'Code') ?? '',
    message: elementText(xml, 'Message') ?? '',
    serverTime: elementText(xml, 'ServerTime'),
  };
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Body of CompleteMultipartUpload. */
export function completeUploadXml(parts: readonly UploadedPart[]): string {
  const sum = (name: string, value: string | undefined): string =>
    value === undefined ? '' : `<${name}>${escapeXml(value)}</${name}>`;
  const items = parts.map(
    ({ etag, crc32, crc32c, crc64nvme }, index) =>
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>&quot;${escapeXml(etag)}&quot;</ETag>` +
      `${sum('ChecksumCRC32', crc32)}${sum('ChecksumCRC32C', crc32c)}${sum('ChecksumCRC64NVME', crc64nvme)}</Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${items.join('')}</CompleteMultipartUpload>`;
}

/** Body of DeleteObjects. Quiet: S3 answers only failures. Line ends are escaped, since an XML parser normalises them. */
export function deleteXml(keys: readonly string[]): string {
  const spaces = (text: string): string =>
    text.replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
  const objects = keys.map((key) => `<Object><Key>${spaces(escapeXml(key))}</Key></Object>`);
  return `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${objects.join('')}<Quiet>true</Quiet></Delete>`;
}

/** The keys that DeleteObjects could not delete; undefined if the answer is incomplete. */
export function parseDeletion(xml: string): readonly KeyFailure[] | undefined {
  if (!/<\/DeleteResult>\s*$|<DeleteResult[^<]*\/>\s*$/.test(xml)) return undefined;
  const failures: KeyFailure[] = [];
  for (let at = xml.indexOf('<Error>'); at >= 0; at = xml.indexOf('<Error>', at + 1)) {
    const entry = rawText(xml, 'Error', at) ?? '';
    const part = (name: string): string => elementText(entry, name) ?? '';
    failures.push({ key: part('Key'), code: part('Code'), message: part('Message') });
  }
  return failures;
}
