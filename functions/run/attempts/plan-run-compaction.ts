/**
 * The states PlanCompaction and PlanCompactionOfDrawn: plan to join small generations, and the samples that train a run
 * which begins from a model, where its declaration reads only the new ones. Safe to repeat: the generations are on record,
 * and the same ones give the same plan.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { replayOf } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { noneIfUnreadable, RunNotFoundError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import {
  compactionWanted,
  NOTHING_TO_COMPACT,
  planCompaction,
  planDrawing,
} from '@tidewheel/packing/compact.ts';
import { recordGenerations } from '../../records/dataset-version.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import type { WithPacking } from './seal-run.ts';

interface DrawDeps extends Pick<Stores, 'runs' | 'timeline'> {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly withPacking: WithPacking;
}

type Planned = Awaited<ReturnType<typeof planDrawing>>;

type Named = Pick<RunRecord, 'runId' | 'pipeline'>;

export const planRunCompaction = (
  deps: DrawDeps,
  { runId, pipeline, draws }: Named & { readonly draws: boolean },
): Promise<typeof NOTHING_TO_COMPACT> =>
  draws
    ? drawSamples(deps, { runId, pipeline })
    : deps.withPacking(runId, ({ store, packing, readers, dataset }) =>
        planCompaction(store, { pipeline, packing, readers, ...compactionWanted(dataset) }),
      );

async function drawSamples(deps: DrawDeps, { runId, pipeline }: Named): Promise<typeof NOTHING_TO_COMPACT> {
  const run = await deps.runs.get(runId);
  if (run === undefined) throw new RunNotFoundError(runId);
  const replay = replayOf(run.declaration?.dataset);
  const isWhole = run.generations !== undefined && run.reads === undefined;
  if (replay === undefined || isWhole || (await isDrawn(deps.store, run))) return NOTHING_TO_COMPACT;
  const generations = run.generations ?? (await recordGenerations(deps.store, run));
  const seen = await seenBy(deps, run);
  const planned =
    seen.length === 0
      ? undefined
      : await deps.withPacking(runId, ({ store, packing, readers }) =>
          planDrawing(store, { runId, pipeline, packing, readers, generations, seen, replay }),
        );
  const at = deps.clock.now().toISOString();
  // First: once the run has its samples, nothing is chosen again.
  await deps.timeline.add(runId, {
    id: `reads${run.retry === undefined ? '' : `-${run.retry.number}`}`,
    at,
    kind: 'SamplesChosen',
    text: textOf(run, seen, planned),
  });
  await deps.runs.update(runId, { generations, ...readsOf(planned), updatedAt: at });
  const { status, generation, items, itemsKey } = planned ?? NOTHING_TO_COMPACT;
  return { status, generation, items, itemsKey };
}

/** An earlier execution has drawn all, and a job may read it. */
const isDrawn = async (store: ObjectStore, { pipeline, reads }: RunRecord): Promise<boolean> =>
  reads !== undefined &&
  (reads.drawn === undefined ||
    (await store.readText(bucketKeys.manifest(pipeline, reads.drawn))) !== undefined);

/** What the run of the model trained on. */
async function seenBy({ runs }: DrawDeps, { startedFrom }: RunRecord): Promise<readonly string[]> {
  if (startedFrom?.runId === undefined) return [];
  return (await runs.get(startedFrom.runId).catch(noneIfUnreadable))?.generations ?? [];
}

function readsOf(planned: Planned): Pick<RunRecord, 'reads'> {
  if (planned === undefined) return { reads: undefined };
  const { whole, generation, replay, new: fresh, replayed, earlier } = planned;
  const drawn = generation === '' ? {} : { drawn: generation };
  return { reads: { whole, ...drawn, replay, new: fresh, replayed, earlier } };
}

function textOf({ startedFrom }: RunRecord, seen: readonly string[], planned: Planned): string {
  const run = startedFrom?.runId;
  if (seen.length === 0)
    return `trains on all samples: no record says what ${run ?? startedFrom?.uri} was trained on`;
  if (planned === undefined) return `trains on all samples: none is new since ${run}`;
  const { new: fresh, replayed, earlier, replay } = planned;
  const drawn = replay === 0 ? 'none' : `${replayed} (${Number((replay * 100).toFixed(3))} %)`;
  return `trains on ${fresh} samples that are new since ${run}, and on ${drawn} of ${earlier} earlier ones`;
}
