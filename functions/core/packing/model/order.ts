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
