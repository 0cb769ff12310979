import { bundleDataKey, bundlePlace } from '@tidewheel/packing/bundles.ts';
import { memberLines, packingKeys } from '@tidewheel/packing/dataset.ts';
import { type BlobStore, joinChunks } from '@tidewheel/packing/store.ts';
import * as z from 'zod';
import { ok, problem } from '../shared/answers.ts';
import { type FoundGeneration, findGeneration } from '../shared/generations.ts';
import { defineOperation, READS } from '../shared/operation.ts';

const mediaType = z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Lambda's answer holds 6 MB, of which base64 takes a third. */
const LARGEST_IMAGE_BYTES = 2_000_000;

/** What a person may see of the data itself are single small images. */
export const getImage = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines/{name}/dataset/{generation}/image',
    id: 'getImage',
    summary: 'Shows an image of a generation, or one that it rejected.',
    query: z.strictObject({
      shard: z.string().optional().describe('With member: a member of a shard, read by its range.'),
      member: z.string().optional(),
      rejected: z.string().optional().describe('Instead: the key of a rejected example.'),
    }),
    answer: z.object({ type: mediaType, base64: z.string() }),
    refusals: [404, 409],
  },
  async (deps, { parameters, query }) => {
    const blobs = await deps.blobs();
    const one = await findGeneration(blobs, parameters);
    if ('status' in one) return one;
    const place =
      query.rejected === undefined ? await placeInShard(blobs, one, query) : ofRejected(one, query.rejected);
    if (typeof place === 'string') return problem(404, place);
    if ((place.range?.length ?? 0) > LARGEST_IMAGE_BYTES)
      return problem(
        409,
        `the image has ${place.range?.length} bytes: at most ${LARGEST_IMAGE_BYTES} are shown`,
      );
    const object = await blobs.get(place.key, {
      range: place.range ?? { offset: 0, length: LARGEST_IMAGE_BYTES },
      ...(place.etag !== undefined && { ifMatch: place.etag }),
    });
    if (object.kind !== 'found') return problem(404, `${place.key} is gone`);
    const bytes = joinChunks(object.chunks);
    const type = imageType(bytes);
    return type === undefined
      ? problem(409, 'it is no PNG, JPEG, GIF or WebP')
      : ok({ type, base64: Buffer.from(bytes).toString('base64') });
  },
);

interface ImagePlace {
  readonly key: string;
  readonly etag?: string;
  readonly range?: { readonly offset: number; readonly length: number };
}

/** Only what the manifest names: the route reads no other object. */
function ofRejected({ manifest }: FoundGeneration, key: string): ImagePlace | string {
  const example = manifest.rejections.examples.find((each) => each.key === key);
  if (example === undefined) return `"${key}" is no example of what ${manifest.generation} rejected`;
  const { etag = '', size = 0 } = example;
  if (size === 0 && etag !== '') return `"${key}" is empty`;
  const place = bundlePlace(etag);
  return place === undefined
    ? { key }
    : { key: bundleDataKey(key, place.bundle), range: { offset: place.offset, length: size } };
}

async function placeInShard(
  blobs: BlobStore,
  { name, manifest }: FoundGeneration,
  query: { readonly shard?: string | undefined; readonly member?: string | undefined },
): Promise<ImagePlace | string> {
  const shard = manifest.shards.find((each) => each.name === query.shard);
  if (shard === undefined) return `${manifest.generation} has no shard "${query.shard ?? ''}"`;
  if (manifest.compression !== undefined)
    return `the shards of ${manifest.generation} are compressed: no range is an image`;
  const keys = packingKeys(name, manifest.generation);
  const line = (await memberLines(blobs, keys, shard)).find((each) => each.name === query.member);
  if (line === undefined) return `${shard.name} has no member "${query.member ?? ''}"`;
  return {
    key: `${keys.shards(manifest.revision)}${shard.name}`,
    etag: shard.etag,
    range: { offset: line.offset, length: line.size },
  };
}

/** By the first bytes: a browser is given nothing else, whatever a name says. */
function imageType(bytes: Uint8Array): z.output<typeof mediaType> | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(head)) return 'image/gif';
  return head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP' ? 'image/webp' : undefined;
}
