/** What a sample looks like inside a shard: its members' names in order, and the label that packing adds. */
import type { PackingSettings } from '../pipeline.ts';
import { memberStem, memberSuffix, parentFolder, splitKey } from './names.ts';
import type { PlannedMember, PlannedSample } from './records.ts';

export type LaidOut =
  | {
      readonly kind: 'source';
      readonly name: string;
      readonly suffix: string;
      readonly member: PlannedMember;
    }
  | {
      readonly kind: 'made';
      readonly name: string;
      readonly suffix: string;
      readonly made: 'label';
      readonly bytes: Buffer;
    };

const bySuffix = (a: LaidOut, b: LaidOut): number => (a.suffix < b.suffix ? -1 : Number(a.suffix > b.suffix));

/** Members in the order of their suffixes, as WebDataset's own writer does. */
export function layOut(sample: PlannedSample, incoming: string, label: PackingSettings['label']): LaidOut[] {
  const laid: LaidOut[] = [];
  let labelled = label === 'none';
  let sampleStem = '';
  let folder: string | undefined;
  for (const member of sample.members) {
    const key = member.key.slice(incoming.length);
    const { stem, suffix } = splitKey(key);
    const written = memberSuffix(suffix);
    sampleStem = memberStem(stem, member.alone ? key : undefined);
    folder = parentFolder(key);
    labelled ||= written === 'cls';
    laid.push({ kind: 'source', name: `${sampleStem}.${written}`, suffix: written, member });
  }
  if (!labelled && folder !== undefined) {
    laid.push({
      kind: 'made',
      name: `${sampleStem}.cls`,
      suffix: 'cls',
      made: 'label',
      bytes: Buffer.from(folder),
    });
  }
  return laid.length > 1 ? laid.sort(bySuffix) : laid;
}
