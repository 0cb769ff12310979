/**
 * Samples that `packing.reject` leaves under `incoming/` for their class: other samples of the same bytes have another
 * label, or the class has a single sample. Each run asks again, so they are packed when the reason is gone.
 */
import { hash } from 'node:crypto';
import { type ClassFault, rejectedClasses } from '../../pipeline/packing-parts.ts';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { GrowingNumbers } from '../../shared/growing-numbers.ts';
import { contentEtag } from '../arrivals/bundle-place.ts';

/** Labels of samples that the dataset holds, by the mark of their bytes. */
export type HeldLabels = ReadonlyMap<number, ReadonlySet<string>>;

export interface Classed {
  readonly samples: number;
  /** Undefined for a sample that is not planned, or without a class. */
  readonly classOf: (sample: number) => string | undefined;
  /** Classes of all earlier generations. */
  readonly sealed: Iterable<string>;
  readonly held: HeldLabels;
}

const HEX_OF_MARK = 13;

/** 52 bits, never 0, of the bytes as far as the listing knows them: their number and their ETag. */
export const markOf = (etag: string, size: number): number =>
  1 + Number.parseInt(hash('sha256', `${contentEtag(etag)} ${size}`).slice(0, HEX_OF_MARK), 16);

/** Undefined where the pipeline declares neither of them. */
export function classFaults(settings: Pick<PackingSettings, 'reject'>): ClassFaults | undefined {
  const declared = rejectedClasses(settings);
  return declared.length === 0 ? undefined : new ClassFaults(new Set(declared));
}

export class ClassFaults {
  readonly #declared: ReadonlySet<ClassFault>;
  /** Of the largest object of each sample; undefined if bytes are not compared. */
  readonly #marks: GrowingNumbers | undefined;
  readonly #sizes = new GrowingNumbers();
  readonly #found = new Map<number, ClassFault>();

  constructor(declared: ReadonlySet<ClassFault>) {
    this.#declared = declared;
    this.#marks = declared.has('conflictingLabels') ? new GrowingNumbers() : undefined;
  }

  /** Adds an object of the sample. */
  add(sample: number, { etag, size }: { readonly etag: string; readonly size: number }): void {
    if (this.#marks === undefined) return;
    if (this.#marks.at(sample) !== 0 && size <= this.#sizes.at(sample)) return;
    this.#marks.set(sample, markOf(etag, size));
    this.#sizes.set(sample, size);
  }

  /** Of these samples; undefined if bytes are not compared. */
  marks(samples: number): ReadonlySet<number> | undefined {
    const marks = this.#marks;
    if (marks === undefined) return undefined;
    const all = new Set<number>();
    for (let sample = 0; sample < samples; sample += 1) all.add(marks.at(sample));
    return all;
  }

  /** Call it once, after the last object. */
  find(classed: Classed): void {
    this.#findConflicts(classed);
    if (this.#declared.has('singleSampleClasses')) this.#findSingles(classed);
  }

  #findConflicts({ samples, classOf, held }: Classed): void {
    const marks = this.#marks;
    if (marks === undefined) return;
    const labels = new Map<number, string>();
    const conflicts = new Set<number>();
    for (let sample = 0; sample < samples; sample += 1) {
      const [mark, label] = [marks.at(sample), classOf(sample)];
      if (label === undefined) continue;
      const known = labels.get(mark) ?? label;
      labels.set(mark, known);
      const isOther = [...(held.get(mark) ?? [])].some((one) => one !== label.toWellFormed());
      if (known !== label || isOther) conflicts.add(mark);
    }
    if (conflicts.size === 0) return;
    for (let sample = 0; sample < samples; sample += 1)
      if (conflicts.has(marks.at(sample)) && classOf(sample) !== undefined)
        this.#found.set(sample, 'conflictingLabels');
  }

  /** A class that loses samples to conflicts may be left with one. */
  #findSingles({ samples, classOf, sealed }: Classed): void {
    const held = new Set(sealed);
    const only = new Map<string, number | undefined>();
    for (let sample = 0; sample < samples; sample += 1) {
      const label = this.#found.has(sample) ? undefined : classOf(sample);
      if (label !== undefined && !held.has(label)) only.set(label, only.has(label) ? undefined : sample);
    }
    for (const sample of only.values())
      if (sample !== undefined) this.#found.set(sample, 'singleSampleClasses');
  }

  of(sample: number): ClassFault | undefined {
    return this.#found.get(sample);
  }

  get isAny(): boolean {
    return this.#found.size > 0;
  }
}
