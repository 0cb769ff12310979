/** Audio and video files with true headers and silent or empty contents. */

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
export const movie = (isVideo: boolean, indexAt: 'front' | 'end'): Buffer =>
  movieOf([track('soun', SOUND), ...(isVideo ? [track('vide', VIDEO)] : [])], { indexAt });

interface MovieForm {
  readonly indexAt?: 'front' | 'end';
  readonly brand?: string;
}

export function movieOf(
  tracks: readonly Buffer[],
  { indexAt = 'front', brand = 'isom' }: MovieForm = {},
): Buffer {
  const index = box('moov', box('mvhd', numbers(0, 0, 1_000, 3_000), Buffer.alloc(80)), ...tracks);
  const data = box('mdat', Buffer.alloc(300_000));
  const start = box('ftyp', Buffer.from(`${brand}\0\0\0\0isom`));
  return Buffer.concat(indexAt === 'front' ? [start, index, data] : [start, data, index]);
}
