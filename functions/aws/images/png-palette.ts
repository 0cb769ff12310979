/**
 * PNGs whose pixels are indexes into a palette. Many masks are such: the index is the class, and the colour only shows it.
 * Decoders give colours, so the file is read as if the indexes were grey, and gets its palette back.
 * https://www.w3.org/TR/png-3/#11Chunks
 */
import { crc32 } from 'node:zlib';

const HEAD = 8;
/** Bytes of a chunk beside its data: length, name, and a CRC-32 of name and data. */
const FRAME = 12;
const COLOUR_TYPE = 9;
const GREY = 0;
const INDEXED = 3;

export interface Indexed {
  /** The same file with the indexes as grey. */
  readonly grey: Buffer;
  /** The grey value of index 1, once the file's few bits are spread over 8. */
  readonly step: number;
  /** The PLTE and tRNS chunks. */
  readonly palette: Buffer;
}

interface Chunk {
  readonly name: string;
  readonly whole: Buffer;
}

function* chunksOf(png: Buffer): Generator<Chunk> {
  for (let at = HEAD; at + FRAME <= png.length; ) {
    const end = at + FRAME + png.readUInt32BE(at);
    yield { name: png.toString('latin1', at + 4, at + 8), whole: png.subarray(at, end) };
    at = end;
  }
}

function withColourType(header: Buffer, type: number): Buffer {
  const changed = Buffer.from(header);
  changed[8 + COLOUR_TYPE] = type;
  changed.writeUInt32BE(crc32(changed.subarray(4, -4)), changed.length - 4);
  return changed;
}

/** Undefined for a PNG without a palette. */
export function readIndexed(source: Uint8Array): Indexed | undefined {
  const png = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const [header, ...others] = [...chunksOf(png)];
  if (header?.name !== 'IHDR' || header.whole.length !== FRAME + 13) return undefined;
  if (header.whole[8 + COLOUR_TYPE] !== INDEXED) return undefined;
  const bits = header.whole[16] ?? 8;
  const isPalette = ({ name }: Chunk): boolean => name === 'PLTE' || name === 'tRNS';
  const kept = others.filter(({ name }) => name === 'IDAT' || name === 'IEND');
  const grey = [png.subarray(0, HEAD), withColourType(header.whole, GREY), ...kept.map(({ whole }) => whole)];
  return {
    grey: Buffer.concat(grey),
    step: 255 / (2 ** bits - 1),
    palette: Buffer.concat(others.filter(isPalette).map(({ whole }) => whole)),
  };
}

/** @param png grey, of 8 bits, with IHDR first */
export function withPalette(png: Buffer, palette: Buffer): Buffer {
  const headerEnd = HEAD + FRAME + 13;
  return Buffer.concat([
    png.subarray(0, HEAD),
    withColourType(png.subarray(HEAD, headerEnd), INDEXED),
    palette,
    png.subarray(headerEnd),
  ]);
}
