/**
 * The files of a version that has no shards (packing: none). A run reads exactly those that were sealed: where they lie
 * under incoming/, else a copy that the seal made.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked, partsOf, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { LaunchRefusedError, TransientError } from '@tidewheel/kit/errors.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import {
  copyFile,
  type Manifest,
  manifestsOf,
  type SealedFile,
  sealedLines,
} from '@tidewheel/packing/dataset.ts';
import type { BlobReader, BlobStore } from '@tidewheel/packing/store.ts';
import type { Dataset } from './run-dataset.ts';
import type { RunRecord } from './run-records.ts';

export interface FilesDeps {
  readonly store: ObjectStore;
  /** Opened only where files are copied. */
  readonly blobs: () => Promise<BlobStore>;
  /** Copying then stops, and the next try copies the rest. */
  readonly isOutOfTime: () => boolean;
}

export const readerOf = (store: ObjectStore): BlobReader => ({
  get: async (key) => {
    const found = await store.readBytes(key);
    if (found === undefined) return { kind: 'missing' };
    return { kind: 'found', chunks: [found.bytes], size: found.bytes.length, etag: found.etag };
  },
});

/**
 * The manifest of a version of files; undefined where shards were packed.
 * @throws LaunchRefusedError where the run's declaration wants the other
 */
export async function fileVersionOf(
  store: ObjectStore,
  { pipeline, declaration }: RunRecord,
  { generations, shards }: Dataset,
): Promise<Manifest | undefined> {
  const hasFiles = shards.some(({ isUnpacked: holdsFiles }) => holdsFiles === true);
  const isWanted = isUnpacked(declaration?.packing);
  if (shards.length > 0 && hasFiles !== isWanted)
    throw new LaunchRefusedError(
      isWanted
        ? `${generations.join(', ')} holds shards, and the run declares packing: none: pin a version of files (dataset.pin), or start a run of the newest one`
        : `${generations.join(', ')} holds files (packing: none), and the run declares a format of shards: pin a version of shards (dataset.pin), or declare packing: none`,
    );
  if (!hasFiles) return undefined;
  const [version] = await manifestsOf(readerOf(store), pipeline, generations);
  return version;
}

interface FilesChannel {
  readonly channel: string;
  /** Key prefix. */
  readonly prefix: string;
  readonly split?: SplitName | undefined;
}

interface FoundFiles {
  /** Key prefix. */
  readonly prefix: string;
  /** Relative to the prefix. */
  readonly files: readonly string[];
  readonly text: string | undefined;
}

/**
 * @returns undefined for a part of a split that has no file
 * @throws LaunchRefusedError where a file is gone and has no copy
 */
export async function versionFiles(
  deps: FilesDeps,
  run: RunRecord,
  { version, channel }: { readonly version: Manifest; readonly channel: FilesChannel },
): Promise<FoundFiles | undefined> {
  const { prefix, split, channel: name } = channel;
  const files = await filesOf(deps.store, version, channel);
  if (files.size === 0) {
    if (split !== undefined && split !== 'train') return undefined;
    throw new LaunchRefusedError(
      `channel ${name}: the sealed version has no file ${split === undefined ? `below ${prefix}` : `of ${split}`}: drop some, or correct what was rejected`,
    );
  }
  const gone = new Map(files);
  for await (const { key, etag } of deps.store.list(prefix))
    if (gone.get(key)?.etag === etag) gone.delete(key);
  const namesBelow = [...files.keys()].map((key) => key.slice(prefix.length));
  if (gone.size === 0) return { prefix, files: namesBelow, text: undefined };
  const places = await placesOf(deps.store, run, { files, gone, name, version });
  const folder = bucketKeys.channelFiles(run.pipeline, run.runId, name);
  await gather(deps, folder, { prefix, places });
  const text = `channel ${name} has copies of ${shownSome([...gone.keys()], run)}, because they changed or were deleted since the seal of ${version.generation}`;
  return { prefix: folder, files: namesBelow, text };
}

async function filesOf(
  store: ObjectStore,
  version: Manifest,
  { prefix, split }: FilesChannel,
): Promise<ReadonlyMap<string, SealedFile>> {
  const part = split && version.split && partsOf(version.split).indexOf(split);
  const files = new Map<string, SealedFile>();
  for await (const [key, etag, size, fate] of sealedLines(readerOf(store), version))
    if (typeof fate === 'number' && (part === undefined || part === fate) && key.startsWith(prefix))
      files.set(key, { key, etag, size });
  return files;
}

interface Gone {
  readonly files: ReadonlyMap<string, SealedFile>;
  readonly gone: ReadonlyMap<string, SealedFile>;
  /** The channel's. */
  readonly name: string;
  readonly version: Manifest;
}

/** Where each file lies: under `incoming/`, or as a copy. @throws LaunchRefusedError */
async function placesOf(
  store: ObjectStore,
  run: RunRecord,
  { files, gone, name, version }: Gone,
): Promise<ReadonlyMap<string, SealedFile>> {
  const { pipeline } = run;
  const wanted = new Map([...gone].map(([key, file]) => [bucketKeys.keptFile(pipeline, file), key]));
  const places = new Map(files);
  for await (const { key, etag, size } of store.list(bucketKeys.keptFiles(pipeline))) {
    const of = wanted.get(key);
    if (of === undefined || files.get(of)?.size !== size) continue;
    places.set(of, { key, etag, size });
    wanted.delete(key);
  }
  if (wanted.size === 0) return places;
  throw new LaunchRefusedError(
    `channel ${name} cannot have what ${version.generation} sealed: ${shownSome([...wanted.values()], run)} changed or were deleted since, without a copy. Drop them again as they were, or start a run that seals what lies there now (tidewheel run ${pipeline}). With dataset.keep: versions each seal copies its files, so that its version can be trained on later`,
  );
}

const MOST_NAMED = 5;

function shownSome(keys: readonly string[], { pipeline }: RunRecord): string {
  const names = keys
    .slice(0, MOST_NAMED)
    .map((key) => shownKey(key.slice(bucketKeys.incoming(pipeline).length)))
    .join(', ');
  const more = keys.length - MOST_NAMED;
  return `${keys.length} file${keys.length === 1 ? '' : 's'} (${names}${more > 0 ? ` and ${more} more` : ''})`;
}

const COPIES_AT_ONCE = 16;

interface Gathering {
  readonly prefix: string;
  readonly places: ReadonlyMap<string, SealedFile>;
}

/** A list names files below one prefix alone, so all are copied below one. What an earlier try copied stays. */
async function gather(
  { store, blobs, isOutOfTime }: FilesDeps,
  folder: string,
  { prefix, places }: Gathering,
): Promise<void> {
  const there = new Map<string, number>();
  for await (const { key, size } of store.list(folder)) there.set(key, size);
  const targets = [...places].map(([key, file]) => ({ file, to: `${folder}${key.slice(prefix.length)}` }));
  const missing = targets.filter(({ file, to }) => there.get(to) !== file.size);
  const within = await blobs();
  let copied = 0;
  await eachLimited(missing, COPIES_AT_ONCE, async ({ file, to }) => {
    if (isOutOfTime())
      throw new TransientError(
        `${copied} of ${missing.length} files are copied to ${folder}: the next try continues`,
      );
    const outcome = await copyFile(within, file, to);
    if (outcome !== 'copied')
      throw new TransientError(`${file.key} was ${outcome} while it was copied: the next try looks again`);
    copied += 1;
  });
}
