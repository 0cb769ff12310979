/**
 * How long audio and video last. MP4 and QuickTime: the boxes of `moov`, the index, are read where they lie in the
 * bytes that are held.
 */

export interface SoundFacts {
  readonly seconds?: number;
  /** Samples per second of audio, frames per second of video. */
  readonly rate?: number;
}

/** In thousandths; undefined for what is less, or no number. */
function rounded(units: number, perSecond: number): number | undefined {
  const value = Math.round((1e3 * units) / perSecond) / 1e3;
  return value > 0 && Number.isFinite(value) ? value : undefined;
}

/** Without what is not known: units of 0, or none per second. */
export function lasting(units: number, perSecond: number): SoundFacts {
  const seconds = rounded(units, perSecond);
  return seconds === undefined ? {} : { seconds };
}

function atRate(perSecond: number): SoundFacts {
  const rate = rounded(perSecond, 1);
  return rate === undefined ? {} : { rate };
}

/** Undefined if nothing is known. */
const known = (facts: SoundFacts): SoundFacts | undefined =>
  facts.seconds === undefined && facts.rate === undefined ? undefined : facts;

export class MemberBytes {
  readonly #chunks: readonly Uint8Array[];
  /** Of the whole member. */
  readonly size: number;
  readonly held: number;
  /** Where the last slice began: the next one mostly follows it. */
  #last = { chunk: 0, start: 0 };

  constructor(chunks: readonly Uint8Array[], size: number) {
    this.#chunks = chunks;
    this.size = size;
    this.held = chunks.reduce((sum, { length }) => sum + length, 0);
  }

  get isWhole(): boolean {
    return this.held === this.size;
  }

  /** Fewer bytes where no more are held. */
  slice(from: number, to: number): Buffer {
    const parts: Uint8Array[] = [];
    if (from < this.#last.start) this.#last = { chunk: 0, start: 0 };
    let { chunk: index, start } = this.#last;
    for (; index < this.#chunks.length && start < to; index += 1) {
      const chunk = this.#chunks[index] ?? new Uint8Array();
      const end = start + chunk.length;
      if (end > from && parts.length === 0) this.#last = { chunk: index, start };
      if (end > from) parts.push(chunk.subarray(Math.max(0, from - start), to - start));
      start = end;
    }
    const [first] = parts;
    if (first === undefined) return Buffer.alloc(0);
    return parts.length === 1
      ? Buffer.from(first.buffer, first.byteOffset, first.byteLength)
      : Buffer.concat(parts);
  }
}

/** A longer index is not read whole; its first boxes have the duration. */
const MOST_INDEX_BYTES = 16 * 1024 * 1024;
const MOST_BOXES = 1_000;

export function movieFacts(held: MemberBytes): SoundFacts | undefined {
  const { moov, isCut } = findMovie(held);
  if (moov === undefined) return undefined;
  const tracks = boxes(moov, 'trak').map(trackOf);
  const video = tracks.find(({ kind }) => kind === 'vide');
  const sound = isCut && mayHaveVideo(held) ? undefined : tracks.find(({ kind }) => kind === 'soun');
  const { units, scale } = timeOf(boxes(moov, 'mvhd')[0]);
  return known({ ...lasting(units, scale), ...atRate(video?.rate ?? sound?.rate ?? 0) });
}

/** The brands of files for sound: https://mp4ra.org/registered-types/brands */
const SOUND_BRANDS: ReadonlySet<string> = new Set(['M4A ', 'M4B ', 'M4P ']);

const mayHaveVideo = (held: MemberBytes): boolean => !SOUND_BRANDS.has(held.slice(8, 12).toString('latin1'));

/** @returns nothing where the index lies behind the bytes that are held; `isCut` where they end within it */
function findMovie(held: MemberBytes): { readonly moov?: Buffer; readonly isCut?: boolean } {
  let at = 0;
  for (let count = 0; count < MOST_BOXES && at + 16 <= held.held; count += 1) {
    const head = held.slice(at, at + 16);
    const { from, size } = sizeOf(head, 0, held.size - at);
    if (size < from) return {};
    if (head.toString('latin1', 4, 8) === 'moov') {
      const moov = held.slice(at + from, at + Math.min(size, MOST_INDEX_BYTES));
      return { moov, isCut: moov.length < size - from };
    }
    at += size;
  }
  return {};
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

/** None where the table is cut off: its part would give another rate. */
function framesOf(stts: Buffer): number {
  const end = stts.length < 8 ? 0 : 8 + 8 * stts.readUInt32BE(4);
  if (end > stts.length) return 0;
  let frames = 0;
  for (let at = 8; at < end; at += 8) frames += stts.readUInt32BE(at);
  return frames;
}
