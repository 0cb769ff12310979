/** What people decide of models: promote one, reject one, or go back to the former one. */

import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import {
  type Archive,
  currentOf,
  formerOf,
  type Model,
  type ModelChange,
  type PipelineModels,
  promoted,
  rejected,
  rolledBack,
  withModel,
} from '../../records/models.ts';
import type { Stores } from '../../records/stores.ts';
import { archiveAt, changeModels, type ModelDeps, modelsOf, objectAt } from './decide-models.ts';

export const CHOICES = ['promote', 'reject', 'rollback'] as const;

export interface Choice {
  readonly pipeline: string;
  readonly decision: (typeof CHOICES)[number];
  /** Of `rollback`, the model in use that the person leaves. */
  readonly runId: string;
  readonly by: string;
  readonly reason: string;
}

type ChooseDeps = ModelDeps & Pick<Stores, 'runs'>;

/** A person waits for the answer: about five seconds of reading. */
const MOST_DIGEST_BYTES = 512e6;

export async function decideAsAsked(
  deps: ChooseDeps,
  { pipeline, decision, runId, by, reason }: Choice,
): Promise<{ readonly kind: 'changed' | 'same' } | { readonly kind: 'refused'; readonly why: string }> {
  const { known } = await modelsOf(deps, pipeline);
  const why = await whyUnusable(deps, known, { decision, runId });
  if (why !== undefined) return { kind: 'refused', why };
  const who = { by, reason, at: deps.clock.now().toISOString() };
  if (decision === 'rollback')
    return changeModels(deps, pipeline, (before) => rolledBack(before, runId, who));
  const isKnown = ({ models }: PipelineModels): boolean => models.some((model) => model.runId === runId);
  const archive = isKnown(known) ? undefined : await archiveOf(deps, pipeline, runId);
  if (typeof archive === 'string') return { kind: 'refused', why: archive };
  return changeModels(deps, pipeline, (before): ModelChange => {
    if (archive !== undefined && !isKnown(before))
      return withModel(before, { ...archive, runId }, { ...who, verdict: decision });
    return (decision === 'promote' ? promoted : rejected)(before, runId, who);
  });
}

/** @returns why the model cannot be in use */
async function whyUnusable(
  { store }: ChooseDeps,
  known: PipelineModels,
  { decision, runId }: Pick<Choice, 'decision' | 'runId'>,
): Promise<string | undefined> {
  if (decision === 'reject') return undefined;
  const next = decision === 'rollback' ? formerOf(known) : known.models.find((each) => each.runId === runId);
  if (next === undefined) return undefined;
  const found = await objectAt(store, next.uri);
  const problem =
    found === undefined
      ? 'is gone'
      : found.size === 0
        ? 'is empty'
        : found.etag === next.etag
          ? undefined
          : 'was replaced since it went on record';
  return (
    problem &&
    `${next.uri} ${problem}: restore it from an older version of the object, or choose another model`
  );
}

/**
 * The archive of a run's model, on record or not; without a run, the model in use.
 * @returns why there is none
 */
export async function modelToScore(
  deps: ChooseDeps,
  pipeline: string,
  asked: string | undefined,
): Promise<Model | (Archive & { readonly runId: string }) | string> {
  const { known } = await modelsOf(deps, pipeline);
  const runId = asked ?? currentOf(known)?.runId;
  if (runId === undefined) return `no model of ${pipeline} is in use: name a run`;
  const why = await whyUnusable(deps, known, { decision: 'promote', runId });
  if (why !== undefined) return why;
  const model = known.models.find((each) => each.runId === runId);
  const archive = model ?? (await archiveOf(deps, pipeline, runId));
  if (typeof archive === 'string') return archive;
  return archive.digest === undefined
    ? `${archive.uri} is too large to have a digest, by which scores are kept: evaluate another model`
    : { ...archive, runId };
}

/** Finds the archive of a run that is not on record, since its pipeline did not promote. @returns why there is none */
async function archiveOf(
  { runs, store }: ChooseDeps,
  pipeline: string,
  runId: string,
): Promise<Archive | string> {
  const of = parseRunId(runId);
  if (of?.pipeline !== pipeline || of.isProbe) return `${runId} is no run of ${pipeline}`;
  const run = await runs.get(runId);
  if (run?.modelUri === undefined || run.declaration?.training.model === 'none')
    return `${runId} has left no model: tidewheel model ls shows the runs that have one`;
  const archive = await archiveAt(store, run.modelUri, MOST_DIGEST_BYTES);
  if (archive.bytes === undefined) return `${archive.uri} is gone: choose another model`;
  return archive.bytes === 0 ? `${archive.uri} is empty: choose another model` : archive;
}
