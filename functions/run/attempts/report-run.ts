/** The Report state: writes the report, closes the run and its batch, and notifies. It also follows an error of any state. */

import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { RunNotFoundError, TransientError, UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { missOf } from '@tidewheel/placement/estimate.ts';
import { runResultOf } from '../../records/ended.ts';
import type { Notice } from '../../records/notices.ts';
import {
  type AttemptRecord,
  FINISHED,
  type RunRecord,
  type TimelineEntry,
} from '../../records/run-records.ts';
import { formerAttempts } from '../../records/safe-remedies.ts';
import { readSeries } from '../../records/series.ts';
import { type ModelDeps, recordModel } from '../models/decide-models.ts';
import { keepScores } from '../models/kept-scores.ts';
import { evaluateWhatIsLeft, recordEvaluation } from './evaluate-alone.ts';
import { makeReport, metricsOf, type RunReport } from './make-report.ts';
import { endOpenAttempts, type ObserveDeps } from './observe-attempt.ts';

export interface ReportDeps extends ObserveDeps, Pick<ModelDeps, 'models'> {
  readonly store: ObjectStore;
}

/** The result of the states before Report. */
export interface RunVerdict {
  readonly kind: (typeof ENDS)[number];
  readonly reason: string;
}

/** A state met what another release has stored. That release, or a later one, may end the run well. */
const OF_ANOTHER_RELEASE = ['UnreadableRecordError', 'DocumentVersionError'];

/**
 * @returns what the states after Report read
 * @throws UnreadableRecordError for a run that is held: its execution ends with that, and `reconcile` continues it
 */
export async function endRun(deps: ReportDeps, { runId, ...result }: StateMachineResult & { runId: string }) {
  const { error } = result;
  if (error !== undefined && OF_ANOTHER_RELEASE.includes(error.Error)) {
    const text = errorText(error);
    const at = deps.clock.now().toISOString();
    await deps.timeline.add(runId, { id: `held-${at}`, at, kind: 'RunHeld', text: `${text}. ${GOES_ON}` });
    throw new UnreadableRecordError(text);
  }
  const { status, failure = '' } = await reportRun(deps, runId, runVerdictOf(result));
  const whenDone = (await deps.runs.get(runId))?.declaration?.packing.whenDone ?? 'keep';
  return { status, failure, whenDone };
}

/**
 * The first verdict stands: it is recorded before any other step, so a retry after a crash repeats it. The report is
 * written before the run is closed: after a crash between the two it is written again.
 * @throws TransientError while a job of the run is still being stopped
 */
export async function reportRun(deps: ReportDeps, runId: string, verdict: RunVerdict): Promise<RunReport> {
  const run = await deps.runs.get(runId);
  if (run === undefined) throw new RunNotFoundError(runId);
  // A run of which this release cannot read everything gets no verdict: another release may end it well.
  await deps.attempts.list(runId);
  await deps.timeline.add(runId, {
    id: finishedEntryOf(run),
    at: deps.clock.now().toISOString(),
    kind: TITLES[verdict.kind],
    text: verdict.reason,
  });
  await endOpenAttempts(deps, runId);
  const savedNothing = verdict.kind === 'done' && (await hasSavedNothing(deps.store, run));
  if (savedNothing) await tellSavedNothing(deps, run);
  const decided = decidedVerdict(run, await deps.timeline.list(runId)) ?? undecided(runId);
  const { kind } = decided;
  const { status, failure, finishedAt } = endedAs(decided);
  const attempts = await deps.attempts.list(runId);
  const last = savedNothing ? undefined : attempts.at(-1);
  await recordEvaluation(deps, run, attempts.at(-1));
  if (kind === 'done') await takeModel(deps, run, last);
  const timeline = await deps.timeline.list(runId);
  const series = await readSeries(deps.store, run.pipeline, runId);
  const { leading } = metricsOf({ run, attempts, series });
  const report = makeReport({
    run,
    former: await formerAttempts(deps, run),
    attempts,
    timeline,
    series,
    status,
    failure,
    finishedAt,
    modelEtag: await etagOf(deps.store, last?.outcome?.modelUri),
    savedNothing,
  });
  await deps.store.writeText(bucketKeys.report(run.pipeline, runId), `${JSON.stringify(report, null, 2)}\n`);
  // A run that failed with an open batch must not collect the next arrivals.
  if (run.closedAt === undefined) await deps.runs.closeBatch(run, { at: finishedAt });
  await notify(deps, run, report);
  await deps.runs.finish(run, {
    status,
    updatedAt: finishedAt,
    ...(failure !== undefined && { failure }),
    ...(report.modelUri !== undefined && { modelUri: report.modelUri }),
    result: resultOf(run, report, leading),
  });
  return report;
}

const resultOf = (
  { promises }: RunRecord,
  report: RunReport,
  leading: ReturnType<typeof metricsOf>['leading'],
): NonNullable<RunRecord['result']> => ({
  ...runResultOf(report),
  ...(report.status === 'succeeded' && { misses: promises?.map((each) => missOf(each, report)) }),
  ...(leading !== undefined && { metric: leading }),
});

const endedAs = ({ kind, reason, decidedAt }: RunVerdict & { readonly decidedAt: string }) => ({
  status: kind === 'done' ? ('succeeded' as const) : kind,
  failure: kind === 'failed' ? reason : undefined,
  finishedAt: decidedAt,
});

/** A later run of the pipeline has the right to write where this model is. */
async function etagOf(store: ObjectStore, modelUri = ''): Promise<string | undefined> {
  const key = modelUri.slice(s3Uri(store.bucket, '').length);
  if (key === '' || s3Uri(store.bucket, key) !== modelUri) return undefined;
  for await (const listed of store.list(key)) return listed.key === key ? listed.etag : undefined;
  return undefined;
}

/** Its scores are kept first: they decide on it. */
async function takeModel(deps: ReportDeps, run: RunRecord, last: AttemptRecord | undefined): Promise<void> {
  const uri = last?.outcome?.modelUri;
  if (last === undefined || uri === undefined || run.probe !== undefined) return;
  const kept = await keepScores(deps.store, run, last.attempt);
  await recordModel(deps, run, uri, kept);
  await evaluateWhatIsLeft(deps, run, kept);
}

async function tellSavedNothing({ timeline, clock }: ReportDeps, { runId, probe }: RunRecord): Promise<void> {
  // An evaluation alone saves nothing.
  if (probe?.evaluates !== undefined) return;
  await timeline.add(runId, {
    id: 'saved-nothing',
    at: clock.now().toISOString(),
    kind: 'SavedNothing',
    text: 'the script saved nothing where it runs, so the run leaves no model: have it save one there, or below SM_MODEL_DIR',
  });
}

/** Whether the script saved nothing where it runs, though that is the model. The agent's own files do not count. */
async function hasSavedNothing(
  store: ObjectStore,
  { pipeline, runId, declaration }: RunRecord,
): Promise<boolean> {
  if (declaration?.training.model !== 'none') return false;
  const prefix = bucketKeys.checkpoints(pipeline, runId);
  for await (const { key } of store.list(prefix))
    if (!/^tidewheel-|^$|\/$/.test(key.slice(prefix.length))) return false;
  return true;
}

async function notify(deps: ReportDeps, run: RunRecord, report: RunReport): Promise<void> {
  // Who waits for models would take a probe for one.
  if (FINISHED.includes(run.status) || report.status === 'empty' || run.probe !== undefined) return;
  await deps.notifier.notify(run, noticeOf(report.status, report));
}

function noticeOf(
  status: Exclude<RunReport['status'], 'empty'>,
  { costUsd, onDemandUsd, modelUri, failure, stop, need }: RunReport,
): Notice {
  switch (status) {
    case 'succeeded':
      return { type: 'RunFinished', modelUri, costUsd, onDemandUsd };
    case 'failed':
      return { type: 'RunFailed', reason: failure ?? 'unknown' };
    case 'stopped':
      return { type: 'RunStopped', requestedBy: stop?.requestedBy ?? 'unknown', costUsd };
    case 'notNeeded':
      return { type: 'TrainingNotNeeded', reason: need?.reason ?? '', ...need?.scores, since: need?.since };
  }
}

/** Each retry ends with an entry of its own. */
const finishedEntryOf = ({ retry }: Pick<RunRecord, 'retry'>): string =>
  retry === undefined ? 'finished' : `finished-${retry.number}`;
const TITLES = {
  done: 'RunFinished',
  failed: 'RunFailed',
  stopped: 'RunStopped',
  empty: 'NothingNew',
  notNeeded: 'TrainingNotNeeded',
} as const satisfies Record<RunVerdict['kind'], string>;

/** The recorded verdict of a run, since it was last opened. */
export function decidedVerdict(
  run: Pick<RunRecord, 'retry'>,
  timeline: readonly TimelineEntry[],
): (RunVerdict & { readonly decidedAt: string }) | undefined {
  const entry = timeline.find(({ id }) => id === finishedEntryOf(run));
  if (entry === undefined) return undefined;
  const kind = ENDS.find((each) => TITLES[each] === entry.kind) ?? 'failed';
  return { kind, reason: entry.text, decidedAt: entry.at };
}

function undecided(runId: string): never {
  throw new TransientError(`the verdict of ${runId} was written but cannot be read yet`);
}

interface StateMachineResult {
  readonly judgement?: { readonly kind: string; readonly reason: string } | undefined;
  readonly error?: { readonly Error: string; readonly Cause?: string | undefined } | undefined;
}

const GOES_ON = 'The run waits for a release that reads it, and tries once an hour';

const ENDS = ['done', 'failed', 'stopped', 'empty', 'notNeeded'] as const;

/** An error of a state overrides an earlier judgement. */
function runVerdictOf({ judgement, error }: StateMachineResult): RunVerdict {
  if (error !== undefined) return { kind: 'failed', reason: errorText(error) };
  const kind = ENDS.find((end) => end === judgement?.kind);
  if (kind === undefined || judgement === undefined)
    return { kind: 'failed', reason: 'the run ended without a judgement' };
  return { kind, reason: judgement.reason };
}

/** Lambda's Cause is JSON with the message inside. The stack belongs in the log, not in the report. */
function errorText({ Error: name, Cause: cause }: NonNullable<StateMachineResult['error']>): string {
  // Not every service answers with JSON.
  const parsed = parseJson(cause ?? '');
  if (typeof parsed === 'object' && parsed !== null && 'errorMessage' in parsed)
    return `${name}: ${String(parsed.errorMessage)}`;
  return cause ? `${name}: ${cause.slice(0, 1_000)}` : name;
}
