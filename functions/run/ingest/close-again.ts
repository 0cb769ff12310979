/**
 * A batch has a copy of its close, and the table knows no close: it was lost, or a process died between the two. The plan
 * may hold already what was there at that close, so that close stands: later arrivals belong to the next batch.
 */
import { withParts } from '@tidewheel/declaration/pipeline.ts';
import { type KeptClose, keepClose } from '../../records/record-copies.ts';
import { closedRequest } from '../../records/requests.ts';
import type { RunRecord } from '../../records/run-records.ts';
import { type StartModelDeps, startModelOf } from '../models/start-model.ts';

/** A person may have asked for the run since the copy was written: then the run is as they want it. */
export async function closeAgain(deps: StartModelDeps, run: RunRecord, kept: KeptClose): Promise<RunRecord> {
  const decided = isAskedSince(run, kept) ? await keepRequest(deps, run, kept) : kept;
  const { closedAt: at, declaration, seen, notified, request, retry, startedFrom } = decided;
  // A retry may have taken another source.
  const source = retry === undefined ? request?.source : undefined;
  return deps.runs.closeBatch(run, { at, declaration, seen, notified, request, source, startedFrom });
}

const isAskedSince = ({ request }: RunRecord, kept: KeptClose): boolean =>
  request !== undefined && (kept.request === undefined || request.at > kept.request.at);

async function keepRequest(deps: StartModelDeps, run: RunRecord, kept: KeptClose): Promise<KeptClose> {
  if (run.request === undefined) return kept;
  const { parts } = run.request;
  const declaration = parts === undefined ? kept.declaration : withParts(kept.declaration, parts);
  const changed: KeptClose = {
    ...kept,
    trigger: run.trigger,
    declaration,
    request: closedRequest(run.request),
    startedFrom: await startModelOf(deps, run, declaration),
  };
  await keepClose(deps.store, run, changed);
  return changed;
}
