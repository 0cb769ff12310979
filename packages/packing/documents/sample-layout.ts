/** The layout of a sample in a shard: names, columns and order of its members, and the label that packing adds. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { columnOf, LABEL } from './columns.ts';
import type { PlannedMember, PlannedSample } from './documents.ts';
import { encodedAs, preparedAs, preparedSuffix } from './image-preparation.ts';
import { memberStem, memberSuffix } from './member-names.ts';
import { labelOfKey, sampleKey } from './sample-names.ts';
import type { Outline, ShardFormat } from './shard-format.ts';

interface Common {
  readonly name: string;
  readonly stem: string;
  readonly suffix: string;
  readonly column: string;
  readonly size: number;
  readonly isLabel: boolean;
}

export type MemberLayout =
  | (Common & { readonly kind: 'source'; readonly member: PlannedMember; readonly prepares: boolean })
  | (Common & { readonly kind: 'made'; readonly made: 'label'; readonly bytes: Buffer });

export interface SampleLayout extends Outline {
  readonly sample: PlannedSample;
  readonly members: readonly MemberLayout[];
  /** The class by the declaration, of a sample with a label file. */
  readonly declared?: string | undefined;
}

export interface LayoutRules {
  readonly incoming: string;
  readonly format: ShardFormat;
  readonly settings: PackingSettings;
}

const by =
  (order: 'suffix' | 'column') =>
  (a: MemberLayout, b: MemberLayout): number =>
    a[order] < b[order] ? -1 : Number(a[order] > b[order]);

const copyMark = (repeat: number): string => (repeat === 0 ? '' : `~again${repeat === 1 ? '' : repeat}`);

/** Gives each member its own column. Two suffixes may have the same one (`x-y` and `x_y`, `jpg` and `png`). */
function freeColumn(suffix: string, taken: ReadonlySet<string>): string {
  const short = columnOf(suffix);
  if (!taken.has(short)) return short;
  const long = suffix.replace(/[^a-z0-9_]/g, '_');
  let column = long;
  for (let number = 2; taken.has(column); number += 1) column = `${long}_${number}`;
  return column;
}

/** A member by its key, before it gets its name in the shard. */
interface KeyedMember {
  readonly member: PlannedMember;
  readonly stem: string;
  readonly suffix: string;
  readonly column: string;
}

function readKeys(sample: PlannedSample, { incoming, settings }: LayoutRules): KeyedMember[] {
  const columns = sample.members.length > 1 ? new Set<string>() : undefined;
  return sample.members.map((member) => {
    const key = member.key.slice(incoming.length);
    const { stem: raw, suffix: rawSuffix } = sampleKey(key, settings);
    const suffix = memberSuffix(rawSuffix);
    const stem = `${memberStem(raw, member.alone ? key : undefined)}${copyMark(sample.repeat)}`;
    const column = columns === undefined ? columnOf(suffix) : freeColumn(suffix, columns);
    columns?.add(column);
    return { member, stem, suffix, column };
  });
}

/** Tells by a member's key whether it is prepared as a mask. */
export const maskFinder =
  ({ prepare, ...naming }: PackingSettings, incoming: string) =>
  ({ key }: Pick<PlannedMember, 'key'>): boolean => {
    const { suffix } = sampleKey(key.slice(incoming.length), naming);
    return prepare?.image.masks?.includes(columnOf(memberSuffix(suffix))) === true;
  };

/** A prepared image gets the suffix of its new format. */
function named(all: readonly KeyedMember[], settings: PackingSettings): MemberLayout[] {
  if (settings.prepare?.image === undefined) {
    return all.map(({ member, stem, suffix, column }) => ({
      kind: 'source',
      stem,
      suffix,
      column,
      name: `${stem}.${suffix}`,
      isLabel: column === LABEL,
      size: member.size,
      member,
      prepares: false,
    }));
  }
  const suffixes = new Set(all.map(({ suffix }) => suffix));
  return all.map(({ member, stem, suffix: own, column }) => {
    const image = settings.prepare?.image;
    // Of two images of one column, the second has a column of its own and is prepared like the first.
    const as = preparedAs(settings, columnOf(own), own);
    if (as !== undefined) suffixes.delete(own);
    const suffix =
      image === undefined || as === undefined ? own : preparedSuffix(own, encodedAs(image, as), suffixes);
    suffixes.add(suffix);
    const common = { stem, suffix, column, name: `${stem}.${suffix}`, isLabel: column === LABEL };
    return { kind: 'source', ...common, size: member.size, member, prepares: as !== undefined };
  });
}

/** The members are in the order in which the format writes them. */
export function layOutSample(sample: PlannedSample, rules: LayoutRules): SampleLayout {
  const { format, settings } = rules;
  const members = named(readKeys(sample, rules), settings);
  let { label } = sample;
  for (const { key } of sample.members) label ??= labelOfKey(key.slice(rules.incoming.length), settings);
  const isLabelled = members.some(({ column }) => column === LABEL);
  if (format.takes === 'samples' && label !== undefined && !isLabelled)
    members.push(labelOf(label, members[0]?.stem ?? ''));
  return {
    ordinal: sample.ordinal,
    sample,
    ...(isLabelled && { declared: label }),
    members: format.takes === 'samples' && members.length > 1 ? members.sort(by(format.order)) : members,
  };
}

function labelOf(label: string, stem: string): MemberLayout {
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
