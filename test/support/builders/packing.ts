/** Runs plan, pack and seal on a store, and reads the shards back. */

import { Readable } from 'node:stream';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { itemSchema, type Manifest, type MemberLine, manifestSchema } from '@tidewheel/packing/dataset.ts';
import { KeptMemory, type PackItemDeps, packItem } from '@tidewheel/packing/pack.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { type SealResult, sealDataset } from '@tidewheel/packing/seal.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import tar from 'tar-stream';
import { openImageEngine } from '../../../functions/aws/images/image-engine.ts';
import { decompress, linesOf } from '../../../packages/packing/documents/compressed-lines.ts';
import { MemoryBlobStore } from '../fakes/memory-blob-store.ts';

export const PIPELINE = 'digits';
export const RUN = 'digits-000001';
export const incoming = bucketKeys.incoming(PIPELINE);
export const settings = (changes: Partial<PackingSettings> = {}): PackingSettings => ({
  ...packingSchema.parse({}),
  ...changes,
});
export const now = () => new Date('2026-11-21T00:00:00Z');
export type Arrivals = Readonly<Record<string, string | Uint8Array>>;

/** Keys are relative to incoming/. Of a list of keys, each object says its own. */
export function dropped(
  files: Arrivals | readonly string[],
  store: MemoryBlobStore = new MemoryBlobStore(),
): MemoryBlobStore {
  const all: Arrivals = Array.isArray(files)
    ? Object.fromEntries(files.map((key: string) => [key, `of ${key}`]))
    : (files as Arrivals);
  for (const [key, body] of Object.entries(all)) store.seed(`${incoming}${key}`, body);
  return store;
}

/** Buffers so small that small data takes every path through them. */
export const SMALL = {
  window: { parallel: 4, bytes: 4_096, pieceBytes: 1_000 },
  upload: { partBytes: 2_000, parallelParts: 2, copiedBytes: { least: 500, most: 1_500 } },
};

export async function planAndPack(
  store: BlobStore,
  packing: PackingSettings,
  runId = RUN,
  limits: Pick<PackItemDeps, 'window' | 'upload'> = SMALL,
): Promise<void> {
  await planShards({ store, now }, { runId, pipeline: PIPELINE, packing });
  const found = await store.get(bucketKeys.planItems(PIPELINE, runId));
  if (found.kind !== 'found') throw new Error('no items');
  const items = itemSchema.array().parse(JSON.parse(Buffer.concat(found.chunks).toString()));
  for (const item of items)
    await packItem(
      { store, ...limits, images: openImageEngine },
      { runId, pipeline: PIPELINE, packing, item },
    );
}

/** As the function's process has it. Memory of its own for each run would be a quarter of what some tests take. */
const memory = new KeptMemory();

/** Packs and seals a run of any pipeline. */
export async function packPipeline(
  store: BlobStore,
  run: { readonly runId: string; readonly pipeline: string; readonly packing: PackingSettings },
): Promise<SealResult> {
  await planShards({ store, now }, run);
  const found = await store.get(bucketKeys.planItems(run.pipeline, run.runId));
  if (found.kind !== 'found') throw new Error('no items');
  const items = itemSchema.array().parse(JSON.parse(Buffer.concat(found.chunks).toString()));
  for (const item of items) await packItem({ store, memory, images: openImageEngine }, { ...run, item });
  return sealDataset({ store }, run);
}

export async function packAll(store: BlobStore, packing: PackingSettings, runId = RUN): Promise<SealResult> {
  await planAndPack(store, packing, runId);
  return sealDataset({ store }, { runId, pipeline: PIPELINE, packing });
}

export interface TarMember {
  readonly name: string;
  readonly body: Buffer;
}

/** The members of a tar, by an independent reader. */
export async function readTar(bytes: Uint8Array): Promise<TarMember[]> {
  const members: TarMember[] = [];
  const extract = tar.extract();
  Readable.from([Buffer.from(bytes)]).pipe(extract);
  for await (const entry of extract) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    members.push({ name: entry.header.name, body: Buffer.concat(chunks) });
  }
  return members;
}

export const manifestOf = (store: MemoryBlobStore, runId = RUN): Manifest =>
  manifestSchema.parse(JSON.parse(store.body(bucketKeys.manifest(PIPELINE, runId)).toString()));

/** Every member line of a sealed generation. */
export function memberLines(store: MemoryBlobStore, runId = RUN): MemberLine[] {
  if (!store.objects.has(bucketKeys.manifest(PIPELINE, runId))) return [];
  return manifestOf(store, runId).shards.flatMap(({ memberList }) =>
    [...linesOf(decompress(store.body(`${bucketKeys.generation(PIPELINE, runId)}${memberList}`)))].map(
      (line): MemberLine => JSON.parse(line),
    ),
  );
}

/** The bytes of each original key, from the shards and member lists. */
export async function unpack(store: MemoryBlobStore, runId = RUN): Promise<Map<string, Buffer>> {
  const bodies = new Map<string, Buffer>();
  const manifest = store.objects.has(bucketKeys.manifest(PIPELINE, runId))
    ? manifestOf(store, runId)
    : undefined;
  for (const key of store.keys(bucketKeys.shards(PIPELINE, runId, manifest?.revision))) {
    for (const member of await readTar(store.body(key))) {
      if (bodies.has(member.name)) throw new Error(`two members are called ${member.name}`);
      bodies.set(member.name, member.body);
    }
  }
  const sources = new Map<string, Buffer>();
  for (const line of memberLines(store, runId)) {
    const body = bodies.get(line.name);
    if (body === undefined) throw new Error(`${line.name} is listed but in no shard`);
    if (line.key !== undefined) sources.set(line.key, body);
  }
  return sources;
}
