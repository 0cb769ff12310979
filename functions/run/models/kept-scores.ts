/** The scores of models: copied from the files of attempts, and kept by what they are scores of. */

import { hash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { valueOf } from '@tidewheel/contract/document.ts';
import { type FinishedNote, finishedNote } from '@tidewheel/contract/finished.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readBounded, readNote } from '../../records/host-files.ts';
import type { Archive } from '../../records/models.ts';
import type { RunRecord } from '../../records/run-records.ts';

type Evaluated = Pick<RunRecord, 'runId' | 'source' | 'evaluation' | 'declaration'>;

/** Names the scores of one model on one set by one script. Where one of them is unknown, the run alone has them. */
export function scoresKey(
  pipeline: string,
  { runId, source, evaluation, declaration }: Evaluated,
  model: string,
): string {
  const { entryPoint, arguments: words } = declaration?.evaluation ?? {};
  const parts = [model, evaluation?.set ?? runId, source ?? runId, entryPoint, words];
  return bucketKeys.modelScores(pipeline, hash('sha256', JSON.stringify(parts), 'hex'));
}

/** Scores of a model on the samples of this run; undefined where no script has scored them. */
export async function scoredNow(
  store: ObjectStore,
  run: Evaluated & Pick<RunRecord, 'pipeline'>,
  { digest }: Pick<Archive, 'digest'>,
): Promise<string | undefined> {
  if (run.evaluation === undefined || digest === undefined) return undefined;
  return (await readBounded(store, scoresKey(run.pipeline, run, digest), 'scores'))?.text;
}

/** What the last attempt has left of the model. */
export interface KeptScores {
  /** Of its evaluation. */
  readonly note?: FinishedNote | undefined;
  readonly scores?: string | undefined;
  /** Names the model; one that is too large for a digest has no scores kept by it. */
  readonly digest?: string | undefined;
}

/** Scores on other samples than declared are no later model's measure, so they are not those of the model's run. */
export const scoredRunOf = ({ runId, probe }: Pick<RunRecord, 'runId' | 'probe'>): string =>
  probe?.evaluates?.decides === true ? probe.evaluates.runId : runId;

/** Copies what the last attempt wrote: its checkpoints expire, and later models are compared with this one. */
export async function keepScores(store: ObjectStore, run: RunRecord, attempt: number): Promise<KeptScores> {
  const { pipeline, runId, declaration, evaluation } = run;
  if (declaration?.promote === undefined) return {};
  const copy = async (of: 'scores' | 'currentScores', key: string) => {
    const from = bucketKeys.attemptScores(pipeline, runId, attempt, of);
    const written = await readBounded(store, from, 'scores');
    if (written !== undefined) await store.writeText(key, written.text);
    return written?.text;
  };
  const own = bucketKeys.scores(pipeline, scoredRunOf(run));
  if (declaration.evaluation === undefined) return { scores: await copy('scores', own) };
  const note = await finishedNoteOf(store, run, attempt);
  const digest = evaluation?.current?.digest;
  if (hasScores(note?.current) && digest !== undefined)
    await copy('currentScores', scoresKey(pipeline, run, digest));
  return { note, scores: hasScores(note?.candidate) ? await copy('scores', own) : undefined };
}

/** The same model may be scored on the same samples again, as the one in use or alone. */
export async function keepByDigest(
  store: ObjectStore,
  run: RunRecord,
  { note, scores, digest }: KeptScores,
): Promise<void> {
  if (digest !== undefined && scores !== undefined && hasScores(note?.candidate))
    await store.writeText(scoresKey(run.pipeline, run, digest), scores);
}

const hasScores = (evaluated: FinishedNote['candidate']): boolean =>
  evaluated?.result === 'ended' && evaluated.samples > 0;

export const finishedNoteOf = async (
  store: ObjectStore,
  { pipeline, runId }: Pick<RunRecord, 'pipeline' | 'runId'>,
  attempt: number,
): Promise<FinishedNote | undefined> =>
  valueOf(await readNote(store, bucketKeys.finished(pipeline, runId, attempt), finishedNote));

/** Why a model has no scores of its evaluation; undefined where the script has ended well. */
export function evaluationProblem(
  { entryPoint, maximumSeconds }: NonNullable<Pipeline['evaluation']>,
  evaluated: FinishedNote['candidate'],
): { readonly isFault: boolean; readonly why: string } | undefined {
  switch (evaluated?.result) {
    case 'ended':
      return undefined;
    case 'failed':
      return { isFault: true, why: `${entryPoint} failed: ${evaluated.message ?? 'see its log'}` };
    case 'timedOut':
      return {
        isFault: false,
        why: `its evaluation is missing: ${entryPoint} had not ended after ${maximumSeconds} s (evaluation.maximumSeconds)`,
      };
    case 'stopped':
    case undefined:
      return {
        isFault: false,
        why: `its evaluation is missing: ${evaluated?.message ?? 'its host was lost, or had no room for a copy of the model'}`,
      };
  }
}

/** The host was lost, or had to leave, before the script had ended. */
const isLost = (evaluated: FinishedNote['candidate']): boolean =>
  evaluated === undefined || evaluated.result === 'stopped';

/** Another evaluation has more time only where it finds the candidate's scores, and comes only for a decision. */
const mayLeaveAnother = ({
  evaluation,
  probe,
  source,
}: Pick<RunRecord, 'evaluation' | 'probe' | 'source'>): boolean =>
  probe === undefined ||
  (probe.evaluates?.decides === true && evaluation?.set !== undefined && source !== undefined);

/** No time was left for the model in use. */
export const isCurrentLeft = (run: RunRecord, { note, digest }: KeptScores): boolean =>
  run.stop === undefined &&
  mayLeaveAnother(run) &&
  digest !== undefined &&
  run.evaluation?.current !== undefined &&
  hasScores(note?.candidate) &&
  (isLost(note?.current) || note?.current?.result === 'timedOut');

/** Whether an evaluation alone may still score what the run's own has not. */
export const isLeftToScore = (run: RunRecord, evaluated: KeptScores): boolean =>
  isCurrentLeft(run, evaluated) ||
  (run.declaration?.evaluation !== undefined &&
    run.probe === undefined &&
    run.stop === undefined &&
    isLost(evaluated.note?.candidate));
