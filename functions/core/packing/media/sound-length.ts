/**
 * Duration and sample rate of audio and video, where the first bytes tell. The bytes are hostile: whatever is not
 * understood gives undefined.
 */

export interface SoundFacts {
  readonly seconds?: number;
  /** Samples per second of the audio. */
  readonly rate?: number;
}

const latin = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end);

/**
 * @param head the first bytes of the file
 * @param size bytes of the whole file
 */
export function soundFacts(head: Uint8Array, size: number): SoundFacts | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (bytes.length < 44) return undefined;
  const magic = latin(bytes, 0, 4);
  if (magic === 'RIFF' && latin(bytes, 8, 12) === 'WAVE') return wave(bytes, size);
  if (magic === 'fLaC') return flac(bytes);
  if (latin(bytes, 4, 8) === 'ftyp') return movie(bytes);
  if (magic.startsWith('ID3') || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe6) === 0xe2)) return mpeg(bytes);
  return undefined;
}

const rounded = (seconds: number): number => Math.round(seconds * 1e3) / 1e3;
const lasting = (units: number, perSecond: number): SoundFacts =>
  perSecond > 0 && units > 0 ? { seconds: rounded(units / perSecond) } : {};

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

const RATES = [44_100, 48_000, 32_000] as const;

/** The rate is that of the first frame. A duration needs a Xing or Info tag, which tells the number of frames. */
function mpeg(bytes: Buffer): SoundFacts | undefined {
  const start = latin(bytes, 0, 3) === 'ID3' ? 10 + syncSafe(bytes) : 0;
  const frame = bytes.subarray(start, start + 200);
  const version = ((frame[1] ?? 0) >> 3) & 3;
  const full = RATES[((frame[2] ?? 0) >> 2) & 3];
  if (frame[0] !== 0xff || ((frame[1] ?? 0) & 0xe0) !== 0xe0 || full === undefined || version === 1)
    return undefined;
  const rate = full / (version === 3 ? 1 : version === 2 ? 2 : 4);
  return { rate, ...lasting(framesIn(frame) * (version === 3 ? 1_152 : 576), rate) };
}

/** 0 if the frame does not tell. */
function framesIn(frame: Buffer): number {
  const at = Math.max(frame.indexOf('Xing', 0, 'latin1'), frame.indexOf('Info', 0, 'latin1'));
  if (at < 0 || at + 12 > frame.length || (frame.readUInt32BE(at + 4) & 1) === 0) return 0;
  return frame.readUInt32BE(at + 8);
}

const syncSafe = (bytes: Buffer): number =>
  [6, 7, 8, 9].reduce((sum, at) => sum * 128 + ((bytes[at] ?? 0) & 0x7f), 0);

/** MP4 and QuickTime: `mvhd` of a `moov` that lies at the front. */
function movie(bytes: Buffer): SoundFacts | undefined {
  const at = bytes.indexOf('mvhd', 0, 'latin1');
  if (at < 0 || at + 36 > bytes.length) return undefined;
  const isLong = bytes[at + 4] === 1;
  const scale = bytes.readUInt32BE(at + (isLong ? 24 : 16));
  const units = isLong ? Number(bytes.readBigUInt64BE(at + 28)) : bytes.readUInt32BE(at + 20);
  const facts = lasting(units, scale);
  return facts.seconds === undefined ? undefined : facts;
}
