/** From a person's request to one running execution. */

import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import type { PipelineRecord } from '../../records/batches.ts';
import { requestToRecord } from '../../records/requests.ts';
import type { RunRecord, RunRequest } from '../../records/run-records.ts';
import { openedRun, pipelineOnRecord, started, undeclared, type WakeDeps, type Woken } from './wake.ts';

/** Of how many runs before the open one a repeated call is known again. */
const RUNS_BACK = 20;

/**
 * A person asks for a model: the run of the open batch trains even if it finds nothing new, and as they want it to. A
 * request is written on an open batch alone, so one with the same token is on the open run or on one before it.
 */
export async function requestRun(
  deps: WakeDeps,
  { pipeline: name, request }: { readonly pipeline: string; readonly request: RunRequest },
): Promise<Woken> {
  const pipeline = await pipelineOnRecord(deps, name);
  if (pipeline === undefined) return undeclared(name);
  const before = await answeredBefore(deps, pipeline, request.tokens);
  if (before !== undefined) return { kind: 'running', runId: before.runId };
  const fresh: RunRecord = { ...openedRun(pipeline, request.at), trigger: 'api', request };
  const { runId } = fresh;
  // A dry run ends at the first write.
  const open = await deps.runs.get(runId);
  const refusal = open && refusalOf(open, request);
  if (refusal !== undefined) return refusal;
  const { kind, run } =
    open === undefined && (await deps.runs.create(fresh)) === 'created'
      ? { kind: 'write' as const, run: fresh }
      : await deps.runs.requestRun(runId, request);
  switch (kind) {
    case 'write':
    case 'same':
      await noteRequest(deps, run);
      return started(deps, run);
    case 'closed':
      return requestRun(deps, { pipeline: name, request });
    case 'stopping':
    case 'other':
      return refusedBy(kind, run);
  }
}

function refusalOf(open: RunRecord, request: RunRequest): Woken | undefined {
  const { kind } = requestToRecord(open, request);
  return kind === 'stopping' || kind === 'other' ? refusedBy(kind, open) : undefined;
}

const refusedBy = (kind: 'stopping' | 'other', run: RunRecord): Woken => ({
  kind: 'ignored',
  reason:
    kind === 'stopping'
      ? `${run.runId} is being stopped: make the same call after its end`
      : otherRequest(run),
});

const otherRequest = ({ runId, request }: RunRecord): string =>
  `${runId} has not settled yet, and ${request?.requestedBy ?? 'another caller'} asked for it ${changesText(request) || 'as declared'}: make the same call once it packs (GET /runs/${runId}), or stop it first (POST /runs/${runId}/stop)`;

async function answeredBefore(
  { runs }: WakeDeps,
  { name, openBatch }: PipelineRecord,
  tokens: readonly string[],
): Promise<RunRecord | undefined> {
  if (tokens.length === 0) return undefined;
  const batches = Array.from(
    { length: Math.min(RUNS_BACK, openBatch - 1) },
    (_, back) => openBatch - 1 - back,
  );
  const known = await Promise.all(
    batches.map((batch) => runs.get(runIdOf(name, batch)).catch(noneIfUnreadable)),
  );
  return known.find((run) => run?.request?.tokens.some((token) => tokens.includes(token)));
}

/** Also by the close, where the process that took the request has died. */
export async function noteRequest(
  { timeline }: Pick<WakeDeps, 'timeline'>,
  { runId, request }: Pick<RunRecord, 'runId' | 'request'>,
): Promise<void> {
  if (request === undefined) return;
  const changes = changesText(request);
  await timeline.add(runId, {
    id: 'request',
    at: request.at,
    kind: 'RunRequested',
    text: `requested by ${request.requestedBy}${changes && `, ${changes}`}`,
  });
}

/** Names alone: values may be secret. */
const changesText = (request: RunRequest | undefined): string =>
  [
    ...(request?.again === undefined ? [] : [`as ${request.again}`]),
    ...(request === undefined || request.changed.length === 0
      ? []
      : [`with another ${request.changed.join(', ')}`]),
  ].join(' ');
