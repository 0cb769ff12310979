/** MP4 and QuickTime: the boxes of `moov`, which lies at the front or, where the whole file is held, anywhere. */
import type { HeldBytes } from './held-bytes.ts';
import { atRate, known, lasting, type SoundFacts } from './sound-facts.ts';

/** A longer index is not read whole; its first boxes have the duration. */
const MOST_INDEX_BYTES = 16 * 1024 * 1024;
const MOST_BOXES = 1_000;

export function movieFacts(held: HeldBytes): SoundFacts | undefined {
  const moov = findMovie(held);
  if (moov === undefined) return undefined;
  const tracks = boxes(moov, 'trak').map(trackOf);
  const video = tracks.find(({ kind }) => kind === 'vide');
  const sound = tracks.find(({ kind }) => kind === 'soun');
  const { units, scale } = timeOf(boxes(moov, 'mvhd')[0]);
  return known({ ...lasting(units, scale), ...atRate(video?.rate ?? sound?.rate ?? 0) });
}

function findMovie(held: HeldBytes): Buffer | undefined {
  let at = 0;
  for (let count = 0; count < MOST_BOXES && at + 16 <= held.held; count += 1) {
    const head = held.slice(at, at + 16);
    const { from, size } = sizeOf(head, 0, held.size - at);
    if (size < from) return undefined;
    const isMovie = head.toString('latin1', 4, 8) === 'moov';
    if (isMovie) return held.slice(at + from, at + Math.min(size, MOST_INDEX_BYTES));
    at += size;
  }
  return undefined;
}

/** Bytes of the box that begins there, and where its content does. */
function sizeOf(bytes: Buffer, at: number, rest: number): { readonly from: number; readonly size: number } {
  const size = bytes.readUInt32BE(at);
  if (size === 0) return { from: 8, size: rest };
  if (size !== 1) return { from: 8, size };
  return at + 16 <= bytes.length
    ? { from: 16, size: Number(bytes.readBigUInt64BE(at + 8)) }
    : { from: 16, size: 0 };
}

/** Contents of the boxes of that name; the last one may be cut off. */
function boxes(bytes: Buffer, name: string): Buffer[] {
  const found: Buffer[] = [];
  for (let [at, count] = [0, 0]; at + 8 <= bytes.length && count < MOST_BOXES; count += 1) {
    const { from, size } = sizeOf(bytes, at, bytes.length - at);
    if (size < from) break;
    if (bytes.toString('latin1', at + 4, at + 8) === name) found.push(bytes.subarray(at + from, at + size));
    at += size;
  }
  return found;
}

const EMPTY = Buffer.alloc(0);
const inside = (bytes: Buffer, ...path: readonly string[]): Buffer =>
  path.reduce((box, name) => boxes(box, name)[0] ?? EMPTY, bytes);

/** Of `mvhd` or `mdhd`. */
function timeOf(box: Buffer = EMPTY): { readonly units: number; readonly scale: number } {
  const isLong = box[0] === 1;
  if (box.length < (isLong ? 32 : 20)) return { units: 0, scale: 0 };
  const scale = box.readUInt32BE(isLong ? 20 : 12);
  return { scale, units: isLong ? Number(box.readBigUInt64BE(24)) : box.readUInt32BE(16) };
}

interface Track {
  readonly kind: string;
  readonly rate: number;
}

/** Sound is counted in its samples. The frames of a video are those of `stts`. */
function trackOf(trak: Buffer): Track {
  const mdia = inside(trak, 'mdia');
  const kind = inside(mdia, 'hdlr').toString('latin1', 8, 12);
  const { units, scale } = timeOf(inside(mdia, 'mdhd'));
  if (kind !== 'vide') return { kind, rate: scale };
  const frames = framesOf(inside(mdia, 'minf', 'stbl', 'stts'));
  return { kind, rate: units > 0 ? (frames * scale) / units : 0 };
}

function framesOf(stts: Buffer): number {
  let frames = 0;
  for (let at = 8; at + 8 <= stts.length; at += 8) frames += stts.readUInt32BE(at);
  return frames;
}
