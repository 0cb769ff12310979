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
import { type LayoutRules, layOutSample } from '../documents/sample-layout.ts';
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
  const isIgnored = ignoredFiles(settings);
  const draft = new DraftPlan({ incoming: '', format, settings, labels, lists, isIgnored });
  const notData = new Set([annotations?.key, ...(lists?.keys ?? [])]);
  for (const { key, size } of files.toSorted((a, b) => compareKeys(a.key, b.key))) {
    if (notData.has(key)) continue;
    labels?.noteListed(key);
    draft.add({ key, size, etag: '', lastModified: BEFORE });
  }
  draft.finish({ earlier: { all: { samples: 0, columns: {} }, first: undefined }, labels: [], at: 0 });
  const { samples, leftOut, empty } = sorted(draft);
  return {
    files: draft.objects - (leftOut['ignored']?.objects ?? 0),
    samples: samples.size,
    leftOut,
    ...(empty && { empty }),
    ...tallied(samples, { draft, labels, rules: { incoming: '', format, settings } }),
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

function tallied(samples: ReadonlyMap<number, readonly string[]>, { draft, labels, rules }: Tallying) {
  const { split, join, label: kind } = rules.settings;
  const columns: Record<string, number> = {};
  const classes = new Map<string, Counted>();
  const splits: Partial<Record<SplitName, Counted>> = {};
  let unlabelled: Counted | undefined;
  let joined: DataLayout['joined'];
  for (const [ordinal, keys] of samples) {
    const [example = ''] = keys;
    const members = keys.map((key) => ({ key, size: 0, etag: '', alone: false }));
    const laidOut = layOutSample({ ordinal, repeat: 0, label: labels?.labelOf(ordinal), members }, rules);
    for (const { column } of laidOut.members) columns[column] = (columns[column] ?? 0) + 1;
    const [name] = laidOut.members.flatMap((one) => (one.kind === 'made' ? [one.bytes.toString()] : []));
    if (name !== undefined) classes.set(name, counted(classes.get(name), example));
    else if (!laidOut.members.some(({ isLabel }) => isLabel)) unlabelled = counted(unlabelled, example);
    const of = draft.splitOf(ordinal);
    if (of !== undefined) splits[of] = counted(splits[of], example);
    if (keys.length >= Object.keys(join ?? {}).length)
      joined = { samples: (joined?.samples ?? 0) + 1, example: joined?.example ?? keys };
  }
  return {
    columns,
    classes,
    ...(split && { splits }),
    ...(join && { joined }),
    ...(kind !== 'none' && rules.format.takes === 'samples' && { unlabelled }),
  };
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
