import { TransientError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/** Compares keys by their UTF-8 bytes, the order of S3's listings. JavaScript's UTF-16 order differs above U+D7FF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    if (isSurrogate(left) !== isSurrogate(right)) return isSurrogate(left) ? 1 : -1;
    return left - right;
  }
  return a.length - b.length;
}

/** A key with several ETags is several arrivals. An ETag has no blank. */
export const arrivalOf = (key: string, etag: string): string => `${etag} ${key}`;

/**
 * What a store lists twice would be packed twice, and the sealed lists are searched in the order of keys.
 * @param before the last key of the page before
 * @returns the last key
 * @throws TransientError if a key does not follow the one before
 */
export function lastInOrder(objects: Iterable<{ readonly key: string }>, before: string): string {
  let last = before;
  for (const { key } of objects) {
    if (compareKeys(key, last) <= 0)
      throw new TransientError(
        `the listing has ${quoted(key)} behind ${quoted(last)}, so it is not in order; the next try lists again`,
      );
    last = key;
  }
  return last;
}

/**
 * A page that answers another request would leave out what lies between.
 * @param after the key that the page was to begin behind
 * @throws TransientError
 */
export function checkPage(
  objects: readonly { readonly key: string }[],
  { prefix, after }: { readonly prefix: string; readonly after: string },
): void {
  const last = lastInOrder(objects, after);
  const other = [objects[0]?.key ?? prefix, last].find((key) => !key.startsWith(prefix));
  if (other !== undefined && objects.length > 0)
    throw new TransientError(
      `the listing of ${quoted(prefix)} has ${quoted(other)}; the next try lists again`,
    );
}
