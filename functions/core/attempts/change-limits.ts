/** A person gives an open run another deadline, budget or other limits. */
import type { Pipeline } from '../pipeline/pipeline.ts';
import { keepChangedClose } from '../runs/kept-records.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';
import type { Clock, ObjectStore } from '../shared/ports.ts';

interface LimitsDeps extends Pick<Stores, 'runs' | 'timeline'> {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** @param run open, with its declaration pinned. Every later look at it reads the new limits. */
export async function changeLimits(
  deps: LimitsDeps,
  run: RunRecord,
  {
    declaration,
    requestedBy,
    text,
  }: { readonly declaration: Pipeline; readonly requestedBy: string; readonly text: string },
): Promise<RunRecord> {
  const { runId, retry } = run;
  const at = deps.clock.now().toISOString();
  const changed = await deps.runs.update(runId, { declaration, updatedAt: at });
  await keepChangedClose(deps.store, run, { retry, declaration });
  await deps.timeline.add(runId, {
    id: `limits-${at}`,
    at,
    kind: 'LimitsChanged',
    text: `limits are now ${text}, as ${requestedBy} asked`,
  });
  return changed;
}
