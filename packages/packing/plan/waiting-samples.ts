/**
 * Samples that a later run packs: one of their objects cannot be read yet, or has not arrived. Those that wait too long
 * are rejected. The columns of other samples say what is missing.
 */

import { GrowingNumbers } from '@tidewheel/kit/growing-numbers.ts';
import type { ListedBlob } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { Deferral } from '../documents/rejections.ts';

/** A text or label beside an image or a sound. Alone, it is no sample of a dataset of images. */
const SIDECARS = new Set(['label', 'json', 'txt', 'text', 'caption', 'xml', 'yaml', 'yml']);

const isSidecar = (column: string): boolean => SIDECARS.has(column);

export interface SampleColumns {
  readonly samples: number;
  /** How many samples have each. */
  readonly columns: Readonly<Record<string, number>>;
}

const NO_COLUMNS: SampleColumns = { samples: 0, columns: {} };

/** How many samples have a column that is no sidecar, at least. */
const hasData = ({ columns }: SampleColumns): number =>
  Math.max(0, ...Object.entries(columns).map(([column, count]) => (isSidecar(column) ? 0 : count)));

export function sumOfColumns(all: Iterable<SampleColumns | undefined>): SampleColumns {
  let samples = 0;
  const columns = new Map<string, number>();
  for (const one of all) {
    if (one === undefined) continue;
    samples += one.samples;
    for (const [column, count] of Object.entries(one.columns))
      columns.set(column, (columns.get(column) ?? 0) + count);
  }
  return { samples, columns: mostCommon(columns) };
}

/** Names of members may make any number of columns. */
const MOST_KEPT = 50;

export const mostCommon = (columns: ReadonlyMap<string, number>): Record<string, number> =>
  Object.fromEntries(
    [...columns]
      .sort(([a, first], [b, second]) => second - first || (a < b ? -1 : 1))
      .slice(0, MOST_KEPT)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

export interface WaitingRules {
  /** Columns that each sample must have; `learn`: those of nearly all samples of the first generation. */
  readonly require?: readonly string[] | 'learn' | undefined;
  readonly waitHours: number;
  /** Every sample gets a label, so it need not bring one. */
  readonly makesLabels: boolean;
}

/** Columns of the generations before. */
export interface EarlierColumns {
  readonly all: SampleColumns;
  /** What the oldest of them has. */
  readonly first?: SampleColumns | undefined;
}

/** @param manifests oldest first */
export function columnsBefore(manifests: readonly Pick<Manifest, 'columns'>[]): EarlierColumns {
  const all = manifests.flatMap(({ columns }) => columns ?? []);
  return { all: sumOfColumns(all), first: all[0] };
}

export interface Waiting {
  readonly reason: Deferral | 'requiredMissing';
  /** When the last object of the sample arrived, in seconds since 1970. */
  readonly since: number;
}

/** Columns of a sample as bits. Further columns than these count as one. */
const MOST_COLUMNS = 28;
/** A compaction says whether it corrects a whole sample. */
const KNOWN = 1 << 28;
const ARCHIVED = 1 << 29;
const DATA = 1 << 30;

/** So many samples at least, and this share of them, must have a column that is learnt. */
const LEARNT_FROM = 10;
const LEARNT_SHARE = 0.9;

/** Samples are known by their numbers. A sample waits as a whole. */
export class WaitingSamples {
  readonly #rules: WaitingRules;
  readonly #bits = new Map<string, number>();
  readonly #marks = new GrowingNumbers();
  readonly #arrived = new GrowingNumbers();
  #samples = 0;
  #withData = 0;
  #isAnyArchived = false;
  /** Set by `decide`. */
  #required = 0;
  #wantsData = false;
  #oldest = Number.NEGATIVE_INFINITY;

  constructor(rules: WaitingRules) {
    this.#rules = rules;
    if (rules.require !== 'learn') for (const column of rules.require ?? []) this.#bitOf(column);
  }

  #bitOf(column: string): number {
    const known = this.#bits.get(column);
    if (known !== undefined) return known;
    const bit = this.#bits.size < MOST_COLUMNS ? 1 << this.#bits.size : 0;
    this.#bits.set(column, bit);
    return bit;
  }

  add(
    sample: number,
    { column, isKnown }: { readonly column: string; readonly isKnown: boolean },
    { lastModified, archived }: ListedBlob,
  ): void {
    const at = Math.floor(Date.parse(lastModified) / 1_000);
    if (at > this.#arrived.at(sample)) this.#arrived.set(sample, at);
    const before = this.#marks.at(sample);
    const data = isSidecar(column) ? 0 : DATA;
    const more = (archived === true ? ARCHIVED : 0) | (isKnown ? KNOWN : 0);
    this.#marks.set(sample, before | this.#bitOf(column) | data | more);
    this.#samples = Math.max(this.#samples, sample + 1);
    if (data !== 0 && (before & DATA) === 0) this.#withData += 1;
    this.#isAnyArchived ||= archived === true;
  }

  /**
   * Call it after the last object.
   * @param planned columns of this plan
   * @param at when the listing began, in milliseconds
   * @returns the learnt columns, if any
   */
  decide(planned: SampleColumns, { all, first }: EarlierColumns, at: number): readonly string[] | undefined {
    const { require, waitHours, makesLabels } = this.#rules;
    const learnt = require === 'learn' ? columnsOfMost(first ?? planned) : undefined;
    const required = (learnt ?? (require === 'learn' ? [] : (require ?? []))).filter(
      (column) => !(makesLabels && column === 'label'),
    );
    for (const column of required) this.#required |= this.#bitOf(column);
    const data = this.#withData + hasData(all);
    this.#wantsData = require?.length !== 0 && 2 * data > this.#samples + all.samples;
    this.#oldest = at / 1_000 - waitHours * 3_600;
    return learnt;
  }

  /** Whether `of` may have an answer. */
  get isAny(): boolean {
    return this.#isAnyArchived || this.#required !== 0 || (this.#wantsData && this.#withData < this.#samples);
  }

  /** The columns of the samples that are planned. @param all of all samples */
  columnsOfPlanned(
    all: ReadonlyMap<string, number>,
    isPlanned: (sample: number) => boolean,
  ): { readonly samples: number; readonly columns: ReadonlyMap<string, number> } {
    const columns = new Map(all);
    let samples = 0;
    for (let sample = 0; sample < this.#samples; sample += 1) {
      if (isPlanned(sample)) {
        samples += 1;
        continue;
      }
      const marks = this.#marks.at(sample);
      for (const [column, bit] of this.#bits)
        if ((marks & bit) !== 0) columns.set(column, (columns.get(column) ?? 0) - 1);
    }
    return { samples, columns };
  }

  /** When its last object arrived, in seconds since 1970. */
  arrivedAt(sample: number): number {
    return this.#arrived.at(sample);
  }

  of(sample: number): Waiting | undefined {
    const marks = this.#marks.at(sample);
    const since = this.#arrived.at(sample);
    if ((marks & ARCHIVED) !== 0) return { reason: 'archived', since };
    const isAlone = this.#wantsData && (marks & (DATA | KNOWN)) === 0;
    const isWhole = (marks & this.#required) === this.#required && !isAlone;
    if (isWhole) return undefined;
    return { reason: since <= this.#oldest ? 'requiredMissing' : 'incomplete', since };
  }
}

const columnsOfMost = ({ samples, columns }: SampleColumns = NO_COLUMNS): readonly string[] =>
  samples < LEARNT_FROM
    ? []
    : Object.entries(columns)
        .filter(([column, count]) => column !== 'label' && count >= LEARNT_SHARE * samples)
        .map(([column]) => column)
        .sort();
