/**
 * Duration and rate of audio and video, by what the first bytes are. The bytes are hostile: whatever is not understood
 * gives undefined.
 */
import type { HeldBytes } from './held-bytes.ts';
import { movieFacts } from './movie-length.ts';
import { lasting, type SoundFacts } from './sound-facts.ts';

const latin = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end);

const HEAD_BYTES = 256 * 1024;
/** MP4 and QuickTime begin with one of these; QuickTime's oldest files have no `ftyp`. */
const MOVIE_BOXES: ReadonlySet<string> = new Set(['ftyp', 'moov', 'wide', 'mdat']);

export function soundFacts(held: HeldBytes): SoundFacts | undefined {
  const bytes = held.slice(0, HEAD_BYTES);
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
