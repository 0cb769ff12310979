/** Finds packed samples that a newer file of annotations labels otherwise: their objects need not have changed. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import { kindOf, readVersioned, valueOf } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { type BlobStore, readText } from '../documents/blob-store.ts';
import { DOCUMENT_VERSION, type MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import type { Annotations } from './annotations.ts';

/**
 * A note of the last comparison of packed labels with a file of annotations. What it says stays true: generations never
 * change, and a changed file has another version. So a plan reads no member list again that was compared before.
 */
const comparedSchema = z.object({
  version: z.literal(DOCUMENT_VERSION),
  annotations: z.string(),
  /** All that were compared, oldest first. */
  generations: z.array(z.string()),
  /** The objects of each sample that is labelled otherwise. */
  corrected: z.array(z.array(z.string())),
});
export type ComparedLabels = Omit<z.infer<typeof comparedSchema>, 'version'>;

/** A generation that was repaired may have another plan. */
const comparedName = ({ generation, plan }: Manifest): string => `${generation} ${plan}`;

/** Undefined where there is none, or none that this release reads: then all is compared again. */
async function readCompared(store: BlobStore, pipeline: string): Promise<ComparedLabels | undefined> {
  const text = await readText(store, bucketKeys.comparedLabels(pipeline));
  return text === undefined ? undefined : valueOf(readVersioned(kindOf(comparedSchema), parseJson(text)));
}

export async function writeCompared(
  store: BlobStore,
  pipeline: string,
  compared: ComparedLabels,
): Promise<void> {
  const body = Buffer.from(JSON.stringify({ version: DOCUMENT_VERSION, ...compared }));
  await store.put(bucketKeys.comparedLabels(pipeline), body, { contentType: 'application/json' });
}

/** By the key of each object of such a sample: all objects of the sample. */
export type CorrectedLabels = ReadonlyMap<string, readonly string[]>;

interface Found {
  readonly corrected: CorrectedLabels;
  /** What to note, where lists were read. */
  readonly compared?: ComparedLabels;
}

/** More are corrected by the run at hand, and then there are fewer. */
const MOST_NOTED = 10_000;

/**
 * Reads the member lists of generations that may have been labelled by another version of the file, and of those after
 * them, unless the last comparison has read them.
 * @param manifests oldest first
 */
export async function correctedLabels(
  store: BlobStore,
  manifests: readonly Manifest[],
  annotations: Annotations | undefined,
): Promise<Found> {
  const labelled = manifests.filter((one) => one.annotations !== undefined && one.pruned !== true);
  const [first] = labelled;
  if (annotations === undefined || first === undefined) return { corrected: new Map() };
  const names = labelled.map(comparedName);
  const noted = notedOn(await readCompared(store, first.pipeline), annotations, names);
  const corrected = new Map(
    noted.corrected.flatMap((objects) => objects.map((key) => [key, objects] as const)),
  );
  let isAnyRead = false;
  for (const manifest of labelled.slice(noted.generations.length)) {
    if (isLabelledBy(manifest, annotations) && corrected.size === 0) continue;
    isAnyRead = true;
    const keys = packingKeys(manifest.pipeline, manifest.generation);
    const incoming = bucketKeys.incoming(manifest.pipeline);
    for (const shard of manifest.shards)
      compare(await memberLines(store, keys, shard), { annotations, incoming, corrected });
  }
  return { corrected, ...(isAnyRead && toBeNoted(annotations, names, corrected)) };
}

const isLabelledBy = ({ annotations }: Manifest, { version }: Annotations): boolean =>
  annotations?.version === version && annotations.older !== true;

const NOTHING_NOTED: Pick<ComparedLabels, 'generations' | 'corrected'> = { generations: [], corrected: [] };

/** The note is of these annotations, and the generations in it are still the oldest. Otherwise it says nothing. */
function notedOn(
  noted: ComparedLabels | undefined,
  { version }: Annotations,
  names: readonly string[],
): Pick<ComparedLabels, 'generations' | 'corrected'> {
  const isOn = noted?.annotations === version && noted.generations.every((one, at) => one === names[at]);
  return isOn ? noted : NOTHING_NOTED;
}

function toBeNoted(
  { version }: Annotations,
  generations: readonly string[],
  corrected: CorrectedLabels,
): Pick<Found, 'compared'> {
  const samples = [...new Set(corrected.values())];
  if (samples.length > MOST_NOTED) return {};
  return {
    compared: {
      annotations: version,
      generations: [...generations],
      corrected: samples.map((one) => [...one]),
    },
  };
}

interface Comparing {
  readonly annotations: Annotations;
  readonly incoming: string;
  readonly corrected: Map<string, readonly string[]>;
}

function compare(lines: readonly MemberLine[], { annotations, incoming, corrected }: Comparing): void {
  for (const { label, objects, isOwn } of labelledSamples(lines)) {
    if (isOwn) continue;
    const now = annotations.labelOfSample(objects.map((key) => key.slice(incoming.length)));
    const isCorrected = now !== undefined && sealedText(now) !== label;
    // A newer generation may hold the corrected sample, and wait for its compaction.
    for (const key of objects)
      if (isCorrected) corrected.set(key, objects);
      else corrected.delete(key);
  }
}

/** A label as member lists have it: half of a surrogate pair is no UTF-8. */
const sealedText = (label: string): string => label.toWellFormed();

interface LabelledSample {
  readonly objects: readonly string[];
  readonly label: string | undefined;
  /** It brought its own label file, which wins. */
  readonly isOwn: boolean;
}

/** Samples with a label, without their copies. */
function labelledSamples(lines: readonly MemberLine[]): LabelledSample[] {
  const samples = new Map<number, { objects: string[]; label: string | undefined; isOwn: boolean }>();
  for (const { sample, repeat, key, label } of lines) {
    if (repeat !== undefined) continue;
    const one = samples.get(sample) ?? { objects: [], label: undefined, isOwn: false };
    samples.set(sample, one);
    if (key !== undefined) one.objects.push(key);
    one.label ??= label;
    one.isOwn ||= label !== undefined && key !== undefined;
  }
  return [...samples.values()].filter(({ label }) => label !== undefined);
}
