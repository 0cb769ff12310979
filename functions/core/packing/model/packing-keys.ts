/** Where packing keeps its own objects, below what layout.ts names. */
import { bucketKeys } from '../../shared/keys.ts';
import type { Plan } from './documents.ts';

const digits = (number: number): string => String(number).padStart(6, '0');

export type ListsOfPlan = Pick<Plan, 'digest' | 'lists'>;

/** A run may be under way with the plan of a release that compressed its lists otherwise. */
const suffixOf = ({ lists }: ListsOfPlan): string => (lists === 'zstd' ? 'zst' : 'gz');

export const places = (pipeline: string, runId: string) => {
  const plan = bucketKeys.plan(pipeline, runId);
  const generation = bucketKeys.generation(pipeline, runId);
  return {
    planCommit: `${plan}plan.json`,
    planItems: bucketKeys.planItems(pipeline, runId),
    planArrivals: (of: ListsOfPlan, part: number) =>
      `${plan}${of.digest}/arrivals-${digits(part)}.jsonl.${suffixOf(of)}`,
    planProblems: (digest: string) => `${plan}${digest}/annotation-problems.jsonl.gz`,
    planList: (of: ListsOfPlan, item: number) =>
      `${plan}${of.digest}/item-${digits(item)}.jsonl.${suffixOf(of)}`,
    shardRecord: (digest: string, shard: number) => `${plan}${digest}/done-${digits(shard)}.json`,
    shardName: (shard: number, suffix: string) => `shard-${digits(shard)}.${suffix}`,
    shards: (revision?: string) => bucketKeys.shards(pipeline, runId, revision),
    generation,
    memberList: (shard: number, digest: string) =>
      `members/shard-${digits(shard)}-${digest.slice(0, 12)}.jsonl.gz`,
    annotationProblems: 'arrivals/annotation-problems.jsonl.gz',
    arrivals: (part: number) => `arrivals/part-${digits(part)}.jsonl.gz`,
    manifest: bucketKeys.manifest(pipeline, runId),
    /** In place of the manifest when the generation was given up: its arrivals stay dealt with. */
    pruned: `${generation}pruned.json`,
    /** In place of the manifest when all was rejected: there is nothing to train on, but the arrivals are dealt with. */
    rejectionsOnly: `${generation}rejections.json`,
  };
};
/** Number of a shard by its name, as plans and arrivals have it; NaN of any other name. */
export const shardNumberOf = (name: string): number => Number(/^shard-(\d+)\./.exec(name)?.[1]);
export type Places = ReturnType<typeof places>;
