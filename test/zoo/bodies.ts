/** Texts of the zoo's files, as far as packing looks into them. */

import { tgzFile, zipFile } from '../support/builders/archives.ts';

const MAGIC: readonly (readonly [RegExp, string])[] = [
  [/\.png$/i, '89504e470d0a1a0a'],
  [/\.jpe?g$/i, 'ffd8ffe0'],
  [/\.gif$/i, '474946383961'],
  [/\.tif$/i, '49492a00'],
];

/** So much of a file that its kind is known; the text of an archive is the names of its files. */
export function bodyOf([key, text]: readonly [string, string]): readonly [string, Uint8Array] {
  const made = key.endsWith('.zip') ? zipFile : key.endsWith('.tgz') ? tgzFile : undefined;
  if (made !== undefined) return [key, made(text.split(' ').map((name) => bodyOf([name, ''])))];
  if (text === '' && key.endsWith('.json')) return [key, Buffer.alloc(0)];
  const magic = MAGIC.find(([suffix]) => suffix.test(key))?.[1] ?? '';
  return [key, Buffer.concat([Buffer.from(magic, 'hex'), Buffer.from(text === '' ? `of ${key}` : text)])];
}
