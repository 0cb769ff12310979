/**
 * The states SealCompaction and SealCompactionOfDrawn: seal what was joined, and write the result to the timeline. Where
 * a compaction failed, the run trains on the generations as they are, or is refused if one of them replaces samples. Safe
 * to repeat.
 */

import { parseJson } from '@tidewheel/kit/json.ts';
import { type CompactionResult, sealCompaction } from '@tidewheel/packing/compact.ts';
import type { AnnounceDeps } from './announce-seal.ts';
import type { WithPacking } from './seal-run.ts';

export async function sealRunCompaction(
  deps: Pick<AnnounceDeps, 'timeline' | 'clock'> & { readonly withPacking: WithPacking },
  { runId, pipeline, generation }: { runId: string; pipeline: string; generation: string },
): Promise<{ readonly status: string }> {
  const sealed = await deps.withPacking(runId, ({ store, packing }) =>
    sealCompaction(store, { pipeline, packing, generation }),
  );
  return announceCompaction(deps, { runId }, sealed);
}

/** The error as Step Functions passes it. */
export interface CompactionFailure {
  readonly status: 'failed';
  readonly Error: string;
  readonly Cause: string;
}

export async function announceCompaction(
  deps: Pick<AnnounceDeps, 'timeline' | 'clock'>,
  { runId }: { readonly runId: string },
  result: CompactionResult | CompactionFailure,
): Promise<{ readonly status: string }> {
  const at = deps.clock.now().toISOString();
  await deps.timeline.add(runId, {
    id: result.status === 'drawn' ? 'drawn' : 'compacted',
    at,
    kind: TITLES[result.status],
    text: textOf(result),
  });
  return { status: result.status };
}

const TITLES = {
  compacted: 'DatasetCompacted',
  superseded: 'DatasetNotCompacted',
  drawn: 'SamplesDrawn',
  failed: 'DatasetNotCompacted',
} as const;

const LONGEST_CAUSE = 1_000;

function textOf(result: CompactionResult | CompactionFailure): string {
  if (result.status === 'failed')
    return `generations stay separate: ${result.Error} ${messageOf(result.Cause)}`.trimEnd();
  const { generation, of, shards, samples } = result;
  if (result.status === 'superseded')
    return `${generation} was not needed: another compaction or a prune was first`;
  const drawn = `${samples} samples in ${shards} shard${shards === 1 ? '' : 's'}`;
  if (result.status === 'drawn') return `${drawn}, for this run`;
  return `${of.length} generation${of.length === 1 ? '' : 's'} joined into ${generation}: ${drawn}`;
}

/** Lambda's error is JSON with a message, which the Map may have cut off. Any other text is kept as it is. */
function messageOf(cause: string): string {
  const literal = /"errorMessage":\s*("(?:[^"\\]|\\.)*")/.exec(cause)?.[1];
  const message = parseJson(literal ?? '');
  return (typeof message === 'string' ? message : cause).slice(0, LONGEST_CAUSE).toWellFormed();
}
