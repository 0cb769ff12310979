/** A binary heap of items that go on, such as cursors of sorted lists: the least is first. */
export class Heap<T> {
  readonly #items: T[];
  readonly #compare: (a: T, b: T) => number;

  constructor(items: readonly T[], compare: (a: T, b: T) => number) {
    this.#items = items.toSorted(compare);
    this.#compare = compare;
  }

  /** Undefined where none is left. */
  get least(): T | undefined {
    return this.#items[0];
  }

  /** Takes the least out. */
  drop(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    this.#items[0] = last;
    this.sink();
  }

  /** Moves the first to its place, after it has grown. */
  sink(): void {
    const all = this.#items;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      for (const child of [left, right]) {
        const [one, other] = [all[child], all[least]];
        if (one !== undefined && other !== undefined && this.#compare(one, other) < 0) least = child;
      }
      const [parent, child] = [all[at], all[least]];
      if (least === at || parent === undefined || child === undefined) return;
      all[at] = child;
      all[least] = parent;
      at = least;
    }
  }
}
