/** Groups the keys of a sorted listing into samples, one key at a time. */
import type { Dots } from '../model/documents.ts';
import { dotsIn, memberSuffix, splitKey } from '../model/member-names.ts';

export interface SampleMembership {
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
 * as such names nest.
 */
export class SampleGrouper {
  readonly #open: OpenSample[] = [];
  readonly inner: readonly string[] | undefined;
  readonly dots: Dots = {};
  #count = 0;

  constructor(inner?: readonly string[]) {
    this.inner = inner;
  }

  get count(): number {
    return this.#count;
  }

  /** Keys must come in the order of compareKeys, without the incoming prefix. */
  place(key: string): SampleMembership {
    const { stem, suffix } = splitKey(key, this.inner);
    this.#note(key, dotsIn({ stem, suffix }));
    while (this.#open.length > 0) {
      const top = this.#open[this.#open.length - 1];
      if (top === undefined || key.startsWith(`${top.stem}.`)) break;
      this.#open.pop();
    }
    const folded = memberSuffix(suffix);
    const mine = this.#open.findLast((sample) => sample.stem === stem);
    if (mine === undefined || suffix === '') return this.#begin(stem, suffix === '' ? undefined : folded);
    if (mine.suffixes.has(folded) || mine.suffixes.size >= LARGEST_SAMPLE) return this.#alone();
    mine.suffixes.add(folded);
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
    this.#open.push({ stem, ordinal, suffixes: new Set([folded]) });
    return { ordinal, alone: false, first: true };
  }

  #alone(): SampleMembership {
    const ordinal = this.#count;
    this.#count += 1;
    return { ordinal, alone: true, first: true };
  }
}
