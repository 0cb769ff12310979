/** Small pictures of rejected images, as data for a page. */
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { once } from '@tidewheel/kit/once.ts';
import { readMember } from '../arrivals/read-arrival.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import type { ImageEngine } from '../documents/image-preparation.ts';
import { imageFormatOf, isImage } from '../documents/sniff.ts';
import type { RejectedExamples } from './report-document.ts';

/** A larger object is not read for its picture. */
const MOST_BYTES = 8e6;
/** An image that cannot be decoded is shown as it is up to this size: a browser may show a part of it. */
const MOST_SHOWN_BYTES = 32_768;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
};

const smallImage = once(
  () => packingSchema.parse({ prepare: { image: { maxSide: 96, quality: 75 } } }).prepare?.image,
);

/** A data URL of an image's bytes; undefined if they are no image that browsers know. */
export async function pictureOf(
  bytes: Uint8Array,
  images: ImageEngine | undefined,
): Promise<string | undefined> {
  const format = Object.keys(MEDIA_TYPES).find((one) => isImage(one, bytes));
  const form = smallImage();
  const small = images && form && (await images.prepare(bytes, form));
  if (small?.kind === 'prepared') return dataUrl('image/jpeg', small.bytes);
  if (format === undefined || bytes.length > MOST_SHOWN_BYTES) return undefined;
  return dataUrl(MEDIA_TYPES[format] ?? '', bytes);
}

const dataUrl = (type: string, bytes: Uint8Array): string =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;

/** By key. Objects that are gone or cannot be read have none. */
export async function thumbnails(
  { store, images }: { readonly store: BlobStore; readonly images?: ImageEngine | undefined },
  examples: RejectedExamples,
): Promise<ReadonlyMap<string, string>> {
  const pictures = new Map<string, string>();
  for (const { key, size, etag } of Object.values(examples).flat()) {
    if (imageFormatOf(key) === undefined || size > MOST_BYTES) continue;
    const reading = etag === undefined ? store.get(key) : readMember(store, { key, size, etag });
    const found = await reading.catch(() => undefined);
    if (found?.kind !== 'found') continue;
    const picture = await pictureOf(joinChunks(found.chunks), images);
    if (picture !== undefined) pictures.set(key, picture);
  }
  return pictures;
}
