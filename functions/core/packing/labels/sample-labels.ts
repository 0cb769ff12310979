/** The label of every sample of a plan, while its members are listed one by one. */
import type { Rejection } from '../model/rejections.ts';
import type { Annotations } from './annotations.ts';

const UNSET = 0;
const DOUBLED = -1;
/** The sample brought a label of its own (.cls), which wins. */
const OWN = -2;

/** Labels by sample number, each text held once. */
export class SampleLabels {
  readonly #annotations: Annotations;
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();
  #labels = new Int32Array(1_024);

  constructor(annotations: Annotations) {
    this.#annotations = annotations;
  }

  /** To be called for every key listed, planned or not, so that rows without any object are known. */
  meet(key: string): void {
    this.#annotations.labelOf(key);
  }

  /** A member of the sample; `isLabel` for its own .cls. */
  add(ordinal: number, key: string, isLabel: boolean): void {
    if (ordinal >= this.#labels.length) {
      const larger = new Int32Array(Math.max(this.#labels.length * 2, ordinal + 1));
      larger.set(this.#labels);
      this.#labels = larger;
    }
    const held = this.#labels[ordinal] ?? UNSET;
    if (isLabel) this.#labels[ordinal] = OWN;
    const found = this.#annotations.labelOf(key);
    if (isLabel || held === OWN || held === DOUBLED || found === undefined) return;
    const number = found.kind === 'doubled' ? DOUBLED : this.#numberOf(found.label);
    this.#labels[ordinal] = held === UNSET || held === number ? number : DOUBLED;
  }

  labelOf(ordinal: number): string | undefined {
    const number = this.#labels[ordinal] ?? UNSET;
    return number > 0 ? this.#texts[number - 1] : undefined;
  }

  refusalOf(ordinal: number): Rejection | undefined {
    const number = this.#labels[ordinal] ?? UNSET;
    if (number === UNSET) return 'labelMissing';
    return number === DOUBLED ? 'labelDoubled' : undefined;
  }

  #numberOf(label: string): number {
    const known = this.#numbers.get(label);
    if (known !== undefined) return known;
    this.#texts.push(label);
    this.#numbers.set(label, this.#texts.length);
    return this.#texts.length;
  }
}
