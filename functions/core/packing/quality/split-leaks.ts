/**
 * Samples of one split whose bytes another split holds too. Keys decide the split, so two copies of one picture under
 * two names may train and test: a model is then tested on what it has learnt.
 */
import { SPLITS, type SplitName } from '../../pipeline/splits.ts';
import { commonOf, NumberList } from './digest-list.ts';
import type { GenerationFacts } from './generation-facts.ts';

export interface SplitLeak {
  /** Its samples are measured on. */
  readonly split: SplitName;
  readonly other: SplitName;
  /** Samples of `split` in the version whose bytes `other` holds too. */
  readonly samples: number;
  /** Half digests, at most MOST_EXAMPLES. */
  readonly examples: readonly bigint[];
}

const MOST_EXAMPLES = 10;

/** Holds 8 bytes for each sample of the version. */
export class SplitDigests {
  readonly #digests = new Map<SplitName, NumberList>();

  add({ splits }: GenerationFacts): void {
    for (const [name, digests] of splits) {
      const list = this.#digests.get(name) ?? new NumberList();
      for (const number of digests) list.push(number);
      this.#digests.set(name, list);
    }
  }

  leaks(): SplitLeak[] {
    const sorted = SPLITS.flatMap((name) => {
      const list = this.#digests.get(name);
      return list === undefined ? [] : [{ name, digests: list.sorted() }];
    });
    return sorted.flatMap((one, index) =>
      sorted.slice(0, index).map((other): SplitLeak => {
        const { entries, numbers } = commonOf(one.digests, other.digests);
        return {
          split: one.name,
          other: other.name,
          samples: entries,
          examples: numbers.slice(0, MOST_EXAMPLES),
        };
      }),
    );
  }
}
