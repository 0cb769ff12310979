/**
 * Names of members in a shard. Any S3 key becomes a relative path that every reader accepts. Ordinary keys keep their
 * name. Any other key gets a cleaned name with a digest of the original, so that two keys never share a name. The
 * member list holds the original key beside the name.
 */

import { hash } from 'node:crypto';

export interface SplitKey {
  /** Directories and base name, without the suffix. */
  readonly stem: string;
  /** Without its leading dot; empty if there is none. */
  readonly suffix: string;
}

/** An inner part of a double suffix such as `seg` in `a.seg.png`; numbers and dates belong to the stem. */
const INNER_PART = /^[A-Za-z_][A-Za-z0-9_-]{0,15}$/;

/** Words between dots that say what a member of a sample is. Any other, as in `paypal.com.png`, belongs to the stem. */
export const INNER_SUFFIXES: readonly string[] = `
  image img rgb rgba gray thermal input output target source src tgt ref reference gt pred left right front back
  rear top bottom before after low high lr hr clean noisy cam camera view label labels cls class seg segm
  segmentation semantic instance panoptic mask masks matte alpha trimap depth disp disparity normal normals flow edge
  edges pose keypoints landmarks box boxes bbox bboxes text txt caption captions prompt transcript meta metadata
  emb embedding embeddings feat feature features latent latents audio video speech noise mix mixture vocals drums bass
  other jpg jpeg png webp gif bmp tif tiff avif ome wav mp3 flac ogg mp4 npy npz json jsonl csv xml yaml nii tar`
  .trim()
  .split(/\s+/);

/** The word before one is a suffix too: `nii.gz`. */
const COMPRESSIONS = /\.(gz|bz2|xz|zst|lz4)$/i;

/** A file that holds others. */
export const isArchive = (key: string): boolean =>
  /\.(zip|tar|tgz|tbz2|txz|tar\.(gz|bz2|xz|zst|lz4)|7z|rar)$/i.test(key);

/** An archive that can be unpacked. */
export const unpackedKind = (key: string): 'zip' | 'tar' | 'tgz' | undefined => {
  if (/\.zip$/i.test(key)) return 'zip';
  return /\.(tgz|tar\.gz)$/i.test(key) ? 'tgz' : /\.tar$/i.test(key) ? 'tar' : undefined;
};

const isNamed = (part: string, inner: readonly string[]): boolean =>
  inner.includes(part.toLowerCase()) || inner.includes(part.toLowerCase().replace(/[_-]?\d+$/, ''));

/**
 * Splits a key (without the incoming prefix) at the first dot of its base name after which everything reads as a
 * suffix. `a/b.seg.png` gives `a/b` and `seg.png`; `frame.0001.jpg` gives `frame.0001` and `jpg`.
 * @param inner words that are suffixes between dots; any, where earlier releases began the dataset
 */
export function splitKey(key: string, inner?: readonly string[]): SplitKey {
  const start = key.lastIndexOf('/') + 1;
  const last = key.lastIndexOf('.');
  let dot = last;
  if (dot <= start) return { stem: key, suffix: '' };
  for (;;) {
    const previous = key.lastIndexOf('.', dot - 1);
    const part = key.slice(previous + 1, dot);
    if (previous <= start || !INNER_PART.test(part)) break;
    const isCompressed = dot === last && COMPRESSIONS.test(key);
    if (inner !== undefined && !isNamed(part, inner) && !isCompressed) break;
    dot = previous;
  }
  return { stem: key.slice(0, dot), suffix: key.slice(dot + 1) };
}

/** Whether a dot inside a name joins the key to a sample, or stays in its name. */
export function dotsIn({ stem, suffix }: SplitKey): 'joined' | 'named' | undefined {
  if (INNER_PART.test(/\.([^./]+)$/.exec(stem)?.[1] ?? '')) return 'named';
  return suffix.replace(COMPRESSIONS, '').includes('.') ? 'joined' : undefined;
}

/** Characters that are invisible, or that shells, tar or Windows treat specially. */
const ODD = /[\p{C}\p{Zl}\p{Zp}\\~:*?"<>|%]/gu;
/** File systems take 255 bytes between slashes. Stem, digest, number of a copy and suffix fit into them together. */
const LONGEST_LAST_BYTES = 130;
const LONGEST_STEM_BYTES = 200;
const DIGEST_DIGITS = 24;

const digestOf = (text: string): string => hash('sha256', text).slice(0, DIGEST_DIGITS);

/** A folder that is named like a file, as in `a.jpg/b.jpg`. `a.jpg` may be a key too, and no disk can hold both. */
const LIKE_A_FILE = /\.(?=[a-z]{2}[a-z0-9]{0,6}$)/i;

function cleanSegment(segment: string, last: boolean): string {
  let clean = segment.replace(ODD, '_');
  clean = last ? clean.replaceAll('.', '_') : clean.replace(LIKE_A_FILE, '_');
  if (/^\.+$/.test(clean) || clean === '') return '_';
  // WebDataset skips members whose path has a segment like `__this__`. A leading blank or dot hides files.
  if (/^__.*__$/s.test(clean)) clean = `x${clean}`;
  return clean.replace(/^[.\s]/, '_').replace(/\s$/, '_');
}

const isShort = (text: string): boolean =>
  Buffer.byteLength(text) <= LONGEST_STEM_BYTES &&
  Buffer.byteLength(text) - Buffer.byteLength(text.slice(0, text.lastIndexOf('/') + 1)) <= LONGEST_LAST_BYTES;

/** A folder may become the last segment, in which readers take a dot for the beginning of the suffix. */
function shorten(text: string): string {
  if (isShort(text)) return text;
  const short = Buffer.from(text)
    .subarray(0, LONGEST_LAST_BYTES)
    .toString('utf8')
    .replace(/\uFFFD+$/u, '')
    .replace(/[/\s]+$/, '_');
  const last = short.lastIndexOf('/') + 1;
  return short.slice(0, last) + short.slice(last).replaceAll('.', '_');
}

const isFlat = (text: string): boolean =>
  /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/.test(text) &&
  !text.includes('__') &&
  (text.length <= LONGEST_LAST_BYTES || isShort(text));

/**
 * The stem in the shard.
 * @param identity the whole key of a member that must stand alone, because another has the same stem and suffix
 */
export function memberStem(stem: string, identity?: string): string {
  if (identity === undefined && isFlat(stem)) return stem;
  const segments = stem.split('/');
  const clean = shorten(
    segments.map((segment, index) => cleanSegment(segment, index === segments.length - 1)).join('/'),
  );
  if (identity === undefined && clean === stem) return stem;
  // No stem begins with a zero byte, so the digest of a key that stands alone differs from that of any stem.
  return `${clean}~${digestOf(identity === undefined ? stem : `\0${identity}`)}`;
}

/** Whether a name in a shard has a digest because the key was cleaned, or because another has its stem and suffix. */
export function isRenamed(name: string, key: string): boolean {
  const digest = /[~-]([0-9a-f]{24})(?:\.|$)/.exec(name)?.[1];
  return digest !== undefined && !key.toLowerCase().includes(digest);
}

/** Readers reserve names such as `__key__`. */
const PLAIN_SUFFIX = /^(?!__)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;
const LONGEST_SUFFIX = 60;

/** Suffixes are in lower case, because readers fold it. One with a blank or another odd character gets a digest. */
export function memberSuffix(suffix: string): string {
  const lower = suffix.toLowerCase();
  if (lower === '') return 'bin';
  if (PLAIN_SUFFIX.test(lower) && lower.length <= LONGEST_SUFFIX) return lower;
  const clean = lower
    .replace(/[^a-z0-9_.-]/g, '_')
    .slice(0, LONGEST_SUFFIX - DIGEST_DIGITS)
    .replace(/^[._]+|\.+$/g, '')
    .replace(/\.{2,}/g, '.');
  return `${clean === '' ? 'x' : clean}-${digestOf(suffix)}`;
}
