/** The answer to how busy the hosts of a run were, and what the doctor made of it. */
import type { Stores } from '../runs/stores.ts';
import { readUtilisation } from '../runs/utilisation.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type AnswerOf, noRun, ok, type RequestOf } from './answers.ts';

export interface UtilisationDeps extends Pick<Stores, 'runs' | 'attempts'> {
  readonly store: ObjectStore;
}

export async function getUtilisation(
  deps: UtilisationDeps,
  { parameters, query }: RequestOf<'GET /runs/{runId}/utilisation'>,
): AnswerOf<'GET /runs/{runId}/utilisation'> {
  const runId = parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  const [attempts, measured] = await Promise.all([
    deps.attempts.list(runId),
    readUtilisation(deps.store, { pipeline: run.pipeline, runId, most: query.points }),
  ]);
  const verdicts = attempts.flatMap(({ attempt, diagnosis }) =>
    (diagnosis?.verdicts ?? []).map(({ cause, remedy }) => ({
      attempt,
      at: diagnosis?.at ?? '',
      cause,
      remedy: remedy?.text,
    })),
  );
  return ok({ ...measured, verdicts });
}
