/**
 * The committed plan of a run. A release may be deployed while the run packs. The plan may then have another version,
 * or need another image engine; the new release cannot pack what is left of it, or not to the same bytes.
 */
import { PlanOutdatedError } from '@tidewheel/kit/errors.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import { type BlobStore, joinChunks } from './blob-store.ts';
import { DocumentError, type Plan, planSchema, readDocument } from './documents.ts';
import { IMAGE_ENGINE } from './image-preparation.ts';
import { packingKeys } from './packing-keys.ts';

interface RunName {
  readonly pipeline: string;
  readonly runId: string;
}

export type CommittedPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'current'; readonly plan: Plan }
  | { readonly kind: 'outdated'; readonly etag: string; readonly error: PlanOutdatedError };

export async function committedPlan(store: BlobStore, run: RunName): Promise<CommittedPlan> {
  const stored = await storedPlan(store, run);
  if (stored === undefined) return { kind: 'none' };
  const { plan, etag } = stored;
  if (plan instanceof PlanOutdatedError) return { kind: 'outdated', etag, error: plan };
  const error = outdatedEngine(run.runId, plan);
  return error === undefined ? { kind: 'current', plan } : { kind: 'outdated', etag, error };
}

/**
 * Undefined if there is no plan. The image engine is not compared, because all images may be prepared already.
 * @throws PlanOutdatedError
 */
export async function readPlan(store: BlobStore, run: RunName): Promise<Plan | undefined> {
  const stored = await storedPlan(store, run);
  if (stored?.plan instanceof PlanOutdatedError) throw stored.plan;
  return stored?.plan;
}

interface StoredPlan {
  readonly etag: string;
  /** The error if the plan cannot be read. */
  readonly plan: Plan | PlanOutdatedError;
}

async function storedPlan(store: BlobStore, run: RunName): Promise<StoredPlan | undefined> {
  const key = packingKeys(run.pipeline, run.runId).planCommit;
  const found = await store.get(key);
  if (found.kind !== 'found') return undefined;
  const text = new TextDecoder().decode(joinChunks(found.chunks));
  return { etag: found.etag, plan: parsePlan(key, text) };
}

function parsePlan(key: string, text: string): Plan | PlanOutdatedError {
  try {
    return readDocument(kindOf(planSchema), key, text);
  } catch (cause: unknown) {
    if (!(cause instanceof DocumentError)) throw cause;
    return new PlanOutdatedError(`${cause.message}. ${PLANS_AGAIN}`, { cause });
  }
}

/** The error if this release cannot pack the rest of the plan, because it has another image engine. */
export function outdatedEngine(runId: string, { prepare }: Plan): PlanOutdatedError | undefined {
  return prepare === undefined || prepare.engine === IMAGE_ENGINE
    ? undefined
    : new PlanOutdatedError(
        `the plan of ${runId} prepares images with ${prepare.engine}, but this release has ${IMAGE_ENGINE}, which may give other bytes. ${PLANS_AGAIN}`,
      );
}

const PLANS_AGAIN = 'The run plans again by itself; nothing is sealed yet and no arrival is lost';

/**
 * Writes the plan unless another planner was faster. Returns the committed one.
 * @param over ETag of an outdated plan to replace
 */
export async function commitPlan(store: BlobStore, plan: Plan, over: string | undefined): Promise<Plan> {
  const key = packingKeys(plan.pipeline, plan.runId).planCommit;
  const put = await store.put(key, Buffer.from(JSON.stringify(plan)), {
    only: over === undefined ? 'absent' : { etag: over },
    contentType: 'application/json',
  });
  if (put.kind === 'written') return plan;
  const winner = await readPlan(store, plan);
  if (winner === undefined)
    throw new Error(`the plan ${key} was removed while it was committed; run the step again`);
  return winner;
}
