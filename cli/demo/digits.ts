/**
 * The demo's data: 1,797 scanned digits as single PNG files, the way a user's data arrives.
 * Format and licence: training/data/digits/README.md.
 */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32, deflateSync, gunzip } from 'node:zlib';

export interface DigitImage {
  /** `<label>/<number of the line, four digits>.png` */
  readonly key: string;
  readonly bytes: Buffer;
  /** 0 to 9 */
  readonly label: number;
}

const SOURCE = new URL('../../training/data/digits/digits.csv.gz', import.meta.url);
const SIDE_PIXELS = 8;
const BRIGHTEST = 16;
const PIXELS = SIDE_PIXELS * SIDE_PIXELS;

/** Yields every image in the order of the file; the same bytes on every machine. */
export async function* digitImages(): AsyncIterable<DigitImage> {
  const text = (await promisify(gunzip)(await readFile(SOURCE))).toString('ascii');
  for (const [index, line] of text.trimEnd().split('\n').entries()) {
    const values = line.split(',').map(Number);
    const label = values[PIXELS];
    if (label === undefined || values.length !== PIXELS + 1 || !values.every((value) => isShade(value))) {
      throw new Error(`digits.csv.gz, line ${index + 1}: expected 65 whole numbers from 0 to 16`);
    }
    const key = `${label}/${String(index).padStart(4, '0')}.png`;
    yield { key, bytes: grayscalePng(values.slice(0, PIXELS)), label };
  }
}

const isShade = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= BRIGHTEST;

/** Eight bits a pixel, 0 to 16 stretched to 0 to 255. Specification: https://www.w3.org/TR/png/ */
function grayscalePng(shades: readonly number[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE_PIXELS, 0);
  header.writeUInt32BE(SIDE_PIXELS, 4);
  header.writeUInt8(8, 8); // bits per sample; the rest stays 0: grayscale, deflate, no interlace
  const rows = Buffer.alloc(SIDE_PIXELS * (SIDE_PIXELS + 1)); // each row starts with filter type 0
  for (const [index, shade] of shades.entries()) {
    const row = Math.floor(index / SIDE_PIXELS);
    rows.writeUInt8(Math.round((shade * 255) / BRIGHTEST), index + row + 1);
  }
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    // Stored, not compressed: the bytes then do not depend on the version of zlib.
    chunk('IDAT', deflateSync(rows, { level: 0 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
