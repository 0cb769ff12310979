/** Compares the scores of a run's model with those of the model in use. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import {
  declaredMargin,
  type Pipeline,
  type Promote,
  type PromotionRule,
} from '@tidewheel/declaration/pipeline.ts';
import {
  type Judgement,
  judge,
  judgeNumber,
  type Part,
  type Judged as ToJudge,
} from '@tidewheel/judging/judge.ts';
import { readScores, type ScoresRead } from '@tidewheel/judging/scores.ts';
import { boundedSearch } from '@tidewheel/kit/bounded-search.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type * as z from 'zod';
import { readBounded } from '../../records/host-files.ts';
import type { judgementSchema } from '../../records/judgement.ts';
import {
  comparisonsWith,
  currentOf,
  type Judged,
  type Model,
  type PipelineModels,
  type Scored,
} from '../../records/models.ts';
import type { RunRecord } from '../../records/run-records.ts';
import { evaluationProblem, isCurrentLeft, type KeptScores, scoredNow, scoredRunOf } from './kept-scores.ts';

/**
 * Writes down how the model compares, for people.
 * @returns undefined where the run's declaration asks for no scores, or there are none
 */
export async function judgeModel(
  store: ObjectStore,
  run: RunRecord,
  models: PipelineModels,
  evaluated: KeptScores = {},
): Promise<(Scored & { readonly judged: Judged }) | undefined> {
  const { pipeline, declaration } = run;
  const { promote, evaluation, training: { objective } = {} } = declaration ?? {};
  if (declaration === undefined || promote === undefined || objective === undefined) return undefined;
  // People who decide themselves want to know, too.
  if (typeof promote !== 'object' && evaluation === undefined) return undefined;
  const { current, look } = comparedWith(models, run);
  const judgement = await judgementOf(
    store,
    { run, current, evaluated, declaration },
    { ...objective, look },
  );
  if (judgement === undefined) return undefined;
  const named = { ...objective, against: current?.runId };
  const runId = scoredRunOf(run);
  const content: Written = { version: 1, runId, ...named, ...judgement };
  await store.writeText(bucketKeys.judgement(pipeline, runId), `${JSON.stringify(content, undefined, 2)}\n`);
  const { verdict, reasons } = judgement;
  return { verdict, reasons, judged: summaryOf(judgement, named) };
}

/** The model in use, unless that is the one which is scored alone. */
function comparedWith(models: PipelineModels, { probe }: RunRecord) {
  const current = currentOf(models);
  return current === undefined || current.runId === probe?.evaluates?.runId
    ? { current: undefined, look: 1 }
    : { current, look: 1 + comparisonsWith(models, current) };
}

/** As it is read again. */
type Written = z.input<typeof judgementSchema>;

interface Asked {
  readonly run: RunRecord;
  readonly declaration: Pipeline;
  readonly current: Model | undefined;
  readonly evaluated: KeptScores;
}

type Measure = Pick<ToJudge, 'metric' | 'mode' | 'look'>;

/** @returns undefined where the training script should have written scores, and has not */
async function judgementOf(
  store: ObjectStore,
  asked: Asked,
  measure: Measure,
): Promise<Judgement | undefined> {
  const { run, current, declaration, evaluated } = asked;
  const rule = ruleOf(declaration.promote);
  const scores = await candidateScores(store, run, evaluated);
  if (scores === undefined) return withoutScores(asked, { ...measure, rule });
  const candidate = await readScores(scores.split('\n'), measure.metric);
  if (!candidate.ok) return { verdict: 'rejected', reasons: candidate.problems };
  if (declaration.promote !== 'always' && isCurrentLeft(run, evaluated)) return CURRENT_LEFT;
  return judge({
    ...measure,
    rule,
    candidate: candidate.scores,
    ...(await currentTables(store, run, current, measure.metric)),
    groupOf: groupsOf(declaration),
  });
}

const CURRENT_LEFT: Judgement = {
  verdict: 'inconclusive',
  reasons: ['the model in use is still to be scored on the same samples, by an evaluation alone'],
};

/** Those of an evaluation that was lost on its way count as none. */
async function candidateScores(
  store: ObjectStore,
  run: RunRecord,
  { scores }: KeptScores,
): Promise<string | undefined> {
  if (scores !== undefined) return scores;
  // Those of the model's own run may be of older samples.
  if (run.probe !== undefined) return scoredNow(store, run, run.startedFrom ?? {});
  return (await readBounded(store, bucketKeys.scores(run.pipeline, scoredRunOf(run)), 'scores'))?.text;
}

/** Judges an evaluation that has left no scores, or one number. */
function withoutScores(
  { current, evaluated: { note }, declaration: { evaluation } }: Asked,
  measure: Omit<Parameters<typeof judgeNumber>[1], 'hasCurrent'>,
): Judgement | undefined {
  const problem = evaluation && evaluationProblem(evaluation, note?.candidate);
  if (problem !== undefined)
    return { verdict: problem.isFault ? 'rejected' : 'inconclusive', reasons: [problem.why] };
  if (note?.candidate?.samples !== 0) return undefined;
  const { metric } = measure;
  return judgeNumber(note.candidate.printed?.[metric], { ...measure, hasCurrent: current !== undefined });
}

/** On the samples of today where the same script has scored the model in use on them, else on those of its own run. */
async function currentTables(
  store: ObjectStore,
  run: RunRecord,
  current: Model | undefined,
  metric: string,
): Promise<Pick<ToJudge, 'current' | 'earlier' | 'isOneSet'>> {
  if (current === undefined) return { current: undefined };
  const own = await currentScores(store, { pipeline: run.pipeline, runId: current.runId, metric });
  const text = await scoredNow(store, run, current);
  const now = text === undefined ? undefined : await readScores(text.split('\n'), metric);
  if (now?.ok !== true) return { current: own };
  return { current: now.scores, isOneSet: true, ...(own.size > 0 && { earlier: new Set(own.keys()) }) };
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

/** Where promote is a word, the judgement is only shown: by whenBetterBy 0 at 95 %. */
function ruleOf(promote: Promote | undefined) {
  const { whenBetterBy, notWorseBy, confidence, atLeast }: PromotionRule =
    typeof promote === 'object' ? promote : { confidence: 0.95 };
  const kind = notWorseBy === undefined ? 'whenBetterBy' : 'notWorseBy';
  return { kind, margin: declaredMargin(notWorseBy ?? whenBetterBy ?? 0), confidence, atLeast } as const;
}

/** Samples that the split keeps together are not independent. */
function groupsOf({ packing: { split } }: Pipeline): ((key: string) => string | undefined) | undefined {
  if (split?.by !== 'group' || split.groupPattern === undefined) return undefined;
  const pattern = new RegExp(split.groupPattern, 'u');
  return (key) => boundedSearch('packing.split.groupPattern', pattern, key)?.[1];
}

const partOf = ({ samples, mean, better, interval }: Partial<Part> & Pick<Part, 'samples' | 'mean'>) => ({
  samples,
  mean,
  better,
  interval,
});

function summaryOf(
  { verdict, mean, difference, samplesNeeded, earlier, fresh }: Judgement,
  named: Pick<Judged, 'metric' | 'mode' | 'against'>,
): Judged {
  return {
    verdict,
    ...named,
    mean,
    samplesNeeded,
    ...(earlier && { earlier: partOf(earlier) }),
    ...(fresh && { fresh: partOf(fresh) }),
    ...(difference && {
      pairs: difference.pairs,
      better: difference.better,
      interval: difference.interval,
    }),
  };
}
