/** What a member's own bytes say about it, for the member list. */

import { imageSize as sizeInHeader } from 'image-size';
import type { MediaFacts } from '../documents/documents.ts';
import { lasting, MemberBytes, movieFacts, type SoundFacts } from './movie-length.ts';
import { type TextKind, TextScan, textFacts, textFaults } from './text-facts.ts';

/** Of a member that is not held as a whole. A JPEG's size may lie behind a preview of 64 kB. */
export const MEMBER_HEAD_BYTES = 256 * 1024;

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
  if (SOUNDS.test(name)) return soundFacts(new MemberBytes(chunks, size));
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
  return chunks.length === 1 || first.length >= MEMBER_HEAD_BYTES ? first : Buffer.concat(chunks);
}

/** Width and height of an image, by its header. The bytes are hostile: whatever is not understood gives undefined. */
interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** @param head the first bytes of the file, up to HEAD_BYTES of media-facts.ts */
function imageSize(head: Uint8Array): ImageSize | undefined {
  const size = sizeIn(head);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function sizeIn(head: Uint8Array): ImageSize | undefined {
  try {
    const { width, height } = sizeInHeader(head);
    return { width, height };
  } catch {
    // The library throws Error, TypeError and RangeError for bytes that it does not understand or that end too early.
    return undefined;
  }
}

const latin = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end);

/** MP4 and QuickTime begin with one of these; QuickTime's oldest files have no `ftyp`. */
const MOVIE_BOXES: ReadonlySet<string> = new Set(['ftyp', 'moov', 'wide', 'mdat']);

/**
 * Duration and rate of audio and video, by what the first bytes are. The bytes are hostile: whatever is not understood
 * gives undefined.
 */
function soundFacts(held: MemberBytes): SoundFacts | undefined {
  const bytes = held.slice(0, MEMBER_HEAD_BYTES);
  if (bytes.length < 44) return undefined;
  const magic = latin(bytes, 0, 4);
  if (magic === 'RIFF' && latin(bytes, 8, 12) === 'WAVE') return wave(bytes, held.size);
  if (magic === 'fLaC') return flac(bytes);
  return MOVIE_BOXES.has(latin(bytes, 4, 8)) ? movieFacts(held) : undefined;
}

/** The chunks `fmt ` and `data`. A streamed file has no length in its header, so the file's size counts. */
function wave(bytes: Buffer, size: number): SoundFacts | undefined {
  let [rate, perSecond] = [0, 0];
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = latin(bytes, at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    if (name === 'fmt ' && at + 20 <= bytes.length) {
      rate = bytes.readUInt32LE(at + 12);
      perSecond = bytes.readUInt32LE(at + 16);
    } else if (name === 'data')
      return rate > 0 ? { rate, ...lasting(Math.min(length, size - at - 8), perSecond) } : undefined;
    at += 8 + length + (length % 2);
  }
  return rate > 0 ? { rate } : undefined;
}

/** https://www.rfc-editor.org/rfc/rfc9639: STREAMINFO is the first block; 20 bits of rate, 36 of samples. */
function flac(bytes: Buffer): SoundFacts | undefined {
  const rate = bytes.readUIntBE(18, 3) >>> 4;
  const samples = (bytes.readUInt8(21) & 0x0f) * 2 ** 32 + bytes.readUInt32BE(22);
  return rate > 0 ? { rate, ...lasting(samples, rate) } : undefined;
}
