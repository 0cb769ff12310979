/** From an object's key to a place inside a folder. Pure. */

const MAXIMUM_SEGMENT_BYTES = 255;

/** The path's parts, or why the key cannot be a file below a folder. Doubled slashes count as one, as in a file system. */
export function segmentsOf(
  relativeKey: string,
):
  | { readonly ok: true; readonly segments: readonly string[] }
  | { readonly ok: false; readonly reason: string } {
  const segments = relativeKey.split('/').filter((segment) => segment !== '');
  if (segments.length === 0) return { ok: false, reason: 'it names no file' };
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    return { ok: false, reason: "it has a part '.' or '..' and would leave its folder" };
  }
  if (relativeKey.includes('\0')) return { ok: false, reason: 'it holds a zero byte' };
  if (segments.some((segment) => Buffer.byteLength(segment) > MAXIMUM_SEGMENT_BYTES)) {
    return { ok: false, reason: `a part of it is longer than ${MAXIMUM_SEGMENT_BYTES} bytes` };
  }
  return { ok: true, segments };
}

/** What of a key is below the prefix: after the prefix, or after its last slash when it ends inside a name. */
export function relativeKey(key: string, prefix: string): string {
  const isWholeFolder = prefix === '' || prefix.endsWith('/') || key.startsWith(`${prefix}/`);
  return isWholeFolder ? key.slice(prefix.length) : key.slice(prefix.lastIndexOf('/') + 1);
}
