/** The files below incoming/ that a run's channels read: those of its sealed version, and no other that lies there. */

import { hash } from 'node:crypto';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { prefixUri } from '@tidewheel/declaration/script.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { LaunchRefusedError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import {
  batchOf,
  inOrder,
  type Manifest,
  manifestsOf,
  sealedFates,
  sealedLines,
} from '@tidewheel/packing/dataset.ts';
import type { BlobReader } from '@tidewheel/packing/store.ts';
import type { RunRecord } from './run-records.ts';
import type { Stores } from './stores.ts';

/** A list of so many has some 10 MB, and S3 lists them in some ten seconds. */
const MOST_OBJECTS = 100_000;

/**
 * Writes a list (S3DataType ManifestFile) for each channel below incoming/ that can have one. The timeline says what else
 * lies there.
 * @returns the URIs of the lists by channel
 * @throws LaunchRefusedError where no file of the version is left
 */
export async function listChannelFiles(
  {
    store,
    timeline,
    clock,
  }: Pick<Stores, 'timeline'> & { readonly store: ObjectStore; readonly clock: Clock },
  run: RunRecord,
  generations: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { runId, pipeline: name, declaration } = run;
  const root = s3Uri(store.bucket, '');
  const lists = new Map<string, string>();
  const channels = Object.entries(declaration?.training.channels ?? {}).flatMap(([channel, of]) =>
    's3' in of ? [{ ...of, channel, prefix: prefixUri(of.s3, { bucket: store.bucket, name }) }] : [],
  );
  for (const { channel, s3, inputMode, prefix } of channels) {
    if (!prefix.startsWith(root + bucketKeys.incoming(name))) continue;
    const found = await filesIn(store, run, generations, prefix.slice(root.length));
    const { files, others } = found;
    const takesList = inputMode === 'File' && found.isWhole;
    const text = othersText(`channel ${channel}`, s3, takesList ? found : undefined, others);
    // An attempt that finds the same adds nothing.
    const id = `channel-${hash('sha256', text ?? '').slice(0, 16)}`;
    if (text !== undefined)
      await timeline.add(runId, { id, at: clock.now().toISOString(), kind: 'ChannelFiles', text });
    if (!takesList) continue;
    if (files.length === 0)
      throw new LaunchRefusedError(
        `training.channels.${channel}: ${s3} holds no file of the sealed version (it holds ${others || 'nothing'}): correct what was rejected, drop again what was deleted (packing.whenDone), or have the script read the shards`,
      );
    const key = bucketKeys.channelManifest(name, runId, channel);
    await store.writeText(key, JSON.stringify([{ prefix }, ...files]));
    lists.set(channel, root + key);
  }
  return lists;
}

/** @param listed undefined where there is no list of files */
function othersText(
  channel: string,
  place: string,
  listed: Pick<FilesFound, 'files' | 'missing'> | undefined,
  others: string,
) {
  if (listed === undefined)
    return `${channel} reads ${place} as it is now${others && `, also ${others}`}: only File takes a list of files, and of ${MOST_OBJECTS} at most`;
  const { files, missing } = listed;
  if (others === '' && missing === 0) return undefined;
  const has =
    missing === 0
      ? `the ${files.length} files of the sealed version in ${place}`
      : `${files.length} of the ${files.length + missing} files of the sealed version, because the others do not lie in ${place} as they were packed`;
  return `${channel} has ${has}${others && `, and not ${others}`}`;
}

interface FilesFound {
  /** Names of the version's files, relative to the prefix. */
  readonly files: readonly string[];
  /** So many files of the version do not lie there. */
  readonly missing: number;
  /** In words what else lies there. */
  readonly others: string;
  readonly isWhole: boolean;
}

/** Objects below incoming/ that are no files of the version. */
const OTHERS = {
  rejected: 'that packing rejected',
  bundled: 'that bundle files (a channel has only what is dropped without --bundle)',
  later: 'that came or changed after the seal, or wait for the next',
} as const;
const KINDS = ['rejected', 'bundled', 'later'] as const;

async function filesIn(
  store: ObjectStore,
  run: RunRecord,
  generations: readonly string[],
  prefix: string,
): Promise<FilesFound> {
  const reader = readerOf(store);
  const { version, rejecting } = await manifestsIn(store, reader, run, generations);
  const fateOf = sealedFates(reader, [...version, ...rejecting]);
  const { noArrivals, annotations } = specialKeys(run);
  const files: string[] = [];
  const others: Record<keyof typeof OTHERS, string[]> = { rejected: [], bundled: [], later: [] };
  let [objects, packed] = [0, 0];
  for await (const { key, etag } of store.list(prefix)) {
    if ((objects += 1) > MOST_OBJECTS) break;
    if (noArrivals.has(key)) continue;
    const name = key.slice(prefix.length);
    const fate = await fateOf(key, etag);
    if (fate === 'packed') packed += 1;
    if (fate === 'packed' || key === annotations) files.push(name);
    else others[key.startsWith(bucketKeys.bundles(run.pipeline)) ? 'bundled' : (fate ?? 'later')].push(name);
  }
  const words = KINDS.flatMap((kind) => countText(OTHERS[kind], others[kind]));
  const isWhole = objects <= MOST_OBJECTS;
  const missing = isWhole ? (await countPacked(reader, version, prefix, packed)) - packed : 0;
  return { files, missing, others: words.join('; '), isWhole };
}

/** Packing takes neither for an arrival, and reads the annotations. */
function specialKeys({ pipeline, declaration }: RunRecord) {
  const incoming = bucketKeys.incoming(pipeline);
  return {
    noArrivals: new Set([incoming, `${incoming}${declaration?.settle.marker}`]),
    annotations: `${incoming}${declaration?.packing.annotations?.file}`,
  };
}

const countText = (what: string, [example, ...more]: readonly string[]): string[] =>
  example === undefined ? [] : [`${more.length + 1} ${what}, such as ${shownKey(example)}`];

/** @param found so many are known to be packed @returns how many keys below the prefix are */
async function countPacked(
  reader: BlobReader,
  version: readonly Manifest[],
  prefix: string,
  found: number,
): Promise<number> {
  // A key may be in several generations, and never counts as more than they say: most lists need not be read.
  if (version.reduce((sum, { arrivals }) => sum + arrivals.packed, 0) === found) return found;
  let [count, before] = [0, ''];
  for await (const { line } of inOrder(version.map((one) => sealedLines(reader, one)))) {
    const [key, , , outcome] = line;
    if (typeof outcome !== 'number' || key === before || !key.startsWith(prefix)) continue;
    before = key;
    count += 1;
  }
  return count;
}

const readerOf = (store: ObjectStore): BlobReader => ({
  get: async (key) => {
    const found = await store.readBytes(key);
    if (found === undefined) return { kind: 'missing' };
    return { kind: 'found', chunks: [found.bytes], size: found.bytes.length, etag: found.etag };
  },
});

/** Generations without a shard are in no version, and tell what was rejected, or came again with the same bytes. */
async function manifestsIn(
  store: ObjectStore,
  reader: BlobReader,
  { pipeline, batch, declaration }: RunRecord,
  generations: readonly string[],
) {
  const pin = declaration?.dataset?.pin;
  const last = pin === undefined ? batch : batchOf(pin);
  const folders = await store.listFolders(bucketKeys.dataset(pipeline));
  const others = folders.filter((name) => batchOf(name) <= last);
  const manifests = await manifestsOf(reader, pipeline, [...new Set([...generations, ...others])]);
  const isOfVersion = ({ generation }: Manifest): boolean => generations.includes(generation);
  return {
    version: manifests.filter(isOfVersion),
    rejecting: manifests.filter((one) => !isOfVersion(one) && one.arrivals.packed === 0),
  };
}
