/** The answer to "what if": a stored question of placement, asked again with something changed. Nothing is started. */
import { factsWith } from '../catalog/hardware.ts';
import { observationsOfOthers } from '../placement/belief/attempt-observations.ts';
import { typesOf } from '../placement/candidates/topologies.ts';
import { choosePlacement } from '../placement/decision/choose.ts';
import { storedQuestion } from '../placement/decision/situation.ts';
import { completeMarket } from '../placement/explain/market-for-what-if.ts';
import { questionOf, sameChoice } from '../placement/explain/replay.ts';
import { whyUnreadable } from '../placement/explain/stored-decision.ts';
import { decideIf } from '../placement/explain/what-if.ts';
import type { StoredPlacement, Stores } from '../runs/stores.ts';
import { type AnswerOf, noRun, ok, problem, type RequestOf } from './answers.ts';

export type WhatIfDeps = Pick<Stores, 'runs' | 'attempts' | 'placements' | 'poolOutcomes' | 'marketSamples'>;

/** @param attempt as a path has it */
export const storedPlacementOf = async (
  { placements }: Pick<Stores, 'placements'>,
  runId: string,
  attempt: string,
): Promise<StoredPlacement | undefined> =>
  /^[1-9]\d{0,3}$/.test(attempt) ? placements.get(runId, Number(attempt)) : undefined;

export const noPlacement = (runId: string, attempt: string) =>
  problem(404, `${runId} has no placement "${attempt}": GET /runs/${runId}/placements lists those there are`);

export async function getWhatIf(
  deps: WhatIfDeps,
  { parameters, query }: RequestOf<'GET /runs/{runId}/what-if/{attempt}'>,
): AnswerOf<'GET /runs/{runId}/what-if/{attempt}'> {
  const { runId = '', attempt = '' } = parameters;
  const [run, attempts, stored] = await Promise.all([
    deps.runs.get(runId),
    deps.attempts.list(runId),
    storedPlacementOf(deps, runId, attempt),
  ]);
  if (run === undefined) return noRun(runId);
  if (stored === undefined || run.declaration === undefined) return noPlacement(runId, attempt);
  const { decision } = stored;
  const damage = whyUnreadable(decision);
  if (damage !== undefined) return problem(409, damage);
  const asked = storedQuestion(decision);
  const types = typesOf(run.declaration.compute, factsWith(asked.hardware));
  const now = new Date(asked.now);
  const observationsIn = (instanceTypes: readonly string[]) =>
    observationsOfOthers(deps.poolOutcomes, { runId, instanceTypes, now });
  const question = questionOf({ run, attempts, ...stored, observations: await observationsIn(types) });
  if (question === undefined) return noPlacement(runId, attempt);
  const { dataGigabytes, ...change } = query;
  const more = change.instanceTypes;
  const { input, notes } = await completeMarket(
    more === undefined ? question : { ...question, observations: await observationsIn([...types, ...more]) },
    change,
    { ...deps, datasetBytes: dataGigabytes === undefined ? undefined : dataGigabytes * 1e9 },
  );
  const again = choosePlacement(question);
  return ok({
    decidedAt: asked.now,
    again,
    isSame: sameChoice(again, decision),
    changed: decideIf(input, change),
    notes,
  });
}
