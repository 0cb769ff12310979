/**
 * What a declaration makes of files that no bucket has yet: their samples, splits and labels, and what it leaves out,
 * each counted with an example. The rules are those of a plan.
 */

import type { SplitName } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ignoredFiles } from '../arrivals/rejected-keys.ts';
import { type Dots, parseArrival } from '../documents/documents.ts';
import { INNER_SUFFIXES } from '../documents/member-names.ts';
import { compareKeys } from '../documents/order.ts';
import { type LayoutRules, layOutSample, type MemberLayout } from '../documents/sample-layout.ts';
import { formatOf } from '../formats/formats.ts';
import { type AnnotationAudit, Annotations, type TableReader } from '../labels/annotations.ts';
import { SampleLabels } from '../labels/sample-labels.ts';
import { SplitLists } from '../splits/split-lists.ts';
import { DraftPlan } from './draft-plan.ts';

export interface Counted {
  readonly objects: number;
  /** A key. */
  readonly example: string;
}

export interface DataLayout {
  /** Those that tools leave behind are not among them. */
  readonly files: number;
  /** That train or measure. */
  readonly samples: number;
  /** How many samples have each column. */
  readonly columns: Readonly<Record<string, number>>;
  /** Files without a byte. */
  readonly empty?: Counted | undefined;
  /** By the reason. */
  readonly leftOut: Readonly<Record<string, Counted>>;
  /** Samples of each split; undefined where none is declared. */
  readonly splits?: Readonly<Partial<Record<SplitName, Counted>>>;
  /** Samples of each class. */
  readonly classes: ReadonlyMap<string, Counted>;
  readonly unlabelled?: Counted | undefined;
  /** The keys of a sample of all columns that `packing.join` declares, and how many there are. */
  readonly joined?: { readonly samples: number; readonly example: readonly string[] } | undefined;
  readonly dots: Dots;
  readonly annotations?: AnnotationAudit | undefined;
}

export interface LocalKey {
  /** Relative to the folder of the data, with slashes. */
  readonly key: string;
  readonly size: number;
}

/** @param files by their keys under incoming/ */
export async function dataLayout(
  store: TableReader,
  packing: PackingSettings,
  files: readonly LocalKey[],
): Promise<DataLayout> {
  const settings = { ...packing, innerSuffixes: packing.innerSuffixes ?? [...INNER_SUFFIXES] };
  const format = formatOf(settings);
  const annotations = await Annotations.open(store, settings, '');
  const lists = await SplitLists.open(store, settings, '');
  const labels = annotations && new SampleLabels(annotations);
  const rules = { incoming: '', format, settings };
  const draft = new DraftPlan({ ...rules, labels, lists, isIgnored: ignoredFiles(settings) });
  const notData = new Set([annotations?.key, ...(lists?.keys ?? [])]);
  const data = files.filter(({ key }) => !notData.has(key));
  addAll(data, { draft, labels });
  const { samples, leftOut, empty } = sorted(draft);
  return {
    files: draft.objects - (leftOut['ignored']?.objects ?? 0),
    samples: samples.size,
    leftOut,
    ...(empty && { empty }),
    ...tallied(samples, { draft, labels, rules }),
    dots: draft.grouper.dots,
    annotations: await annotations?.audit(),
  };
}

/** When nothing waits too long. */
const BEFORE = '1970-01-01T00:00:00.000Z';

interface Tallying {
  readonly draft: DraftPlan;
  readonly labels: SampleLabels | undefined;
  readonly rules: LayoutRules;
}

/** Adds the files in the order of a listing. */
function addAll(files: readonly LocalKey[], { draft, labels }: Pick<Tallying, 'draft' | 'labels'>): void {
  for (const { key, size } of files.toSorted((a, b) => compareKeys(a.key, b.key))) {
    labels?.noteListed(key);
    draft.add({ key, size, etag: '', lastModified: BEFORE });
  }
  draft.finish({ earlier: { all: { samples: 0, columns: {} }, first: undefined }, labels: [], at: 0 });
}

/** The keys of each sample by its ordinal. */
type Samples = ReadonlyMap<number, readonly string[]>;

function tallied(samples: Samples, { draft, labels, rules }: Tallying) {
  const { split, join, label } = rules.settings;
  const { columns, classes, unlabelled } = tallyMembers(samples, { labels, rules });
  return {
    columns,
    classes,
    ...(split && { splits: tallySplits(samples, draft) }),
    ...(join && { joined: tallyJoined(samples, join) }),
    ...(label !== 'none' && rules.format.takes === 'samples' && { unlabelled }),
  };
}

function tallyMembers(samples: Samples, { labels, rules }: Pick<Tallying, 'labels' | 'rules'>) {
  const columns: Record<string, number> = {};
  const classes = new Map<string, Counted>();
  let unlabelled: Counted | undefined;
  for (const [ordinal, keys] of samples) {
    const [example = ''] = keys;
    const sources = keys.map((key) => ({ key, size: 0, etag: '', alone: false }));
    const label = labels?.labelOf(ordinal);
    const { members } = layOutSample({ ordinal, repeat: 0, label, members: sources }, rules);
    for (const { column } of members) columns[column] = (columns[column] ?? 0) + 1;
    const name = classOf(members);
    if (name !== undefined) classes.set(name, counted(classes.get(name), example));
    else if (!members.some(({ isLabel }) => isLabel)) unlabelled = counted(unlabelled, example);
  }
  return { columns, classes, unlabelled };
}

/** Undefined where no label was made: a file of the sample may be its label. */
const classOf = (members: readonly MemberLayout[]): string | undefined =>
  members.find((one) => one.kind === 'made')?.bytes.toString();

function tallySplits(samples: Samples, draft: DraftPlan): NonNullable<DataLayout['splits']> {
  const splits: Partial<Record<SplitName, Counted>> = {};
  for (const [ordinal, [example = '']] of samples) {
    const name = draft.splitOf(ordinal);
    if (name !== undefined) splits[name] = counted(splits[name], example);
  }
  return splits;
}

function tallyJoined(samples: Samples, join: NonNullable<PackingSettings['join']>): DataLayout['joined'] {
  const columns = Object.keys(join).length;
  const whole = [...samples.values()].filter((keys) => keys.length >= columns);
  const [example] = whole;
  return example && { samples: whole.length, example };
}

const counted = (before: Counted | undefined, example: string): Counted => ({
  objects: (before?.objects ?? 0) + 1,
  example: before?.example ?? example,
});

/** The keys of each sample, and what is left out by its reason. */
function sorted(draft: DraftPlan) {
  const samples = new Map<number, string[]>();
  const leftOut: Record<string, Counted> = {};
  let empty: Counted | undefined;
  for (const line of draft.arrivals.read()) {
    const [key, size, , outcome] = parseArrival(line);
    if (size === 0 && typeof outcome === 'number') empty = counted(empty, key);
    if (typeof outcome !== 'number') leftOut[outcome] = counted(leftOut[outcome], key);
    else samples.set(outcome, [...(samples.get(outcome) ?? []), key]);
  }
  return { samples, leftOut, empty };
}
