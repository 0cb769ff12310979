/** The files below incoming/ that a run's channels read: those of its sealed version, and no other that lies there. */

import { hash } from 'node:crypto';
import type { InputMode } from '@tidewheel/catalog/data-on-hosts.ts';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { channelsOf } from '@tidewheel/declaration/pipeline.ts';
import { prefixUri } from '@tidewheel/declaration/script.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { LaunchRefusedError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import {
  batchOf,
  inOrder,
  type Manifest,
  MOST_CHANNEL_FILES,
  manifestsOf,
  sealedFates,
  sealedLines,
} from '@tidewheel/packing/dataset.ts';
import type { BlobReader } from '@tidewheel/packing/store.ts';
import type { Dataset } from './run-dataset.ts';
import type { RunRecord } from './run-records.ts';
import { type FilesDeps, fileVersionOf, readerOf, versionFiles } from './sealed-files.ts';
import type { Stores } from './stores.ts';

export interface ListingDeps extends FilesDeps, Pick<Stores, 'timeline'> {
  readonly clock: Clock;
}

/** A channel below `incoming/`. */
interface IncomingChannel {
  readonly channel: string;
  /** As declared. */
  readonly s3: string;
  readonly inputMode: InputMode;
  readonly split?: SplitName | undefined;
  /** Key prefix. */
  readonly prefix: string;
}

/** What a channel gets. */
interface ChannelList {
  /** Key prefix. */
  readonly prefix: string;
  /** Relative to the prefix. Undefined: all that lies there. */
  readonly files: readonly string[] | undefined;
  /** For the timeline. */
  readonly text: string | undefined;
}

/**
 * Writes a list (S3DataType ManifestFile) for each channel below incoming/ that can have one. The timeline says what else
 * lies there.
 * @returns the URIs of the lists by channel
 * @throws LaunchRefusedError where files of the version are gone
 */
export async function listChannelFiles(
  deps: ListingDeps,
  run: RunRecord,
  dataset: Dataset,
): Promise<ReadonlyMap<string, string>> {
  const { generations } = dataset;
  const { store, timeline, clock } = deps;
  const { runId, pipeline: name } = run;
  const lists = new Map<string, string>();
  const version = await fileVersionOf(store, run, dataset);
  for (const channel of incomingChannels(store, run)) {
    const found =
      version === undefined
        ? await listOf(store, run, { generations, channel })
        : await versionFiles(deps, run, { version, channel });
    if (found === undefined) continue;
    const { prefix, files, text } = found;
    // An attempt that finds the same adds nothing.
    const id = `channel-${hash('sha256', text ?? '').slice(0, 16)}`;
    if (text !== undefined)
      await timeline.add(runId, { id, at: clock.now().toISOString(), kind: 'ChannelFiles', text });
    if (files === undefined) continue;
    const key = bucketKeys.channelManifest(name, runId, channel.channel);
    await store.writeText(key, JSON.stringify([{ prefix: s3Uri(store.bucket, prefix) }, ...files]));
    lists.set(channel.channel, s3Uri(store.bucket, key));
  }
  return lists;
}

function incomingChannels({ bucket }: ObjectStore, { pipeline: name, declaration }: RunRecord) {
  const root = s3Uri(bucket, '');
  return Object.entries(declaration === undefined ? {} : channelsOf(declaration)).flatMap(
    ([channel, of]): IncomingChannel[] => {
      const uri = 's3' in of ? prefixUri(of.s3, { bucket, name }) : '';
      return 's3' in of && uri.startsWith(root + bucketKeys.incoming(name))
        ? [{ ...of, channel, prefix: uri.slice(root.length) }]
        : [];
    },
  );
}

/** For a version of shards: lists what lies in the channel and was packed. */
async function listOf(
  store: ObjectStore,
  run: RunRecord,
  {
    generations,
    channel: { channel, s3, inputMode, prefix },
  }: { readonly generations: readonly string[]; readonly channel: IncomingChannel },
): Promise<ChannelList> {
  const found = await filesIn(store, run, generations, prefix);
  const { files, others } = found;
  const takesList = inputMode !== 'FastFile' && found.isWhole;
  const text = othersText(`channel ${channel}`, s3, takesList ? found : undefined, others);
  if (takesList && files.length === 0)
    throw new LaunchRefusedError(
      `training.channels.${channel}: ${s3} holds no file of the sealed version (it holds ${others || 'nothing'}): correct what was rejected, drop again what was deleted (packing.whenDone), or have the script read the shards`,
    );
  return { prefix, files: takesList ? files : undefined, text };
}

/** @param listed undefined where there is no list of files */
function othersText(
  channel: string,
  place: string,
  listed: Pick<FilesFound, 'files' | 'missing'> | undefined,
  others: string,
) {
  if (listed === undefined)
    return `${channel} reads ${place} as it is now${others && `, also ${others}`}: only File takes a list of files, and of ${MOST_CHANNEL_FILES} at most`;
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
    if ((objects += 1) > MOST_CHANNEL_FILES) break;
    if (noArrivals.has(key)) continue;
    const name = key.slice(prefix.length);
    const fate = await fateOf(key, etag);
    if (fate === 'packed') packed += 1;
    if (fate === 'packed' || key === annotations) files.push(name);
    else others[key.startsWith(bucketKeys.bundles(run.pipeline)) ? 'bundled' : (fate ?? 'later')].push(name);
  }
  const words = KINDS.flatMap((kind) => countText(OTHERS[kind], others[kind]));
  const isWhole = objects <= MOST_CHANNEL_FILES;
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
