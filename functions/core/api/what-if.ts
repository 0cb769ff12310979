/** The answer to "what if": a stored question of placement, asked again with something changed. Nothing is started. */
import { factsWith } from '../catalog/hardware.ts';
import { observationsOfOthers } from '../placement/belief/attempt-observations.ts';
import { typesOf } from '../placement/candidates/topologies.ts';
import { choosePlacement } from '../placement/decision/choose.ts';
import { storedQuestion } from '../placement/decision/situation.ts';
import { completeMarket } from '../placement/explain/market-for-what-if.ts';
import { questionOf } from '../placement/explain/replay.ts';
import { whyUnreadable } from '../placement/explain/stored-decision.ts';
import { decideIf } from '../placement/explain/what-if.ts';
import type { Stores } from '../runs/stores.ts';
import { type AnswerOf, noRun, ok, problem, type RequestOf } from './answers.ts';

export type WhatIfDeps = Pick<Stores, 'runs' | 'attempts' | 'placements' | 'poolOutcomes' | 'marketSamples'>;

export async function getWhatIf(
  deps: WhatIfDeps,
  { parameters, query }: RequestOf<'GET /runs/{runId}/what-if/{attempt}'>,
): AnswerOf<'GET /runs/{runId}/what-if/{attempt}'> {
  const runId = parameters['runId'] ?? '';
  const attempt = Number(parameters['attempt']);
  const [run, attempts, placements] = await Promise.all([
    deps.runs.get(runId),
    deps.attempts.list(runId),
    deps.placements.list(runId),
  ]);
  if (run === undefined) return noRun(runId);
  const decision = placements.find((each) => each.attempt === attempt)?.decision;
  if (decision === undefined || run.declaration === undefined)
    return problem(404, `nothing was decided for attempt ${parameters['attempt'] ?? ''} of ${runId}`);
  const damage = whyUnreadable(decision);
  if (damage !== undefined) return problem(409, damage);
  const asked = storedQuestion(decision);
  const types = typesOf(run.declaration.compute, factsWith(asked.hardware));
  const instanceTypes = [...types, ...(query.instanceTypes ?? [])];
  const now = new Date(asked.now);
  const observations = await observationsOfOthers(deps.poolOutcomes, { runId, instanceTypes, now });
  const question = questionOf({ run, attempts, attempt, decision, observations });
  if (question === undefined) return problem(404, `nothing was decided for ${runId}`);
  const { input, notes } = await completeMarket(question, query, deps);
  return ok({
    decidedAt: asked.now,
    again: choosePlacement(question),
    changed: decideIf(input, query),
    notes,
  });
}
