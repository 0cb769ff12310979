/** What a member's own bytes say about it, for the member list. */
import type { MediaFacts } from '../model/documents.ts';
import { imageSize } from './image-size.ts';
import { soundFacts } from './sound-length.ts';

/** Of a member that is not held as a whole. A JPEG's size may lie behind a preview of 64 kB. */
export const HEAD_BYTES = 256 * 1024;

const IMAGES = /\.(jpe?g|jpe|jfif|png|gif|webp|bmp|tiff?|avif|heic|heif)$/i;
const SOUNDS = /\.(wav|flac|mp3|m4a|mp4|m4v|mov)$/i;
const TEXTS = /\.(txt|text|md|jsonl|ndjson|csv|tsv|libsvm)$/i;

/**
 * @param name whose suffix says what the member may be
 * @param chunks the bytes from the first on
 * @param size bytes of the whole member; the text of a member that is not held as a whole is not counted
 * @returns undefined if nothing is known
 */
export function mediaFacts(
  name: string,
  chunks: readonly Uint8Array[],
  size: number,
): MediaFacts | undefined {
  if (IMAGES.test(name)) return imageSize(headOf(chunks));
  if (SOUNDS.test(name)) return soundFacts(headOf(chunks), size);
  if (TEXTS.test(name) && lengthOf(chunks) === size) return textFacts(chunks);
  return undefined;
}

const lengthOf = (chunks: readonly Uint8Array[]): number =>
  chunks.reduce((sum, { length }) => sum + length, 0);

function headOf(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first === undefined) return new Uint8Array();
  return chunks.length === 1 || first.length >= HEAD_BYTES ? first : Buffer.concat(chunks);
}

const NEWLINE = 0x0a;

/** Tokens are runs of bytes above the space. A last line without a newline counts. */
function textFacts(chunks: readonly Uint8Array[]): MediaFacts {
  let [lines, tokens, isInside, last] = [0, 0, false, NEWLINE];
  for (const chunk of chunks)
    for (const byte of chunk) {
      if (byte === NEWLINE) lines += 1;
      const isToken = byte > 0x20;
      if (isToken && !isInside) tokens += 1;
      isInside = isToken;
      last = byte;
    }
  return { lines: last === NEWLINE ? lines : lines + 1, tokens };
}
