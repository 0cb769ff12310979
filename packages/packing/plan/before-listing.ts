/**
 * What is known before a run lists its arrivals: what generations packed or rejected, what people said of it since, and
 * the settings that the dataset was begun with.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import type { OnChange, OnDelete, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { archivesAsArrivals, isUnpackedBy } from '../archives/archive-notes.ts';
import { hasDeclaredRejections, rejectingRules } from '../arrivals/rejected-keys.ts';
import { type Retraction, readRetractions } from '../arrivals/retractions.ts';
import type { BlobStore, ListedBlob } from '../documents/blob-store.ts';
import { imageRuleOf } from '../documents/image-preparation.ts';
import { holdsNothing, type Manifest } from '../documents/manifest.ts';
import { INNER_SUFFIXES } from '../documents/member-names.ts';
import { compareKeys } from '../documents/order.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { type SealedGenerations, sealedGenerations } from '../documents/sealed-arrivals.ts';
import { formatOf } from '../formats/formats.ts';
import { Annotations } from '../labels/annotations.ts';
import { type ComparedLabels, type CorrectedLabels, correctedLabels } from '../labels/corrected-labels.ts';
import { SplitLists } from '../splits/split-lists.ts';
import { type KnownRanges, NOTHING_KNOWN, sealedRanges } from './listed-ranges.ts';
import { mayBeFreed } from './new-arrivals.ts';
import { type RemovedObjects, removedObjects } from './removed-objects.ts';

export interface DatasetInput {
  readonly pipeline: string;
  readonly packing: PackingSettings;
  /** By default `keep`. */
  readonly onChange?: OnChange | undefined;
  /** By default `keep`. */
  readonly onDelete?: OnDelete | undefined;
}

export interface BeforeListing {
  /** The generations that are not replaced, oldest first. */
  readonly manifests: readonly Manifest[];
  /** As declared, with the dataset's inner suffixes. */
  readonly settings: PackingSettings;
  readonly onChange: OnChange;
  readonly annotations: Annotations | undefined;
  /** For a split by lists. */
  readonly lists: SplitLists | undefined;
  /** Ranges of the last listing in which everything was sealed. */
  readonly known: KnownRanges;
  /** Undefined where deletions do not count. */
  readonly removed: RemovedObjects | undefined;
  readonly retractions: readonly Retraction[];
  /** Archives whose files are arrivals; as a listing has them where none is unpacked. */
  readonly archives: (object: ListedBlob) => readonly ListedBlob[];
  /** Packed samples that the annotations label otherwise now. */
  readonly corrected: CorrectedLabels;
  /** To be noted. */
  readonly compared: ComparedLabels | undefined;
}

/** @throws ConfigurationError if the declaration does not fit the dataset */
export async function readBeforeListing(store: BlobStore, input: DatasetInput): Promise<BeforeListing> {
  const { pipeline, packing, onChange = 'keep', onDelete } = input;
  const sealed = await sealedGenerations(store, pipeline);
  const { manifests } = sealed;
  const settings = begunWith(packing, manifests);
  const annotations = await Annotations.open(store, settings, bucketKeys.incoming(pipeline));
  const lists = await SplitLists.open(store, settings, bucketKeys.incoming(pipeline));
  const known = await knownRanges(store, input, { sealed, annotations });
  const removed = onDelete === 'retract' ? await removedObjects(store, pipeline, sealed) : undefined;
  const retractions = await readRetractions(store, pipeline);
  const newer = onChange === 'replace' ? annotations : undefined;
  const { corrected, compared } = await correctedLabels(store, manifests, newer);
  return {
    manifests,
    settings,
    onChange,
    annotations,
    lists,
    known,
    removed,
    retractions,
    archives: await archivesOf(store, pipeline, settings),
    corrected,
    compared,
  };
}

async function archivesOf(
  store: BlobStore,
  pipeline: string,
  settings: PackingSettings,
): Promise<BeforeListing['archives']> {
  if (settings.archives !== 'unpack') return (object) => [object];
  return archivesAsArrivals(store, pipeline, isUnpackedBy(pipeline, settings));
}

/**
 * Before data is sent that the next run would have to refuse.
 * @throws ConfigurationError if the declaration does not fit the dataset
 */
export async function checkFitsDataset(
  store: BlobStore,
  { pipeline, packing }: Pick<DatasetInput, 'pipeline' | 'packing'>,
): Promise<void> {
  begunWith(packing, (await sealedGenerations(store, pipeline)).manifests);
}

/** Arrivals that were rejected or freed may have to be packed now: then each one is looked up. */
async function knownRanges(
  store: BlobStore,
  { pipeline, packing, onDelete }: DatasetInput,
  {
    sealed,
    annotations,
  }: { readonly sealed: SealedGenerations; readonly annotations: Annotations | undefined },
): Promise<KnownRanges> {
  const isAnyKnown =
    annotations === undefined &&
    packing.join === undefined &&
    onDelete !== 'retract' &&
    !mayBeFreed(sealed.manifests);
  const known = isAnyKnown ? await sealedRanges(store, pipeline, sealed) : NOTHING_KNOWN;
  const mayLapse = known.rules !== rejectingRules(packing) && hasDeclaredRejections(sealed.manifests);
  return mayLapse ? NOTHING_KNOWN : known;
}

/**
 * @param manifests of generations that are not replaced
 * @returns the settings with the dataset's inner suffixes, whose keys would otherwise form other samples
 * @throws ConfigurationError
 */
function begunWith(packing: PackingSettings, manifests: readonly Manifest[]): PackingSettings {
  const packed = manifests.filter((one) => !holdsNothing(one) && one.pruned !== true);
  // A version of files takes the place of all before it.
  if (!isUnpacked(packing)) for (const one of packed) checkSame(packing, one);
  const [first] = packed;
  const innerSuffixes = first === undefined ? (packing.innerSuffixes ?? INNER_SUFFIXES) : first.innerSuffixes;
  return { ...packing, innerSuffixes: innerSuffixes && [...innerSuffixes] };
}

function checkSame(packing: PackingSettings, one: Manifest): void {
  const { format, label, labelPattern, labelLevel, split, join, innerSuffixes = one.innerSuffixes } = packing;
  const imageRule = imageRuleOf(packing);
  const { labelRule = { label, labelPattern, labelLevel } } = one;
  const current = formatOf(packing);
  const compression = current.isGzipped?.(packing) === true ? 'gzip' : 'none';
  const { labelType, kind } = current.schema(packing, { columns: [] });
  // Another format has another schema, and is refused itself.
  const schema = format === one.format ? one.schema : { labelType, kind };
  const parts = [
    ['format', format, one.format, 'no reader takes both'],
    ['tfrecord.compression', compression, one.compression ?? 'none', 'no reader takes both'],
    [`${format}.kind`, kind, schema.kind, 'no reader takes both'],
    ['labelType', labelType, schema.labelType, 'the dataset would mix two kinds of labels'],
    ['label', label, labelRule.label, 'the dataset would mix two kinds of labels'],
    ['labelPattern', labelPattern, labelRule.labelPattern, 'the dataset would mix two kinds of labels'],
    ['labelLevel', labelLevel, labelRule.labelLevel, 'the dataset would mix two kinds of labels'],
    ['prepare.image', imageRule, one.imageRule ?? imageRule, 'the dataset would mix two kinds of images'],
    ['join', join, one.join, 'a sample could be packed twice'],
    ['split', split, one.split, 'a group could be in two splits'],
    ['innerSuffixes', innerSuffixes, one.innerSuffixes, 'a sample could be packed twice'],
  ] as const;
  const other = parts.flatMap(([name, now, before, so]) =>
    shown(now) === shown(before)
      ? []
      : [
          `packing.${name} is ${shown(now)}, but ${one.generation} was packed with ${shown(before)}, so ${so}`,
        ],
  );
  if (other.length === 0) return;
  throw new ConfigurationError(
    `${other.join('; ')}: declare it as it was, or drop the data into a new pipeline, or let the next run pack it again: ${packingKeys(one.pipeline, one.generation).repair} --give-up`,
  );
}

/** Fields in one order: a person may write them in another. */
const shown = (value: unknown): string =>
  JSON.stringify(isFields(value) ? inOneOrder(value) : value) ?? 'not declared';

const inOneOrder = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => compareKeys(a, b)));

const isFields = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
