/** Collects the arrivals in one pass over the listing: which are rejected at once, and which keys form a sample. */

import { createHash } from 'node:crypto';
import type { SplitName } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { GrowingNumbers } from '@tidewheel/kit/growing-numbers.ts';
import { type IsIgnored, keyRejection } from '../arrivals/rejected-keys.ts';
import type { ListedBlob } from '../documents/blob-store.ts';
import { columnOf } from '../documents/columns.ts';
import { CompressedLines } from '../documents/compressed-lines.ts';
import { type ArrivalLine, type Dots, parseArrival } from '../documents/documents.ts';
import { expectedBytes, expectedMaskBytes, preparedAs } from '../documents/image-preparation.ts';
import { dotsIn, memberStem, memberSuffix, splitKey } from '../documents/member-names.ts';
import type { Rejection } from '../documents/rejections.ts';
import { labelOfKey, type Naming, sampleKey } from '../documents/sample-names.ts';
import type { ShardFormat } from '../documents/shard-format.ts';
import { AlikeNumbers, type LabelNumber } from '../labels/alike-numbers.ts';
import type { SampleLabels } from '../labels/sample-labels.ts';
import type { SplitLists } from '../splits/split-lists.ts';
import { SampleSplits } from '../splits/split-rule.ts';
import { BundledSamples } from './assign-samples.ts';
import { type Balance, balance } from './balance.ts';
import { ReturningSamples } from './returning-samples.ts';
import {
  type EarlierColumns,
  mostCommon,
  type SampleColumns,
  type Waiting,
  WaitingSamples,
} from './waiting-samples.ts';

export interface AcceptRules {
  readonly incoming: string;
  readonly format: ShardFormat;
  readonly settings: PackingSettings;
  /** Takes a key without the incoming prefix. By default none is ignored. */
  readonly isIgnored?: IsIgnored | undefined;
  /** Labels from a file of annotations. */
  readonly labels?: SampleLabels | undefined;
  /** For a split by lists. */
  readonly lists?: SplitLists | undefined;
}

interface Earlier {
  readonly earlier: EarlierColumns;
  /** Labels of all earlier generations. */
  readonly labels: Iterable<string>;
  /** When the listing began, in milliseconds. */
  readonly at: number;
}

const DIGESTED_AT_ONCE = 64 * 1024;

/** Only so many different columns are counted. */
const MOST_COLUMNS = 1_000;

/** Some of them may be unreadable. */
const MOST_FIRST = 16;

function labelNumberOf({ format, settings }: AcceptRules): LabelNumber | undefined {
  const of = format.takes === 'samples' ? format.labelNumber : undefined;
  return of && ((label) => of(label, settings));
}

interface SampleMembership {
  /** Number of the sample: samples are counted from 0 by their first members. */
  readonly ordinal: number;
  /** The key is a sample of its own: another member of its stem has this suffix, or the sample is full. */
  readonly alone: boolean;
  /** The key begins a new sample. */
  readonly first: boolean;
}

interface OpenSample {
  readonly stem: string;
  readonly ordinal: number;
  readonly suffixes: Set<string>;
}

/** More members than this come from a habit of naming files, not from a sample. The others stand alone. */
const LARGEST_SAMPLE = 64;

/**
 * The members of the sample `s` are keys that begin with `s.`. A listing keeps keys with a common beginning together,
 * so only keys of other samples that begin with `s.` too can lie between them. The open samples form a stack, as deep
 * as such names nest. Members that are joined by a declaration may lie anywhere, so then all samples stay open.
 */
class SampleGrouper {
  readonly #open: OpenSample[] = [];
  readonly #joined = new Map<string, OpenSample>();
  readonly naming: Naming;
  readonly dots: Dots = {};
  #count = 0;

  constructor(naming: Naming) {
    this.naming = naming;
  }

  get count(): number {
    return this.#count;
  }

  /** Keys must come in the order of compareKeys, without the incoming prefix. */
  place(key: string): SampleMembership {
    const { stem, suffix } = sampleKey(key, this.naming);
    this.#note(key, dotsIn(splitKey(key, this.naming.innerSuffixes)));
    while (this.#open.length > 0) {
      const top = this.#open[this.#open.length - 1];
      if (top === undefined || key.startsWith(`${top.stem}.`)) break;
      this.#open.pop();
    }
    const folded = memberSuffix(suffix);
    const mine = this.#joined.get(stem) ?? this.#open.findLast((sample) => sample.stem === stem);
    if (mine === undefined || suffix === '') return this.#begin(stem, suffix === '' ? undefined : folded);
    if (mine.suffixes.has(folded) || mine.suffixes.size >= LARGEST_SAMPLE) return this.#alone();
    mine.suffixes.add(folded);
    if (this.naming.join === undefined && !suffix.includes('.')) this.#note(key, 'paired');
    return { ordinal: mine.ordinal, alone: false, first: false };
  }

  #note(example: string, dots: keyof Dots | undefined): void {
    if (dots === undefined) return;
    this.dots[dots] = { example, ...this.dots[dots], objects: (this.dots[dots]?.objects ?? 0) + 1 };
  }

  #begin(stem: string, folded: string | undefined): SampleMembership {
    const ordinal = this.#count;
    this.#count += 1;
    if (folded === undefined) return { ordinal, alone: true, first: true };
    const sample = { stem, ordinal, suffixes: new Set([folded]) };
    if (this.naming.join === undefined) this.#open.push(sample);
    else this.#joined.set(stem, sample);
    return { ordinal, alone: false, first: true };
  }

  #alone(): SampleMembership {
    const ordinal = this.#count;
    this.#count += 1;
    return { ordinal, alone: true, first: true };
  }
}

/** The class of each planned sample by its key. Equal texts are held once. */
class PlannedClasses {
  readonly #classes: (string | undefined)[] = [];
  readonly #names = new Map<string, string>();

  note(sample: number, label: string): void {
    const shared = this.#names.get(label) ?? label;
    this.#names.set(shared, shared);
    this.#classes[sample] = shared;
  }

  /** Its label is read only when it is packed. */
  forget(sample: number): void {
    this.#classes[sample] = undefined;
  }

  of(sample: number): string | undefined {
    return this.#classes[sample];
  }
}

/** Arrivals are added in the listing's order. Memory is their compressed lines. */
export class DraftPlan {
  #arrivals = new CompressedLines();
  readonly #rules: AcceptRules;
  readonly grouper: SampleGrouper;
  readonly #bytes = new GrowingNumbers();
  readonly #objects = new GrowingNumbers();
  /** Bytes to be read; only if images are prepared. */
  readonly #sources: GrowingNumbers | undefined;
  readonly #digest = createHash('sha256');
  /** Lines that are not yet in the digest. Hashing many at once is cheaper. */
  #toDigest = '';
  readonly #columns = new Map<string, number>();
  readonly #waiting: WaitingSamples;
  readonly returning = new ReturningSamples();
  readonly bundled = new BundledSamples();
  readonly #splits: SampleSplits | undefined;
  readonly #labelNumber: LabelNumber | undefined;
  /** The first arrivals that can be read and are not empty. */
  readonly first: ListedBlob[] = [];
  #samples = 0;
  #labelled = 0;
  objects = 0;
  bytes = 0;
  rejected = 0;
  /** Rejected because their owner has deleted them. */
  removed = 0;
  /** Set by `finish`, for formats of samples. */
  sampleColumns: SampleColumns | undefined;
  /** Set by `finish`: columns that each sample must have, if they are learnt. */
  learnt: readonly string[] | undefined;
  /** Set by `finish`, if the pipeline declares a balance. */
  balance: Balance | undefined;
  /** Only where classes are compared. */
  readonly #classes = new PlannedClasses();

  constructor(rules: AcceptRules) {
    this.#rules = rules;
    const { require, waitHours, label, split, innerSuffixes, join } = rules.settings;
    this.#labelNumber = labelNumberOf(rules);
    const naming = { innerSuffixes, join };
    this.#splits = split && new SampleSplits(split, naming, rules.lists);
    this.grouper = new SampleGrouper(naming);
    this.#waiting = new WaitingSamples({ require, waitHours, makesLabels: label !== 'none' });
    this.#sources = rules.settings.prepare === undefined ? undefined : new GrowingNumbers();
  }

  get samples(): number {
    return this.#samples;
  }

  get arrivals(): CompressedLines {
    return this.#arrivals;
  }

  isPlanned(ordinal: number): boolean {
    return this.#refusalOf(ordinal) === undefined && this.#waitingOf(ordinal) === undefined;
  }

  /** Undefined without a declared split. */
  splitOf(ordinal: number): SplitName | undefined {
    return this.#splits?.of(ordinal);
  }

  #waitingOf(ordinal: number): Waiting | undefined {
    const waiting = this.#waiting.of(ordinal);
    if (waiting !== undefined) return waiting;
    const isGroupless = this.#splits !== undefined && this.#splits.of(ordinal) === undefined;
    return isGroupless ? { reason: 'groupMissing', since: this.#waiting.arrivedAt(ordinal) } : undefined;
  }

  #refusalOf(ordinal: number): Rejection | undefined {
    const refusal = this.#rules.labels?.refusalOf(ordinal);
    return refusal ?? (this.balance?.leftOut.has(ordinal) === true ? 'balancedOut' : undefined);
  }

  /** The end of the line of an arrival that is not packed: a rejection, or why it waits and since when. */
  #outcomeOf(ordinal: number): readonly (string | number)[] {
    const refusal = this.#refusalOf(ordinal);
    if (refusal !== undefined) return [refusal];
    const waiting = this.#waitingOf(ordinal);
    if (waiting?.reason === 'requiredMissing') return [waiting.reason];
    return waiting === undefined ? [] : [waiting.reason, waiting.since];
  }

  /**
   * Call it once, after the last arrival. It rejects samples as a whole: for their label, or to balance the classes.
   */
  finish({ earlier, labels: sealed, at }: Earlier): void {
    const { labels, settings } = this.#rules;
    if (this.#rules.format.takes === 'samples') {
      this.sampleColumns = { samples: this.#samples, columns: mostCommon(this.#columns) };
      this.learnt = this.#waiting.decide(this.sampleColumns, earlier, at);
    }
    this.#checkNumbers(sealed);
    const { balance: mode } = settings;
    if (mode !== undefined) {
      const isBalanced = (sample: number): boolean =>
        this.isPlanned(sample) && (this.#splits === undefined || this.#splits.of(sample) === 'train');
      const classOf = (sample: number): string | undefined =>
        isBalanced(sample) ? this.#classOf(sample) : undefined;
      this.balance = balance({ count: this.#samples, classOf }, mode, `${settings.seed}`);
    }
    if (!this.#mayLeave) return;
    this.#noteOutcomes();
    for (let ordinal = 0; ordinal < this.#samples; ordinal += 1)
      if (labels?.labelOf(ordinal) !== undefined && this.isPlanned(ordinal)) this.#labelled += 1;
  }

  #classOf(sample: number): string | undefined {
    return this.#rules.labels?.labelOf(sample) ?? this.#classes.of(sample);
  }

  /** @throws ConfigurationError if the shards would hold two classes as one number */
  #checkNumbers(sealed: Iterable<string>): void {
    if (this.#labelNumber === undefined) return;
    const alike = new AlikeNumbers(this.#labelNumber, sealed);
    for (let sample = 0; sample < this.#samples; sample += 1) {
      const label = this.isPlanned(sample) ? this.#classOf(sample) : undefined;
      if (label !== undefined) alike.add(label);
    }
    alike.check();
  }

  /** Whether some samples may not be planned. */
  get #mayLeave(): boolean {
    const isAnyWaiting = this.#waiting.isAny || this.#splits?.isAnyMissing === true;
    return this.#rules.labels !== undefined || this.balance !== undefined || isAnyWaiting;
  }

  /** Replaces the number of a sample that is not packed by its outcome. */
  #noteOutcomes(): void {
    const finished = new CompressedLines();
    for (const text of this.#arrivals.read()) {
      const [key, size, etag, sample] = parseArrival(text);
      const outcome = typeof sample === 'number' ? this.#outcomeOf(sample) : [];
      if (outcome.length === 1) this.rejected += 1;
      finished.add(outcome.length === 0 ? text : JSON.stringify([key, size, etag, ...outcome]));
    }
    this.#arrivals = finished;
  }

  /** Columns that at least half of the planned samples have. */
  columns(): string[] {
    const { samples, columns } = this.#mayLeave
      ? this.#waiting.columnsOfPlanned(this.#columns, (sample) => this.isPlanned(sample))
      : { samples: this.#samples, columns: this.#columns };
    const most = [...columns].filter(([, count]) => count * 2 >= samples).map(([column]) => column);
    const labelled = this.#labelled > 0 && this.#labelled * 2 >= samples;
    if (labelled && !most.includes('label')) most.push('label');
    return most.sort();
  }

  bytesOf(ordinal: number): number {
    return this.#bytes.at(ordinal);
  }

  objectsOf(ordinal: number): number {
    return this.#objects.at(ordinal);
  }

  get preparesImages(): boolean {
    return this.#sources !== undefined;
  }

  sourceBytesOf(ordinal: number): number {
    return this.#sources?.at(ordinal) ?? 0;
  }

  /** @param isKnown an earlier generation packed its key */
  add(object: ListedBlob, isKnown = false): void {
    const key = object.key.slice(this.#rules.incoming.length);
    this.#note(this.#place(key, object, isKnown));
    this.bytes += object.size;
  }

  /** A packed object that its owner has deleted. */
  remove({ key, size, etag }: ListedBlob): void {
    this.#note([key, size, etag, 'removed']);
    this.removed += 1;
    this.rejected += 1;
  }

  #note(arrival: ArrivalLine): void {
    const line = JSON.stringify(arrival);
    this.#arrivals.add(line);
    this.#toDigest += line;
    if (this.#toDigest.length >= DIGESTED_AT_ONCE) this.#digestPending();
    this.objects += 1;
  }

  /** Names the lists. The same arrivals and settings give the same plan. */
  digest(settings: string): string {
    this.#digestPending();
    return this.#digest.copy().update(settings).digest('hex').slice(0, 24);
  }

  #digestPending(): void {
    this.#digest.update(this.#toDigest);
    this.#toDigest = '';
  }

  #place(key: string, object: ListedBlob, isKnown: boolean): ArrivalLine {
    const reason = keyRejection(key, object, this.#rules);
    if (reason !== undefined) {
      this.rejected += 1;
      return [object.key, object.size, object.etag, reason];
    }
    if (object.size > 0 && object.archived !== true && this.first.length < MOST_FIRST)
      this.first.push(object);
    const { ordinal, alone, first } = this.#member(key);
    this.returning.add(ordinal, { isKnown, isFirst: first });
    const { stem, suffix: raw } = sampleKey(key, this.#rules.settings);
    const suffix = memberSuffix(raw);
    const name = `${memberStem(stem, alone ? key : undefined)}.${suffix}`;
    const column = columnOf(suffix);
    this.#rules.labels?.add(ordinal, key, column === 'label');
    if (first) this.#begin(ordinal, key, object.etag);
    else this.#splits?.addMember(ordinal, key);
    // A sample's own label file is read only when the sample is packed.
    if (column === 'label') this.#classes.forget(ordinal);
    this.#count(column);
    this.#bytes.add(ordinal, this.#rules.format.plannedBytes(name, this.#sizeOf(object, suffix)));
    this.#sources?.add(ordinal, object.size);
    this.#objects.add(ordinal, 1);
    this.#waiting.add(ordinal, { column, isKnown }, object);
    return [object.key, object.size, object.etag, ordinal, alone ? 1 : 0];
  }

  /** Bytes in the shard; a guess for an image that will be prepared. */
  #sizeOf({ size }: ListedBlob, suffix: string): number {
    const { settings } = this.#rules;
    const image = settings.prepare?.image;
    const as = preparedAs(settings, columnOf(suffix), suffix);
    if (image === undefined || as === undefined) return size;
    return as === 'mask' ? expectedMaskBytes(image, size) : expectedBytes(image, size);
  }

  /** Takes the first member of a sample. */
  #begin(ordinal: number, key: string, etag: string): void {
    this.bundled.add(ordinal, etag);
    this.#splits?.add(key);
    this.#noteLabel(ordinal, labelOfKey(key, this.#rules.settings));
  }

  #noteLabel(ordinal: number, label: string | undefined): void {
    if (label !== undefined) this.#labelled += 1;
    const isNumbered = this.#rules.settings.balance !== undefined || this.#labelNumber !== undefined;
    if (label !== undefined && isNumbered) this.#classes.note(ordinal, label);
  }

  #member(key: string): SampleMembership {
    const member =
      this.#rules.format.takes === 'samples'
        ? this.grouper.place(key)
        : { ordinal: this.#samples, alone: true, first: true };
    if (member.first) this.#samples += 1;
    return member;
  }

  #count(column: string): void {
    const count = this.#columns.get(column);
    if (count !== undefined || this.#columns.size < MOST_COLUMNS) this.#columns.set(column, (count ?? 0) + 1);
  }
}
