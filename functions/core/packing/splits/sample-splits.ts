/** The split of each sample of a plan, by its number. */
import { isDeepStrictEqual } from 'node:util';
import { SPLITS, type SplitName, type SplitSettings } from '../../pipeline/splits.ts';
import { ConfigurationError } from '../../shared/errors.ts';
import type { Manifest } from '../model/manifest.ts';
import { SplitRule } from './split-rule.ts';

export class SampleSplits {
  readonly #rule: SplitRule;
  readonly #places: number[] = [];
  #isAnyMissing = false;

  constructor(split: SplitSettings) {
    this.#rule = new SplitRule(split);
  }

  /** Call it for the first member of each sample, in order. @param key without the incoming prefix */
  add(key: string): void {
    const name = this.#rule.of(key);
    this.#isAnyMissing ||= name === undefined;
    this.#places.push(name === undefined ? -1 : SPLITS.indexOf(name));
  }

  /** Undefined if no group was found in its key. */
  of(sample: number): SplitName | undefined {
    return SPLITS[this.#places[sample] ?? -1];
  }

  get isAnyMissing(): boolean {
    return this.#isAnyMissing;
  }
}

/**
 * Under another rule a group could get a second split.
 * @param manifests of generations that are not replaced @throws ConfigurationError
 */
export function checkSameSplit(split: SplitSettings | undefined, manifests: readonly Manifest[]): void {
  const other = manifests.find(
    (one) => one.shards.length > 0 && one.pruned !== true && !isDeepStrictEqual(one.split, split),
  );
  if (other === undefined) return;
  throw new ConfigurationError(
    `packing.split is ${shown(split)}, but ${other.generation} was packed with ${shown(other.split)}, so a group could be in two splits: declare it as it was, or drop the data into a new pipeline, or let the next run pack it again: tidewheel data repair ${other.pipeline} ${other.generation} --give-up`,
  );
}

const shown = (split: SplitSettings | undefined): string =>
  split === undefined ? 'not declared' : JSON.stringify(split);
