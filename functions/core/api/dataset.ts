/** The answers about datasets. What a person may see of the data itself are single small images. */
import { parse } from 'yaml';
import * as z from 'zod';
import { bundleDataKey, bundlePlace } from '../packing/arrivals/bundle-place.ts';
import type { BlobStore } from '../packing/model/blob-store.ts';
import { joinChunks } from '../packing/model/blob-store.ts';
import { DocumentError } from '../packing/model/documents.ts';
import { type Manifest } from '../packing/model/manifest.ts';
import { memberLines } from '../packing/model/member-lines.ts';
import { packingKeys } from '../packing/model/packing-keys.ts';
import { listGenerations, ManifestError, readSealedManifest } from '../packing/model/sealed-arrivals.ts';
import { blobVersions, type DatasetVersion, newestVersion, readVersion } from '../packing/model/versions.ts';
import { bucketKeys, parseGeneration } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type AnswerOf, noPipeline, ok, problem, type RequestOf } from './answers.ts';
import type { datasetAnswer, generationAnswer, imageAnswer } from './schemas/dataset.ts';

export interface DatasetDeps {
  readonly store: ObjectStore;
  /** Reads ranges of shards; opened when a call needs it. */
  readonly blobs: () => Promise<BlobStore>;
}

type Dataset = z.input<typeof datasetAnswer>;
type GenerationView = Dataset['generations'][number];

const MOST_VERSIONS = 100;
const MOST_SAMPLES = 24;

export async function getDataset(
  { store, blobs: open }: DatasetDeps,
  { parameters }: RequestOf<'GET /pipelines/{name}/dataset'>,
): AnswerOf<'GET /pipelines/{name}/dataset'> {
  const name = parameters['name'] ?? '';
  const declaration = await store.readText(bucketKeys.pipeline(name));
  const blobs = await open();
  const newest = await newestVersion(blobVersions(blobs), name);
  const generations = await listGenerations(blobs, name);
  if (declaration === undefined && generations.length === 0) return noPipeline(name);
  return ok({
    pinned: pinIn(declaration?.text),
    newest: newest?.number,
    versions: await versionsOf(blobs, name, newest),
    generations: generations.toReversed().map((each) => generationView(each, newest)),
  });
}

/** Its other parts may be invalid. */
const pinned = z.object({ dataset: z.object({ pin: z.string().optional() }).optional() });

function pinIn(text: string | undefined): string | undefined {
  try {
    return pinned.safeParse(parse(text ?? '')).data?.dataset?.pin;
  } catch {
    return undefined;
  }
}

async function versionsOf(
  blobs: BlobStore,
  pipeline: string,
  newest: DatasetVersion | undefined,
): Promise<Dataset['versions']> {
  const last = newest?.number ?? 0;
  const numbers = Array.from({ length: Math.min(last, MOST_VERSIONS) }, (_, place) => last - place);
  const all = await Promise.all(numbers.map((number) => readVersion(blobVersions(blobs), pipeline, number)));
  return all.map(({ number, change, generations }) => ({
    number,
    kind: change.kind,
    changed: 'generation' in change ? [change.generation] : change.generations,
    generations,
  }));
}

function generationView(
  manifest: Manifest | ManifestError,
  newest: DatasetVersion | undefined,
): GenerationView {
  if (manifest instanceof ManifestError)
    return { name: manifest.generation, state: 'damaged', problem: manifest.message };
  const { generation, listedAt, format, shards, samples, repeated, bytes, arrivals } = manifest;
  return {
    name: generation,
    state: stateOf(manifest, newest),
    listedAt,
    format,
    shards: shards.length,
    samples,
    repeated,
    bytes,
    packed: arrivals.packed,
    rejected: arrivals.rejected,
  };
}

function stateOf(
  { generation, shards, pruned }: Manifest,
  newest: DatasetVersion | undefined,
): GenerationView['state'] {
  if (pruned === true || newest?.pruned.includes(generation)) return 'pruned';
  if (newest?.replaced.includes(generation)) return 'replaced';
  return shards.length === 0 ? 'rejectionsOnly' : 'sealed';
}

const noGeneration = (pipeline: string, generation: string) =>
  problem(
    404,
    `${pipeline} has no generation "${generation}": GET /pipelines/${pipeline}/dataset lists them`,
  );

interface Found {
  readonly name: string;
  readonly manifest: Manifest;
}

/** A name that is none of a generation is not looked for. */
async function found(
  blobs: BlobStore,
  parameters: Readonly<Record<string, string>>,
): Promise<Found | ReturnType<typeof problem>> {
  const [name = '', generation = ''] = [parameters['name'], parameters['generation']];
  if (parseGeneration(generation)?.pipeline !== name) return noGeneration(name, generation);
  try {
    const manifest = await readSealedManifest(blobs, name, generation);
    return manifest === undefined ? noGeneration(name, generation) : { name, manifest };
  } catch (error: unknown) {
    if (error instanceof ManifestError) return problem(409, error.message);
    throw error;
  }
}

export async function getGeneration(
  deps: DatasetDeps,
  { parameters }: RequestOf<'GET /pipelines/{name}/dataset/{generation}'>,
): AnswerOf<'GET /pipelines/{name}/dataset/{generation}'> {
  const blobs = await deps.blobs();
  const one = await found(blobs, parameters);
  if ('status' in one) return one;
  const { name, manifest } = one;
  const newest = await newestVersion(blobVersions(blobs), name);
  const classes = Object.entries(manifest.balance?.classes ?? {}).map(([label, counts]) => ({
    label,
    arrived: counts.samples,
    sealed: counts.sealed ?? counts.planned,
  }));
  return ok({
    generation: generationView(manifest, newest),
    classes,
    rejectedByReason: manifest.rejections.byReason,
    rejected: manifest.rejections.examples.map(({ key, reason }) => ({ key, reason })),
    samples: await samplesOf(blobs, one),
  });
}

type Samples = z.input<typeof generationAnswer>['samples'];

/** Those of a pruned generation are gone. */
async function samplesOf(blobs: BlobStore, { name, manifest }: Found): Promise<Samples> {
  const [shard] = manifest.shards;
  if (shard === undefined || manifest.pruned === true) return [];
  try {
    const lines = await memberLines(blobs, packingKeys(name, manifest.generation), shard);
    return lines
      .filter(({ made }) => made === undefined)
      .slice(0, MOST_SAMPLES)
      .map(({ name: member, key, size, label }) => ({ shard: shard.name, member, key, bytes: size, label }));
  } catch (error: unknown) {
    if (error instanceof DocumentError) return [];
    throw error;
  }
}

/** Lambda's answer holds 6 MB, of which base64 takes a third. */
const LARGEST_IMAGE_BYTES = 2_000_000;

export async function getImage(
  deps: DatasetDeps,
  { parameters, query }: RequestOf<'GET /pipelines/{name}/dataset/{generation}/image'>,
): AnswerOf<'GET /pipelines/{name}/dataset/{generation}/image'> {
  const blobs = await deps.blobs();
  const one = await found(blobs, parameters);
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
}

interface Place {
  readonly key: string;
  readonly etag?: string;
  readonly range?: { readonly offset: number; readonly length: number };
}

/** Only what the manifest names: the route reads no other object. */
function ofRejected({ manifest }: Found, key: string): Place | string {
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
  { name, manifest }: Found,
  query: { readonly shard?: string | undefined; readonly member?: string | undefined },
): Promise<Place | string> {
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
function imageType(bytes: Uint8Array): z.input<typeof imageAnswer>['type'] | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(head)) return 'image/gif';
  return head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP' ? 'image/webp' : undefined;
}
