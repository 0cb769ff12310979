/** The samples of a shard as they will lie in it; what the format cannot hold is left out before anything is read. */

import type { PlannedSample } from '../model/documents.ts';
import type { Rejection } from '../model/rejections.ts';
import { type LaidSample, layOut } from '../model/sample-layout.ts';
import { hasFixedLayout, type PlanFacts, type ShardFormat } from '../model/shard-format.ts';
import { excludeAll } from './judge-sample.ts';
import { judgePrepared } from './shard-images.ts';
import type { ShardJob, Unfitting } from './shard-job.ts';
import { isTooLarge, paddingOf } from './shard-members.ts';

/** @param leaveOut told of what is left out, when the sequence comes to it */
export function* layOutAll(
  samples: Iterable<PlannedSample>,
  { incoming, format, packing: settings, facts, preparations }: ShardJob,
  leaveOut: (one: Unfitting) => void,
): Generator<LaidSample> {
  const rules = { incoming, format, settings };
  for (const sample of samples) {
    const planned = layOut(sample, rules);
    const judged =
      preparations === undefined
        ? { laid: planned }
        : judgePrepared(planned, (member) => preparations.outcomeOf(member));
    if ('exclusion' in judged) {
      leaveOut({ sample, exclusion: judged.exclusion });
      continue;
    }
    const { laid } = judged;
    const refusal = isTooLarge(laid, format) ? 'tooLarge' : refusalOf(laid, format, facts);
    if (refusal === undefined) yield laid;
    else leaveOut({ sample, exclusion: excludeAll(sample, refusal) });
  }
}

export function* samplesBut(
  samples: Iterable<PlannedSample>,
  without: (sample: PlannedSample) => boolean,
): Generator<PlannedSample> {
  for (const sample of samples) if (!without(sample)) yield sample;
}

/**
 * All samples at once, where what the first looks like depends on the others. Elsewhere each is laid out when its turn
 * comes to be read: 25,000 of them at once take some 20 MB.
 */
export function layOutFirst(
  job: ShardJob,
  without: (sample: PlannedSample) => boolean,
  leaveOut: (one: Unfitting) => void,
): LaidSample[] | undefined {
  const { format, even, preparations, samples } = job;
  if (!hasFixedLayout(format) && even === undefined && preparations === undefined) return undefined;
  const taken = [...layOutAll(samplesBut(samples, without), job, leaveOut)];
  return [...taken, ...layOutAll(paddingOf(taken, job), job, leaveOut)];
}

const refusalOf = (laid: LaidSample, format: ShardFormat, facts: PlanFacts): Rejection | undefined =>
  format.takes === 'samples' ? format.refuses?.(laid, facts) : undefined;
