/** What packing would make of the arrivals that are there, or of so many files and bytes. It only reads. */
import { partsOf } from '@tidewheel/declaration/packing-settings.ts';
import { assignSamples } from './assign-samples.ts';
import { type DraftDeps, draftPlan, type PlanInput } from './draft-arrivals.ts';
import { assign, assignmentLimits } from './plan-shards.ts';

export interface PackingPreview {
  /** Arrivals that no generation holds yet, and that are not rejected by their names. */
  readonly files: number;
  readonly bytes: number;
  readonly samples: number;
  /** By their names and sizes alone; more may follow when they are read. */
  readonly rejected: number;
  readonly shards: number;
  /** Invocations that pack them. */
  readonly items: number;
}

/** There are more arrivals than one call can look through. */
export class TooManyArrivalsError extends Error {
  override readonly name = 'TooManyArrivalsError';
}

/** @throws TooManyArrivalsError with more than `mostArrivals` in `incoming/` */
export async function previewPlan(
  deps: DraftDeps,
  input: PlanInput,
  mostArrivals: number,
): Promise<PackingPreview> {
  let listed = 0;
  const onListed = (objects: number): void => {
    listed += objects;
    if (listed > mostArrivals)
      throw new TooManyArrivalsError(
        `incoming/ of ${input.pipeline} holds more than ${mostArrivals} objects`,
      );
  };
  const { draft } = await draftPlan({ ...deps, onListed }, input);
  const { shards, itemShards } = assign(draft, draft.balance?.copies ?? new Uint32Array(), input);
  return {
    files: draft.objects - draft.removed,
    bytes: draft.bytes,
    samples: draft.samples,
    rejected: draft.rejected - draft.removed,
    shards,
    items: itemShards.length - 1,
  };
}

/** Each file counts as one sample, and all as equally large. */
export function previewOfSize(
  { files, bytes }: { readonly files: number; readonly bytes: number },
  input: Pick<PlanInput, 'packing' | 'readers' | 'runId'>,
): PackingPreview {
  const each = files === 0 ? 0 : bytes / files;
  const { split } = input.packing;
  // Each split has shards of its own.
  const counts =
    split === undefined ? [files] : partsOf(split).map((name) => Math.round(files * (split[name] ?? 0)));
  const assigned = counts.map((count) =>
    assignSamples({ count, bytesOf: () => each, objectsOf: () => 1 }, assignmentLimits(input)),
  );
  const shards = assigned.reduce((sum, one) => sum + one.shards, 0);
  const items = assigned.reduce((sum, one) => sum + one.itemShards.length - 1, 0);
  return { files, bytes, samples: files, rejected: 0, shards, items };
}
