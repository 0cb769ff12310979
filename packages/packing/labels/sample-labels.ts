/** The label of each sample of a plan, collected while its members are listed. */
import type { Rejection } from '../documents/rejections.ts';
import type { LabelNumber } from './alike-numbers.ts';
import type { Annotations } from './annotations.ts';

const UNSET = 0;
/** A bit. The sample has its own label file (.cls), which wins. */
const OWN = 2 ** 30;
const DOUBLED = OWN - 1;

/** Labels by the number of the sample. Equal texts are held once. */
export class SampleLabels {
  readonly #annotations: Annotations;
  readonly #texts: string[] = [];
  readonly #numbers = new Map<string, number>();
  #labels = new Int32Array(1_024);

  constructor(annotations: Annotations) {
    this.#annotations = annotations;
  }

  /** Call it for every listed key, planned or not, so that the audit finds rows without an object. */
  noteListed(key: string): void {
    this.#annotations.labelOf(key);
  }

  /** Adds a member of the sample. @param isLabel true for its own .cls */
  add(ordinal: number, key: string, isLabel: boolean): void {
    if (ordinal >= this.#labels.length) {
      const larger = new Int32Array(Math.max(this.#labels.length * 2, ordinal + 1));
      larger.set(this.#labels);
      this.#labels = larger;
    }
    const held = this.#labels[ordinal] ?? UNSET;
    const own = isLabel ? OWN : held & OWN;
    const before = held & DOUBLED;
    const found = this.#annotations.labelOf(key);
    const number = found === undefined ? before : this.#numberOf(found);
    this.#labels[ordinal] = own | (before === UNSET || before === number ? number : DOUBLED);
  }

  labelOf(ordinal: number): string | undefined {
    return this.#isOwn(ordinal) ? undefined : this.annotatedOf(ordinal);
  }

  /** What the file says, also where the sample has its own label file. */
  annotatedOf(ordinal: number): string | undefined {
    const number = (this.#labels[ordinal] ?? UNSET) & DOUBLED;
    return number === DOUBLED ? undefined : this.#texts[number - 1];
  }

  #isOwn(ordinal: number): boolean {
    return ((this.#labels[ordinal] ?? UNSET) & OWN) !== 0;
  }

  refusalOf(ordinal: number): Rejection | undefined {
    const number = this.#labels[ordinal] ?? UNSET;
    if (number === UNSET) return 'labelMissing';
    if (this.#isOwn(ordinal)) return undefined;
    return number === DOUBLED ? 'labelDoubled' : undefined;
  }

  #numberOf(found: NonNullable<ReturnType<Annotations['labelOf']>>): number {
    if (found.kind === 'doubled') return DOUBLED;
    const { label } = found;
    const known = this.#numbers.get(label);
    if (known !== undefined) return known;
    this.#texts.push(label);
    this.#numbers.set(label, this.#texts.length);
    return this.#texts.length;
  }
}

/** A longer text is no class. */
const MOST_BYTES = 1_024;

/** The class in a label file (`.cls`) that arrived with its sample. */
export interface OwnLabel {
  /** As a class: without the blanks around it or, where shards hold labels as numbers, its number. */
  readonly label: string;
  /** What the declaration would give, where that is another class. */
  readonly declared?: string;
}

/** Undefined for what is no text, no single line, or too long. */
function classIn(chunks: readonly Uint8Array[]): string | undefined {
  if (chunks.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)).trim();
    return text === '' || /\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

export function ownLabel(
  chunks: readonly Uint8Array[],
  declared: string | undefined,
  numberOf: LabelNumber = () => undefined,
): OwnLabel | undefined {
  const text = classIn(chunks);
  if (text === undefined) return undefined;
  const label = numberOf(text) ?? text;
  const isOther = declared !== undefined && (numberOf(declared) ?? declared) !== label;
  return { label, ...(isOther && { declared: declared.toWellFormed() }) };
}
