/** What a sample looks like inside a shard: names, columns and order of its members, and the label that packing adds. */
import type { PackingSettings } from '../pipeline.ts';
import type { Outline, ShardFormat } from './formats/format.ts';
import { labelOfKey, memberStem, memberSuffix, splitKey } from './names.ts';
import type { PlannedMember, PlannedSample } from './records.ts';
import { promisedImage } from './sniff.ts';

interface Common {
  readonly name: string;
  readonly stem: string;
  readonly suffix: string;
  readonly column: string;
  readonly size: number;
  readonly isLabel: boolean;
}

export type LaidOut =
  | (Common & { readonly kind: 'source'; readonly member: PlannedMember })
  | (Common & { readonly kind: 'made'; readonly made: 'label'; readonly bytes: Buffer });

export interface LaidSample extends Outline {
  readonly sample: PlannedSample;
  readonly members: readonly LaidOut[];
}

export interface LayoutRules {
  readonly incoming: string;
  readonly format: ShardFormat;
  readonly settings: PackingSettings;
}

const LABEL = 'label';

/** Column of a suffix: `jpg` is the sample's `image`, `seg.png` its `seg`, anything else its own name. */
export function columnOf(suffix: string): string {
  if (suffix === 'cls') return LABEL;
  const dot = suffix.lastIndexOf('.');
  const column = promisedImage(suffix) === undefined ? suffix : dot < 0 ? 'image' : suffix.slice(0, dot);
  return column.replace(/[^a-z0-9_]/g, '_');
}

const by =
  (order: 'suffix' | 'column') =>
  (a: LaidOut, b: LaidOut): number =>
    a[order] < b[order] ? -1 : Number(a[order] > b[order]);

const copyMark = (repeat: number): string => (repeat === 0 ? '' : `~again${repeat === 1 ? '' : repeat}`);

/** Members in the order in which the format writes them. */
export function layOut(sample: PlannedSample, rules: LayoutRules): LaidSample {
  const { format, settings } = rules;
  const members: LaidOut[] = [];
  const columns = new Set<string>();
  let { label } = sample;
  for (const member of sample.members) {
    const key = member.key.slice(rules.incoming.length);
    const { stem: raw, suffix: rawSuffix } = splitKey(key);
    const suffix = memberSuffix(rawSuffix);
    const plain = memberStem(raw, member.alone ? key : undefined);
    const stem = `${plain}${copyMark(sample.repeat)}`;
    const short = columnOf(suffix);
    const column = columns.has(short) ? suffix.replace(/[^a-z0-9_]/g, '_') : short;
    columns.add(column);
    label ??= labelOfKey(key, settings);
    const isLabel = column === LABEL;
    members.push({
      kind: 'source',
      name: `${stem}.${suffix}`,
      stem,
      suffix,
      column,
      size: member.size,
      isLabel,
      member,
    });
  }
  if (format.grouped && label !== undefined && !columns.has(LABEL)) {
    members.push(labelOf(label, members[0]?.stem ?? ''));
  }
  return {
    ordinal: sample.ordinal,
    sample,
    members: members.length > 1 ? members.sort(by(format.order)) : members,
  };
}

function labelOf(label: string, stem: string): LaidOut {
  const bytes = Buffer.from(label);
  const common = {
    name: `${stem}.cls`,
    stem,
    suffix: 'cls',
    column: LABEL,
    size: bytes.length,
    isLabel: true,
  };
  return { kind: 'made', made: 'label', bytes, ...common };
}
