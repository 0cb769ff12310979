/** Compares a file's first bytes with the image format that its suffix names. */

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
