/**
 * The image engine of packing: sharp (https://sharp.pixelplumbing.com). sharp is native, so it lies beside the bundle, in
 * a Lambda layer or in node_modules. Only a plan that prepares images loads it.
 */

import nodeModule from 'node:module';
import type { ImageSettings } from '@tidewheel/declaration/packing-settings.ts';
import {
  DEFAULT_QUALITY,
  type ImageEngine,
  imageLook,
  type PreparedImage,
  staysInBounds,
  WITH_FORMATS,
} from '@tidewheel/packing/images.ts';
import type { Sharp, default as SharpDefault } from 'sharp';
import { prepareMask } from './mask-engine.ts';

type SharpModule = typeof SharpDefault;

/** The only decoders that hostile bytes may reach. libvips has some thirty more, SVG among them. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Tiff', 'Heif'].map((name) => `VipsForeignLoad${name}`);

/** Bytes in which the brands of a container lie. */
const FIRST = 40;

/** By the first bytes, not by the name. HEIC and AVIF are one container whose brands name the codec. */
const FIRST_BYTES: Readonly<Record<string, RegExp>> = {
  '.jpg': /^\u00ff\u00d8\u00ff/,
  '.png': /^\u0089PNG\r\n[^]\n/,
  '.gif': /^GIF8[79]a/,
  '.webp': /^RIFF[^]{4}WEBP/,
  '.tiff': /^(?:II[*+]\0|MM\0[*+])/,
  '.avif': /^[^]{4}ftyp(?:avi[fs]|m[is]f1[^]{4}(?:[^]{4})*?avi[fs])/,
  '.heic': /^[^]{4}ftyp(?:hei[cxms]|hev[cxms]|mif1|msf1)/,
  // Ten bytes of sizes lie before the offset of the pixels.
  '.bmp': /^BM[^]{4}\0{4}/,
};

/** @returns the suffix of its format; undefined for anything that is none of these images */
function formatOf(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(FIRST, bytes.length)).toString('latin1');
  return Object.keys(FIRST_BYTES).find((suffix) => FIRST_BYTES[suffix]?.test(head));
}

/** Whether this build of sharp has a decoder: HEIC needs one that its own builds leave out for its patents. */
const decodes = ({ format }: SharpModule, suffix: string): boolean =>
  Object.values(format).some(
    ({ input }) => input.buffer && (input.fileSuffix ?? []).some((one: string) => one === suffix),
  );

function loaded(): SharpModule | undefined {
  try {
    /** Only `require` finds a layer's modules: `import` ignores NODE_PATH. */
    const found: SharpModule = nodeModule.createRequire(import.meta.url)('sharp');
    return found;
  } catch (error: unknown) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** One thread takes every image, and nothing is cached: memory holds one image at a time. */
function configure(sharp: SharpModule): void {
  sharp.cache(false);
  sharp.concurrency(1);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: LOADERS });
}

let engine: ImageEngine | undefined;

/** The engine of this process; undefined if sharp is not installed. */
export function openImageEngine(): ImageEngine | undefined {
  if (engine !== undefined) return engine;
  const sharp = loaded();
  if (sharp === undefined) return undefined;
  configure(sharp);
  const name = `sharp ${sharp.versions.sharp ?? 'of an unknown version'}${WITH_FORMATS}`;
  engine = {
    name,
    build: `${name}, libvips ${sharp.versions.vips}, ${process.arch}`,
    prepare: (source, settings, as) => prepare(sharp, source, { settings, as }),
  };
  return engine;
}

/** Only PNG of the known formats begins with it. */
const PNG_FIRST = 0x89;

async function prepare(
  sharp: SharpModule,
  source: Uint8Array,
  { settings, as }: { readonly settings: ImageSettings; readonly as: 'image' | 'mask' | undefined },
): Promise<PreparedImage> {
  const format = formatOf(source);
  if (format === undefined) return { kind: 'rejected', reason: 'imageUnknown' };
  if (!decodes(sharp, format)) return { kind: 'rejected', reason: 'imageNotDecodable' };
  if (as === 'mask' && source[0] !== PNG_FIRST) return { kind: 'rejected', reason: 'maskNotPng' };
  try {
    if (as === 'mask') return await prepareMask(source, { sharp, settings, resized });
    const limit = Math.floor(settings.mostMegapixels * 1e6);
    /** A decoder that warns has guessed pixels, so the image is damaged. Of an animation the first frame is taken. */
    const open = { limitInputPixels: limit, failOn: 'warning', pages: 1, sequentialRead: true } as const;
    const { width, height, autoOrient } = await sharp(source, {
      ...open,
      limitInputPixels: false,
    }).metadata();
    if (width * height > limit || !staysInBounds(autoOrient, settings))
      return { kind: 'rejected', reason: 'imageTooManyPixels' };
    const image = encoded(resized(sharp(source, open).autoOrient(), settings), settings);
    const { data, info } = await image.toBuffer({ resolveWithObject: true });
    const { width: wide, height: high } = info;
    const media = { width: wide, height: high, ...(await lookOf(sharp, data, settings)) };
    return { kind: 'prepared', bytes: data, media };
  } catch (error: unknown) {
    if (error instanceof Error && /memory|alloc|pthread|thread/i.test(error.message)) throw error;
    return { kind: 'rejected', reason: 'imageDamaged' };
  }
}

/** Of the pixels that a reader will decode. Transparent ones count as what is behind them. */
async function lookOf(sharp: SharpModule, image: Uint8Array, { background }: ImageSettings) {
  const { data, info } = await sharp(image)
    .flatten({ background })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return imageLook(data, info.width, info.height);
}

function resized(image: Sharp, settings: ImageSettings): Sharp {
  const { maxSide, width, height, fit, background } = settings;
  if (maxSide !== undefined)
    return image.resize({ width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true });
  if (width === undefined && height === undefined) return image;
  return image.resize({
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    fit: fit ?? 'cover',
    background,
  });
}

/** Names every option that decides bytes, so that no default of another version does. */
function encoded(image: Sharp, settings: ImageSettings): Sharp {
  const { format, quality = DEFAULT_QUALITY, background } = settings;
  const srgb = image.toColourspace('srgb');
  switch (format) {
    case 'jpeg':
      return srgb.flatten({ background }).jpeg({
        quality,
        progressive: false,
        chromaSubsampling: '4:2:0',
        optimiseCoding: true,
        mozjpeg: false,
      });
    case 'png':
      return srgb.png({ compressionLevel: 6, adaptiveFiltering: false, palette: false, progressive: false });
    case 'webp':
      return srgb.webp({ quality, alphaQuality: 100, effort: 4, lossless: false });
    default:
      return format satisfies never;
  }
}
