/** All images of one sample, before the sample is written. */

import type { PlannedMember } from '../model/documents.ts';
import type { Exclusion } from '../model/rejections.ts';
import type { LaidSample } from '../model/sample-layout.ts';
import { hasFixedLayout } from '../model/shard-format.ts';
import { excludeFor } from './judge-sample.ts';
import { NO_IMAGES, preparedOf, type Ready } from './shard-images.ts';
import { SamplesSpoiled, type ShardJob } from './shard-job.ts';

/** The images of a sample in memory, ready to be written, or why one of them cannot be. */
export async function prepareImages(
  laid: LaidSample,
  chunksOf: (member: PlannedMember) => readonly Uint8Array[],
  { preparations, format }: Pick<ShardJob, 'preparations' | 'format'>,
): Promise<{ readonly images: ReadonlyMap<PlannedMember, Ready> } | { readonly exclusion: Exclusion }> {
  if (preparations === undefined) return { images: NO_IMAGES };
  const images = new Map<PlannedMember, Ready>();
  for (const member of preparedOf(laid)) {
    const wasKnown = preparations.outcomeOf(member) !== undefined;
    const ready = await preparations.prepare(member, chunksOf(member));
    if (ready.kind === 'rejected') return { exclusion: excludeFor(laid.sample, member, ready.reason) };
    /** The layout was written with another size: the shard is built again, now that it is known. */
    if (!wasKnown && hasFixedLayout(format)) throw new SamplesSpoiled([]);
    images.set(member, ready);
  }
  return { images };
}
