/** What a member's own bytes say about it, for the member list. */
import type { MediaFacts } from '../model/documents.ts';
import { HeldBytes } from './held-bytes.ts';
import { imageSize } from './image-size.ts';
import { soundFacts } from './sound-length.ts';
import { type TextKind, textFacts, textFaults } from './text-facts.ts';
import { TextScan } from './text-scan.ts';

/** Of a member that is not held as a whole. A JPEG's size may lie behind a preview of 64 kB. */
export const HEAD_BYTES = 256 * 1024;

const IMAGES = /\.(jpe?g|jpe|jfif|png|gif|webp|bmp|tiff?|avif|heic|heif)$/i;
const SOUNDS = /\.(wav|flac|m4a|mp4|m4v|mov)$/i;
const TEXTS = /\.(txt|text|md|jsonl|ndjson|csv|tsv|libsvm)$/i;
/** Texts of which only faults are noted. */
const SIDECARS = /\.(json|cls|xml|yaml|yml)$/i;

/**
 * @param name whose suffix says what the member may be
 * @param chunks the bytes from the first on
 * @param size bytes of the whole member; a text of which not all is held is not counted (see textScan)
 * @param isJsonLines whether a text is JSON Lines, whatever its name
 * @returns undefined if nothing is known
 */
export function mediaFacts(
  name: string,
  chunks: readonly Uint8Array[],
  size: number,
  isJsonLines = false,
): MediaFacts | undefined {
  if (IMAGES.test(name)) return imageSize(headOf(chunks));
  if (SOUNDS.test(name)) return soundFacts(new HeldBytes(chunks, size));
  const [isCounted, isText] = [isJsonLines || TEXTS.test(name), SIDECARS.test(name)];
  if (!(isCounted || isText) || lengthOf(chunks) !== size) return undefined;
  const faults = textFaults(chunks, isJsonLines ? 'jsonLines' : kindOf(name));
  return isCounted ? { ...textFacts(chunks), ...faults } : faults;
}

/** Whether the faults of a member's text are noted. */
export const isTextName = (name: string): boolean => TEXTS.test(name) || SIDECARS.test(name);

/** For a member that is read while it is written. Undefined if it is no text. */
export function textScan(name: string, isJsonLines: boolean): TextScan | undefined {
  if (!(isJsonLines || isTextName(name))) return undefined;
  return new TextScan(isJsonLines ? 'jsonLines' : kindOf(name), isJsonLines || TEXTS.test(name));
}

function kindOf(name: string): TextKind {
  if (/\.json$/i.test(name)) return 'json';
  return /\.(jsonl|ndjson)$/i.test(name) ? 'jsonLines' : 'text';
}

const lengthOf = (chunks: readonly Uint8Array[]): number =>
  chunks.reduce((sum, { length }) => sum + length, 0);

function headOf(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (first === undefined) return new Uint8Array();
  return chunks.length === 1 || first.length >= HEAD_BYTES ? first : Buffer.concat(chunks);
}
