/** MP3 and AAC in ADTS frames. */
import type { HeldBytes } from './held-bytes.ts';
import { lasting, type SoundFacts } from './sound-facts.ts';

const FULL_RATES = [44_100, 48_000, 32_000] as const;
/** Of the rate, by the version in the frame: MPEG 2.5, none, 2 and 1. */
const DIVISORS = [4, 1, 2, 1] as const;
/** Kilobits per second of layer III, by the index in the frame: MPEG 1, then MPEG 2 and 2.5. */
const BITRATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320] as const;
const BITRATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160] as const;
const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const;

const FRAME_HEAD = 200;
/** Frames that are looked at. A longer file of one bitrate in so many is taken as constant. */
const MOST_FRAMES = 50;

interface Frame {
  readonly rate: number;
  readonly bytes: number;
  readonly samples: number;
  readonly bitsPerSecond: number;
}

/** Behind an ID3 tag. */
export function mpegFacts(held: HeldBytes): SoundFacts | undefined {
  const tag = held.slice(0, 10);
  const isTagged = tag.toString('latin1', 0, 3) === 'ID3';
  const start = isTagged ? 10 + syncSafe(tag) : 0;
  const head = held.slice(start, start + FRAME_HEAD);
  if (isAdts(head)) return adts(held, start);
  const frame = mp3Frame(head);
  if (frame === undefined) return undefined;
  const { rate } = frame;
  const frames = framesIn(head);
  if (frames > 0) return { rate, ...lasting(frames * frame.samples, rate) };
  const isConstant = isConstantRate(held, start, frame);
  return { rate, ...(isConstant && lasting(8 * (held.size - start - tailOf(held)), frame.bitsPerSecond)) };
}

/** Layer III only. */
function mp3Frame(head: Uint8Array): Frame | undefined {
  const [first = 0, second = 0, third = 0] = head;
  const version = (second >> 3) & 3;
  const full = FULL_RATES[(third >> 2) & 3];
  const isFrame = first === 0xff && (second & 0xe6) === 0xe2 && version !== 1;
  const kilobits = (version === 3 ? BITRATES_1 : BITRATES_2)[third >> 4];
  if (!isFrame || full === undefined || kilobits === undefined) return undefined;
  const rate = full / (DIVISORS[version] ?? 1);
  const samples = version === 3 ? 1_152 : 576;
  const bitsPerSecond = 1_000 * kilobits;
  const bytes = Math.floor((samples * bitsPerSecond) / 8 / rate) + ((third >> 1) & 1);
  return { rate, bytes, samples, bitsPerSecond };
}

/** 0 if the frame does not say how many follow. */
function framesIn(frame: Buffer): number {
  const at = Math.max(frame.indexOf('Xing', 0, 'latin1'), frame.indexOf('Info', 0, 'latin1'));
  if (at < 0 || at + 12 > frame.length || (frame.readUInt32BE(at + 4) & 1) === 0) return 0;
  return frame.readUInt32BE(at + 8);
}

/** Whether the first frames have one bitrate. */
function isConstantRate(held: HeldBytes, start: number, { bitsPerSecond, bytes }: Frame): boolean {
  let at = start + bytes;
  for (let count = 1; bitsPerSecond > 0 && count < MOST_FRAMES && at + 4 <= held.held; count += 1) {
    const next = mp3Frame(held.slice(at, at + 4));
    if (next === undefined) return at >= held.size - tailOf(held);
    if (next.bitsPerSecond !== bitsPerSecond) return false;
    at += next.bytes;
  }
  return bitsPerSecond > 0;
}

const TAG_BYTES = 128;

/** Bytes of an ID3v1 tag at the end. */
const tailOf = (held: HeldBytes): number =>
  held.isWhole && held.slice(held.size - TAG_BYTES, held.size - TAG_BYTES + 3).toString('latin1') === 'TAG'
    ? TAG_BYTES
    : 0;

const isAdts = ([first = 0, second = 0]: Uint8Array): boolean => first === 0xff && (second & 0xf6) === 0xf0;

/** Frames have no fixed size, so they are counted, if all are held. */
function adts(held: HeldBytes, start: number): SoundFacts | undefined {
  const rate = AAC_RATES[((held.slice(start + 2, start + 3)[0] ?? 0) >> 2) & 15];
  if (rate === undefined) return undefined;
  let [at, frames] = [start, 0];
  while (at + 7 <= held.held) {
    const head = held.slice(at, at + 7);
    const bytes = (head.readUIntBE(3, 3) >>> 5) & 0x1f_ff;
    if (!isAdts(head) || bytes < 7) break;
    at += bytes;
    frames += (head.readUInt8(6) & 3) + 1;
  }
  return { rate, ...(at === held.size && lasting(1_024 * frames, rate)) };
}

const syncSafe = (bytes: Buffer): number =>
  [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((bytes[at] ?? 0) & 0x7f), 0);
