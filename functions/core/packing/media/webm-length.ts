/** WebM and Matroska (RFC 9559): the elements `Info` and `Tracks` at the front of the segment. */
import type { HeldBytes } from './held-bytes.ts';
import { atRate, known, lasting, type SoundFacts } from './sound-facts.ts';

const SEGMENT = 0x18_53_80_67;
const INFO = 0x15_49_a9_66;
const TIMESTAMP_SCALE = 0x2a_d7_b1;
const DURATION = 0x44_89;
const TRACKS = 0x16_54_ae_6b;
const TRACK = 0xae;
const DEFAULT_DURATION = 0x23_e3_83;
const AUDIO = 0xe1;
const VIDEO = 0xe0;
const SAMPLING_FREQUENCY = 0xb5;

const HEAD_BYTES = 256 * 1024;
const NANOSECONDS = 1e9;

interface Element {
  readonly id: number;
  readonly body: Buffer;
}

export function webmFacts(held: HeldBytes): SoundFacts | undefined {
  const segment = child(elements(held.slice(0, HEAD_BYTES)), SEGMENT);
  const parts = elements(segment);
  const info = elements(child(parts, INFO));
  const scale = numberIn(child(info, TIMESTAMP_SCALE)) || 1e6;
  const tracks = elements(child(parts, TRACKS)).filter(({ id }) => id === TRACK);
  const rates = tracks.map(({ body }) => rateOf(elements(body)));
  const rate = rates.find(({ isVideo }) => isVideo) ?? rates.find((one) => one.rate > 0);
  return known({
    ...lasting(floatIn(child(info, DURATION)) * scale, NANOSECONDS),
    ...atRate(rate?.rate ?? 0),
  });
}

function rateOf(track: readonly Element[]): { readonly isVideo: boolean; readonly rate: number } {
  const isVideo = track.some(({ id }) => id === VIDEO);
  if (!isVideo) return { isVideo, rate: floatIn(child(elements(child(track, AUDIO)), SAMPLING_FREQUENCY)) };
  const frame = numberIn(child(track, DEFAULT_DURATION));
  return { isVideo, rate: frame > 0 ? NANOSECONDS / frame : 0 };
}

const EMPTY = Buffer.alloc(0);
const child = (all: readonly Element[], wanted: number): Buffer =>
  all.find(({ id }) => id === wanted)?.body ?? EMPTY;

/** The last one may be cut off, or have an unknown size. */
function elements(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const id = variable(bytes, at, false);
    const size = id && variable(bytes, at + id.length, true);
    if (id === undefined || size === undefined) break;
    const from = at + id.length + size.length;
    const isUnknown = size.value === 2 ** (7 * size.length) - 1;
    const to = isUnknown ? bytes.length : from + size.value;
    found.push({ id: id.value, body: bytes.subarray(from, to) });
    at = to;
  }
  return found;
}

interface Variable {
  readonly value: number;
  readonly length: number;
}

/** The zeros in front say how many bytes follow. @param isSize without the bit that ends them */
function variable(bytes: Buffer, at: number, isSize: boolean): Variable | undefined {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || at + length > bytes.length) return undefined;
  let value = isSize ? first & (0xff >> length) : first;
  for (let next = at + 1; next < at + length; next += 1) value = value * 256 + (bytes[next] ?? 0);
  return { value, length };
}

const numberIn = (bytes: Buffer): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

function floatIn(bytes: Buffer): number {
  if (bytes.length === 4) return bytes.readFloatBE(0);
  return bytes.length === 8 ? bytes.readDoubleBE(0) : 0;
}
