import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import { isSameOnRecord } from '@tidewheel/kit/same-on-record.ts';
import * as z from 'zod';
import { readProgress } from '../../records/progress.ts';
import { FINISHED, type RunRecord, retrySchema, runStatusSchema } from '../../records/run-records.ts';
import {
  continueRetry,
  isOpenAgain,
  type RetryChange,
  reopenRun as retry,
  whyNoRetry,
} from '../../run/attempts/retry-run.ts';
import { accepted, problem } from '../shared/answers.ts';
import { beyondFence } from '../shared/fence.ts';
import { type ApiDeps, CHANGES, defineRunOperation, jsonBodyOf } from '../shared/operation.ts';
import { fieldsOf, readableVersion } from '../shared/overrides.ts';
import { changeAllowed } from '../shared/stored-declaration.ts';

/** A part of a declaration, and the source to train with. */
const retryBody = z.looseObject({
  source: z
    .enum(['pinned', 'current'])
    .default('current')
    .describe('pinned: the source of the attempts before; current: as it is now.'),
});

/** Idempotent while the run is open: a repeated call gets the same answer. */
export const retryRun = defineRunOperation(
  {
    ...CHANGES,
    route: 'POST /runs/{runId}/retry',
    id: 'retryRun',
    risk: 'money',
    summary: 'Lets a failed or stopped run go on from its newest checkpoint.',
    body: { schema: retryBody, required: false },
    status: 202,
    answer: z.object({
      runId: z.string(),
      status: runStatusSchema,
      retry: retrySchema.optional(),
      checkpoint: z
        .object({ name: z.string(), step: z.number() })
        .optional()
        .describe('From which it goes on; absent: from the start.'),
    }),
  },
  async (deps, { run, body, caller, fence }) => {
    const asked = jsonBodyOf(retryBody, body);
    if (!asked.ok) return problem(400, 'the retry is not valid', asked.problems);
    const { source, ...fields } = asked.value;
    const changed = fieldsOf(fields);
    if (run.declaration === undefined || !(FINISHED.includes(run.status) || isOpenAgain(run)))
      return problem(409, (await whyNoRetry(deps, run)) ?? `${run.runId} cannot go on`);
    const declaration = changeAllowed(deps, run.declaration, body, { besides: ['source'] });
    if (!declaration.valid) return problem(400, 'the retry is not valid', declaration.problems);
    const missing = await versionProblems(deps, { ...run, declaration: declaration.pipeline }, changed);
    if (missing.length > 0) return problem(400, 'the retry is not valid', missing);
    const bound = declaration.pipeline.limits.budgetUsd;
    const beyond = await beyondFence(deps, fence, { runId: run.runId, bound, before: 0 });
    if (beyond !== undefined) return beyond;
    const change = { declaration: declaration.pipeline, changed, source };
    return isOpenAgain(run)
      ? repeated(deps, run, change)
      : begin(deps, run, { ...change, requestedBy: caller });
  },
);

async function versionProblems(
  { store }: ApiDeps,
  run: RunRecord,
  changed: readonly string[],
): Promise<Problem[]> {
  if (!changed.some((field) => field.startsWith('dataset.'))) return [];
  const version = await readableVersion(store, run);
  return 'problem' in version ? [version.problem] : [];
}

async function begin(deps: ApiDeps, run: RunRecord, change: RetryChange) {
  const why = await whyNoRetry(deps, run);
  if (why !== undefined) return problem(409, why);
  deps.preview?.(await restText(deps, run));
  const { runId } = run;
  const again = await retry(deps, run, change);
  return again === undefined
    ? problem(
        409,
        `${runId} has changed meanwhile: look at it (GET /runs/${runId}), then make the call again`,
      )
    : opened(deps, again);
}

async function restText({ store }: ApiDeps, { pipeline, runId }: RunRecord): Promise<string> {
  const { step, totalSteps } = (await readProgress(store, pipeline, runId)) ?? {};
  if (step === undefined) return 'It has no checkpoint, and trains from the start';
  const left =
    totalSteps === undefined ? '' : ` of ${totalSteps}: ${Math.max(0, totalSteps - step)} are left`;
  return `It goes on from step ${step}${left}`;
}

/** The same call again finishes what the first one began. Another one is refused, so that no change is lost silently. */
async function repeated(
  deps: ApiDeps,
  run: RunRecord,
  { declaration, changed }: { readonly declaration: Pipeline; readonly changed: readonly string[] },
) {
  if (!isSameOnRecord(declaration, run.declaration))
    return problem(409, (await whyNoRetry(deps, run)) ?? `${run.runId} is open`);
  await continueRetry(deps, run, changed);
  return opened(deps, run);
}

async function opened({ store }: ApiDeps, run: RunRecord) {
  const checkpoint = await readProgress(store, run.pipeline, run.runId);
  return accepted({
    runId: run.runId,
    status: run.status,
    retry: run.retry,
    checkpoint: checkpoint && { name: checkpoint.checkpoint, step: checkpoint.step },
  });
}
