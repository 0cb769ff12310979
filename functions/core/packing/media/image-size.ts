/** Width and height of an image, by its header. The bytes are hostile: whatever is not understood gives undefined. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Reads numbers out of bytes; beyond the end they are 0. */
class Bytes {
  readonly #view: DataView;
  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length(): number {
    return this.#view.byteLength;
  }

  u8(at: number): number {
    return at + 1 <= this.length ? this.#view.getUint8(at) : 0;
  }

  u16(at: number, little = false): number {
    return at + 2 <= this.length ? this.#view.getUint16(at, little) : 0;
  }

  u24(at: number): number {
    return this.u16(at, true) + this.u8(at + 2) * 65_536;
  }

  u32(at: number, little = false): number {
    return at + 4 <= this.length ? this.#view.getUint32(at, little) : 0;
  }
}

const ascii = (text: string): number => Buffer.from(text, 'latin1').readUInt32BE();
const [RIFF, WEBP, VP8, VP8L, VP8X] = ['RIFF', 'WEBP', 'VP8 ', 'VP8L', 'VP8X'].map(ascii);
const [GIF8, FTYP, ISPE] = ['GIF8', 'ftyp', 'ispe'].map(ascii);
const PNG = 0x89_50_4e_47;
const TIFF_LITTLE = 0x49_49_2a_00;
const TIFF_BIG = 0x4d_4d_00_2a;

/** @param head the first bytes of the file, up to HEAD_BYTES of media-facts.ts */
export function imageSize(head: Uint8Array): ImageSize | undefined {
  const bytes = new Bytes(head);
  const size = sizeIn(bytes);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function sizeIn(bytes: Bytes): ImageSize | undefined {
  const magic = bytes.u32(0);
  if (magic >>> 8 === 0xff_d8_ff) return jpegSize(bytes);
  if (magic === PNG) return { width: bytes.u32(16), height: bytes.u32(20) };
  if (magic === GIF8) return { width: bytes.u16(6, true), height: bytes.u16(8, true) };
  if (magic === RIFF && bytes.u32(8) === WEBP) return webpSize(bytes);
  if (magic === TIFF_LITTLE || magic === TIFF_BIG) return tiffSize(bytes, magic === TIFF_LITTLE);
  if (bytes.u32(4) === FTYP) return isoSize(bytes);
  // A BMP from top to bottom has a negative height.
  if (magic >>> 16 === 0x42_4d && bytes.u32(14, true) >= 40)
    return { width: bytes.u32(18, true), height: Math.abs(bytes.u32(22, true) | 0) };
  return undefined;
}

/** Goes from marker to marker up to the frame header (SOF), which is one of C0 to CF except C4, C8 and CC. */
function jpegSize(bytes: Bytes): ImageSize | undefined {
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes.u8(at) !== 0xff) return undefined;
    const marker = bytes.u8(at + 1);
    if (marker === 0xff) at += 1;
    else if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return { height: bytes.u16(at + 5), width: bytes.u16(at + 7) };
    else at += 2 + Math.max(2, bytes.u16(at + 2));
  }
  return undefined;
}

function webpSize(bytes: Bytes): ImageSize | undefined {
  const chunk = bytes.u32(12);
  if (chunk === VP8X) return { width: bytes.u24(24) + 1, height: bytes.u24(27) + 1 };
  if (chunk === VP8) return { width: bytes.u16(26, true) & 0x3fff, height: bytes.u16(28, true) & 0x3fff };
  if (chunk !== VP8L) return undefined;
  const packed = bytes.u32(21, true);
  return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
}

/** Tags 256 and 257 of the first directory. A directory that lies behind the head is not found. */
function tiffSize(bytes: Bytes, little: boolean): ImageSize | undefined {
  const at = bytes.u32(4, little);
  const entries = Math.min(bytes.u16(at, little), 1_000);
  let [width, height] = [0, 0];
  for (let index = 0; index < entries; index += 1) {
    const entry = at + 2 + index * 12;
    const tag = bytes.u16(entry, little);
    const value =
      bytes.u16(entry + 2, little) === 3 ? bytes.u16(entry + 8, little) : bytes.u32(entry + 8, little);
    if (tag === 256) width = value;
    else if (tag === 257) height = value;
  }
  return { width, height };
}

/** AVIF and HEIC: the largest `ispe` property, because thumbnails and tiles have their own. */
function isoSize(bytes: Bytes): ImageSize | undefined {
  let best: ImageSize | undefined;
  const end = Math.min(bytes.length - 16, 16_384);
  for (let at = 8; at < end; at += 1) {
    if (bytes.u8(at) !== 0x69 || bytes.u32(at) !== ISPE) continue;
    const size = { width: bytes.u32(at + 8), height: bytes.u32(at + 12) };
    if (best === undefined || size.width * size.height > best.width * best.height) best = size;
  }
  return best;
}
