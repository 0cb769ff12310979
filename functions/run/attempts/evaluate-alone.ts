/**
 * An evaluation alone: a probe that trains nothing and scores the model of a run, and the one in use, as an attempt like any
 * other. A run whose own evaluation was lost leaves one to do, and so does a person who asks.
 */

import { ALONE } from '@tidewheel/declaration/launchers.ts';
import { datasetSettings, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { isSameOnRecord } from '@tidewheel/kit/same-on-record.ts';
import { type Archive, currentOf, decideModel, isUncompared, withComparison } from '../../records/models.ts';
import { type AttemptRecord, FINISHED, type RunRecord } from '../../records/run-records.ts';
import { beginProbe, type ProbeDeps, type ProbeQuestion } from '../ingest/start-probe.ts';
import { changeModels, type ModelDeps, modelsOf } from '../models/decide-models.ts';
import { judgeModel } from '../models/judge-model.ts';
import { isLeftToScore, type KeptScores, keepByDigest, keepScores } from '../models/kept-scores.ts';
import { archiveOf } from '../models/start-model.ts';

export type AloneDeps = ModelDeps & ProbeDeps;

type Evaluates = NonNullable<ProbeQuestion['evaluation']>['of'];

interface AloneQuestion extends Pick<ProbeQuestion, 'declaration' | 'batch' | 'requestedBy'> {
  readonly model: Archive;
  readonly of: Evaluates;
  /** Digest of the packed source; absent: as it is at the launch. */
  readonly source?: string | undefined;
}

/** An equal probe, or that of a run, is looked for among so many of the newest. */
export const MOST_PROBES = 20;

const sameIn = (probes: readonly RunRecord[], { evaluation }: Pipeline, of: Evaluates) =>
  probes.find(
    (run) =>
      isSameOnRecord([run.probe?.evaluates, run.declaration?.evaluation], [of, evaluation]) &&
      (of.after !== undefined || !FINISHED.includes(run.status)),
  );

/** @returns the open evaluation of the same */
export const openEvaluation = async (
  { runs }: Pick<AloneDeps, 'runs'>,
  declaration: Pipeline,
  of: Evaluates,
): Promise<RunRecord | undefined> =>
  sameIn(await runs.listProbes(declaration.name, MOST_PROBES), declaration, of);

/** Idempotent for a run that leaves it to do, and for persons while it runs. */
export async function evaluateAlone(
  deps: AloneDeps,
  { declaration: declared, batch, requestedBy, model, of, source }: AloneQuestion,
): Promise<{ readonly kind: 'started' | 'running'; readonly runId: string }> {
  const declaration = aloneDeclaration(declared);
  const probes = await deps.runs.listProbes(declared.name, MOST_PROBES);
  const known = sameIn(probes, declaration, of);
  if (known !== undefined) {
    // The process that has recorded it may have died before it started it.
    if (!FINISHED.includes(known.status)) await deps.executions.start(known);
    return { kind: 'running', runId: known.runId };
  }
  const evaluation = { of, source, startedFrom: archiveOf(model) };
  for (let number = (probes[0]?.probe?.number ?? 0) + 1; ; number += 1) {
    const { kind, runId } = await beginProbe(deps, { declaration, number, batch, requestedBy, evaluation });
    if (kind !== 'taken') return { kind, runId };
  }
}

/** One process on one node, with the channels, the image and the limits of the training. */
function aloneDeclaration({ notify: _notify, doctor: _doctor, ...declared }: Pipeline): Pipeline {
  const { evaluation, training, compute, limits } = declared;
  const instanceTypes = evaluation?.instanceTypes;
  const needs = instanceTypes === undefined ? compute.needs : undefined;
  return {
    ...declared,
    training: {
      ...training,
      strategy: ALONE,
      entryPoint: evaluation?.entryPoint,
      command: undefined,
      arguments: [],
      hyperparameters: {},
      checkpoint: undefined,
      progress: undefined,
      processesPerHost: undefined,
      startFrom: undefined,
      when: undefined,
      model: 'none',
      instrument: false,
    },
    compute: {
      ...compute,
      nodes: 1,
      instanceTypes: instanceTypes ?? compute.instanceTypes,
      needs: needs && {
        ...needs,
        accelerators: Math.min(1, needs.accelerators),
        acceleratorsPerNode: undefined,
        maximumNodes: 1,
      },
      helpers: undefined,
      mayAddHelpers: undefined,
      spotWithHelpers: undefined,
    },
    limits: { ...limits, steps: undefined },
  };
}

/** The samples of the run, whatever was sealed since. */
const pinnedTo = (declaration: Pipeline, generation: string | undefined): Pipeline => {
  const pin = declaration.dataset?.pin ?? generation;
  return pin === undefined
    ? declaration
    : { ...declaration, dataset: { ...datasetSettings(declaration.dataset), pin } };
};

/** Has scored alone what the run's own evaluation did not, where its model still waits for that. Safe to repeat. */
export async function evaluateWhatIsLeft(
  deps: AloneDeps,
  run: RunRecord,
  evaluated: KeptScores,
): Promise<void> {
  const { runId: after, pipeline, declaration, batch, source, probe } = run;
  if (declaration === undefined) return;
  const runId = probe?.evaluates?.runId ?? after;
  const { models } = (await modelsOf(deps, pipeline)).known;
  const model = models.find((each) => each.runId === runId);
  if (model?.digest === undefined || !isUncompared(model) || model.by !== after) return;
  if (!isLeftToScore(run, { ...evaluated, digest: model.digest })) return;
  const begun = await evaluateAlone(deps, {
    declaration: pinnedTo(declaration, run.generations?.at(-1)),
    batch,
    source,
    requestedBy: after,
    model,
    of: { runId, decides: true, after },
  });
  await deps.timeline.add(after, {
    id: 'evaluated-alone',
    at: deps.clock.now().toISOString(),
    kind: 'EvaluatedAlone',
    text: `${begun.runId} scores alone what the evaluation has left`,
  });
}

/**
 * Takes what an evaluation alone has scored, and decides by it on a model that waits for its comparison. Safe to repeat.
 * @param last undefined where no attempt was placed
 */
export async function recordEvaluation(
  deps: AloneDeps,
  run: RunRecord,
  last: Pick<AttemptRecord, 'attempt'> | undefined,
): Promise<void> {
  const { runId: by, pipeline, declaration, probe, startedFrom } = run;
  const evaluates = probe?.evaluates;
  if (evaluates === undefined || declaration?.promote === undefined) return;
  const kept = last === undefined ? {} : await keepScores(deps.store, run, last.attempt);
  const evaluated = { ...kept, digest: startedFrom?.digest };
  await keepByDigest(deps.store, run, evaluated);
  const at = deps.clock.now().toISOString();
  const { promote } = declaration;
  await changeModels(deps, pipeline, async (before) => {
    const candidate = before.models.find(({ runId }) => runId === evaluates.runId);
    // This report is repeated: against itself the model would be the first one.
    if (candidate?.by === by && !isUncompared(candidate)) return { kind: 'same' };
    const scored = await judgeModel(deps.store, run, before, evaluated);
    if (scored?.judged !== undefined) await deps.runs.update(by, { judged: scored.judged, updatedAt: at });
    if (!evaluates.decides || run.stop !== undefined || candidate === undefined) return { kind: 'same' };
    const { kind: verdict, reason } =
      typeof promote === 'object'
        ? decideModel({ promote, candidate, current: currentOf(before), scored })
        : ({ kind: 'wait', reason: candidate.reason } as const);
    const judged = scored?.judged ?? candidate.judged;
    return withComparison(before, { ...candidate, judged }, { verdict, reason, at, by });
  });
  await evaluateWhatIsLeft(deps, run, evaluated);
}
