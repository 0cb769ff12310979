/** The samples of a shard as they will lie in it; what the format cannot hold is left out before anything is read. */
import { excludeAll } from './judge-sample.ts';
import { judgePrepared } from './preparations.ts';
import type { PlannedSample } from './records.ts';
import { type LaidSample, layOut } from './sample-layout.ts';
import type { ShardJob, Unfitting } from './shard-job.ts';
import { isTooLarge } from './shard-members.ts';

export function layOutAll(
  samples: readonly PlannedSample[],
  { incoming, format, packing: settings, facts, preparations }: ShardJob,
): { readonly taken: LaidSample[]; readonly unfitting: readonly Unfitting[] } {
  const taken: LaidSample[] = [];
  const unfitting: Unfitting[] = [];
  for (const sample of samples) {
    const laid = layOut(sample, { incoming, format, settings });
    const judged = judgePrepared(laid, (member) => preparations?.outcomeOf(member));
    if ('exclusion' in judged) unfitting.push({ sample, exclusion: judged.exclusion });
    else {
      const refusal = isTooLarge(judged.laid, format)
        ? 'tooLarge'
        : format.refuses(laid, { settings, facts });
      if (refusal === undefined) taken.push(judged.laid);
      else unfitting.push({ sample, exclusion: excludeAll(sample, refusal) });
    }
  }
  return { taken, unfitting };
}
