/** A run that trains where a placement has put it; its question is kept, so that a placement can be foreseen. */
import { choosePlacement, storedPart } from '@tidewheel/placement/choose.ts';
import { CLOSED_AT, question } from '../builders/placement.ts';
import { attemptOf, declarationOf, runOf } from '../builders/records.ts';
import type { Ground } from './ground.ts';

/** The first run of `digits`, in its first attempt. */
export async function trains(at: Ground): Promise<void> {
  const asked = question();
  const { compute, limits } = asked;
  const run = runOf('digits', 1, {
    status: 'training',
    closedAt: CLOSED_AT,
    sealedAt: CLOSED_AT,
    declaration: { ...declarationOf('digits'), compute, limits },
  });
  await at.runs.create(run);
  await at.attempts.create(attemptOf(run.runId, 1, { status: 'running', createdAt: CLOSED_AT }));
  await at.placements.put(run.runId, 1, { ...choosePlacement(asked), question: storedPart(asked) });
}
