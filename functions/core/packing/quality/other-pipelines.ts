/**
 * Samples whose bytes another pipeline of the bucket holds. Where one pipeline trains and another one tests, a model is
 * tested on what it has learnt.
 */
import { RESERVED_NAMES } from '../../shared/keys.ts';
import { type BlobStore, listPages } from '../model/blob-store.ts';
import { blobVersions, newestVersion } from '../model/versions.ts';
import { commonOf, NumberList } from './digest-list.ts';
import { storedFacts } from './generation-facts.ts';
import type { QualityReport } from './report-document.ts';

/** Further pipelines are not compared, so that a seal stays short in a bucket of hundreds. */
const MOST_PIPELINES = 20;

export async function otherPipelines(store: BlobStore, pipeline: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { prefixes } of listPages(store, '', { delimiter: '/' }))
    names.push(...prefixes.map((prefix) => prefix.slice(0, -1)));
  return names.filter((name) => name !== pipeline && !RESERVED_NAMES.includes(name));
}

/** Compares with the newest version of each, as far as reports have counted it. */
export async function sharedSamples(
  store: BlobStore,
  digests: BigUint64Array,
  others: readonly string[],
): Promise<Pick<QualityReport, 'shared' | 'notCompared'>> {
  const shared: { pipeline: string; samples: number }[] = [];
  const notCompared: string[] = [];
  for (const [index, pipeline] of others.entries()) {
    const version = await newestVersion(blobVersions(store), pipeline);
    if (version === undefined) continue;
    const common = new NumberList();
    let isWhole = index < MOST_PIPELINES;
    for (const generation of isWhole ? version.generations : []) {
      const facts = await storedFacts(store, pipeline, generation);
      if (facts === undefined) isWhole = false;
      else for (const number of commonOf(digests, facts.digests).numbers) common.push(number);
    }
    const samples = commonOf(digests, common.sorted()).entries;
    if (samples > 0) shared.push({ pipeline, samples });
    if (!isWhole) notCompared.push(pipeline);
  }
  return { shared, notCompared };
}
