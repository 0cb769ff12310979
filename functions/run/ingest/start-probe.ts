/**
 * A probe: a short trial of other settings on data that is sealed already. It is a run of its own kind. It takes no batch
 * and no arrivals, is in no list of its pipeline's runs, is announced to no target, and leaves no model.
 */

import { probeIdOf } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { isSameOnRecord } from '@tidewheel/kit/same-on-record.ts';
import type { Executions } from '../../records/ports.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';

export interface ProbeDeps extends Pick<Stores, 'runs' | 'timeline'> {
  readonly executions: Executions;
  readonly clock: Clock;
}

export interface ProbeQuestion {
  readonly declaration: Pipeline;
  readonly number: number;
  /** The newest batch that is closed: its run may have sealed what the probe trains on. */
  readonly batch: number;
  readonly requestedBy: string;
}

/** Idempotent: a second call with the same number and declaration finishes what the first one began. */
export async function beginProbe(
  deps: ProbeDeps,
  { declaration, number, batch, requestedBy }: ProbeQuestion,
): Promise<{ readonly kind: 'started' | 'running' | 'taken'; readonly runId: string }> {
  const runId = probeIdOf(declaration.name, number);
  const at = deps.clock.now().toISOString();
  const fresh: RunRecord = {
    runId,
    pipeline: declaration.name,
    batch,
    status: 'placing',
    trigger: 'api',
    probe: { number },
    execution: 1,
    createdAt: at,
    updatedAt: at,
    closedAt: at,
    sealedAt: at,
    declaration,
  };
  const created = await deps.runs.create(fresh);
  const run = created === 'created' ? fresh : ((await deps.runs.get(runId)) ?? fresh);
  if (!isSameOnRecord(run.declaration, declaration)) return { kind: 'taken', runId };
  await deps.timeline.add(runId, {
    id: 'probe',
    at: run.createdAt,
    kind: 'ProbeRequested',
    text: `a probe of ${declaration.limits.steps ?? 'all'} steps, requested by ${requestedBy}`,
  });
  const started = await deps.executions.start(run);
  return { kind: started === 'started' ? 'started' : 'running', runId };
}

/**
 * What a probe trains by: it is measured, takes and leaves no model, sends no notices, and takes no remedies, which would change what is
 * compared.
 */
export function probeDeclaration({
  notify: _notify,
  doctor: _doctor,
  promote: _promote,
  evaluation: _evaluation,
  training: { startFrom, ...training },
  ...declaration
}: Pipeline): Pipeline {
  const from = startFrom === undefined ? {} : { startFrom: 'none' };
  return { ...declaration, training: { ...training, ...from, model: 'none', instrument: true } };
}
