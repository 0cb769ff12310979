/**
 * Splits of a dataset. A hash of the sample's key or group alone decides its split, so a sample that is replaced, and
 * one that a later drop adds to a group, come to the same one. Or the data gives it, by folders or lists. The shards of
 * each split lie in a folder of their own.
 */

import { hash } from 'node:crypto';
import {
  partsOf,
  SPLITS,
  type SplitName,
  type SplitSettings,
} from '@tidewheel/declaration/packing-settings.ts';
import { boundedSearch } from '@tidewheel/kit/bounded-search.ts';
import type { EvenCounts, PlannedSplit } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { type Naming, sampleKey, splitByFolder } from '../documents/sample-names.ts';
import type { SplitLists } from './split-lists.ts';

/** 48 bits of a hash are exact in a number. */
const HASHED_DIGITS = 12;
const HASHES = 16 ** HASHED_DIGITS;

/** From 0 to below 1, by a hash. */
export const hashPlace = (text: string): number =>
  Number.parseInt(hash('sha256', text).slice(0, HASHED_DIGITS), 16) / HASHES;

/**
 * The split of each key under incoming/. Composed and decomposed forms of a letter count as one, because a person who
 * reads the key sees one group.
 */
export class SplitRule {
  readonly #parts: readonly (readonly [end: number, name: SplitName])[];
  readonly #pattern: RegExp | undefined;
  readonly #naming: Naming;
  readonly #split: SplitSettings;
  readonly #lists: SplitLists | undefined;

  /** @param lists for a split by lists */
  constructor(split: SplitSettings, naming: Naming = {}, lists?: SplitLists) {
    this.#naming = naming;
    this.#split = split;
    this.#lists = lists;
    let end = 0;
    this.#parts = partsOf(split).map((name) => {
      const share = split[name];
      end += typeof share === 'number' ? share : 0;
      return [end, name] as const;
    });
    this.#pattern =
      split.by === 'group' && split.groupPattern !== undefined
        ? new RegExp(split.groupPattern, 'u')
        : undefined;
  }

  /** @param key without the incoming prefix @returns undefined if no group, folder or list is found for it */
  of(key: string): SplitName | undefined {
    if (this.#split.by === 'folder') return splitByFolder(key, this.#split);
    const { stem } = sampleKey(key, this.#naming);
    if (this.#split.by === 'list') return this.#lists?.of(key, stem);
    const group =
      this.#pattern === undefined
        ? stem
        : boundedSearch('packing.split.groupPattern', this.#pattern, stem)?.[1];
    if (group === undefined || group === '') return undefined;
    const place = hashPlace(group.normalize('NFC'));
    return (this.#parts.find(([end]) => place < end) ?? this.#parts.at(-1))?.[1];
  }
}

/** The split whose folder a shard's name begins with. */
export const splitOfShard = (name: string): SplitName | undefined =>
  SPLITS.find((split) => name.startsWith(`${split}/`));

interface Numbered {
  readonly splits?: readonly PlannedSplit[] | undefined;
  readonly even?: EvenCounts | undefined;
}

/** The split of a shard by its number. */
export const plannedSplitOf = <Split extends { readonly first: number }>(
  splits: readonly Split[] | undefined,
  shard: number,
): Split | undefined => splits?.findLast(({ first }) => first <= shard);

/** How many samples the shard must hold, or none, if counts are made even. */
export function evenCountOf({ splits, even: whole }: Numbered, shard: number): number | undefined {
  const split = plannedSplitOf(splits, shard);
  const even = split === undefined ? whole : split.even;
  return even !== undefined && shard - (split?.first ?? 0) < even.shards ? even.samples : undefined;
}

/** A sample lies in the shard of another split. */
export interface Misplaced {
  readonly key: string;
  readonly shard: string;
  readonly belongsTo: SplitName | undefined;
}

/** Compares the split of each sample with that of its shard. */
export class SplitCheck {
  readonly #rule: SplitRule | undefined;
  readonly #incoming: string;
  readonly #isJoined: boolean;
  readonly misplaced: Misplaced[] = [];
  #shard = '';
  #sample = -1;

  /** Lists may have changed since, so a split by lists is not compared. */
  constructor({ split, ...naming }: Pick<Manifest, 'split' | 'innerSuffixes' | 'join'>, incoming: string) {
    this.#rule = split === undefined || split.by === 'list' ? undefined : new SplitRule(split, naming);
    this.#incoming = incoming;
    this.#isJoined = naming.join !== undefined;
  }

  /**
   * Looks at the first member with a key of each sample, because all members have one stem. Where folders are joined,
   * only some of them may name a split.
   */
  add(shard: string, { key, sample }: { readonly key?: string | undefined; readonly sample: number }): void {
    const isSeen = shard === this.#shard && sample === this.#sample;
    if (key === undefined || isSeen || this.#rule === undefined) return;
    const belongsTo = this.#rule.of(key.slice(this.#incoming.length));
    if (belongsTo === undefined && this.#isJoined) return;
    this.#shard = shard;
    this.#sample = sample;
    if (belongsTo === undefined || belongsTo !== splitOfShard(shard))
      this.misplaced.push({ key, shard, belongsTo });
  }
}

export const misplacedText = ({ key, shard, belongsTo }: Misplaced): string =>
  `${JSON.stringify(key)} is in ${shard}, but ${belongsTo === undefined ? 'no split is found for it' : `belongs to ${belongsTo}`}`;

/** Counts the sealed shards of each planned split. */
export const sealedSplits = (
  splits: readonly PlannedSplit[],
  shards: Manifest['shards'],
): NonNullable<Manifest['splits']> =>
  splits.map((split) => {
    const mine = shards.filter(({ name }) => splitOfShard(name) === split.name);
    const sum = (of: 'samples' | 'bytes'): number => mine.reduce((total, one) => total + one[of], 0);
    return { ...split, shards: mine.length, samples: sum('samples'), bytes: sum('bytes') };
  });

/** The split of each sample of a plan, by its number. */
export class SampleSplits {
  readonly #rule: SplitRule;
  readonly #places: number[] = [];
  #isAnyMissing = false;

  constructor(split: SplitSettings, naming: Naming, lists?: SplitLists) {
    this.#rule = new SplitRule(split, naming, lists);
  }

  /** Call it for the first member of each sample, in order. @param key without the incoming prefix */
  add(key: string): void {
    const name = this.#rule.of(key);
    this.#isAnyMissing ||= name === undefined;
    this.#places.push(name === undefined ? -1 : SPLITS.indexOf(name));
  }

  /** A further member of a sample, whose folder may say what the first did not. */
  addMember(sample: number, key: string): void {
    if (this.#places[sample] !== -1) return;
    const name = this.#rule.of(key);
    if (name !== undefined) this.#places[sample] = SPLITS.indexOf(name);
  }

  /** Undefined if no group was found in its key. */
  of(sample: number): SplitName | undefined {
    return SPLITS[this.#places[sample] ?? -1];
  }

  get isAnyMissing(): boolean {
    return this.#isAnyMissing;
  }
}
