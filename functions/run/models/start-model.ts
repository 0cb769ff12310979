/** The model that a run begins from: pinned at the close of its batch, and looked at again before a host reads it. */

import { parseRunId, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { type Pipeline, replayOf } from '@tidewheel/declaration/pipeline.ts';
import { InvalidPipelineError, LaunchRefusedError, noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { type Archive, currentOf, type Model } from '../../records/models.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { modelsOf, objectAt } from './decide-models.ts';

export interface StartModelDeps extends Pick<Stores, 'runs' | 'models'> {
  readonly store: ObjectStore;
}

/** Runs that left no model lie in between. */
const MOST_RUNS_BACK = 50;

/**
 * @returns undefined where there is no model yet
 * @throws InvalidPipelineError
 */
export async function startModelOf(
  deps: StartModelDeps,
  run: Pick<RunRecord, 'runId' | 'pipeline'>,
  { training: { startFrom = 'none' } }: Pick<Pipeline, 'training'>,
): Promise<Archive | undefined> {
  const refuse = (message: string) =>
    new InvalidPipelineError(run.pipeline, [{ path: 'training.startFrom', message }]);
  const archive = await declaredModel(deps, run, startFrom);
  if (archive === undefined) {
    if (parseRunId(startFrom) === undefined) return undefined;
    throw refuse(`${startFrom} has left no model: tidewheel model ls shows the runs that have one`);
  }
  const { bytes, etag } = archive;
  const found = await objectAt(deps.store, archive.uri);
  if (found === undefined) {
    // The service sees no other bucket: there the host finds out.
    if (!archive.uri.startsWith(s3Uri(deps.store.bucket, ''))) return archive;
    throw refuse(`${archive.uri} is gone: name another model, or write none`);
  }
  const isSame = (bytes ?? found.size) === found.size && (etag ?? found.etag) === found.etag;
  if (!isSame) throw refuse(`${archive.uri} was replaced since it went on record: name another model`);
  return { ...archive, bytes: found.size, etag: found.etag };
}

async function declaredModel(
  deps: StartModelDeps,
  { runId, pipeline }: Pick<RunRecord, 'runId' | 'pipeline'>,
  startFrom: string,
): Promise<Archive | undefined> {
  if (startFrom === 'none') return undefined;
  if (startFrom.startsWith('s3://')) return { uri: startFrom };
  if (startFrom === 'current') return archiveOf(currentOf((await modelsOf(deps, pipeline)).known));
  const isLast = startFrom === 'last';
  const runs = isLast
    ? await deps.runs.list(pipeline, MOST_RUNS_BACK, runId)
    : [await deps.runs.get(startFrom).catch(noneIfUnreadable)];
  const recorded = (await modelsOf(deps, parseRunId(startFrom)?.pipeline ?? pipeline)).known.models;
  const found = runs
    .flatMap((run) => leftBy(run, recorded))
    .find(({ state }) => !isLast || state !== 'rejected');
  return found?.archive;
}

/** The archive that a run has left, if it has. */
function leftBy(run: RunRecord | undefined, recorded: readonly Model[]) {
  if (run?.modelUri === undefined || run.declaration?.training.model === 'none') return [];
  const model = recorded.find(({ runId }) => runId === run.runId);
  return [{ state: model?.state, archive: archiveOf(model) ?? { runId: run.runId, uri: run.modelUri } }];
}

/** Without its state, which changes. */
export function archiveOf(model: Archive | undefined): Archive | undefined {
  if (model === undefined) return undefined;
  const { runId, uri, bytes, etag, digest } = model;
  return { runId, uri, bytes, etag, digest };
}

/** Whether a run reads only a part of its dataset: it begins from a model, and is declared to read what is new. */
export const isDrawing = (
  { startedFrom, probe }: Pick<RunRecord, 'startedFrom' | 'probe'>,
  declaration: Pick<Pipeline, 'dataset'> | undefined,
): boolean =>
  probe === undefined && startedFrom !== undefined && replayOf(declaration?.dataset) !== undefined;

/** For the timeline. */
export function startText(startFrom: string, archive: Archive | undefined): string {
  if (archive === undefined)
    return `training.startFrom: ${startFrom} finds no model yet, so the run begins from nothing, on all samples`;
  const { runId, uri, digest } = archive;
  const of = runId === undefined ? uri : `the model of ${runId}`;
  return `begins from ${of}${digest === undefined ? '' : ` (SHA-256 ${digest})`}`;
}

/**
 * The model of an attempt: none once the run has a checkpoint, which it goes on from.
 * @throws LaunchRefusedError
 */
export async function modelToStartFrom(
  store: ObjectStore,
  { runId, startedFrom, probe }: RunRecord,
  hasCheckpoint: boolean,
): Promise<Archive | undefined> {
  if (startedFrom === undefined || hasCheckpoint) return undefined;
  const { uri, etag } = startedFrom;
  if (etag === undefined) return startedFrom;
  const found = await objectAt(store, uri);
  if (found?.etag === etag) return startedFrom;
  const isEvaluation = probe?.evaluates !== undefined;
  const what =
    found === undefined
      ? 'is gone'
      : `was replaced since ${isEvaluation ? 'the request' : 'the batch was closed'}`;
  const use = isEvaluation ? `which ${runId} scores` : `from which ${runId} begins`;
  const remedy = isEvaluation ? 'evaluate another model' : 'start a run with another training.startFrom';
  throw new LaunchRefusedError(
    `${uri}, ${use}, ${what}: restore it from an older version of the object, or ${remedy}`,
  );
}
