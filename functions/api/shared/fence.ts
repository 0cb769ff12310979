/**
 * A caller's fence: what runs may cost together at most. Callers that act for a person, such as a coding agent, send it with
 * each call. All open runs of the deployment count with their budgets, no matter who started them, and with their cost those that
 * have ended since the fence was set.
 */
import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { runsChangedIn } from '../../records/recent-runs.ts';
import { FINISHED, type RunRecord } from '../../records/run-records.ts';
import { problem, type Refusal } from './answers.ts';
import type { Fence } from './fence-headers.ts';
import type { ApiDeps } from './operation.ts';
import { storedDeclaration } from './stored-declaration.ts';

/** What a run may cost by its limits; undefined: there is no bound. */
type Bound = number | undefined;

interface Commitment {
  /** That the call starts, opens or changes. */
  readonly runId: string;
  /** By the limits that the call leaves. */
  readonly bound: Bound;
  /** By those before it; 0 where nothing was to be paid. */
  readonly before: Bound;
}

/** @returns the refusal of a call that may cost more than the fence leaves */
export async function beyondFence(
  deps: ApiDeps,
  fence: Fence | undefined,
  { runId, bound, before }: Commitment,
): Promise<Refusal | undefined> {
  if (fence === undefined) return undefined;
  if (bound === undefined)
    return problem(409, `${runId} would have no limits.budgetUsd, and a fence needs one: set it`);
  if (bound <= (before ?? Number.POSITIVE_INFINITY)) return undefined;
  const counted = await countedOf(deps, fence, runId);
  const boundless = counted.filter(({ usd }) => usd === undefined).map((each) => each.runId);
  if (boundless.length > 0)
    return problem(
      409,
      `${boundless.join(', ')} may cost any amount: set a budget (PUT /runs/{runId}/limits), or stop it first`,
    );
  const committed = counted.reduce((sum, { usd = 0 }) => sum + usd, 0);
  if (committed + bound <= fence.maxUsd) return undefined;
  const others = counted.filter(({ usd }) => usd !== 0).map(({ runId: id, usd }) => `${id} ${dollars(usd)}`);
  return problem(
    409,
    `${runId} may cost ${dollars(bound)}, and the fence of ${dollars(fence.maxUsd)} leaves ${dollars(Math.max(0, fence.maxUsd - committed))}${others.length === 0 ? '' : ` (${others.join(', ')})`}: lower limits.budgetUsd, or ask the person who set the fence`,
  );
}

/** A declaration starts runs by itself: its next one counts as if the call started it. */
export async function declaredBeyond(
  deps: ApiDeps,
  fence: Fence | undefined,
  { name, limits, schedule }: Pipeline,
): Promise<Refusal | undefined> {
  if (fence === undefined) return undefined;
  const stored = await storedDeclaration(deps, name);
  const before = 'status' in stored ? undefined : stored.pipeline;
  if (schedule !== undefined && schedule !== before?.schedule)
    return problem(
      409,
      'a schedule starts runs without end, and none may be set within a fence: leave it out',
    );
  const runId = await openRunId(deps, name);
  const bound = before === undefined ? 0 : before.limits.budgetUsd;
  return beyondFence(deps, fence, { runId, bound: limits.budgetUsd, before: bound });
}

export const openRunId = async ({ pipelines }: Pick<ApiDeps, 'pipelines'>, name: string): Promise<string> =>
  runIdOf(name, (await pipelines.get(name))?.openBatch ?? 1);

const dollars = (usd: Bound = 0): string => `$${usd.toFixed(2)}`;

async function countedOf(deps: ApiDeps, { since }: Fence, but: string) {
  const open = await deps.runs.listOpen();
  const ended = since === undefined ? [] : await runsChangedIn(deps, { from: since });
  const isOther = ({ runId }: { readonly runId: string }): boolean => runId !== but;
  const bounds = open
    .filter(isOther)
    .map(async (run) => ({ runId: run.runId, usd: await boundOf(deps, run) }));
  return [
    ...(await Promise.all(bounds)),
    ...ended
      .filter((run) => isOther(run) && FINISHED.includes(run.status))
      .filter(({ result }) => result !== undefined && result.finishedAt >= (since ?? ''))
      .map(({ runId, result }) => ({ runId, usd: result?.costUsd })),
  ];
}

/** Before the close of its batch a run has no declaration of its own. */
async function boundOf(deps: ApiDeps, { pipeline, declaration, request }: RunRecord): Promise<Bound> {
  const limits = (declaration ?? request?.parts)?.limits;
  if (limits !== undefined) return limits.budgetUsd;
  const stored = await storedDeclaration(deps, pipeline);
  // It fails when its batch is closed.
  return 'status' in stored ? 0 : stored.pipeline.limits.budgetUsd;
}
