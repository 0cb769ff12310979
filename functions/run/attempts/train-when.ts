/**
 * `training.when`: whether what arrived is worth a training. Before the first attempt an evaluation alone scores the model
 * in use on it. Whatever the evaluation lacks has the run train.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { declaredMargin, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { trainingNeed } from '@tidewheel/judging/judge.ts';
import { readScores, type ScoreTable } from '@tidewheel/judging/scores.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import { isSameOnRecord } from '@tidewheel/kit/same-on-record.ts';
import { readBounded } from '../../records/host-files.ts';
import { currentOf, type FoundNeed, type Model } from '../../records/models.ts';
import { samplesInGeneration } from '../../records/run-dataset.ts';
import { FINISHED, type RunRecord } from '../../records/run-records.ts';
import { modelsOf } from '../models/decide-models.ts';
import { scoredNow } from '../models/kept-scores.ts';
import { type AloneDeps, evaluateAlone, MOST_PROBES } from './evaluate-alone.ts';
import { deadlineAt } from './make-report.ts';

interface Asked {
  readonly run: RunRecord;
  readonly declaration: Pipeline;
  readonly generation: string;
  readonly current: Model;
}

/** The same for every look at the run: its answer is on record. A person who asks for the run, or retries it, wants it to train. */
export async function trainingNeedOf(
  deps: AloneDeps,
  run: RunRecord,
): Promise<FoundNeed | { readonly wait: number; readonly reason: string } | undefined> {
  const { declaration, generation, need } = run;
  if (declaration?.training.when === undefined || generation === undefined || isTrainedAnyway(run))
    return undefined;
  if (need !== undefined) return need;
  const current = currentOf((await modelsOf(deps, run.pipeline)).known);
  const found =
    current === undefined
      ? unknown('no model is in use')
      : current.digest === undefined
        ? unknown(`the model of ${current.runId} is too large for a digest`)
        : await scoredNeed(deps, { run, declaration, generation, current });
  if ('wait' in found) return found;
  const at = deps.clock.now().toISOString();
  if (found.isNeeded)
    await deps.timeline.add(run.runId, { id: 'need', at, kind: 'TrainingNeeded', text: found.reason });
  await deps.runs.update(run.runId, { need: found, updatedAt: at });
  return found;
}

/** A pinned version does not hold what arrived. */
const isTrainedAnyway = ({ request, retry, probe, declaration }: RunRecord): boolean =>
  (request ?? retry ?? probe ?? declaration?.dataset?.pin) !== undefined;

const unknown = (why: string): FoundNeed => ({ isNeeded: true, reason: `trains, because ${why}` });

/** An evaluation that has found no capacity, or does not end, holds up no training. */
const MOST_WAIT_SECONDS = 3_600;

async function scoredNeed(deps: AloneDeps, asked: Asked) {
  const { run, declaration, generation, current } = asked;
  const { runId } = await evaluateAlone(deps, {
    declaration,
    batch: run.batch,
    source: run.source,
    requestedBy: run.runId,
    model: current,
    of: { runId: current.runId, decides: false, after: run.runId, arrivals: generation },
  });
  const now = deps.clock.now();
  await deps.timeline.add(run.runId, {
    id: 'arrivals-scored',
    at: now.toISOString(),
    kind: 'ArrivalsScored',
    text: `${runId} scores the model of ${current.runId} on what arrived`,
  });
  const probe = await deps.runs.get(runId);
  if (probe === undefined || !FINISHED.includes(probe.status)) {
    const seconds = (now.getTime() - Date.parse(probe?.createdAt ?? now.toISOString())) / 1_000;
    if (seconds <= mostSeconds(run, declaration))
      return {
        wait: Math.min(300, Math.max(5, Math.round(seconds / 4))),
        reason: `${runId} scores what arrived`,
      };
    await stopScoring(deps, run);
    return { ...unknown(`${runId} has scored nothing for ${Math.round(seconds)} s`), probe: runId };
  }
  const made = await deps.runs.get(current.runId).catch(noneIfUnreadable);
  const found = isSameOnRecord(scriptOf(made), scriptOf(probe))
    ? await comparedNeed(deps, asked, probe)
    : unknown(`the source or the evaluation is another one than that of ${current.runId}`);
  return { ...found, probe: runId };
}

/** A quarter of the time to the deadline, at most. */
function mostSeconds(run: RunRecord, { evaluation }: Pipeline): number {
  const deadline = deadlineAt(run)?.getTime() ?? Number.POSITIVE_INFINITY;
  return Math.min(
    (evaluation?.maximumSeconds ?? 0) + MOST_WAIT_SECONDS,
    (deadline - Date.parse(run.closedAt ?? run.createdAt)) / 4_000,
  );
}

/** The run waits no longer for the scores of what arrived, which would cost a host. */
export async function stopScoring({ runs, clock }: AloneDeps, { runId, pipeline }: RunRecord): Promise<void> {
  const probes = await runs.listProbes(pipeline, MOST_PROBES);
  const open = probes.find(
    (each) => each.probe?.evaluates?.after === runId && !FINISHED.includes(each.status),
  );
  if (open !== undefined)
    await runs.requestStop(open.runId, { mode: 'now', requestedBy: runId, at: clock.now().toISOString() });
}

async function comparedNeed(
  { runs, store }: AloneDeps,
  { run, declaration, generation, current }: Asked,
  probe: RunRecord,
): Promise<FoundNeed> {
  const { when, objective } = declaration.training;
  if (when === undefined || objective === undefined) return unknown('nothing says which score counts');
  const { runId, pipeline } = probe;
  const own = await readBounded(store, bucketKeys.scores(pipeline, runId), 'scores');
  const before = await readBounded(store, bucketKeys.scores(pipeline, current.runId), 'scores');
  const { metric } = objective;
  const arrived = await tableOf(own?.text ?? (await scoredNow(store, probe, current)), metric);
  if (arrived === undefined)
    return unknown(
      `${runId} has ${probe.status} and left no scores of ${metric} that can be read (a line for each sample, 100,000 and 16 MiB at most)`,
    );
  const known = await tableOf(before?.text, metric);
  if (known === undefined) return unknown(`${current.runId} has no scores of ${metric} of its own`);
  // Further channels of evaluation.on have what was there before.
  const fresh = new Map([...arrived].filter(([key]) => !known.has(key)));
  const since =
    when.orSamples === undefined ? undefined : await samplesSince({ runs, store }, run, generation);
  const margins = { worseBy: declaredMargin(when.worseBy), orSamples: when.orSamples };
  const found = trainingNeed({ ...objective, ...margins, arrived: fresh, known, since: since ?? 0 });
  if (found === undefined) return unknown(`${runId} has scored no new sample`);
  const { isNeeded, reason, ...means } = found;
  const scores = { metric, model: current.runId, samples: fresh.size, ...means };
  return { isNeeded, reason, since, scores };
}

/** Scores of two scripts say nothing about each other. */
function scriptOf(run: RunRecord | undefined): readonly unknown[] {
  const { entryPoint, arguments: words } = run?.declaration?.evaluation ?? {};
  return [run?.source, entryPoint, words];
}

async function tableOf(text: string | undefined, metric: string): Promise<ScoreTable | undefined> {
  const read = text === undefined ? undefined : await readScores(text.split('\n'), metric);
  return read?.ok === true && read.scores.size > 0 ? read.scores : undefined;
}

/** So many runs in a row may train nothing. */
const MOST_RUNS_BACK = 200;

/** Samples of this generation, and of all runs since the last one that has trained. */
async function samplesSince(
  { runs, store }: Pick<AloneDeps, 'runs' | 'store'>,
  { pipeline, runId }: RunRecord,
  generation: string,
): Promise<number> {
  const before = await runs.list(pipeline, MOST_RUNS_BACK, runId);
  let samples = await samplesInGeneration(store, pipeline, generation);
  for (const { status, generation: name, need, declaration } of before) {
    // A pinned version holds nothing that is new.
    if (status === 'succeeded' && declaration?.dataset?.pin === undefined) break;
    // It has counted all before it.
    if (status === 'notNeeded' && need?.since !== undefined) return samples + need.since;
    if (name !== undefined) samples += await samplesInGeneration(store, pipeline, name);
  }
  return samples;
}
