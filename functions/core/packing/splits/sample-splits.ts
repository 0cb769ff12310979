/** The split of each sample of a plan, by its number. */
import { SPLITS, type SplitName, type SplitSettings } from '../../pipeline/splits.ts';
import { SplitRule } from './split-rule.ts';

export class SampleSplits {
  readonly #rule: SplitRule;
  readonly #places: number[] = [];
  #isAnyMissing = false;

  constructor(split: SplitSettings, inner?: readonly string[]) {
    this.#rule = new SplitRule(split, inner);
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
