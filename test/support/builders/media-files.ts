/** Audio and video files with true headers and silent or empty contents. */

const many = (count: number, bytes: Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => bytes));

const LAYER_3 = [0xff, 0xfb] as const;
/** The index of 64 kbit/s, at 44,100 Hz: 208 bytes a frame. */
export const KBITS_64 = 0x50;
/** Of 128 kbit/s: 417 bytes. */
export const KBITS_128 = 0x90;

export function mp3Frame(bitrate: number): Buffer {
  const frame = Buffer.alloc(bitrate === KBITS_64 ? 208 : 417);
  frame.set([...LAYER_3, bitrate, 0]);
  return frame;
}

/** Frames of one bitrate, behind a tag. */
export function constantMp3(frames: number): Buffer {
  const tag = Buffer.alloc(10 + 200);
  tag.write('ID3');
  tag.set([1, 72], 8);
  return Buffer.concat([tag, many(frames, mp3Frame(KBITS_64))]);
}

/** AAC at 44,100 Hz in frames of 1,024 samples. */
export function adts(frames: number): Buffer {
  const frame = Buffer.alloc(100);
  frame.set([0xff, 0xf1, 4 << 2, 0]);
  frame.writeUInt16BE(100 << 5, 4);
  return many(frames, frame);
}

function oggPage(packet: Buffer, position: bigint): Buffer {
  const head = Buffer.alloc(28);
  head.write('OggS');
  head.writeBigInt64LE(position, 6);
  head.writeUInt32LE(77, 14);
  head.set([1, packet.length], 26);
  return Buffer.concat([head, packet]);
}

/** @param samples at 48,000 Hz, of which the first `skipped` are not heard */
export function opus(samples: number, skipped: number): Buffer {
  const packet = Buffer.alloc(19);
  packet.write('OpusHead');
  packet.writeUInt16LE(skipped, 10);
  const sound = oggPage(Buffer.alloc(200), BigInt(samples));
  return Buffer.concat([oggPage(packet, 0n), oggPage(Buffer.alloc(200), -1n), sound]);
}

export function vorbis(samples: number, rate: number): Buffer {
  const packet = Buffer.alloc(30);
  packet.write('\u0001vorbis', 'latin1');
  packet.writeUInt32LE(rate, 12);
  return Buffer.concat([oggPage(packet, 0n), oggPage(Buffer.alloc(200), BigInt(samples))]);
}

export function box(name: string, ...contents: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + contents.reduce((sum, { length }) => sum + length, 0));
  head.write(name, 4);
  return Buffer.concat([head, ...contents]);
}

/** Numbers of 32 bits behind the version, which is 0. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + 4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 + 4 * at);
  return bytes;
}

interface TrackLength {
  /** Units per second. */
  readonly scale: number;
  readonly units: number;
  readonly frames: number;
  /** Of the table of frames; those behind the first are empty. */
  readonly entries?: number;
}

export const track = (kind: string, { scale, units, frames, entries = 1 }: TrackLength): Buffer =>
  box(
    'trak',
    box(
      'mdia',
      box('mdhd', numbers(0, 0, scale, units, 0)),
      box('hdlr', Buffer.concat([Buffer.alloc(8), Buffer.from(kind), Buffer.alloc(12)])),
      box(
        'minf',
        box('stbl', box('stts', numbers(entries, frames, units / frames), Buffer.alloc(8 * (entries - 1)))),
      ),
    ),
  );

export const VIDEO: TrackLength = { scale: 12_800, units: 38_400, frames: 75 };
export const SOUND: TrackLength = { scale: 44_100, units: 132_300, frames: 100 };

/** Three seconds of sound at 44,100 Hz and, if wanted, of video with 25 frames a second. */
export function movie(isVideo: boolean, indexAt: 'front' | 'end'): Buffer {
  const tracks = [track('soun', SOUND), ...(isVideo ? [track('vide', VIDEO)] : [])];
  const index = box('moov', box('mvhd', numbers(0, 0, 1_000, 3_000), Buffer.alloc(80)), ...tracks);
  const data = box('mdat', Buffer.alloc(300_000));
  const start = box('ftyp', Buffer.from('isom\0\0\0\0isom'));
  return Buffer.concat(indexAt === 'front' ? [start, index, data] : [start, data, index]);
}

interface LateMovie {
  readonly brand?: string;
  /** Bytes between the boxes. */
  readonly data?: number;
  /** The data has a size of 64 bits. */
  readonly isLong?: boolean;
  /** Between the data and the index. */
  readonly before?: readonly Buffer[];
  readonly tracks?: readonly Buffer[];
}

/** Three seconds with the index behind the data. */
export function lateMovie({
  brand = 'isom',
  data = 300_000,
  isLong,
  before = [],
  tracks,
}: LateMovie): Buffer {
  const mdat = box('mdat', Buffer.alloc(isLong === true ? data + 8 : data));
  if (isLong === true) {
    mdat.writeUInt32BE(1);
    mdat.writeBigUInt64BE(BigInt(mdat.length), 8);
  }
  const index = box(
    'moov',
    box('mvhd', numbers(0, 0, 1_000, 3_000), Buffer.alloc(80)),
    ...(tracks ?? [track('vide', VIDEO)]),
  );
  return Buffer.concat([box('ftyp', Buffer.from(`${brand}\0\0\0\0`)), mdat, ...before, index]);
}

function element(id: string, body: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(0x10_00_00_00 + body.length);
  return Buffer.concat([Buffer.from(id, 'hex'), size, body]);
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

const audioTrack = element('ae', element('e1', element('b5', double(48_000))));
/** 40 ms a frame. */
const videoTrack = element(
  'ae',
  Buffer.concat([element('23e383', Buffer.from('02625a00', 'hex')), element('e0', Buffer.alloc(4))]),
);

/** Three seconds, in a segment of unknown size as recorders write it. */
export function webm(isVideo: boolean): Buffer {
  const info = Buffer.concat([
    element('2ad7b1', Buffer.from('0f4240', 'hex')),
    element('4489', double(3_000)),
  ]);
  const tracks = Buffer.concat(isVideo ? [audioTrack, videoTrack] : [audioTrack]);
  const segment = Buffer.concat([
    Buffer.from('1853806701ffffffffffffff', 'hex'),
    element('1549a966', info),
    element('1654ae6b', tracks),
  ]);
  return Buffer.concat([element('1a45dfa3', Buffer.alloc(20)), segment]);
}
