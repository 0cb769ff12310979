/** Counts what one generation holds, by its member lists. Tallies of several generations can be added up. */

import type { SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { tableOf } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import type { KeptSums } from '../documents/blob-store.ts';
import { isCopied, type MemberLine } from '../documents/documents.ts';
import { isArchive, isRenamed } from '../documents/member-names.ts';
import { imageFormatOf } from '../documents/sniff.ts';
import { isTextName } from '../media/media-facts.ts';
import { PixelSums, pixelsSchema } from '../media/pixel-sums.ts';
import { splitOfShard } from '../splits/split-rule.ts';
import { halfOf, NumberList } from './digest-list.ts';
import { Distribution, distributionSchema } from './distribution.ts';
import { FaultyTexts, faultyTextsSchema } from './faulty-texts.ts';

const MOST_EXAMPLES = 10;

/** Samples that brought their class in a label file, and those to which the declaration would give another one. */
const ownLabelsSchema = z.object({
  samples: z.number().int().min(0),
  /** Of them, those whose folder, name or annotation says another class. */
  differing: z.number().int().min(0),
  examples: z.array(z.object({ key: z.string(), label: z.string(), declared: z.string() })),
});
type StoredOwnLabels = z.infer<typeof ownLabelsSchema>;

class OwnLabels {
  #samples = 0;
  #differing = 0;
  readonly #examples: StoredOwnLabels['examples'] = [];

  /** @param line of a sample, not of its copies */
  add({ key, label, declared }: Pick<MemberLine, 'key' | 'label' | 'declared'>): void {
    if (key === undefined || label === undefined) return;
    this.#samples += 1;
    if (declared === undefined) return;
    this.#differing += 1;
    if (this.#examples.length < MOST_EXAMPLES) this.#examples.push({ key, label, declared });
  }

  addAll({ samples, differing, examples }: StoredOwnLabels): void {
    this.#samples += samples;
    this.#differing += differing;
    this.#examples.push(...examples.slice(0, MOST_EXAMPLES - this.#examples.length));
  }

  /** Undefined where there are none. */
  get stored(): StoredOwnLabels | undefined {
    if (this.#samples === 0) return undefined;
    return { samples: this.#samples, differing: this.#differing, examples: this.#examples };
  }
}

const count = z.number().int().min(0);

/** Their number is above 0. */
const countedSchema = z.object({ members: count, example: z.string() });
type Counted = z.infer<typeof countedSchema>;

const columnSchema = z.object({
  members: count,
  bytes: count,
  size: distributionSchema,
  /** Images that packing left as they came, in a generation that prepares images. Above 0. */
  unprepared: count.optional(),
  /** Members with the name of an image and no header of one. */
  headless: countedSchema.optional(),
  /** Members without a byte. */
  empty: countedSchema.optional(),
  /** Files that hold others, each of which is one sample. */
  archive: countedSchema.optional(),
  /** Members whose names in the shard are not those of their files. */
  renamed: countedSchema.optional(),
  width: distributionSchema.optional(),
  height: distributionSchema.optional(),
  seconds: distributionSchema.optional(),
  tokens: distributionSchema.optional(),
  lines: distributionSchema.optional(),
  faulty: faultyTextsSchema.optional(),
});

export const tallySchema = z.object({
  version: z.literal(1),
  samples: count,
  copies: count,
  /** Absent if the labels are no classes. */
  classes: tableOf(z.object({ samples: count, copies: count })).optional(),
  /** Only if the samples are split. */
  splits: tableOf(z.object({ samples: count, copies: count })).optional(),
  columns: tableOf(columnSchema),
  /** Only if samples brought their own label. */
  ownLabels: ownLabelsSchema.optional(),
  /** Of prepared images. */
  pixels: pixelsSchema.optional(),
});
export type Tally = z.infer<typeof tallySchema>;
type StoredColumn = z.infer<typeof columnSchema>;

/** More different labels than this are texts, not classes. */
const MOST_CLASSES = 10_000;
/** Further columns are counted together. */
const MOST_COLUMNS = 50;
const OTHER_COLUMNS = '(other columns)';

const MEASURED = { width: true, height: true, seconds: true, tokens: true, lines: true } as const;
type Measure = keyof typeof MEASURED;
const isMeasure = (name: string): name is Measure => Object.hasOwn(MEASURED, name);
const MEASURES: readonly Measure[] = Object.keys(MEASURED).filter(isMeasure);
/** Distributions of a column, in the order of a report. */
export const DISTRIBUTIONS: readonly ('size' | Measure)[] = ['size', ...MEASURES];

type TalliedLine = Pick<MemberLine, 'name' | 'size' | 'media' | 'key'> & KeptSums;

/** An image by its name, whose header shows none. */
const isHeadless = (line: TalliedLine): boolean =>
  line.media?.width === undefined && imageFormatOf(line.name) !== undefined && !isCopied(line);

/** What an oddity is depends on what was packed. */
export interface PackedAs {
  readonly preparesImages: boolean;
  /** Shards of files, such as lines, keep no names. */
  readonly keepsNames: boolean;
}

const COUNTED = ['headless', 'empty', 'archive', 'renamed'] as const;
type CountedName = (typeof COUNTED)[number];

function oddityOf(line: TalliedLine): CountedName | undefined {
  if (line.size === 0) return 'empty';
  if (isHeadless(line)) return 'headless';
  return isArchive(line.key ?? line.name) ? 'archive' : undefined;
}

class ColumnTally {
  members = 0;
  bytes = 0;
  unprepared = 0;
  readonly #counted: { [What in CountedName]?: Counted } = {};
  readonly size = new Distribution();
  readonly measured = new Map<Measure, Distribution>();
  readonly faulty = new FaultyTexts();

  add(line: TalliedLine, { keepsNames }: PackedAs): void {
    const { name, size, media, key } = line;
    this.members += 1;
    this.bytes += size;
    this.size.add(size);
    // The store copied it.
    if (isCopied(line) && isTextName(name)) this.faulty.addUnread();
    const what = oddityOf(line);
    if (what !== undefined) this.#count(what, { members: 1, example: key ?? name });
    if (keepsNames && key !== undefined && isRenamed(name, key))
      this.#count('renamed', { members: 1, example: key });
    if (media === undefined) return;
    this.faulty.add(media, key);
    for (const measure of MEASURES) {
      const value = media[measure];
      if (value !== undefined) this.#of(measure).add(value);
    }
  }

  addAll(other: StoredColumn): void {
    this.members += other.members;
    this.bytes += other.bytes;
    this.size.addAll(other.size);
    this.unprepared += other.unprepared ?? 0;
    for (const what of COUNTED) {
      const counted = other[what];
      if (counted !== undefined) this.#count(what, counted);
    }
    if (other.faulty !== undefined) this.faulty.addAll(other.faulty);
    for (const measure of MEASURES) {
      const values = other[measure];
      if (values !== undefined) this.#of(measure).addAll(values);
    }
  }

  get stored(): StoredColumn {
    const faulty = this.faulty.stored;
    const measured = [...this.measured].map(([measure, values]) => [measure, values.stored] as const);
    return {
      members: this.members,
      bytes: this.bytes,
      size: this.size.stored,
      ...(this.unprepared > 0 && { unprepared: this.unprepared }),
      ...this.#counted,
      ...(faulty && { faulty }),
      ...Object.fromEntries(measured),
    };
  }

  #count(what: CountedName, { members, example }: Counted): void {
    const before = this.#counted[what];
    this.#counted[what] = { members: (before?.members ?? 0) + members, example: before?.example ?? example };
  }

  #of(measure: Measure): Distribution {
    const known = this.measured.get(measure) ?? new Distribution();
    this.measured.set(measure, known);
    return known;
  }
}

/** Adds members or whole tallies. */
export class TallyCounter {
  #samples = 0;
  #copies = 0;
  #classes: Map<string, { samples: number; copies: number }> | undefined = new Map();
  readonly #splits = new Map<string, { samples: number; copies: number }>();
  readonly #columns = new Map<string, ColumnTally>();
  readonly #pixels = new PixelSums();
  readonly #ownLabels = new OwnLabels();
  readonly #packed: PackedAs;

  constructor(packed: PackedAs = { preparesImages: false, keepsNames: false }) {
    this.#packed = packed;
  }

  sample(isCopy: boolean, split: SplitName | undefined): void {
    if (isCopy) this.#copies += 1;
    else this.#samples += 1;
    if (split !== undefined)
      this.#split(split, isCopy ? { samples: 0, copies: 1 } : { samples: 1, copies: 0 });
  }

  #split(name: string, { samples, copies }: { readonly samples: number; readonly copies: number }): void {
    const known = this.#splits.get(name) ?? { samples: 0, copies: 0 };
    this.#splits.set(name, { samples: known.samples + samples, copies: known.copies + copies });
  }

  member(line: MemberLine): void {
    const { column: name = 'data', label, repeat, media, source } = line;
    const isCopy = repeat !== undefined;
    if (label !== undefined)
      this.#label(label, isCopy ? { samples: 0, copies: 1 } : { samples: 1, copies: 0 });
    if (isCopy) return;
    this.#ownLabels.add(line);
    const column = this.#column(name);
    column.add(line, this.#packed);
    if (this.#packed.preparesImages && source === undefined && media?.width !== undefined)
      column.unprepared += 1;
    if (media !== undefined) this.#pixels.addImage(media);
  }

  addAll(other: Tally): void {
    this.#samples += other.samples;
    this.#copies += other.copies;
    if (other.classes === undefined) this.#classes = undefined;
    for (const [name, counts] of Object.entries(other.classes ?? {})) this.#label(name, counts);
    for (const [name, counts] of Object.entries(other.splits ?? {})) this.#split(name, counts);
    for (const [name, column] of Object.entries(other.columns)) this.#column(name).addAll(column);
    if (other.pixels !== undefined) this.#pixels.add(other.pixels);
    if (other.ownLabels !== undefined) this.#ownLabels.addAll(other.ownLabels);
  }

  get tally(): Tally {
    const byName = <T>(all: Map<string, T>): (readonly [string, T])[] =>
      [...all].sort(([a], [b]) => (a < b ? -1 : 1));
    const columns = byName(this.#columns).map(([name, column]) => [name, column.stored] as const);
    const pixels = this.#pixels.stored;
    const ownLabels = this.#ownLabels.stored;
    return {
      version: 1,
      samples: this.#samples,
      copies: this.#copies,
      ...(this.#classes && { classes: Object.fromEntries(byName(this.#classes)) }),
      ...(this.#splits.size > 0 && { splits: Object.fromEntries(byName(this.#splits)) }),
      columns: Object.fromEntries(columns),
      ...(ownLabels && { ownLabels }),
      ...(pixels && { pixels }),
    };
  }

  #label(name: string, { samples, copies }: { readonly samples: number; readonly copies: number }): void {
    if (this.#classes === undefined) return;
    const known = this.#classes.get(name) ?? { samples: 0, copies: 0 };
    this.#classes.set(name, { samples: known.samples + samples, copies: known.copies + copies });
    if (this.#classes.size > MOST_CLASSES) this.#classes = undefined;
  }

  #column(name: string): ColumnTally {
    const known = this.#columns.get(name);
    if (known !== undefined) return known;
    if (this.#columns.size >= MOST_COLUMNS && name !== OTHER_COLUMNS) return this.#column(OTHER_COLUMNS);
    const column = new ColumnTally();
    this.#columns.set(name, column);
    return column;
  }
}

export interface MainMember {
  /** Half of the SHA-256 of the object that was read. */
  readonly half: bigint;
  readonly key: string;
  readonly dhash: string | undefined;
}

/**
 * Groups member lines into samples. The largest member with a digest stands for its sample: an image rather than its
 * label, whose few bytes many samples share.
 */
export class SampleScan {
  readonly #see: (main: MainMember, label: string | undefined) => void;
  readonly #start: (isCopy: boolean) => void;
  #current = '';
  #main: MemberLine | undefined;
  #label: string | undefined;

  constructor(
    see: (main: MainMember, label: string | undefined) => void,
    start: (isCopy: boolean) => void = () => undefined,
  ) {
    this.#see = see;
    this.#start = start;
  }

  add(line: MemberLine): void {
    const { sample, repeat } = line;
    const id = `${sample}/${repeat ?? ''}`;
    if (id !== this.#current) {
      this.end();
      this.#current = id;
      this.#start(repeat !== undefined);
    }
    if (repeat !== undefined) return;
    this.#label ??= line.label;
    if (line.key !== undefined && (this.#main === undefined || weightOf(line) > weightOf(this.#main)))
      this.#main = line;
  }

  /** After the last line of a list. */
  end(): void {
    const { key, sha256 = '', source, media } = this.#main ?? {};
    const digest = source?.sha256 ?? sha256;
    if (key !== undefined && digest !== '')
      this.#see({ half: halfOf(digest), key, dhash: media?.dhash }, this.#label);
    this.#current = '';
    this.#main = undefined;
    this.#label = undefined;
  }
}

const weightOf = ({ size, source }: MemberLine): number => source?.size ?? size;

/** The tally of one generation with its digests, and the looks of its prepared images. */
export class GenerationTally {
  readonly #counter: TallyCounter;
  readonly #digests = new NumberList();
  readonly #looks = new NumberList();
  readonly #splits = new Map<SplitName, NumberList>();
  #split: SplitName | undefined;
  readonly #scan = new SampleScan(
    ({ half, dhash }) => {
      this.#digests.push(half);
      if (this.#split !== undefined) this.#digestsOf(this.#split).push(half);
      if (dhash === undefined) return;
      this.#looks.push(halfOf(dhash));
      this.#looks.push(half);
    },
    (isCopy) => {
      this.#counter.sample(isCopy, this.#split);
    },
  );

  constructor(packed: PackedAs) {
    this.#counter = new TallyCounter(packed);
  }

  #digestsOf(split: SplitName): NumberList {
    const list = this.#splits.get(split) ?? new NumberList();
    this.#splits.set(split, list);
    return list;
  }

  /** Before the first line of a shard. */
  beginShard(name: string): void {
    this.#split = splitOfShard(name);
    if (this.#split !== undefined) this.#digestsOf(this.#split);
  }

  add(line: MemberLine): void {
    this.#scan.add(line);
    this.#counter.member(line);
  }

  /** After the last line of a shard. */
  endShard(): void {
    this.#scan.end();
  }

  get tally(): Tally {
    return this.#counter.tally;
  }

  /** Sorted. */
  digests(): BigUint64Array {
    return this.#digests.sorted();
  }

  /** Sorted, of each split. */
  splits(): ReadonlyMap<SplitName, BigUint64Array> {
    return new Map([...this.#splits].map(([name, digests]) => [name, digests.sorted()]));
  }

  /** Pairs of a perceptual hash and the half digest of its image. */
  get looks(): BigUint64Array {
    return this.#looks.values;
  }
}
