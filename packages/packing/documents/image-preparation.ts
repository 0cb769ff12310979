/** Preparing images before they are packed: which members, under what name, and how large they will probably be. */

import type { ImageSettings } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { MediaFacts } from './documents.ts';
import type { Rejection } from './rejections.ts';
import { imageFormatOf } from './sniff.ts';

/**
 * The library that decodes and encodes. A plan names it, and only the same version packs that plan, because another may
 * give other bytes. A test compares it with the version that package.json pins.
 */
export const IMAGE_ENGINE = 'sharp 0.35.5, 6 formats';
/** The formats that the engine is allowed to decode: a release that decodes more of them packs other samples. */
export const WITH_FORMATS = ', 6 formats';

export type PreparedImage =
  | { readonly kind: 'prepared'; readonly bytes: Uint8Array; readonly media: MediaFacts }
  | { readonly kind: 'rejected'; readonly reason: Rejection };

/** Port of the image library. The same source, settings and `build` give the same bytes. */
export interface ImageEngine {
  /** Compared with IMAGE_ENGINE. */
  readonly name: string;
  /** Everything that the bytes depend on, such as "sharp 0.35.5, 6 formats, libvips 8.18.3, arm64". */
  readonly build: string;
  /** A bad image is a value. A thrown error is a fault of the machine. */
  prepare(source: Uint8Array, settings: ImageSettings, as?: 'image' | 'mask'): Promise<PreparedImage>;
}

export const DEFAULT_QUALITY = 90;
/** A larger object is rejected, because the whole object must be in memory. */
export const LARGEST_SOURCE_BYTES = 256e6;

const SUFFIXES: Readonly<Record<ImageSettings['format'], string>> = { jpeg: 'jpg', png: 'png', webp: 'webp' };

/** What of the declaration makes other images of the same ones; empty where they stay as they arrive. */
export function imageRuleOf({ prepare }: PackingSettings): Readonly<Record<string, unknown>> {
  if (prepare === undefined) return {};
  const { quality: _, mostMegapixels: _limit, expectedKilobytes: _size, ...rule } = prepare.image;
  return rule;
}

/** Images whose columns bear the names of their suffixes: they were no images to packing before it could decode them. */
const MORE_IMAGES = /(?:^|\.)(?:tiff?|avif|hei[cf])$/;
const isImage = (suffix: string): boolean => imageFormatOf(suffix) !== undefined || MORE_IMAGES.test(suffix);

/** How a member of this column and suffix is prepared; undefined if it stays as it is. */
export function preparedAs(
  { prepare }: PackingSettings,
  column: string,
  suffix: string,
): 'image' | 'mask' | undefined {
  if (prepare === undefined || !isImage(suffix)) return undefined;
  if (prepare.image.masks?.includes(column) === true) return 'mask';
  return prepare.image.columns.includes(column) ? 'image' : undefined;
}

/** A mask is always encoded without loss. */
export const encodedAs = ({ format }: ImageSettings, as: 'image' | 'mask'): ImageSettings['format'] =>
  as === 'mask' ? 'png' : format;

/**
 * Suffix of the prepared image: `seg.png` becomes `seg.jpg`. A number is added if the sample already has a member of
 * that suffix.
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

/** Pixels of the largest photograph (4:3) that the settings allow; undefined if nothing is resized. */
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
 * False for an image that would grow too large: one of 1x60,000 pixels, resized to a width of 256, would be 15 million
 * pixels high. The bound is the largest accepted image, or the declared size.
 */
export function staysInBounds({ width, height }: Sides, settings: ImageSettings): boolean {
  const { width: wide = 0, height: high = 0, fit = 'cover', mostMegapixels } = settings;
  const [byWidth, byHeight] = [wide / width, high / height];
  const isFreeSide = wide === 0 || high === 0 || fit === 'outside';
  const scale = Math.max(byWidth, byHeight);
  return !isFreeSide || width * height * scale * scale <= Math.max(mostMegapixels * 1e6, wide * high);
}

/** Bytes per pixel of small photographs, guessed high. `expectedKilobytes` replaces the guess. */
function bytesPerPixel({ format, quality = DEFAULT_QUALITY }: ImageSettings): number {
  if (format === 'png') return 2;
  const jpeg = quality < 60 ? 0.12 : quality < 80 ? 0.2 : quality < 93 ? 0.35 : 0.8;
  return format === 'webp' ? jpeg * 0.7 : jpeg;
}

/** Of a resized mask, whose few values compress well. */
const MASK_BYTES_PER_PIXEL = 0.25;

/** A guess for the plan, which is made before anything is decoded. */
export function expectedMaskBytes(settings: ImageSettings, sourceBytes: number): number {
  const pixels = mostPixels(settings);
  return pixels === undefined ? sourceBytes : Math.min(sourceBytes, Math.ceil(pixels * MASK_BYTES_PER_PIXEL));
}

/** The same guess for an image. */
export function expectedBytes(settings: ImageSettings, sourceBytes: number): number {
  if (settings.expectedKilobytes !== undefined) return Math.ceil(settings.expectedKilobytes * 1e3);
  const pixels = mostPixels(settings);
  if (pixels === undefined) return sourceBytes;
  const most = Math.ceil(pixels * bytesPerPixel(settings));
  const canGrow = settings.maxSide === undefined || settings.format === 'png';
  return canGrow ? most : Math.min(sourceBytes, most);
}

/**
 * Most bytes of sources in a shard. One image is decoded at a time, at 17 MB of small JPEGs per second of CPU or
 * faster, and a shard must be packed well within 15 minutes.
 */
export const MOST_PREPARED_SOURCE_BYTES = 4e9;
/** Most sources in a shard: an image takes about 5 ms, however small it is. */
export const MOST_PREPARED_OBJECTS = 50_000;
