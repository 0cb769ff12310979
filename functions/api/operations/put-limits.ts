import { limitsSchema, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { changeDeclaration } from '@tidewheel/declaration/read.ts';
import { decide } from '@tidewheel/placement/estimate.ts';
import { questionBesideOthers, whyUnreadable } from '@tidewheel/placement/explain.ts';
import { type PlacementDecision, placementDecisionSchema } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { keepChangedClose } from '../../records/record-copies.ts';
import { FINISHED, type RunRecord, runStatusSchema } from '../../records/run-records.ts';
import { decisionOf } from '../../run/attempts/money.ts';
import { ok, problem } from '../shared/answers.ts';
import { beyondFence } from '../shared/fence.ts';
import { type ApiDeps, CHANGES, defineRunOperation } from '../shared/operation.ts';

/** Idempotent. The body has the fields of `limits` that change; null takes one out. */
export const putLimits = defineRunOperation(
  {
    ...CHANGES,
    route: 'PUT /runs/{runId}/limits',
    id: 'putLimits',
    risk: 'money',
    summary: 'Changes limits of a run that has not ended.',
    body: { schema: z.record(z.string(), z.number().nullable()), required: true },
    answer: z.object({
      runId: z.string(),
      status: runStatusSchema,
      limits: limitsSchema,
      placement: placementDecisionSchema
        .optional()
        .describe(
          'What the last placement would have been with these limits; the run itself goes on where it is.',
        ),
    }),
  },
  async (deps, { run, body, caller, fence }) => {
    const { runId } = run;
    if (FINISHED.includes(run.status))
      return problem(409, `${runId} has ended (${run.status}): POST /runs/${runId}/retry changes its limits`);
    if (run.declaration === undefined)
      return problem(
        409,
        `${runId} is settling: change limits in its declaration (PUT /pipelines/${run.pipeline})`,
      );
    const changed = changeDeclaration(run.declaration, body, { section: 'limits' });
    if (!changed.valid) return problem(400, 'the limits are not valid', changed.problems);
    const { limits } = changed.pipeline;
    const before = run.declaration.limits;
    const bounds = { bound: limits.budgetUsd, before: before.budgetUsd };
    const beyond = await beyondFence(deps, fence, { runId, ...bounds });
    if (beyond !== undefined) return beyond;
    const text = changesText(before, limits);
    const isSame = JSON.stringify(limits) === JSON.stringify(before);
    if (!isSame) await changeLimits(deps, run, { declaration: changed.pipeline, requestedBy: caller, text });
    const placement = await placementWith(deps, { ...run, declaration: changed.pipeline });
    return ok({ runId, status: run.status, limits, placement });
  },
);

/** The last placement's question, put again with the run's declaration as it is now. */
async function placementWith(
  { attempts, placements, poolOutcomes }: ApiDeps,
  run: RunRecord,
): Promise<PlacementDecision | undefined> {
  const known = await attempts.list(run.runId);
  const stored = await decisionOf(placements, run.runId, known);
  if (stored === undefined || whyUnreadable(stored.decision) !== undefined) return undefined;
  const question = await questionBesideOthers(poolOutcomes, { run, attempts: known, ...stored });
  return question && decide(question, run.runId);
}

function changesText(before: Pipeline['limits'], after: Pipeline['limits']): string {
  const [old, given] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...given.keys()])]
    .filter((name) => old.get(name) !== given.get(name))
    .map((name) => `${name} ${String(given.get(name) ?? 'none')}`)
    .join(', ');
}

interface LimitsChange {
  readonly declaration: Pipeline;
  readonly requestedBy: string;
  readonly text: string;
}

/** @param run open, with its declaration pinned. Every later look at it reads the new limits. */
async function changeLimits(
  { runs, store, timeline, clock }: ApiDeps,
  run: RunRecord,
  { declaration, requestedBy, text }: LimitsChange,
): Promise<void> {
  const { runId, retry } = run;
  const at = clock.now().toISOString();
  await runs.update(runId, { declaration, updatedAt: at });
  await keepChangedClose(store, run, { retry, declaration });
  await timeline.add(runId, {
    id: `limits-${at}`,
    at,
    kind: 'LimitsChanged',
    text: `limits are now ${text}, as ${requestedBy} asked`,
  });
}
