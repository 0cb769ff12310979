/** The SealDataset state: seals what the run packed, announces it, and reports on its quality. Or asks for another round. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { holdOf } from '@tidewheel/declaration/packing-settings.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { PackingIncompleteError } from '@tidewheel/kit/errors.ts';
import { type CompactionInput, mayCompact } from '@tidewheel/packing/compact.ts';
import type { QualityDeps } from '@tidewheel/packing/report.ts';
import { type SealResult, ShardMissingError, sealDataset, spotCheck } from '@tidewheel/packing/seal.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import type { Stores } from '../../records/stores.ts';
import { type AnnounceDeps, announceSeal } from './announce-seal.ts';
import { reportQuality } from './report-quality.ts';

interface Packed extends Pick<Pipeline, 'packing' | 'dataset'> {
  readonly store: BlobStore;
  readonly readers?: CompactionInput['readers'];
}

/** Runs a step with the run's packed data and the settings that are pinned on the run. */
export type WithPacking = <T>(runId: string, step: (packed: Packed) => Promise<T>) => Promise<T>;

export interface SealRunDeps extends AnnounceDeps, Pick<QualityDeps, 'images'> {
  readonly withPacking: WithPacking;
}

/** @throws PackingIncompleteError after the last round */
export async function sealRun(
  deps: SealRunDeps,
  run: Round,
): Promise<(SealResult & { readonly mayCompact: boolean }) | NextRound> {
  const { runId, pipeline } = run;
  const sealed = await sealOrRepeat(deps, run, () =>
    deps.withPacking(runId, async ({ store, packing, dataset }) => {
      const keep = dataset?.keep;
      const result = await sealDataset({ store, spotCheck }, { runId, pipeline, packing, keep });
      return { ...result, mayCompact: mayCompact(dataset, result) };
    }),
  );
  if (sealed.status === 'incomplete') return sealed;
  const announced = await announceSeal(deps, run, sealed);
  await deps.withPacking(runId, ({ store, packing }) =>
    reportQuality(deps, { ...deps, store }, { runId, pipeline, generation: runId, hold: holdOf(packing) }),
  );
  return announced;
}

export interface NextRound {
  readonly status: 'incomplete';
  readonly round: number;
  /** Pause before the round. */
  readonly seconds: number;
}

interface Round {
  readonly runId: string;
  readonly pipeline: string;
  /** Of the packing before this seal; the first is 1. */
  readonly round: number;
}

const MOST_ROUNDS = 5;
/** The pauses are 1, 2, 4 and 8 minutes. Each item has been tried for minutes before it failed. */
const FIRST_PAUSE_SECONDS = 60;

/**
 * An item of the Map may fail for a reason that passes, such as a function that ends without an answer. The other items
 * go on, the seal finds what is missing, and the next round packs only that.
 * @throws PackingIncompleteError after the last round
 */
export async function sealOrRepeat<Sealed>(
  deps: Pick<Stores, 'timeline'> & { readonly clock: Clock },
  { runId, pipeline, round }: Round,
  seal: () => Promise<Sealed>,
): Promise<Sealed | NextRound> {
  try {
    return await seal();
  } catch (cause: unknown) {
    if (!(cause instanceof ShardMissingError)) throw cause;
    if (round >= MOST_ROUNDS) throw incomplete({ runId, pipeline, round }, cause);
    const seconds = FIRST_PAUSE_SECONDS * 2 ** (round - 1);
    const next = round + 1;
    await deps.timeline.add(runId, {
      id: `packing-round-${next}`,
      at: deps.clock.now().toISOString(),
      kind: 'PackingIncomplete',
      text: `${cause.shard} is not packed; round ${next} of ${MOST_ROUNDS} starts in ${seconds} s`,
    });
    return { status: 'incomplete', round: next, seconds };
  }
}

const incomplete = ({ runId, pipeline, round }: Round, cause: ShardMissingError): PackingIncompleteError =>
  new PackingIncompleteError(
    `${cause.shard} is still not packed after ${round} rounds. FAILED_*.json under ${bucketKeys.map(pipeline, runId)} ` +
      `holds the error of each item: remove the cause, then start a run (POST /pipelines/${pipeline}/runs), ` +
      'which packs the same arrivals',
    { cause },
  );
