/**
 * A probe: a short trial of other settings on data that is sealed already, or an evaluation alone. It is a run of its own
 * kind. It takes no batch and no arrivals, is in no list of its pipeline's runs, is announced to no target, and leaves no
 * model.
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
  /** An evaluation, of this model. */
  readonly evaluation?: (Pick<RunRecord, 'source' | 'startedFrom'> & { readonly of: Evaluates }) | undefined;
}

type Evaluates = NonNullable<NonNullable<RunRecord['probe']>['evaluates']>;

/** Idempotent: a second call with the same number and declaration finishes what the first one began. */
export async function beginProbe(
  deps: ProbeDeps,
  { declaration, number, batch, requestedBy, evaluation }: ProbeQuestion,
): Promise<{ readonly kind: 'started' | 'running' | 'taken'; readonly runId: string }> {
  const runId = probeIdOf(declaration.name, number);
  const at = deps.clock.now().toISOString();
  const fresh: RunRecord = {
    runId,
    pipeline: declaration.name,
    batch,
    status: 'placing',
    trigger: 'api',
    probe: { number, ...(evaluation && { evaluates: evaluation.of }) },
    execution: 1,
    createdAt: at,
    updatedAt: at,
    closedAt: at,
    sealedAt: at,
    declaration,
    ...(evaluation && { source: evaluation.source, startedFrom: evaluation.startedFrom }),
  };
  const known = await deps.runs.get(runId);
  const created = known === undefined ? await deps.runs.create(fresh) : 'exists';
  const run = created === 'created' ? fresh : (known ?? (await deps.runs.get(runId)) ?? fresh);
  const isSame = isSameOnRecord([run.declaration, run.probe], [declaration, fresh.probe]);
  if (!isSame) return { kind: 'taken', runId };
  const what =
    evaluation === undefined
      ? `a probe of ${declaration.limits.steps ?? 'all'} steps`
      : `an evaluation of the model of ${evaluation.of.runId}`;
  await deps.timeline.add(runId, {
    id: 'probe',
    at: run.createdAt,
    kind: 'ProbeRequested',
    text: `${what}, requested by ${requestedBy}`,
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
  training: { startFrom, when: _when, ...training },
  ...declaration
}: Pipeline): Pipeline {
  const from = startFrom === undefined ? {} : { startFrom: 'none' };
  return { ...declaration, training: { ...training, ...from, model: 'none', instrument: true } };
}
