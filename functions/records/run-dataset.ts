/** The generations that a run trains on: all up to its own, and the same ones for each attempt. */

import { type DatasetSize, datasetSizeOf } from '@tidewheel/catalog/data-on-hosts.ts';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked, SPLITS, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { scoredSplit } from '@tidewheel/declaration/pipeline.ts';
import { LaunchRefusedError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import {
  DOCUMENT_VERSION,
  DocumentError,
  headerDifference,
  packingKeys,
  readDocument,
  shownHeader,
} from '@tidewheel/packing/dataset.ts';
import * as z from 'zod';
import { generationsNow, recordGenerations } from './dataset-version.ts';
import type { RunRecord } from './run-records.ts';

/** The shards of one generation, or of one split of it, as a training channel reads them. */
export interface GenerationShards {
  /** Of a generation whose samples are split: the name of the channel. */
  readonly split?: SplitName;
  /** `bucketKeys.shards(...)` or a split's folder below: nothing but shards, and an index that mds needs, lies under it. */
  readonly shardsPrefix: string;
  /**
   * Names of the shards, relative to the prefix. A run needs them to read several generations, or to give each of
   * several processes a Pipe.
   */
  readonly shards: readonly string[];
  /** Names of the indexes beside the shards, relative to the prefix; mosaicml-streaming reads none without. */
  readonly indexes?: readonly string[];
  /** Number and bytes of the shards, for the choice of the input mode. */
  readonly totals: { readonly shards: number; readonly bytes: number };
  /** There are no shards: the totals are those of the files, which have channels of their own. */
  readonly isUnpacked?: true;
}

export interface Dataset {
  /** Oldest first. */
  readonly generations: readonly string[];
  readonly shards: readonly GenerationShards[];
}

/**
 * The run first records what it reads, then checks that nothing of it was pruned. A prune first removes generations
 * from the newest version, then looks for readers. So one of the two notices the other.
 * @throws DocumentError if a manifest is gone or cannot be read
 */
export async function datasetOf(store: ObjectStore, run: RunRecord): Promise<Dataset> {
  const generations = run.generations ?? (await recordGenerations(store, run));
  return { generations, shards: await readShards(store, run, generations) };
}

async function readShards(
  store: ObjectStore,
  { pipeline, reads, probe, declaration }: Pick<RunRecord, 'pipeline' | 'reads' | 'probe' | 'declaration'>,
  generations: readonly string[],
): Promise<GenerationShards[]> {
  const { arrivals } = probe?.evaluates ?? {};
  if (arrivals !== undefined) {
    const { revision, splits: _, ...manifest } = await readManifest(store, pipeline, arrivals);
    const whole = shardsOf(pipeline, { ...manifest, generation: arrivals, revision });
    // A job without a channel train would be refused.
    const channels = ['train', scoredSplit(declaration ?? {})] as const;
    return channels.flatMap((split) => whole.map((shards) => ({ ...shards, ...(split && { split }) })));
  }
  const read = async (generation: string) => ({
    generation,
    ...(await readManifest(store, pipeline, generation)),
  });
  const names = reads?.drawn === undefined ? generations : [...generations, reads.drawn];
  const manifests = await Promise.all(names.map(read));
  checkOneKind(manifests, `s3://${store.bucket}/${pipeline}`);
  checkOneHeader(manifests, `s3://${store.bucket}/${pipeline}`);
  const isTraining = new Set(reads === undefined ? names : [...reads.whole, reads.drawn]);
  return manifests.flatMap((manifest) =>
    shardsOf(pipeline, manifest).filter(
      ({ split = 'train' }) => split !== 'train' || isTraining.has(manifest.generation),
    ),
  );
}

type NamedManifest = z.output<typeof manifestShards> & { readonly generation: string };

function shardsOf(
  pipeline: string,
  { generation, format, revision, shards, splits, indexes = [], samples = 0, bytes = 0 }: NamedManifest,
): GenerationShards[] {
  const shardsPrefix = bucketKeys.shards(pipeline, generation, revision);
  if (isUnpacked({ format }))
    return [{ shardsPrefix, shards: [], totals: { shards: samples, bytes }, isUnpacked: true }];
  if (splits === undefined) return [{ shardsPrefix, ...namesOf(shards), ...indexesIn('', indexes) }];
  return splits.flatMap(({ name: split }) => {
    const folder = `${split}/`;
    const mine = shards
      .filter(({ name }) => name.startsWith(folder))
      .map(({ name, bytes }) => ({ name: name.slice(folder.length), bytes }));
    // SageMaker refuses a channel without objects.
    if (mine.length === 0) return [];
    const shardsOfSplit = { ...namesOf(mine), ...indexesIn(folder, indexes) };
    return [{ split, shardsPrefix: `${shardsPrefix}${folder}`, ...shardsOfSplit }];
  });
}

function indexesIn(folder: string, indexes: readonly string[]): Pick<GenerationShards, 'indexes'> {
  const mine = indexes.filter((name) => name.startsWith(folder)).map((name) => name.slice(folder.length));
  return mine.length === 0 ? {} : { indexes: mine };
}

/**
 * A reader that looks for shards of one format passes the others by, and trains on a part of the data without an error.
 * @throws LaunchRefusedError
 */
function checkOneKind(manifests: readonly NamedManifest[], place: string): void {
  const kinds = new Map<string, string[]>();
  for (const { generation, format, compression } of manifests) {
    if (format === undefined) continue;
    const kind = compression === undefined ? format : `${format} in ${compression}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), generation]);
  }
  if (kinds.size < 2) return;
  const each = [...kinds].map(([kind, names]) => `${names.join(', ')} (${kind})`).join(' and ');
  throw new LaunchRefusedError(
    `the dataset holds ${each}, and no reader takes both: give up those of one format by tidewheel data repair ${place} GENERATION --give-up, and the next run packs again what of them lies under incoming/; or pin a version of one format`,
  );
}

/**
 * Rows whose header was dropped are read by the place of their columns.
 * @throws LaunchRefusedError
 */
function checkOneHeader(manifests: readonly NamedManifest[], place: string): void {
  const [first, ...others] = manifests.flatMap(({ generation, schema }) =>
    schema?.droppedHeader === undefined ? [] : [{ generation, header: schema.droppedHeader }],
  );
  const other = others.find(({ header }) => header !== first?.header);
  if (first === undefined || other === undefined) return;
  throw new LaunchRefusedError(
    `the CSV files of ${other.generation} began with ${shownHeader(other.header)} and those of ${first.generation} with ${shownHeader(first.header)}: ${headerDifference(other.header, first.header)}. The shards hold no header (packing.lines.header: drop), so no reader could tell the columns: give one up by tidewheel data repair ${place} GENERATION --give-up, and drop its files again with the other header`,
  );
}

const namesOf = (
  shards: z.output<typeof manifestShards>['shards'],
): Pick<GenerationShards, 'shards' | 'totals'> => ({
  shards: shards.map(({ name }) => name),
  totals: { shards: shards.length, bytes: sum(shards.map(({ bytes }) => bytes)) },
});

/** The part of a manifest that training needs. */
const manifestShards = z.object({
  version: z.literal(DOCUMENT_VERSION),
  format: z.string().optional(),
  compression: z.string().optional(),
  revision: z.string().optional(),
  schema: z.object({ droppedHeader: z.string().optional() }).optional(),
  shards: z.array(
    z.object({
      /** Relative to the generation's shards. */
      name: z.string().min(1),
      bytes: z.number().int().min(0),
    }),
  ),
  splits: z.array(z.object({ name: z.enum(SPLITS) })).optional(),
  indexes: z.array(z.string()).optional(),
  samples: z.number().optional(),
  bytes: z.number().optional(),
});

/** How many samples a generation has; 0 where its manifest says nothing of that, or is gone. */
export async function samplesInGeneration(
  store: ObjectStore,
  pipeline: string,
  generation: string,
): Promise<number> {
  try {
    return (await readManifest(store, pipeline, generation)).samples ?? 0;
  } catch (error: unknown) {
    if (error instanceof DocumentError) return 0;
    throw error;
  }
}

async function readManifest(
  store: ObjectStore,
  pipeline: string,
  generation: string,
): Promise<z.output<typeof manifestShards>> {
  const { manifest: key, repair } = packingKeys(pipeline, generation);
  const stored = await store.readText(key);
  if (stored === undefined)
    throw new DocumentError(
      `${key} is gone: restore it from an older version of the object or from a copy, or run ${repair}`,
    );
  return readDocument(kindOf(manifestShards), key, stored.text);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * Of all shards that the run trains on, for an estimate: nothing is recorded.
 * @returns undefined where a version or manifest cannot be read; `datasetOf` throws why
 */
export async function datasetSize(store: ObjectStore, run: RunRecord): Promise<DatasetSize | undefined> {
  try {
    return datasetSizeOf(await readShards(store, run, run.generations ?? (await generationsNow(store, run))));
  } catch (error: unknown) {
    if (error instanceof DocumentError || error instanceof LaunchRefusedError) return undefined;
    throw error;
  }
}
