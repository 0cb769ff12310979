/** Compares a file's first bytes with what its name or its declaration says. */

/** Enough for every format below. */
export const SNIFF_BYTES = 16;

const startsWith = (bytes: Uint8Array, expected: readonly number[], at = 0): boolean =>
  bytes.length >= at + expected.length && expected.every((value, index) => bytes[at + index] === value);

const ascii = (text: string): number[] => Array.from(text, (character) => character.charCodeAt(0));

const MAGIC: ReadonlyMap<string, (bytes: Uint8Array) => boolean> = new Map(
  Object.entries({
    png: (bytes) => startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    jpg: (bytes) => startsWith(bytes, [0xff, 0xd8, 0xff]),
    gif: (bytes) => startsWith(bytes, ascii('GIF87a')) || startsWith(bytes, ascii('GIF89a')),
    webp: (bytes) => startsWith(bytes, ascii('RIFF')) && startsWith(bytes, ascii('WEBP'), 8),
    bmp: (bytes) => startsWith(bytes, ascii('BM')),
  }),
);

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['jpeg', 'jpg'],
  ['jpe', 'jpg'],
  ['jfif', 'jpg'],
]);

/** The image format that a suffix names; undefined for any other suffix. */
export function imageFormatOf(suffix: string): string | undefined {
  const last = suffix.slice(suffix.lastIndexOf('.') + 1).toLowerCase();
  const name = ALIASES.get(last) ?? last;
  return MAGIC.has(name) ? name : undefined;
}

/** True if the bytes begin like an image of this format. */
export const isImage = (format: string, head: Uint8Array): boolean => MAGIC.get(format)?.(head) ?? false;

/** What gzip, zstd, xz and zip files begin with, and text in UTF-16. No text in UTF-8 begins so. */
const NO_TEXT: readonly (readonly number[])[] = [
  [0x1f, 0x8b, 0x08],
  [0x28, 0xb5, 0x2f, 0xfd],
  [0xfd, ...ascii('7zXZ'), 0],
  [...ascii('PK'), 0x03, 0x04],
  [0xff, 0xfe],
  [0xfe, 0xff],
];

/** As many bytes as `isNoText` looks at. */
export const NO_TEXT_BYTES = 7;

/** True for a compressed file or UTF-16, which has no lines in bytes of UTF-8. */
export const isNoText = (head: Uint8Array): boolean =>
  NO_TEXT.some((magic) => startsWith(head, magic)) ||
  // bzip2: a level, and the first digits of pi.
  (startsWith(head, ascii('BZh')) && startsWith(head, [0x31, 0x41, 0x59], 4));
