/** Counts the samples of each class in the shards, by the labels in their member lists. */
import type { MemberLine, Plan } from '../documents/documents.ts';
import { splitOfShard } from '../splits/split-rule.ts';

export interface ClassCount {
  /** Different samples. */
  readonly samples: number;
  /** Further copies of them. */
  readonly copies: number;
}

/** More different labels than this are texts, not classes. */
const MOST_CLASSES = 10_000;

export class ClassCounter {
  #classes: Map<string, { samples: number; copies: number }> | undefined = new Map();
  /** A balance is that of the samples that train. */
  readonly #trained: ClassCounter | undefined;

  constructor(isSplit = false) {
    this.#trained = isSplit ? new ClassCounter() : undefined;
  }

  add(line: Pick<MemberLine, 'label' | 'repeat'>, shard: string): void {
    if (splitOfShard(shard) === 'train') this.#trained?.add(line, shard);
    const { label, repeat } = line;
    if (label === undefined || this.#classes === undefined) return;
    const count = this.#classes.get(label) ?? { samples: 0, copies: 0 };
    if (repeat === undefined) count.samples += 1;
    else count.copies += 1;
    this.#classes.set(label, count);
    if (this.#classes.size > MOST_CLASSES) this.#classes = undefined;
  }

  /** Sorted by name; undefined if the labels are not classes. */
  get counts(): ReadonlyMap<string, ClassCount> | undefined {
    return this.#classes && new Map([...this.#classes].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  sealedOf(label: string): number {
    if (this.#trained !== undefined) return this.#trained.sealedOf(label);
    const { samples, copies } = this.#classes?.get(label) ?? { samples: 0, copies: 0 };
    return samples + copies;
  }

  /** Samples of each class as planned, and as sealed. */
  sealedBalance({ balance }: Pick<Plan, 'balance'>): { readonly balance?: NonNullable<Plan['balance']> } {
    if (balance === undefined) return {};
    const classes = Object.entries(balance.classes).map(
      ([name, count]) => [name, { ...count, sealed: this.sealedOf(name) }] as const,
    );
    return { balance: { mode: balance.mode, classes: Object.fromEntries(classes) } };
  }
}
