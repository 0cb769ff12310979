/** Keys of packing's own objects, below the folders that bucketKeys names. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { SplitName } from '@tidewheel/declaration/packing-settings.ts';

/** What lies in `quality/` of a generation. */
type QualityFile =
  | 'tally.json'
  | 'digests.bin'
  | `digests-${SplitName}.bin`
  | 'looks.bin'
  | 'report.json'
  | 'report.html'
  | 'begun.json'
  | 'released.json';

const digits = (number: number): string => String(number).padStart(6, '0');

export const packingKeys = (pipeline: string, runId: string) => {
  const plan = bucketKeys.plan(pipeline, runId);
  const generation = bucketKeys.generation(pipeline, runId);
  return {
    planCommit: `${plan}plan.json`,
    planItems: bucketKeys.planItems(pipeline, runId),
    planArrivals: (digest: string, part: number) => `${plan}${digest}/arrivals-${digits(part)}.jsonl.zst`,
    planRanges: (digest: string) => `${plan}${digest}/listed-ranges.json.zst`,
    planHeld: (digest: string) => `${plan}${digest}/held-samples.jsonl.zst`,
    planProblems: (digest: string) => `${plan}${digest}/annotation-problems.jsonl.gz`,
    planList: (digest: string, item: number) => `${plan}${digest}/item-${digits(item)}.jsonl.zst`,
    shardRecord: (digest: string, shard: number) => `${plan}${digest}/done-${digits(shard)}.json`,
    /** Relative to `shards`. */
    shardName: (shard: number, suffix: string, split?: SplitName) =>
      `${split === undefined ? '' : `${split}/`}shard-${digits(shard)}.${suffix}`,
    shards: (revision?: string) => bucketKeys.shards(pipeline, runId, revision),
    generation,
    memberList: (shard: number, digest: string) =>
      `members/shard-${digits(shard)}-${digest.slice(0, 12)}.jsonl.gz`,
    annotationProblems: 'arrivals/annotation-problems.jsonl.gz',
    quality: (file: QualityFile) => `${generation}quality/${file}`,
    arrivals: (part: number) => `arrivals/part-${digits(part)}.jsonl.gz`,
    /** Of a generation that was given up: the arrivals that a person had retracted. */
    retractions: (part: number) => `arrivals/retracted-${digits(part)}.jsonl.gz`,
    manifest: bucketKeys.manifest(pipeline, runId),
    /** What a person may run where the generation is damaged. */
    repair: `npx --no-install tidewheel data repair ${pipeline} ${runId}`,
    /** Replaces the manifest of a pruned generation. Its arrivals are not packed again. */
    pruned: `${generation}pruned.json`,
    /**
     * Replaces the manifest if all arrivals were rejected. There is nothing to train on, and they are not packed
     * again.
     */
    rejectionsOnly: `${generation}rejections.json`,
  };
};
export type PackingKeys = ReturnType<typeof packingKeys>;

/** The shard's number in plans and arrivals; NaN for a name that is not a shard's. */
export const shardNumberOf = (name: string): number => Number(/^(?:[a-z]+\/)?shard-(\d+)\./.exec(name)?.[1]);
