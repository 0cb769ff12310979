/**
 * The committed plan of a run, as it lies in the bucket. Functions are redeployed while runs go on, so the plan may be
 * of another release: what that release would have packed, this one cannot, or not to the same bytes.
 */
import { PlanOutdatedError } from '../../shared/errors.ts';
import { type BlobStore, joinChunks } from './blob-store.ts';
import { type Plan, planSchema } from './documents.ts';
import { IMAGE_ENGINE } from './image-preparation.ts';
import { places } from './packing-keys.ts';

interface RunName {
  readonly pipeline: string;
  readonly runId: string;
}

export type CommittedPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'current'; readonly plan: Plan }
  | { readonly kind: 'outdated'; readonly etag: string; readonly error: PlanOutdatedError };

export async function committedPlan(store: BlobStore, run: RunName): Promise<CommittedPlan> {
  const key = places(run.pipeline, run.runId).planCommit;
  const found = await store.get(key);
  if (found.kind !== 'found') return { kind: 'none' };
  const plan = parsePlan(new TextDecoder().decode(joinChunks(found.chunks)));
  const error = plan === undefined ? outdatedForm(key) : outdatedEngine(run.runId, plan);
  if (plan !== undefined && error === undefined) return { kind: 'current', plan };
  return { kind: 'outdated', etag: found.etag, error: error ?? outdatedForm(key) };
}

/**
 * The plan, or undefined when there is none. What a plan's images were prepared with is not asked: they may all be done.
 * @throws PlanOutdatedError when it has the form of another release
 */
export async function readPlan(store: BlobStore, run: RunName): Promise<Plan | undefined> {
  const key = places(run.pipeline, run.runId).planCommit;
  const found = await store.get(key);
  if (found.kind !== 'found') return undefined;
  const plan = parsePlan(new TextDecoder().decode(joinChunks(found.chunks)));
  if (plan === undefined) throw outdatedForm(key);
  return plan;
}

function parsePlan(text: string): Plan | undefined {
  try {
    return planSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const outdatedForm = (key: string): PlanOutdatedError =>
  new PlanOutdatedError(`${key} has not the form of this release's plans: ${ANEW}`);

/** Why what is left of the plan cannot be packed by this release, if it cannot. */
export function outdatedEngine(runId: string, { prepare }: Plan): PlanOutdatedError | undefined {
  return prepare === undefined || prepare.engine === IMAGE_ENGINE
    ? undefined
    : new PlanOutdatedError(
        `the plan of ${runId} prepares images with ${prepare.engine}, and this release with ${IMAGE_ENGINE}, which may give other bytes: ${ANEW}`,
      );
}

const ANEW =
  'a release was deployed while the run was packing. The run plans anew by itself; nothing is sealed yet and no arrival is lost';

/** Writes the plan unless another planner was faster; returns the one that counts. `over`: ETag of an outdated one. */
export async function commitPlan(store: BlobStore, plan: Plan, over: string | undefined): Promise<Plan> {
  const key = places(plan.pipeline, plan.runId).planCommit;
  const put = await store.put(key, Buffer.from(JSON.stringify(plan)), {
    only: over === undefined ? 'absent' : { etag: over },
    contentType: 'application/json',
  });
  if (put.kind === 'written') return plan;
  const winner = await readPlan(store, plan);
  if (winner === undefined)
    throw new Error(`the plan ${key} was removed while it was made; run the step again`);
  return winner;
}
