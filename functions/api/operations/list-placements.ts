import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { ok } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { leftOut, steppedOver, unreadable } from '../shared/paging.ts';
import { placement, shownAttempt } from '../shared/shown.ts';

/** From the attempts, whose records are small, and from what was decided for the next one. */
export const listPlacements = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/placements',
    id: 'listPlacements',
    summary: 'Lists where each attempt of a run was placed, and why.',
    answer: z.object({
      placements: list(
        z.object({
          attempt: z.number().int(),
          kind: z.enum(['launch', 'wait', 'giveUp']),
          reason: z.string(),
          placement: placement.optional(),
        }),
      ),
      unreadable,
    }),
    refusals: [404],
  },
  async (deps, { run: { runId } }) => {
    const attempts = await deps.attempts.list(runId);
    const { tell, said } = steppedOver();
    const next = await deps.placements
      .get(runId, (attempts.at(-1)?.attempt ?? 0) + 1)
      .catch(leftOut(runId, tell));
    const launched = attempts.map((attempt) => {
      const { placement } = shownAttempt(attempt);
      return { attempt: attempt.attempt, kind: 'launch' as const, reason: placement.reason, placement };
    });
    if (next === undefined) return ok({ placements: launched, ...said() });
    const { attempt, decision } = next;
    const { kind } = decision;
    if (decision.kind !== 'launch')
      return ok({ placements: [...launched, { attempt, kind, reason: decision.reason }] });
    const { considered: _considered, ...placement } = decision.placement;
    return ok({ placements: [...launched, { attempt, kind, reason: placement.reason, placement }] });
  },
);
