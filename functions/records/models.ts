/**
 * The models of a pipeline that are on record: candidates, the current one, former and rejected ones. One item of the
 * table has them all, and its number names each decision: the process that writes the next number has decided.
 */

import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import type { Promote } from '@tidewheel/declaration/pipeline.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';

/** A model.tar.gz, and what proves that it is still the same. */
export const archiveSchema = z.object({
  runId: z.string().optional().describe('The run that it is of.'),
  uri: z.string(),
  bytes: z.number().optional(),
  etag: z.string().optional(),
  digest: z.string().optional().describe('SHA-256; absent where the archive was too large to be read.'),
});
export type Archive = Readonly<z.output<typeof archiveSchema>>;

const judgedPartSchema = z.object({
  samples: z.number().int(),
  mean: z.number().describe('Of the metric.'),
  better: z.number().optional().describe('Absent where the other has no scores of these.'),
  interval: list(z.number()).optional(),
});

/** By its scores. */
export const judgedSchema = z.object({
  verdict: z.enum(['first', 'better', 'notBetter', 'inconclusive', 'rejected']),
  metric: z.string(),
  mode: z.enum(['min', 'max']).optional().describe('Whether less or more of it is better.'),
  mean: z.number().optional().describe('Of the metric, on all its samples.'),
  against: z.string().optional().describe('The run whose model it was compared with.'),
  pairs: z.number().int().optional().describe('Samples that both were scored on.'),
  better: z.number().optional().describe('Than the other on these, in units of the metric; below 0: worse.'),
  interval: list(z.number()).optional().describe('Of `better`, at 95 %: its lower and its upper end.'),
  earlier: judgedPartSchema.optional().describe('On samples that were there when the other was new.'),
  fresh: judgedPartSchema.optional().describe('On samples that came since.'),
  samplesNeeded: z.number().int().optional().describe('For a difference like this one to be shown.'),
});
export type Judged = Readonly<z.output<typeof judgedSchema>>;

export const needSchema = z
  .object({
    isNeeded: z.boolean(),
    reason: z.string(),
    probe: z.string().optional().describe('The evaluation alone that scored the arrivals.'),
    since: z.number().int().optional().describe('Samples that came since the last training.'),
    scores: z
      .object({
        metric: z.string(),
        model: z.string().describe('The run whose model is in use.'),
        samples: z.number().int(),
        mean: z.number().describe('Of the metric, on what arrived.'),
        known: z.number().describe('The same on the samples by which that model was judged when it was new.'),
      })
      .optional()
      .describe('Absent where nothing could be compared.'),
  })
  .describe('Whether the run had to train, where training.when is declared.');
export type FoundNeed = Readonly<z.output<typeof needSchema>>;

export const modelSchema = archiveSchema.extend({
  runId: z.string(),
  state: z.enum(['candidate', 'current', 'former', 'rejected']),
  number: z.number().int().describe('Of the decision that gave it this state.'),
  at: time,
  by: z.string().describe('Who decided: a run by its declaration, or a person.'),
  reason: z.string(),
  judged: judgedSchema
    .optional()
    .describe('How it was compared with the current one; absent without scores.'),
});
export type Model = Readonly<z.output<typeof modelSchema>>;

const newsSchema = z.object({
  kind: z.enum(['ModelPromoted', 'ModelRejected', 'ModelRolledBack', 'ModelWaits']),
  number: z.number().int(),
  runId: z.string(),
  /** What it has replaced, or what was rolled back. */
  from: z.string().optional(),
  at: time,
  by: z.string(),
  reason: z.string(),
});
export type ModelNews = Readonly<z.output<typeof newsSchema>>;

export const pipelineModelsSchema = z.object({
  pipeline: z.string(),
  number: z.number().int().describe('Rises by one with each decision.'),
  /** The newest first. */
  models: list(modelSchema),
  /** Decisions that timeline, events and file may not know yet. */
  news: list(newsSchema),
});
export type PipelineModels = Readonly<z.output<typeof pipelineModelsSchema>>;

/** An item of DynamoDB holds 400 KB. */
const MOST_MODELS = 200;
const LONGEST_REASON = 500;

export const currentOf = (models: Pick<PipelineModels, 'models'> | undefined): Model | undefined =>
  models?.models.find(({ state }) => state === 'current');

/** The one that was in use before the current one. */
export const formerOf = ({ models }: Pick<PipelineModels, 'models'>): Model | undefined =>
  models
    .filter(({ state }) => state === 'former')
    .reduce<Model | undefined>((last, each) => (last && last.number > each.number ? last : each), undefined);

/** How many candidates were compared with the current model, as `packages/judging` counts them. */
export const comparisonsWith = ({ models }: Pick<PipelineModels, 'models'>, current: Model): number =>
  models.filter(({ judged }) => judged?.against === current.runId && judged.pairs !== undefined).length;

export interface ModelVerdict {
  readonly kind: 'promote' | 'wait' | 'reject';
  readonly reason: string;
}

/** What its scores say. */
export interface Scored extends Pick<Judged, 'verdict'> {
  /** The most important first. */
  readonly reasons: readonly string[];
}

/** What becomes of the model of a run that has ended. */
export function decideModel({
  promote,
  candidate,
  current,
  scored,
}: {
  readonly promote: Promote;
  readonly candidate: Archive & { readonly runId: string };
  readonly current: Model | undefined;
  /** Absent where it wrote no scores. */
  readonly scored?: Scored | undefined;
}): ModelVerdict {
  if (candidate.bytes === undefined) return { kind: 'reject', reason: `nothing is at ${candidate.uri}` };
  if (candidate.bytes === 0) return { kind: 'reject', reason: `${candidate.uri} is empty` };
  if (promote === 'never') return { kind: 'wait', reason: 'promote: never leaves it to people' };
  if (typeof promote === 'object') return byScores(scored, { candidate, current });
  if (current === undefined) return { kind: 'promote', reason: 'no model was in use' };
  if (isOlder(candidate, current)) return olderDrop(current);
  return promote === 'always'
    ? { kind: 'promote', reason: 'promote: always' }
    : { kind: 'wait', reason: 'promote: byHand leaves it to people' };
}

const NO_SCORES =
  'it wrote no scores, or more than 16 MB: call tidewheel.score(key, …) for each sample of the evaluation, or write scores.jsonl into the model';

function byScores(
  scored: Scored | undefined,
  {
    candidate,
    current,
  }: { readonly candidate: { readonly runId: string }; readonly current: Model | undefined },
): ModelVerdict {
  if (scored === undefined) return { kind: 'wait', reason: NO_SCORES };
  const reason = scored.reasons.join('; ');
  switch (scored.verdict) {
    case 'first':
      return { kind: 'promote', reason };
    case 'better':
      return current !== undefined && isOlder(candidate, current)
        ? olderDrop(current)
        : { kind: 'promote', reason };
    case 'inconclusive':
      return { kind: 'wait', reason };
    case 'notBetter':
    case 'rejected':
      return { kind: 'reject', reason };
  }
}

/** Of runs that end together, whichever ends last, the newest drop has the model in use. */
const isOlder = (candidate: { readonly runId: string }, current: Model): boolean =>
  dropOf(current) > dropOf(candidate);
const olderDrop = ({ runId }: Model): ModelVerdict => ({
  kind: 'wait',
  reason: `${runId}, which is in use, has a newer drop`,
});
const dropOf = ({ runId }: { readonly runId: string }): number => parseRunId(runId)?.number ?? 0;

interface Who {
  readonly at: string;
  readonly by: string;
  readonly reason: string;
}

export type ModelChange =
  | { readonly kind: 'changed'; readonly models: PipelineModels }
  /** It is so already. */
  | { readonly kind: 'same' }
  | { readonly kind: 'refused'; readonly why: string };

const SAME = { kind: 'same' } as const;
const refused = (why: string) => ({ kind: 'refused', why }) as const;

/** A decision on a model that is not on record yet. A repeated one changes nothing. */
export function withModel(
  before: PipelineModels,
  archive: Archive & { readonly runId: string; readonly judged?: Judged | undefined },
  decision: Decision,
): ModelChange {
  const { verdict: _, ...who } = decision;
  if (modelIn(before, archive.runId) !== undefined) return SAME;
  const model: Model = { ...archive, state: 'candidate', number: before.number + 1, ...who };
  return decided({ ...before, models: [model, ...before.models] }, archive.runId, decision);
}

type Decision = Who & { readonly verdict: ModelVerdict['kind'] };

function decided(before: PipelineModels, runId: string, { verdict, ...who }: Decision): ModelChange {
  if (verdict === 'promote') return promoted(before, runId, who);
  const state = verdict === 'reject' ? 'rejected' : 'candidate';
  const kind = verdict === 'reject' ? 'ModelRejected' : 'ModelWaits';
  return changed(before, { [runId]: state }, { kind, runId, ...who });
}

/** A model that waits for its comparison: a person has not decided either, since that leaves no candidate. */
export const isUncompared = ({ state, judged }: Model): boolean =>
  state === 'candidate' && judged?.pairs === undefined;

/** The comparison of a model on record came later, by an evaluation alone. A repeated one changes nothing. */
export function withComparison(
  before: PipelineModels,
  { runId, judged }: Pick<Model, 'runId' | 'judged'>,
  decision: Decision,
): ModelChange {
  const model = modelIn(before, runId);
  if (model === undefined) return unknown(runId);
  const isRepeated = model.by === decision.by && model.reason === decision.reason.slice(0, LONGEST_REASON);
  if (!isUncompared(model) || isRepeated) return SAME;
  const models = before.models.map((each) => (each === model ? { ...model, judged } : each));
  return decided({ ...before, models }, runId, decision);
}

export function promoted(before: PipelineModels, runId: string, who: Who): ModelChange {
  const model = modelIn(before, runId);
  if (model === undefined) return unknown(runId);
  if (model.state === 'current') return SAME;
  const from = currentOf(before)?.runId;
  const states = { ...(from !== undefined && { [from]: 'former' as const }), [runId]: 'current' as const };
  return changed(before, states, { kind: 'ModelPromoted', runId, from, ...who });
}

export function rejected(before: PipelineModels, runId: string, who: Who): ModelChange {
  const model = modelIn(before, runId);
  if (model === undefined) return unknown(runId);
  if (model.state === 'rejected') return SAME;
  if (model.state === 'current')
    return refused(`${runId} is in use: go back to the former model, or promote another`);
  return changed(before, { [runId]: 'rejected' }, { kind: 'ModelRejected', runId, ...who });
}

/**
 * The former model is in use again, and the current one is rejected.
 * @param from the model that the person knows as the current one: a repeated call does not go back twice
 */
export function rolledBack(before: PipelineModels, from: string, who: Who): ModelChange {
  const [current, former] = [currentOf(before), formerOf(before)];
  if (current?.runId !== from) {
    if (modelIn(before, from)?.state === 'rejected') return SAME;
    return refused(`${from} is not in use: ${current === undefined ? 'no model is' : `${current.runId} is`}`);
  }
  if (former === undefined) return refused(`there is no former model: promote another than ${from}`);
  return changed(
    before,
    { [from]: 'rejected', [former.runId]: 'current' },
    { kind: 'ModelRolledBack', runId: former.runId, from, ...who },
  );
}

const modelIn = ({ models }: PipelineModels, runId: string): Model | undefined =>
  models.find((model) => model.runId === runId);

const unknown = (runId: string) =>
  refused(`no model of ${runId} is on record: tidewheel model ls shows those that are`);

function changed(
  before: PipelineModels,
  states: Readonly<Record<string, Model['state']>>,
  { reason: given, ...news }: Omit<ModelNews, 'number'>,
): ModelChange {
  const number = before.number + 1;
  const reason = given.slice(0, LONGEST_REASON);
  const { at, by } = news;
  const models = before.models.map((model): Model => {
    const state = states[model.runId];
    return state === undefined ? model : { ...model, state, number, at, by, reason };
  });
  const all = { ...before, number, models, news: [...before.news, { ...news, reason, number }] };
  return { kind: 'changed', models: { ...all, models: withoutOldest(all) } };
}

/** The current one and the last former one stay, however old they are. */
function withoutOldest(all: Pick<PipelineModels, 'models'>): readonly Model[] {
  const kept = [currentOf(all)?.runId, formerOf(all)?.runId];
  return all.models.filter(({ runId }, index) => index < MOST_MODELS || kept.includes(runId));
}

/** Format of the file that tells which model is in use. */
const FILE_VERSION = 1;

export const currentFileSchema = z.object({
  version: z.literal(FILE_VERSION),
  pipeline: z.string(),
  number: z.number().int(),
  current: modelSchema,
  former: modelSchema.optional(),
});
export type CurrentFile = Readonly<z.output<typeof currentFileSchema>>;

/** @returns undefined while no model is in use */
export function currentFileOf(models: PipelineModels): CurrentFile | undefined {
  const { pipeline, number } = models;
  const current = currentOf(models);
  return current && { version: FILE_VERSION, pipeline, number, current, former: formerOf(models) };
}

/** What is known: the table's item, unless the file has a later decision, as after the loss of the table. */
export function knownModels(
  pipeline: string,
  item: PipelineModels | undefined,
  file: CurrentFile | undefined,
): PipelineModels {
  const stored = item ?? { pipeline, number: 0, models: [], news: [] };
  if (file === undefined || file.number <= stored.number) return stored;
  const named = [file.current, ...(file.former === undefined ? [] : [file.former])];
  const others = stored.models.filter((model) => !named.some(({ runId }) => runId === model.runId));
  const models = others.map(
    (model): Model => (model.state === 'current' ? { ...model, state: 'former' } : model),
  );
  return { ...stored, number: file.number, models: [...named, ...models] };
}
