/** The samples of a shard as they will lie in it; what the format cannot hold is left out before anything is read. */
import { excludeAll } from './judge-sample.ts';
import { judgePrepared } from './preparations.ts';
import type { PlannedSample } from './records.ts';
import { type LaidSample, layOut } from './sample-layout.ts';
import type { ShardJob, Unfitting } from './shard-job.ts';
import { isTooLarge } from './shard-members.ts';

/** @param leaveOut told of what is left out, when the sequence comes to it */
export function* layOutAll(
  samples: Iterable<PlannedSample>,
  { incoming, format, packing: settings, facts, preparations }: ShardJob,
  leaveOut: (one: Unfitting) => void,
): Generator<LaidSample> {
  const rules = { incoming, format, settings };
  const context = { settings, facts };
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
    const refusal = isTooLarge(laid, format) ? 'tooLarge' : format.refuses(laid, context);
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
