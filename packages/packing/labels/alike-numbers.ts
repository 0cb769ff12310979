/** Labels that are different texts and the same number, where shards hold labels as numbers: `7` and `007`. */
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';

/** The number that shards hold of a label, as a text. Undefined for a label that is none. */
export type LabelNumber = (label: string) => string | undefined;

/** More different labels than this are no classes. */
const MOST_LABELS = 10_000;
const MOST_SHOWN = 10;

/** One class of such labels would train as the other, while all counts say that there are two. */
export class AlikeNumbers {
  readonly #numberOf: LabelNumber;
  /** What the dataset holds already is not refused. */
  readonly #sealed: ReadonlySet<string>;
  readonly #labels = new Map<string, string[]>();
  readonly #seen = new Set<string>();

  /** @param sealed labels of earlier generations */
  constructor(numberOf: LabelNumber, sealed: Iterable<string>) {
    this.#numberOf = numberOf;
    this.#sealed = new Set(sealed);
    for (const label of this.#sealed) this.add(label);
  }

  add(label: string): void {
    if (this.#seen.has(label) || this.#seen.size > MOST_LABELS) return;
    this.#seen.add(label);
    const number = this.#numberOf(label);
    if (number === undefined) return;
    const labels = this.#labels.get(number) ?? [];
    this.#labels.set(number, labels);
    labels.push(label);
  }

  /** @throws ConfigurationError that names all of them */
  check(): void {
    if (this.#seen.size > MOST_LABELS) return;
    const alike = [...this.#labels.values()].filter(
      (labels) => labels.length > 1 && labels.some((label) => !this.#sealed.has(label)),
    );
    if (alike.length === 0) return;
    const shown = alike.slice(0, MOST_SHOWN).map((labels) => labels.toSorted().map(quoted).join(' and '));
    const more = alike.length > MOST_SHOWN ? `, and ${alike.length - MOST_SHOWN} more` : '';
    throw new ConfigurationError(
      `the shards hold labels as numbers, and these are the same number: ${shown.join(', ')}${more}. Give each class one name: rename the folders, or correct the labels in packing.annotations`,
    );
  }
}
