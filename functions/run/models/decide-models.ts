/**
 * Decisions on models: one conditional write of the pipeline's item. The file that names the current model follows it, and
 * so do timeline and events: `publishModels` writes them, as often as it takes.
 */

import { bucketKeys, keyOfUri, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import {
  type Archive,
  currentFileOf,
  currentFileSchema,
  currentOf,
  decideModel,
  knownModels,
  type ModelChange,
  type ModelNews,
  type PipelineModels,
  withModel,
} from '../../records/models.ts';
import type { Notifier } from '../../records/ports.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { judgeModel } from './judge-model.ts';
import { type KeptScores, keepByDigest } from './kept-scores.ts';

export interface ModelDeps extends Pick<Stores, 'models' | 'timeline'> {
  readonly store: ObjectStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** Each other look finds the writer that was faster. */
const MOST_LOOKS = 20;

/** The file may be ahead of a table that was lost or restored to an earlier time. */
export async function modelsOf(
  { models, store }: Pick<ModelDeps, 'models' | 'store'>,
  pipeline: string,
): Promise<{ readonly known: PipelineModels; readonly stored: PipelineModels | undefined }> {
  const [stored, file] = await Promise.all([models.get(pipeline), fileOf(store, pipeline)]);
  return { known: knownModels(pipeline, stored, file?.content), stored };
}

/**
 * Decides, and publishes it.
 * @param change called again where another decision was faster
 */
export async function changeModels(
  deps: ModelDeps,
  pipeline: string,
  change: (known: PipelineModels) => ModelChange | Promise<ModelChange>,
): Promise<Exclude<ModelChange, { readonly kind: 'changed' }> | { readonly kind: 'changed' }> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const { known, stored } = await modelsOf(deps, pipeline);
    const decided = await change(known);
    if (decided.kind === 'changed' && !(await deps.models.put(decided.models, stored?.number))) continue;
    // A process may have died between a decision and its news.
    await publishModels(deps, pipeline);
    return decided.kind === 'changed' ? { kind: 'changed' } : decided;
  }
  throw new TransientError(`the models of ${pipeline} change too often now: make the same call again`);
}

/**
 * Writes what follows from the decisions that are not published yet. Any number of processes may do so at once, and die.
 * The file comes before the events, so who hears of a promotion reads it there.
 */
export async function publishModels(deps: ModelDeps, pipeline: string): Promise<void> {
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const models = await deps.models.get(pipeline);
    if (models === undefined) return;
    await writeFile(deps.store, models);
    for (const news of models.news) await tell(deps, models, news);
    if (models.news.length === 0 || (await deps.models.setPublished(pipeline, models.number))) return;
  }
  throw new TransientError(`the models of ${pipeline} change too often now: make the same call again`);
}

/** No writer puts an older decision over a newer one: each replaces only the version that it has read. */
async function writeFile(store: ObjectStore, models: PipelineModels): Promise<void> {
  const content = currentFileOf(models);
  if (content === undefined) return;
  const key = bucketKeys.currentModel(models.pipeline);
  const text = `${JSON.stringify(content, undefined, 2)}\n`;
  for (;;) {
    const file = await fileOf(store, models.pipeline);
    if ((file?.content?.number ?? 0) >= models.number) return;
    const written =
      file === undefined ? await store.createText(key, text) : await store.replaceText(key, text, file.etag);
    if (written === 'written') return;
  }
}

/** `content` is undefined where a person has damaged the file. */
async function fileOf(store: ObjectStore, pipeline: string) {
  const stored = await store.readText(bucketKeys.currentModel(pipeline));
  if (stored === undefined) return undefined;
  return { etag: stored.etag, content: currentFileSchema.safeParse(parseJson(stored.text)).data };
}

async function tell({ timeline, notifier }: ModelDeps, models: PipelineModels, news: ModelNews) {
  const { kind, number, runId, from, at, by, reason } = news;
  const run = { runId, pipeline: models.pipeline };
  const decided = { number, by, reason };
  await timeline.add(runId, { id: `model-${number}`, at, kind, text: textOf(news) });
  // A run decides when its model goes on record, an evaluation alone when it has scored it.
  const isScored = by === runId || parseRunId(by)?.isProbe === true;
  if (isScored && kind !== 'ModelRolledBack') {
    const judged = models.models.find((model) => model.runId === runId)?.judged;
    await notifier.notify(run, { type: 'ModelEvaluated', ...decided, decision: DECISIONS[kind], judged });
  }
  switch (kind) {
    case 'ModelWaits':
      return;
    case 'ModelPromoted':
      return notifier.notify(run, { type: kind, ...decided, from });
    case 'ModelRejected':
      return notifier.notify(run, { type: kind, ...decided });
    case 'ModelRolledBack':
      return notifier.notify(run, { type: kind, ...decided, from: from ?? '' });
  }
}

const DECISIONS = { ModelPromoted: 'promoted', ModelRejected: 'rejected', ModelWaits: 'waits' } as const;

function textOf({ kind, runId, from, by, reason }: ModelNews): string {
  const why = `${by}: ${reason}`;
  switch (kind) {
    case 'ModelPromoted':
      return `the model of ${runId} is in use${from === undefined ? '' : `, instead of that of ${from}`} (${why})`;
    case 'ModelRejected':
      return `the model of ${runId} is rejected (${why})`;
    case 'ModelRolledBack':
      return `the model of ${runId} is in use again, and that of ${from} is rejected (${why})`;
    case 'ModelWaits':
      return `the model of ${runId} is a candidate (${why})`;
  }
}

/** Puts the model of a run that has ended on record, and decides on it as its declaration says. Safe to repeat. */
export async function recordModel(
  deps: ModelDeps,
  run: RunRecord,
  uri: string,
  kept: KeptScores = {},
): Promise<void> {
  const { runId, pipeline, declaration, probe } = run;
  const promote = declaration?.promote;
  if (promote === undefined || probe !== undefined) return;
  const { known } = await modelsOf(deps, pipeline);
  if (known.models.some((model) => model.runId === runId)) return publishModels(deps, pipeline);
  const candidate = { ...(await archiveAt(deps.store, uri)), runId };
  const evaluated = { ...kept, digest: candidate.digest };
  await keepByDigest(deps.store, run, evaluated);
  const at = deps.clock.now().toISOString();
  await changeModels(deps, pipeline, async (before) => {
    const scored = await judgeModel(deps.store, run, before, evaluated);
    const current = currentOf(before);
    const { kind: verdict, reason } = decideModel({ promote, candidate, current, scored });
    return withModel(before, { ...candidate, judged: scored?.judged }, { verdict, reason, at, by: runId });
  });
}

/** The service reads at most so much for a digest: about eight minutes at the 85 MB/s of one connection to S3. */
const MOST_DIGEST_BYTES = 40e9;

/** Without `bytes` where there is no such object. */
export async function archiveAt(
  store: ObjectStore,
  uri: string,
  mostBytes = MOST_DIGEST_BYTES,
): Promise<Archive> {
  const found = await objectAt(store, uri);
  if (found === undefined) return { uri };
  const { size: bytes, etag, key } = found;
  const digest = bytes > mostBytes ? undefined : await store.digestOf(key);
  return { uri, bytes, etag, ...(digest !== undefined && { digest }) };
}

/** An object of this bucket, without its bytes. */
export async function objectAt(store: ObjectStore, uri: string): Promise<ListedObject | undefined> {
  const key = keyOfUri(store.bucket, uri);
  if (key === undefined) return undefined;
  for await (const object of store.list(key)) return object.key === key ? object : undefined;
  return undefined;
}
