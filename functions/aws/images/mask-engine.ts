/** Resizes a mask like its image. No pixel gets a value that the mask does not have. */

import type { ImageSettings } from '@tidewheel/declaration/packing-settings.ts';
import { type PreparedImage, staysInBounds } from '@tidewheel/packing/images.ts';
import type { Sharp, default as SharpDefault } from 'sharp';
import { type Indexed, readIndexed, withPalette } from './png-palette.ts';

/** The colour spaces of a PNG, with bytes a channel. Reading in another space would convert its numbers. */
const SPACES = { 'b-w': 1, srgb: 1, grey16: 2, rgb16: 2 } as const;
const isSpace = (space: string): space is keyof typeof SPACES => Object.hasOwn(SPACES, space);

export interface MaskHow {
  readonly sharp: typeof SharpDefault;
  readonly settings: ImageSettings;
  readonly resized: (image: Sharp, settings: ImageSettings) => Sharp;
}

/** @param source a PNG: the other formats have guessed what was there, or have a palette that hides it */
export async function prepareMask(
  source: Uint8Array,
  { sharp, settings, resized }: MaskHow,
): Promise<PreparedImage> {
  const limit = Math.floor(settings.mostMegapixels * 1e6);
  const indexed = readIndexed(source);
  const bytes = indexed?.grey ?? source;
  // A colour profile would change the numbers.
  const open = { limitInputPixels: limit, failOn: 'warning', ignoreIcc: true } as const;
  const { width, height, space } = await sharp(bytes, { ...open, limitInputPixels: false }).metadata();
  if (width * height > limit || !staysInBounds({ width, height }, settings))
    return { kind: 'rejected', reason: 'imageTooManyPixels' };
  if (!isSpace(space)) return { kind: 'rejected', reason: 'imageDamaged' };
  const depth = SPACES[space] === 2 ? 'ushort' : 'uchar';
  const decoded = await sharp(bytes, open)
    .toColourspace(space)
    .raw({ depth })
    .toBuffer({ resolveWithObject: true });
  const { channels } = decoded.info;
  const geometry = await geometryOf({ width, height }, { sharp, settings, resized });
  const pixels = depth === 'ushort' ? wide(decoded.data) : decoded.data;
  if (indexed !== undefined)
    for (let at = 0; at < pixels.length; at += 1) pixels[at] = (pixels[at] ?? 0) / indexed.step;
  const count = geometry.result.width * geometry.result.height * channels;
  const sampled =
    pixels instanceof Uint16Array
      ? sampleMask(pixels, new Uint16Array(count), geometry)
      : sampleMask<Uint8Array>(pixels, new Uint8Array(count), geometry);
  const png = await sharp(sampled, { raw: { ...geometry.result, channels } })
    .toColourspace(space)
    .png({ compressionLevel: 6, adaptiveFiltering: false, palette: false, progressive: false })
    .toBuffer();
  const media = geometry.result;
  return { kind: 'prepared', bytes: await indexedAgain(png, indexed, sharp), media };
}

/** Decodes the result, which fails if the palette is missing or damaged. */
async function indexedAgain(
  png: Buffer,
  indexed: Indexed | undefined,
  sharp: typeof SharpDefault,
): Promise<Buffer> {
  if (indexed === undefined) return png;
  const finished = withPalette(png, indexed.palette);
  await sharp(finished, { failOn: 'warning' }).raw().toBuffer();
  return finished;
}

const wide = (bytes: Buffer): Uint16Array =>
  new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));

/** The resizing itself says its rounding, on a blank image, so that no rule repeats it. */
async function geometryOf(
  source: { width: number; height: number },
  { sharp, settings, resized }: MaskHow,
): Promise<Geometry> {
  const blank = sharp({ create: { ...source, channels: 3, background: '#000000' } });
  const { info } = await resized(blank, settings).raw().toBuffer({ resolveWithObject: true });
  const result = { width: info.width, height: info.height };
  const { width, height } = settings;
  const byWidth = result.width / source.width;
  const byHeight = result.height / source.height;
  const fit = width === undefined || height === undefined ? 'inside' : (settings.fit ?? 'cover');
  if (fit !== 'cover' && fit !== 'contain')
    return { source, result, scale: { x: byWidth, y: byHeight }, offset: { x: 0, y: 0 } };
  const scale = fit === 'cover' ? Math.max(byWidth, byHeight) : Math.min(byWidth, byHeight);
  const middle = (whole: number, seen: number): number =>
    fit === 'cover' ? Math.floor((whole - seen + 1) / 2) : -Math.floor((seen - whole) / 2);
  return {
    source,
    result,
    scale: { x: scale, y: scale },
    offset: {
      x: middle(Math.round(source.width * scale), result.width),
      y: middle(Math.round(source.height * scale), result.height),
    },
  };
}

// Resizes a mask to the nearest neighbour: each new pixel is the old pixel under its centre.

/** How an image was resized: it was scaled as a whole, then cropped or padded. */
interface Geometry {
  readonly source: { readonly width: number; readonly height: number };
  /** Scale of the whole image, before it was cropped or padded. */
  readonly scale: { readonly x: number; readonly y: number };
  readonly result: { readonly width: number; readonly height: number };
  /** The result's first pixel in the scaled image; below 0 if it lies in the padding. */
  readonly offset: { readonly x: number; readonly y: number };
}

/** For each column or row of the result that of the source; -1 in the padding. */
function sources(result: number, source: number, scale: number, offset: number): Int32Array {
  const whole = Math.round(source * scale);
  return Int32Array.from({ length: result }, (_, place) => {
    const at = place + offset;
    if (at < 0 || at >= whole) return -1;
    return Math.min(source - 1, Math.floor((at + 0.5) / scale));
  });
}

/** @param pixels the numbers of each channel, pixel by pixel, row by row. Padding is 0 */
function sampleMask<Pixels extends Uint8Array | Uint16Array>(
  pixels: Pixels,
  into: Pixels,
  { source, scale, result, offset }: Geometry,
): Pixels {
  const channels = pixels.length / (source.width * source.height);
  const columns = sources(result.width, source.width, scale.x, offset.x);
  const rows = sources(result.height, source.height, scale.y, offset.y);
  let to = 0;
  for (const row of rows)
    for (const column of columns) {
      const from = (row * source.width + column) * channels;
      if (row >= 0 && column >= 0)
        for (let channel = 0; channel < channels; channel += 1)
          into[to + channel] = pixels[from + channel] ?? 0;
      to += channels;
    }
  return into;
}
