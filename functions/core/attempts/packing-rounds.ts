/**
 * Rounds of packing. An item of the Map may fail for a reason that passes, such as a function that ends without an
 * answer. The other items go on, the seal finds what is missing, and the next round packs only that.
 */

import { PackingIncompleteError } from '@tidewheel/kit/errors.ts';
import { ShardMissingError } from '../packing/seal/committed-shards.ts';
import type { Stores } from '../runs/stores.ts';
import { bucketKeys } from '../shared/keys.ts';
import type { Clock } from '../shared/ports.ts';

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

/** @throws PackingIncompleteError after the last round */
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
