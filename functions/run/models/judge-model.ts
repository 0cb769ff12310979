/** The scores of a run's model: kept beside the run, and compared with those of the model in use. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline, PromotionRule } from '@tidewheel/declaration/pipeline.ts';
import { type Judgement, judge } from '@tidewheel/judging/judge.ts';
import { readScores, type ScoresRead } from '@tidewheel/judging/scores.ts';
import { boundedSearch } from '@tidewheel/kit/bounded-search.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readBounded } from '../../records/host-files.ts';
import {
  comparisonsWith,
  currentOf,
  type Judged,
  type PipelineModels,
  type Scored,
} from '../../records/models.ts';
import type { RunRecord } from '../../records/run-records.ts';

/** Copies what the last attempt wrote: its checkpoints expire, and later models are compared with this one. */
export async function keepScores(
  store: ObjectStore,
  { pipeline, runId, declaration }: RunRecord,
  attempt: number,
): Promise<void> {
  if (declaration?.promote === undefined) return;
  const key = bucketKeys.scores(pipeline, runId);
  const written = await readBounded(store, bucketKeys.attemptScores(pipeline, runId, attempt), 'scores');
  if (written !== undefined) await store.writeText(key, written.text);
}

/**
 * Writes down how the model compares, for people.
 * @returns undefined where the run's declaration asks for no scores, or there are none
 */
export async function judgeModel(
  store: ObjectStore,
  { pipeline, runId, declaration }: RunRecord,
  models: PipelineModels,
): Promise<(Scored & { readonly judged: Judged }) | undefined> {
  const { promote, training: { objective } = {} } = declaration ?? {};
  if (declaration === undefined || typeof promote !== 'object' || objective === undefined) return undefined;
  const { metric, mode } = objective;
  const candidate = await scoresOf(store, { pipeline, runId, metric });
  if (candidate === undefined) return undefined;
  const current = currentOf(models);
  const judgement = candidate.ok
    ? judge({
        metric,
        mode,
        rule: ruleOf(promote),
        candidate: candidate.scores,
        current: current && (await currentScores(store, { pipeline, runId: current.runId, metric })),
        look: 1 + (current === undefined ? 0 : comparisonsWith(models, current)),
        groupOf: groupsOf(declaration),
      })
    : ({ verdict: 'rejected', reasons: candidate.problems } as const);
  const content = { version: 1, runId, metric, against: current?.runId, ...judgement };
  await store.writeText(bucketKeys.judgement(pipeline, runId), `${JSON.stringify(content, undefined, 2)}\n`);
  const { verdict, reasons } = judgement;
  return { verdict, reasons, judged: summaryOf(judgement, { metric, against: current?.runId }) };
}

interface ScoresAsked {
  readonly pipeline: string;
  readonly runId: string;
  readonly metric: string;
}

async function scoresOf(
  store: ObjectStore,
  { pipeline, runId, metric }: ScoresAsked,
): Promise<ScoresRead | undefined> {
  const stored = await readBounded(store, bucketKeys.scores(pipeline, runId), 'scores');
  return stored && readScores(stored.text.split('\n'), metric);
}

/** Empty where people promoted a model that has no scores, or the metric was another: nothing can be compared. */
async function currentScores(store: ObjectStore, asked: ScoresAsked) {
  const read = await scoresOf(store, asked);
  return read?.ok === true ? read.scores : new Map<string, never>();
}

function ruleOf({ whenBetterBy, notWorseBy, confidence, atLeast }: PromotionRule) {
  const kind = notWorseBy === undefined ? 'whenBetterBy' : 'notWorseBy';
  const by = notWorseBy ?? whenBetterBy ?? 0;
  const margin = typeof by === 'number' ? { points: by } : { share: Number.parseFloat(by) / 100 };
  return { kind, margin, confidence, atLeast } as const;
}

/** Samples that the split keeps together are not independent. */
function groupsOf({ packing: { split } }: Pipeline): ((key: string) => string | undefined) | undefined {
  if (split?.by !== 'group' || split.groupPattern === undefined) return undefined;
  const pattern = new RegExp(split.groupPattern, 'u');
  return (key) => boundedSearch('packing.split.groupPattern', pattern, key)?.[1];
}

function summaryOf(
  { verdict, mean, difference, samplesNeeded }: Judgement,
  named: { readonly metric: string; readonly against: string | undefined },
): Judged {
  return {
    verdict,
    ...named,
    mean,
    samplesNeeded,
    ...(difference && {
      pairs: difference.pairs,
      better: difference.better,
      interval: difference.interval,
    }),
  };
}
