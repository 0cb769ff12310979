/**
 * The versions of a dataset: a chain of lists of generations. Each version is written once, under the number after the
 * newest, with If-None-Match. So a version never changes, and a seal, a compaction and a prune at the same time become
 * one after the other. If a crash keeps a generation out of the chain, the next writer adds it.
 */

import { bucketKeys, parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { type BlobStore, listPages, readText } from './blob-store.ts';
import { DOCUMENT_VERSION, DocumentError, readDocument } from './documents.ts';
import { packingKeys } from './packing-keys.ts';

const changeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('sealed'), generation: z.string() }),
  z.object({ kind: z.literal('compacted'), generation: z.string(), replaced: z.array(z.string()) }),
  z.object({ kind: z.literal('pruned'), generations: z.array(z.string()) }),
  /** Pruned generations turned out to be in use. */
  z.object({ kind: z.literal('restored'), generations: z.array(z.string()) }),
]);
export type DatasetChange = z.infer<typeof changeSchema>;

const datasetVersionSchema = z.object({
  version: z.literal(DOCUMENT_VERSION),
  number: z.number().int().min(1),
  change: changeSchema,
  /** The dataset's generations, oldest first. */
  generations: z.array(z.string()),
  /** Generations that a joined one replaced in this version or an earlier one. */
  replaced: z.array(z.string()),
  /** Generations that left the dataset for good. Their shards may not be deleted yet. */
  pruned: z.array(z.string()),
  /** By generation, whether it is still in the dataset or not: the version that added it. */
  added: z.record(z.string(), z.number().int()),
});
export type DatasetVersion = z.infer<typeof datasetVersionSchema>;

/** What the chain needs of a store. */
export interface VersionStore {
  /** In lexicographic order. */
  keys(prefix: string): Promise<string[]>;
  /** Names of the folders directly below a prefix. */
  folders(prefix: string): Promise<string[]>;
  read(key: string): Promise<string | undefined>;
  create(key: string, text: string): Promise<'written' | 'exists'>;
}

/** Packing's own store as a VersionStore. */
export function blobVersions(store: BlobStore): VersionStore {
  return {
    keys: async (prefix) => {
      const keys: string[] = [];
      for await (const page of listPages(store, prefix)) keys.push(...page.objects.map(({ key }) => key));
      return keys;
    },
    folders: async (prefix) => {
      const names: string[] = [];
      for await (const page of listPages(store, prefix, { delimiter: '/' }))
        names.push(...page.prefixes.map((folder) => folder.slice(prefix.length, -1)));
      return names;
    },
    read: (key) => readText(store, key),
    create: async (key, text) => {
      const put = await store.put(key, Buffer.from(text), {
        only: 'absent',
        contentType: 'application/json',
      });
      return put.kind === 'written' ? 'written' : 'exists';
    },
  };
}

/** The control plane's store as a VersionStore. */
export function objectVersions(store: ObjectStore): VersionStore {
  return {
    keys: async (prefix) => {
      const keys: string[] = [];
      for await (const { key } of store.list(prefix)) keys.push(key);
      return keys;
    },
    folders: (prefix) => store.listFolders(prefix),
    read: async (key) => (await store.readText(key))?.text,
    create: (key, text) => store.createText(key, text),
  };
}

/** Versions are never deleted. */
export async function readVersion(
  store: VersionStore,
  pipeline: string,
  number: number,
): Promise<DatasetVersion> {
  const key = bucketKeys.datasetVersion(pipeline, number);
  const text = await store.read(key);
  if (text === undefined)
    throw new DocumentError(`${key} is gone: restore it from an older version of the object or from a copy`);
  return readDocument(kindOf(datasetVersionSchema), key, text);
}

/** Undefined if nothing was sealed yet. */
export async function newestVersion(
  store: VersionStore,
  pipeline: string,
): Promise<DatasetVersion | undefined> {
  const prefix = bucketKeys.datasetVersions(pipeline);
  const numbers = (await store.keys(prefix)).map((key) => Number(key.slice(prefix.length, -'.json'.length)));
  const newest = numbers.filter((number) => Number.isSafeInteger(number)).at(-1);
  return newest === undefined ? undefined : readVersion(store, pipeline, newest);
}

const EMPTY = { generations: [], replaced: [], pruned: [], added: {} };

const byBatch = (a: string, b: string): number => batchOf(a) - batchOf(b) || (a < b ? -1 : Number(a > b));
export const batchOf = (generation: string): number =>
  parseGeneration(generation)?.batch ?? Number.POSITIVE_INFINITY;

const without = (names: readonly string[], gone: readonly string[]): string[] =>
  names.filter((name) => !gone.includes(name));

const firstAdded = (
  names: readonly string[],
  added: DatasetVersion['added'],
  number: number,
): DatasetVersion['added'] =>
  names.reduce((all, name) => (all[name] === undefined ? { ...all, [name]: number } : all), added);

/** The next version of the chain. */
function nextVersion(before: DatasetVersion | undefined, change: DatasetChange): DatasetVersion {
  const { generations, replaced, pruned, added } = before ?? EMPTY;
  const number = (before?.number ?? 0) + 1;
  const common = { version: DOCUMENT_VERSION, number, change } as const;
  switch (change.kind) {
    case 'sealed':
    case 'compacted': {
      const gone = change.kind === 'compacted' ? change.replaced : [];
      return {
        ...common,
        generations: [...without(generations, gone), change.generation].sort(byBatch),
        replaced: [...replaced, ...gone],
        pruned,
        // A generation that replaced samples was in no version before.
        added: { ...firstAdded(gone, added, number), [change.generation]: number },
      };
    }
    case 'pruned':
      return {
        ...common,
        generations: without(generations, change.generations),
        replaced,
        pruned: [...without(pruned, change.generations), ...change.generations],
        added,
      };
    case 'restored':
      return {
        ...common,
        generations: [...generations, ...without(change.generations, replaced)].sort(byBatch),
        replaced,
        pruned: without(pruned, change.generations),
        added,
      };
    default:
      return change satisfies never;
  }
}

/**
 * Adds a version.
 * @param decide gets the newest version and returns the change, or undefined for none. It is called again if another
 * writer was faster
 */
export async function changeDataset(
  store: VersionStore,
  pipeline: string,
  decide: (newest: DatasetVersion | undefined) => DatasetChange | undefined,
): Promise<DatasetVersion | undefined> {
  for (;;) {
    const newest = await newestVersion(store, pipeline);
    const lost = await lostGeneration(store, pipeline, newest);
    const change = lost === undefined ? decide(newest) : added(lost, newest);
    if (change === undefined) return newest;
    const next = nextVersion(newest, change);
    const text = `${JSON.stringify(next, undefined, 1)}\n`;
    const created = await store.create(bucketKeys.datasetVersion(pipeline, next.number), text);
    if (created === 'written' && lost === undefined) return next;
  }
}

interface LostGeneration {
  readonly name: string;
  /** It has all files of its version, so it takes the place of every generation before it. */
  readonly isWhole: boolean;
}

/** The oldest sealed generation that no version names, because its run died after the seal. */
async function lostGeneration(
  store: VersionStore,
  pipeline: string,
  newest: DatasetVersion | undefined,
): Promise<LostGeneration | undefined> {
  for (const name of await unknownFolders(store, pipeline, newest)) {
    const manifest = await store.read(bucketKeys.manifest(pipeline, name));
    if (manifest === undefined || hasChanges(manifest)) continue;
    return { name, isWhole: isUnpacked(formatted.safeParse(parseJson(manifest)).data) };
  }
  return undefined;
}

const formatted = z.object({ format: z.string() });

function added(
  { name: generation, isWhole }: LostGeneration,
  newest: DatasetVersion | undefined,
): DatasetChange {
  const before = newest?.generations ?? [];
  return isWhole && before.length > 0
    ? { kind: 'compacted', generation, replaced: [...before] }
    : { kind: 'sealed', generation };
}

/** Folders of runs that no version names, oldest first. */
async function unknownFolders(
  store: VersionStore,
  pipeline: string,
  newest: DatasetVersion | undefined,
): Promise<string[]> {
  const folders = await store.folders(bucketKeys.dataset(pipeline));
  return folders
    .filter((name) => parseGeneration(name)?.isCompacted === false && newest?.added[name] === undefined)
    .sort(byBatch);
}

const changing = z.object({ changes: z.number().int().min(1) });
const removing = z.object({
  rejections: z.object({ byReason: z.object({ removed: z.number().int().min(1) }) }),
});

const hasChanges = (manifest: string): boolean => changing.safeParse(parseJson(manifest)).success;
const isRemoving = (rejections: string | undefined): boolean =>
  rejections !== undefined && removing.safeParse(parseJson(rejections)).success;

/**
 * Sealed generations that are in no version yet, oldest first, because they replace or remove samples of others. A
 * compaction adds them, without these samples. So no version ever holds a sample and its correction. One that only
 * removes has no shards.
 */
export async function waitingGenerations(
  store: VersionStore,
  pipeline: string,
  newest: DatasetVersion | undefined,
): Promise<string[]> {
  const waiting: string[] = [];
  for (const name of await unknownFolders(store, pipeline, newest)) {
    const manifest = await store.read(bucketKeys.manifest(pipeline, name));
    const isWaiting =
      manifest === undefined
        ? isRemoving(await store.read(packingKeys(pipeline, name).rejectionsOnly))
        : hasChanges(manifest);
    if (isWaiting) waiting.push(name);
  }
  return waiting;
}

/** Adds every sealed generation that no version names. Safe to repeat. */
export async function addSealed(store: VersionStore, pipeline: string): Promise<DatasetVersion | undefined> {
  return changeDataset(store, pipeline, () => undefined);
}

/** The newest version without a generation of a later batch. */
export async function versionUpTo(
  store: VersionStore,
  pipeline: string,
  batch: number,
): Promise<DatasetVersion | undefined> {
  let version = await newestVersion(store, pipeline);
  while (version !== undefined && version.generations.some((generation) => batchOf(generation) > batch)) {
    if (version.number === 1) return undefined;
    version = await readVersion(store, pipeline, version.number - 1);
  }
  return version;
}
