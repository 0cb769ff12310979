/** Preparing images before they are packed: which members, under what name, how large they may be expected to get. */
import type { ImageSettings } from '../../pipeline/packing-parts.ts';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { Rejection } from './rejections.ts';
import { promisedImage } from './sniff.ts';

/**
 * What decodes and encodes. A plan names it, and only the very same version packs that plan: another may give other
 * bytes. A test compares it with what package.json pins.
 */
export const IMAGE_ENGINE = 'sharp 0.35.5';

export type PreparedImage =
  | { readonly kind: 'prepared'; readonly bytes: Uint8Array }
  | { readonly kind: 'rejected'; readonly reason: Rejection };

/** Port of the image library. The same source, settings and `build` give the same bytes. */
export interface ImageEngine {
  /** As IMAGE_ENGINE. */
  readonly name: string;
  /** All that the bytes depend on, such as "sharp 0.35.5, libvips 8.18.3, arm64". */
  readonly build: string;
  /** What cannot be decoded is a value; a thrown error is a fault of the machine. */
  prepare(source: Uint8Array, settings: ImageSettings, as?: 'image' | 'mask'): Promise<PreparedImage>;
}

export const DEFAULT_QUALITY = 90;
/** A larger object is refused: it has to be in memory as a whole. */
export const LARGEST_SOURCE_BYTES = 256e6;

const SUFFIXES: Readonly<Record<ImageSettings['format'], string>> = { jpeg: 'jpg', png: 'png', webp: 'webp' };

/** As what a member of this column and suffix is prepared, if at all. */
export function preparedAs(
  { prepare }: PackingSettings,
  column: string,
  suffix: string,
): 'image' | 'mask' | undefined {
  if (prepare === undefined || promisedImage(suffix) === undefined) return undefined;
  if (prepare.image.masks?.includes(column) === true) return 'mask';
  return prepare.image.columns.includes(column) ? 'image' : undefined;
}

/** What it is encoded as: nothing of a mask may be lost. */
export const encodedAs = ({ format }: ImageSettings, as: 'image' | 'mask'): ImageSettings['format'] =>
  as === 'mask' ? 'png' : format;

/**
 * Suffix of the prepared image, with that of its format: `seg.png` becomes `seg.jpg`. Where the sample has a member of
 * that suffix already, a number tells them apart.
 */
export function preparedSuffix(
  suffix: string,
  format: ImageSettings['format'],
  others: ReadonlySet<string>,
): string {
  const inner = suffix.slice(0, Math.max(0, suffix.lastIndexOf('.')));
  const wanted = inner === '' ? SUFFIXES[format] : `${inner}.${SUFFIXES[format]}`;
  if (!others.has(wanted)) return wanted;
  for (let number = 2; ; number += 1) {
    const other = `image${number}.${SUFFIXES[format]}`;
    if (!others.has(other)) return other;
  }
}

/** Pixels of the largest image that the settings allow, or undefined when nothing is resized; photographs are 4:3. */
function mostPixels({ maxSide, width, height }: ImageSettings): number | undefined {
  if (maxSide !== undefined) return maxSide * maxSide * 0.75;
  if (width !== undefined && height !== undefined) return width * height;
  const side = width ?? height;
  return side === undefined ? undefined : side * side * 1.33;
}

interface Sides {
  readonly width: number;
  readonly height: number;
}

/**
 * False for an image that would grow beyond all measure: one of 1x60,000 pixels that is to be 256 wide would be 15 million
 * high. Every image may become as large as the largest that is taken, or as was asked for.
 */
export function staysInBounds({ width, height }: Sides, settings: ImageSettings): boolean {
  const { width: wide = 0, height: high = 0, fit = 'cover', mostMegapixels } = settings;
  const [byWidth, byHeight] = [wide / width, high / height];
  const isFreeSide = wide === 0 || high === 0 || fit === 'outside';
  const scale = Math.max(byWidth, byHeight);
  return !isFreeSide || width * height * scale * scale <= Math.max(mostMegapixels * 1e6, wide * high);
}

/** Bytes a pixel of small photographs, a guess on the high side; expectedKilobytes is for those who know better. */
function bytesPerPixel({ format, quality = DEFAULT_QUALITY }: ImageSettings): number {
  if (format === 'png') return 2;
  const jpeg = quality < 60 ? 0.12 : quality < 80 ? 0.2 : quality < 93 ? 0.35 : 0.8;
  return format === 'webp' ? jpeg * 0.7 : jpeg;
}

/** Of a mask at its new size: of few values, it is packed well. */
const MASK_BYTES_PER_PIXEL = 0.25;

/** By which shards are planned, before anything is decoded. */
export function expectedMaskBytes(settings: ImageSettings, sourceBytes: number): number {
  const pixels = mostPixels(settings);
  return pixels === undefined ? sourceBytes : Math.min(sourceBytes, Math.ceil(pixels * MASK_BYTES_PER_PIXEL));
}

/** As expectedMaskBytes, of an image. */
export function expectedBytes(settings: ImageSettings, sourceBytes: number): number {
  if (settings.expectedKilobytes !== undefined) return Math.ceil(settings.expectedKilobytes * 1e3);
  const pixels = mostPixels(settings);
  if (pixels === undefined) return sourceBytes;
  const most = Math.ceil(pixels * bytesPerPixel(settings));
  const canGrow = settings.maxSide === undefined || settings.format === 'png';
  return canGrow ? most : Math.min(sourceBytes, most);
}

/**
 * Decoding takes 1 s of CPU for 17 MB of small JPEGs (more of large ones), one image at a time: a shard must be packed
 * well inside 15 minutes.
 */
export const MOST_PREPARED_SOURCE_BYTES = 4e9;
/** And about 5 ms an image, however small it is. */
export const MOST_PREPARED_OBJECTS = 50_000;
