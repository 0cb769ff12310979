/** The answers to a person who steers a run. */
import * as z from 'zod';
import type { NextExecutionDeps } from '../attempts/next-execution.ts';
import { gangHourlyUsd } from '../attempts/stop-rules.ts';
import { stopRun } from '../attempts/stop-run.ts';
import { readProgress } from '../runs/progress.ts';
import { type AttemptRecord, FINISHED, type RunRecord, STOP_MODES } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type Checked, check } from '../shared/validation.ts';
import { type ApiRequest, type ApiResponse, noRun, problem } from './answers.ts';

export interface SteeringDeps extends NextExecutionDeps, Pick<Stores, 'attempts'> {
  readonly store: ObjectStore;
}

const stopSchema = z.strictObject({ mode: z.enum(STOP_MODES).default('afterSave') });

/** Idempotent: a repeated call gets the answer of the first one. */
export async function postStop(deps: SteeringDeps, request: ApiRequest): Promise<ApiResponse> {
  const runId = request.parameters['runId'] ?? '';
  const asked = bodyOf(stopSchema, request.body);
  if (!asked.ok) return problem(400, 'the stop is not valid', asked.problems);
  if ((await deps.runs.get(runId)) === undefined) return noRun(runId);
  const { mode } = asked.value;
  const run = await stopRun(deps, { runId, mode, requestedBy: request.caller ?? 'an unknown caller' });
  if (run.stop === undefined)
    return problem(409, `${runId} has ended (${run.status}): there is nothing to stop`);
  const unsaved = FINISHED.includes(run.status) ? undefined : await unsavedOf(deps, run);
  return { status: 202, body: { runId, status: run.status, stop: run.stop, unsaved } };
}

function bodyOf<T>(schema: z.ZodType<T>, body: string): Checked<T> {
  try {
    return check(schema, body.trim() === '' ? {} : JSON.parse(body), 'shown');
  } catch {
    return {
      ok: false,
      problems: [{ path: '', message: 'the body is no JSON: send an object, or nothing' }],
    };
  }
}

/** Training since the newest checkpoint. `afterSave` leaves the script 120 seconds to save it. */
interface Unsaved {
  readonly seconds: number;
  readonly usd: number;
  /** Of the newest checkpoint. */
  readonly step?: number | undefined;
}

async function unsavedOf(deps: SteeringDeps, run: RunRecord): Promise<Unsaved | undefined> {
  const attempt = (await deps.attempts.list(run.runId)).at(-1);
  if (attempt === undefined || attempt.outcome !== undefined || attempt.status !== 'running')
    return undefined;
  const progress = await readProgress(deps.store, run.pipeline, run.runId);
  const seconds = secondsSince(deps.clock.now(), attempt, progress?.updatedAt);
  return { seconds, usd: (gangHourlyUsd(attempt.placement) * seconds) / 3_600, step: progress?.step };
}

function secondsSince(now: Date, { createdAt }: AttemptRecord, savedAt = createdAt): number {
  const from = Math.max(Date.parse(createdAt), Date.parse(savedAt));
  return Math.round(Math.max(0, now.getTime() - from) / 1_000);
}
