import { placementDecisionSchema } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import type { StoredPlacement, Stores } from '../../records/stores.ts';
import { ok, problem } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';

export const getPlacement = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/placements/{attempt}',
    id: 'getPlacement',
    summary: 'Shows the placement of an attempt with every pool that was weighed.',
    answer: z.object({ attempt: z.number().int(), decision: placementDecisionSchema }),
    refusals: [404],
  },
  async (deps, { run: { runId }, parameters: { attempt } }) => {
    const stored = await storedPlacementOf(deps, runId, attempt);
    if (stored === undefined) return noPlacement(runId, attempt);
    // Its stored question is large, and for deciding again.
    const { question: _question, ...decision } = stored.decision;
    return ok({ attempt: stored.attempt, decision });
  },
);

/** @param attempt as a path has it */
export const storedPlacementOf = async (
  { placements }: Pick<Stores, 'placements'>,
  runId: string,
  attempt: string,
): Promise<StoredPlacement | undefined> =>
  /^[1-9]\d{0,3}$/.test(attempt) ? placements.get(runId, Number(attempt)) : undefined;

export const noPlacement = (runId: string, attempt: string) =>
  problem(404, `${runId} has no placement "${attempt}": GET /runs/${runId}/placements lists those there are`);
