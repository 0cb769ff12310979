/** The kind of checksum that an upload gets. It has one kind, and S3 tells the checksum of a copied part in that kind. */
import { kindsIn, type SumKind } from '../model/blob-store.ts';
import type { PlannedMember } from '../model/documents.ts';
import { layOutSample, type SampleLayout } from '../model/sample-layout.ts';
import type { ShardJob } from './shard-job.ts';
import type { SourceSums } from './source-sums.ts';

/**
 * That of the first large source that has one, so that the store copies it and the copy is compared with it. Sources of
 * one client have the same kind. CRC-32 otherwise, because Node computes it natively and CRC-64/NVME takes six times as
 * long.
 * @param from bytes of the smallest source that is copied
 */
export async function sumKindOf(
  sources: SourceSums,
  { samples, incoming, format, packing: settings }: ShardJob,
  from: number,
  copiedOf: (layout: SampleLayout) => readonly PlannedMember[],
): Promise<SumKind> {
  for (const sample of samples) {
    if (!sample.members.some(({ size }) => size >= from)) continue;
    for (const member of copiedOf(layOutSample(sample, { incoming, format, settings }))) {
      const [kind] = kindsIn(await sources.of(member));
      if (kind !== undefined) return kind;
    }
  }
  return 'crc32';
}
