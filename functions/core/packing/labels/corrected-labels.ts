/** Finds packed samples that a newer file of annotations labels otherwise: their objects need not have changed. */
import { bucketKeys } from '../../shared/keys.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { MemberLine } from '../model/documents.ts';
import type { Manifest } from '../model/manifest.ts';
import { memberLines } from '../model/member-lines.ts';
import { packingKeys } from '../model/packing-keys.ts';
import type { Annotations } from './annotations.ts';

/**
 * Reads the member lists of generations that were labelled by another version of the file, and of those after them.
 * @param manifests oldest first @returns the keys of all objects of such samples
 */
export async function correctedLabels(
  store: BlobStore,
  manifests: readonly Manifest[],
  annotations: Annotations | undefined,
): Promise<ReadonlySet<string>> {
  const corrected = new Set<string>();
  if (annotations === undefined) return corrected;
  for (const manifest of manifests) {
    const version = manifest.annotations?.version;
    if (version === undefined || manifest.pruned === true) continue;
    if (version === annotations.version && corrected.size === 0) continue;
    const keys = packingKeys(manifest.pipeline, manifest.generation);
    const incoming = bucketKeys.incoming(manifest.pipeline);
    for (const shard of manifest.shards)
      compare(await memberLines(store, keys, shard), { annotations, incoming, corrected });
  }
  return corrected;
}

function compare(
  lines: readonly MemberLine[],
  {
    annotations,
    incoming,
    corrected,
  }: { readonly annotations: Annotations; readonly incoming: string; readonly corrected: Set<string> },
): void {
  for (const { label, objects } of labelledSamples(lines)) {
    const now = annotations.labelOfSample(objects.map((key) => key.slice(incoming.length)));
    const isCorrected = now !== undefined && sealedText(now) !== label;
    // A newer generation may hold the corrected sample, and wait for its compaction.
    for (const key of objects) corrected[isCorrected ? 'add' : 'delete'](key);
  }
}

/** A label as member lists have it: half of a surrogate pair is no UTF-8. */
const sealedText = (label: string): string => label.toWellFormed();

interface LabelledSample {
  readonly objects: readonly string[];
  /** Undefined where the sample brought its own label file, which wins. */
  readonly label: string | undefined;
}

/** Samples whose label packing made, without their copies. */
function labelledSamples(lines: readonly MemberLine[]): LabelledSample[] {
  const samples = new Map<number, { objects: string[]; label: string | undefined }>();
  for (const { sample, repeat, key, label } of lines) {
    if (repeat !== undefined) continue;
    const one = samples.get(sample) ?? { objects: [], label: undefined };
    samples.set(sample, one);
    if (key !== undefined) one.objects.push(key);
    one.label ??= label;
  }
  return [...samples.values()].filter(({ label }) => label !== undefined);
}
