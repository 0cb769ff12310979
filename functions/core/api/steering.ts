/** The answers to a person who steers a run. */

import type { Problem } from '@tidewheel/kit/errors.ts';
import { isSameOnRecord } from '@tidewheel/kit/same-on-record.ts';
import { changeLimits } from '../attempts/change-limits.ts';
import { unsavedWork } from '../attempts/outlook/unsaved.ts';
import {
  continueRetry,
  isOpenAgain,
  type RetryChange,
  type RetryDeps,
  retryRun,
  whyNoRetry,
} from '../attempts/retry-run.ts';
import { stopRun } from '../attempts/stop-run.ts';
import { type Allowed, onlyAllowed } from '../ingest/allowed.ts';
import { changeDeclaration } from '../pipeline/declaration.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { choosePlacement } from '../placement/decision/choose.ts';
import { questionOf } from '../placement/explain/replay.ts';
import { whyUnreadable } from '../placement/explain/stored-decision.ts';
import { type PlacementDecision } from '../placement/placement-records.ts';
import { readProgress } from '../runs/progress.ts';
import { FINISHED, type RunRecord } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';
import { type AnswerOf, accepted, noRun, ok, problem, type RequestOf } from './answers.ts';
import { bodyOf } from './body.ts';
import { fieldsOf, readableVersion } from './overrides.ts';
import { retryBody, stopBody } from './schemas/steering.ts';

export interface SteeringDeps extends RetryDeps, Pick<Stores, 'placements'> {
  readonly allowed: Allowed;
}

/** Idempotent: a repeated call gets the answer of the first one. */
export async function postStop(
  deps: SteeringDeps,
  request: RequestOf<'POST /runs/{runId}/stop'>,
): AnswerOf<'POST /runs/{runId}/stop'> {
  const runId = request.parameters['runId'] ?? '';
  const asked = bodyOf(stopBody, request.body);
  if (!asked.ok) return problem(400, 'the stop is not valid', asked.problems);
  if ((await deps.runs.get(runId)) === undefined) return noRun(runId);
  const { mode } = asked.value;
  const run = await stopRun(deps, { runId, mode, requestedBy: request.caller ?? UNKNOWN });
  if (run.stop === undefined)
    return problem(409, `${runId} has ended (${run.status}): there is nothing to stop`);
  const unsaved = FINISHED.includes(run.status) ? undefined : await unsavedOf(deps, run);
  return accepted({ runId, status: run.status, stop: run.stop, unsaved });
}

type RetryAnswer = AnswerOf<'POST /runs/{runId}/retry'>;

/** Idempotent while the run is open: a repeated call gets the same answer. */
export async function postRetry(
  deps: SteeringDeps,
  request: RequestOf<'POST /runs/{runId}/retry'>,
): AnswerOf<'POST /runs/{runId}/retry'> {
  const runId = request.parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  const asked = bodyOf(retryBody, request.body);
  if (!asked.ok) return problem(400, 'the retry is not valid', asked.problems);
  const { source, ...fields } = asked.value;
  const changed = fieldsOf(fields);
  if (run.declaration === undefined || !(FINISHED.includes(run.status) || isOpenAgain(run)))
    return problem(409, (await whyNoRetry(deps, run)) ?? `${runId} cannot go on`);
  const declaration = onlyAllowed(
    { ...deps, bucket: deps.store.bucket },
    changeDeclaration(run.declaration, request.body, { besides: ['source'] }),
  );
  if (!declaration.valid) return problem(400, 'the retry is not valid', declaration.problems);
  const missing = await versionProblems(deps, { ...run, declaration: declaration.pipeline }, changed);
  if (missing.length > 0) return problem(400, 'the retry is not valid', missing);
  const change = { declaration: declaration.pipeline, changed, source };
  return isOpenAgain(run)
    ? repeated(deps, run, change)
    : begin(deps, run, { ...change, requestedBy: request.caller ?? UNKNOWN });
}

async function versionProblems(
  { store }: SteeringDeps,
  run: RunRecord,
  changed: readonly string[],
): Promise<Problem[]> {
  if (!changed.some((field) => field.startsWith('dataset.'))) return [];
  const version = await readableVersion(store, run);
  return 'problem' in version ? [version.problem] : [];
}

async function begin(deps: SteeringDeps, run: RunRecord, change: RetryChange): RetryAnswer {
  const why = await whyNoRetry(deps, run);
  if (why !== undefined) return problem(409, why);
  const { runId } = run;
  const again = await retryRun(deps, run, change);
  return again === undefined
    ? problem(
        409,
        `${runId} has changed meanwhile: look at it (GET /runs/${runId}), then make the call again`,
      )
    : opened(deps, again);
}

/** The same call again finishes what the first one began. Another one is refused, so that no change is lost silently. */
async function repeated(
  deps: SteeringDeps,
  run: RunRecord,
  { declaration, changed }: { readonly declaration: Pipeline; readonly changed: readonly string[] },
): RetryAnswer {
  if (!isSameOnRecord(declaration, run.declaration))
    return problem(409, (await whyNoRetry(deps, run)) ?? `${run.runId} is open`);
  await continueRetry(deps, run, changed);
  return opened(deps, run);
}

/** Idempotent. The body has the fields of `limits` that change. */
export async function putLimits(
  deps: SteeringDeps,
  request: RequestOf<'PUT /runs/{runId}/limits'>,
): AnswerOf<'PUT /runs/{runId}/limits'> {
  const runId = request.parameters['runId'] ?? '';
  const run = await deps.runs.get(runId);
  if (run === undefined) return noRun(runId);
  if (FINISHED.includes(run.status))
    return problem(409, `${runId} has ended (${run.status}): POST /runs/${runId}/retry changes its limits`);
  if (run.declaration === undefined)
    return problem(
      409,
      `${runId} is settling: change limits in its declaration (PUT /pipelines/${run.pipeline})`,
    );
  const changed = changeDeclaration(run.declaration, request.body, { section: 'limits' });
  if (!changed.valid) return problem(400, 'the limits are not valid', changed.problems);
  const { limits } = changed.pipeline;
  const before = run.declaration.limits;
  const text = changesText(before, limits);
  const requestedBy = request.caller ?? UNKNOWN;
  const isSame = JSON.stringify(limits) === JSON.stringify(before);
  if (!isSame) await changeLimits(deps, run, { declaration: changed.pipeline, requestedBy, text });
  const placement = await placementWith(deps, { ...run, declaration: changed.pipeline });
  return ok({ runId, status: run.status, limits, placement });
}

/** The last placement's question, put again with the run's declaration as it is now. */
async function placementWith(
  { attempts, placements }: SteeringDeps,
  run: RunRecord,
): Promise<PlacementDecision | undefined> {
  const known = await attempts.list(run.runId);
  const next = (known.at(-1)?.attempt ?? 0) + 1;
  const stored = (await placements.get(run.runId, next)) ?? (await placements.get(run.runId, next - 1));
  if (stored === undefined || whyUnreadable(stored.decision) !== undefined) return undefined;
  const question = questionOf({ run, attempts: known, ...stored });
  return question && choosePlacement(question);
}

function changesText(before: Pipeline['limits'], after: Pipeline['limits']): string {
  const [old, given] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...given.keys()])]
    .filter((name) => old.get(name) !== given.get(name))
    .map((name) => `${name} ${String(given.get(name) ?? 'none')}`)
    .join(', ');
}

async function opened({ store }: SteeringDeps, run: RunRecord): RetryAnswer {
  const checkpoint = await readProgress(store, run.pipeline, run.runId);
  return accepted({
    runId: run.runId,
    status: run.status,
    retry: run.retry,
    checkpoint: checkpoint && { name: checkpoint.checkpoint, step: checkpoint.step },
  });
}

const UNKNOWN = 'an unknown caller';

async function unsavedOf({ attempts, store, clock }: SteeringDeps, run: RunRecord) {
  const last = (await attempts.list(run.runId)).at(-1);
  return last && unsavedWork(last, await readProgress(store, run.pipeline, run.runId), clock.now());
}
