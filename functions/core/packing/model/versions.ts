/**
 * The versions of a dataset: a chain of lists of generations. Each is written once, under the number after the newest,
 * with If-None-Match: so a seal, a compaction and a prune at the same time come one after the other, and what a version
 * lists never changes. A generation that a crash kept out of the chain is taken in by the next that writes to it.
 */
import * as z from 'zod';
import { bucketKeys, parseGeneration } from '../../shared/keys.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { type BlobStore, listPages, readText } from './blob-store.ts';

const changeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('sealed'), generation: z.string() }),
  z.object({ kind: z.literal('compacted'), generation: z.string(), replaced: z.array(z.string()) }),
  z.object({ kind: z.literal('givenUp'), generations: z.array(z.string()) }),
  /** What was given up is held after all. */
  z.object({ kind: z.literal('kept'), generations: z.array(z.string()) }),
]);
export type DatasetChange = z.infer<typeof changeSchema>;

const datasetVersionSchema = z.object({
  version: z.literal(1),
  number: z.number().int().min(1),
  change: changeSchema,
  /** What the dataset is, oldest first. */
  generations: z.array(z.string()),
  /** Ever replaced by a compacted generation, which accounts for their arrivals. */
  replaced: z.array(z.string()),
  /** Out of the dataset for good. */
  givenUp: z.array(z.string()),
  /** The version in which each generation, these and those, came in. */
  added: z.record(z.string(), z.number().int()),
});
export type DatasetVersion = z.infer<typeof datasetVersionSchema>;

/** The little that a chain needs of a store. */
export interface VersionStore {
  /** In lexicographic order. */
  keys(prefix: string): Promise<string[]>;
  /** Names of the folders directly under a prefix. */
  folders(prefix: string): Promise<string[]>;
  read(key: string): Promise<string | undefined>;
  create(key: string, text: string): Promise<'written' | 'exists'>;
}

/** Over packing's data path. */
export function versionsIn(store: BlobStore): VersionStore {
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

/** Over the control plane's store. */
export function versionsBeside(store: ObjectStore): VersionStore {
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

/** The version of a number; versions are never deleted. */
export async function readVersion(
  store: VersionStore,
  pipeline: string,
  number: number,
): Promise<DatasetVersion> {
  const key = bucketKeys.datasetVersion(pipeline, number);
  const text = await store.read(key);
  if (text === undefined) throw new Error(`the dataset's version ${key} is gone; restore it`);
  try {
    return datasetVersionSchema.parse(JSON.parse(text));
  } catch (cause: unknown) {
    throw new Error(
      `${key} is no version of the dataset any more: restore it, from an older version of the object or a copy`,
      { cause },
    );
  }
}

/** undefined where nothing was sealed yet. */
export async function newestVersion(
  store: VersionStore,
  pipeline: string,
): Promise<DatasetVersion | undefined> {
  const prefix = bucketKeys.datasetVersions(pipeline);
  const numbers = (await store.keys(prefix)).map((key) => Number(key.slice(prefix.length, -'.json'.length)));
  const newest = numbers.filter((number) => Number.isSafeInteger(number)).at(-1);
  return newest === undefined ? undefined : readVersion(store, pipeline, newest);
}

const EMPTY = { generations: [], replaced: [], givenUp: [], added: {} };

const byBatch = (a: string, b: string): number => batchOf(a) - batchOf(b) || (a < b ? -1 : Number(a > b));
export const batchOf = (generation: string): number =>
  parseGeneration(generation)?.batch ?? Number.POSITIVE_INFINITY;

const without = (names: readonly string[], gone: readonly string[]): string[] =>
  names.filter((name) => !gone.includes(name));

/** What the chain's next version is after a change. */
function nextVersion(before: DatasetVersion | undefined, change: DatasetChange): DatasetVersion {
  const { generations, replaced, givenUp, added } = before ?? EMPTY;
  const number = (before?.number ?? 0) + 1;
  const common = { version: 1, number, change } as const;
  switch (change.kind) {
    case 'sealed':
    case 'compacted': {
      const gone = change.kind === 'compacted' ? change.replaced : [];
      return {
        ...common,
        generations: [...without(generations, gone), change.generation].sort(byBatch),
        replaced: [...replaced, ...gone],
        givenUp,
        added: { ...added, [change.generation]: number },
      };
    }
    case 'givenUp':
      return {
        ...common,
        generations: without(generations, change.generations),
        replaced,
        givenUp: [...without(givenUp, change.generations), ...change.generations],
        added,
      };
    case 'kept':
      return {
        ...common,
        generations: [...generations, ...without(change.generations, replaced)].sort(byBatch),
        replaced,
        givenUp: without(givenUp, change.generations),
        added,
      };
    default:
      return change satisfies never;
  }
}

/**
 * Adds a version. `decide` sees the newest, healed one and says what changes, or undefined to leave it; it is asked
 * again when another was faster.
 */
export async function changeDataset(
  store: VersionStore,
  pipeline: string,
  decide: (newest: DatasetVersion | undefined) => DatasetChange | undefined,
): Promise<DatasetVersion | undefined> {
  for (;;) {
    const newest = await newestVersion(store, pipeline);
    const lost = await lostGeneration(store, pipeline, newest);
    const change: DatasetChange | undefined =
      lost === undefined ? decide(newest) : { kind: 'sealed', generation: lost };
    if (change === undefined) return newest;
    const next = nextVersion(newest, change);
    const text = `${JSON.stringify(next, undefined, 1)}\n`;
    const created = await store.create(bucketKeys.datasetVersion(pipeline, next.number), text);
    if (created === 'written' && lost === undefined) return next;
  }
}

/** The oldest generation that is sealed and in no version: its run died between the two, or there was no chain yet. */
async function lostGeneration(
  store: VersionStore,
  pipeline: string,
  newest: DatasetVersion | undefined,
): Promise<string | undefined> {
  const folders = await store.folders(bucketKeys.dataset(pipeline));
  const unknown = folders.filter(
    (name) => parseGeneration(name)?.isCompacted === false && newest?.added[name] === undefined,
  );
  for (const name of unknown.sort(byBatch))
    if ((await store.read(bucketKeys.manifest(pipeline, name))) !== undefined) return name;
  return undefined;
}

/** Takes a sealed generation into the dataset, and before it whatever a crash kept out. Safe to repeat. */
export async function takeIn(store: VersionStore, pipeline: string): Promise<DatasetVersion | undefined> {
  return changeDataset(store, pipeline, () => undefined);
}

/** The newest version that holds nothing of a later batch. */
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
