/** What the job of a run has to score when training has ended, and what a lost evaluation leaves. */

import { hash } from 'node:crypto';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { shardsChannel } from '@tidewheel/declaration/script.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { type Archive, currentOf } from '../../records/models.ts';
import type { GenerationShards } from '../../records/run-dataset.ts';
import type { AttemptRecord, RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { modelsOf, objectAt } from './decide-models.ts';
import { finishedNoteOf, scoresKey } from './kept-scores.ts';
import { archiveOf } from './start-model.ts';

/**
 * What the host scores beside the run's own model: the model in use. Alone, the run's model is one that is there already.
 * Neither is scored again where the same script has scored it on the same samples.
 */
export async function evaluationOf(
  deps: Pick<Stores, 'models'> & { readonly store: ObjectStore },
  run: RunRecord,
  shards: readonly GenerationShards[],
): Promise<RunRecord['evaluation']> {
  const { pipeline, declaration, probe, startedFrom } = run;
  if (declaration?.evaluation === undefined) return undefined;
  const evaluation = { set: setOf(declaration.evaluation, { declaration, shards }) };
  const isLeft = async (archive: Archive | undefined): Promise<boolean> =>
    isUnscored(deps.store, { ...run, evaluation }, archive);
  const alone = probe?.evaluates && startedFrom;
  const current = currentOf((await modelsOf(deps, pipeline)).known);
  const isOther = current?.digest !== alone?.digest;
  return {
    ...evaluation,
    ...((await isLeft(alone)) && { candidate: alone }),
    ...(isOther && (await isLeft(current)) && { current: archiveOf(current) }),
  };
}

/** Whether it is there, and this script has not scored it on these samples. */
async function isUnscored(
  store: ObjectStore,
  run: RunRecord,
  archive: Archive | undefined,
): Promise<boolean> {
  if (archive?.digest === undefined) return false;
  const key = scoresKey(run.pipeline, run, archive.digest);
  if ((await objectAt(store, s3Uri(store.bucket, key))) !== undefined) return false;
  return (await objectAt(store, archive.uri))?.etag === archive.etag;
}

/** @returns undefined where other data than packed splits is scored: it may change at any time */
function setOf(
  { on }: NonNullable<Pipeline['evaluation']>,
  {
    declaration: { training },
    shards,
  }: { readonly declaration: Pipeline; readonly shards: readonly GenerationShards[] },
): string | undefined {
  const declared = Object.keys(training.channels ?? {});
  const read = on.map((name) =>
    shards.filter(({ split }) => split !== undefined && shardsChannel(split, declared) === name),
  );
  if (read.some((found) => found.length === 0)) return undefined;
  return hash('sha256', JSON.stringify(read.flat().map((each) => [each.shardsPrefix, each.shards])), 'hex');
}

/**
 * The model of an attempt that was lost in its evaluation: training had ended, and a whole copy of the model is there.
 * @returns undefined where the attempt has not come so far
 */
export async function modelBeforeEvaluation(
  store: ObjectStore,
  run: Pick<RunRecord, 'pipeline' | 'runId' | 'declaration'>,
  { attempt, outcome }: Pick<AttemptRecord, 'attempt' | 'outcome'>,
): Promise<string | undefined> {
  if (run.declaration?.evaluation === undefined) return undefined;
  if (outcome === undefined || outcome.kind === 'completed' || outcome.modelUri !== undefined)
    return undefined;
  const note = await finishedNoteOf(store, run, attempt);
  if (note === undefined) return undefined;
  const uri = s3Uri(store.bucket, bucketKeys.finishedModel(run.pipeline, run.runId, attempt));
  return (await objectAt(store, uri))?.size === note.bytes ? uri : undefined;
}
