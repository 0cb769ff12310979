/**
 * Samples whose bytes another pipeline of the bucket holds. Where one pipeline trains and another one tests, a model is
 * tested on what it has learnt.
 */
import { RESERVED_NAMES } from '@tidewheel/contract/bucket-keys.ts';
import { type BlobStore, listPages } from '../documents/blob-store.ts';
import { DocumentError } from '../documents/documents.ts';
import { ManifestError, readSealedManifest } from '../documents/sealed-arrivals.ts';
import { blobVersions, newestVersion } from '../documents/versions.ts';
import { commonOf, NumberList } from './digest-list.ts';
import { type GenerationFacts, generationFacts, storedFacts } from './generation-facts.ts';
import type { QualityReport } from './report-document.ts';

/** Further pipelines are not compared, so that a seal stays short in a bucket of hundreds. */
const MOST_PIPELINES = 20;
/** So many samples are counted from their lists, which takes some seconds, where no report has counted them. */
const MOST_COUNTED = 500_000;

export async function otherPipelines(store: BlobStore, pipeline: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { prefixes } of listPages(store, '', { delimiter: '/' }))
    names.push(...prefixes.map((prefix) => prefix.slice(0, -1)));
  return names.filter((name) => name !== pipeline && !RESERVED_NAMES.includes(name));
}

/** Compares with the newest version of each. A joined generation has no report of its own, so it is counted here. */
export async function sharedSamples(
  store: BlobStore,
  digests: BigUint64Array,
  others: readonly string[],
): Promise<Pick<QualityReport, 'shared' | 'notCompared'>> {
  const shared: { pipeline: string; samples: number }[] = [];
  const notCompared: string[] = [];
  const uncounted = { samples: MOST_COUNTED };
  for (const [index, pipeline] of others.entries()) {
    const version = await newestVersion(blobVersions(store), pipeline);
    if (version === undefined) continue;
    const common = new NumberList();
    let isWhole = index < MOST_PIPELINES;
    for (const generation of isWhole ? version.generations : []) {
      const facts =
        (await storedFacts(store, pipeline, generation)) ??
        (await counted(store, { pipeline, generation }, uncounted));
      if (facts === undefined) isWhole = false;
      else for (const number of commonOf(digests, facts.digests).numbers) common.push(number);
    }
    const samples = commonOf(digests, common.sorted()).entries;
    if (samples > 0) shared.push({ pipeline, samples });
    if (!isWhole) notCompared.push(pipeline);
  }
  return { shared, notCompared };
}

/** Undefined where the generation is gone or damaged, or too large for what is left to count. */
async function counted(
  store: BlobStore,
  { pipeline, generation }: { readonly pipeline: string; readonly generation: string },
  left: { samples: number },
): Promise<GenerationFacts | undefined> {
  try {
    const manifest = await readSealedManifest(store, pipeline, generation);
    if (manifest === undefined || manifest.pruned === true || manifest.samples > left.samples)
      return undefined;
    left.samples -= manifest.samples;
    return await generationFacts(store, manifest);
  } catch (error: unknown) {
    if (error instanceof DocumentError || error instanceof ManifestError) return undefined;
    throw error;
  }
}
