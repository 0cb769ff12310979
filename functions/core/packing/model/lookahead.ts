/** One sequence with two readers, of which one is ahead: what lies between them is held, and nothing else. */
export class Lookahead<T> {
  readonly #source: Iterator<T>;
  /** Seen by the reader ahead and not yet by the other, from `#next` on. */
  #between: T[] = [];
  #next = 0;

  constructor(all: Iterable<T>) {
    this.#source = all[Symbol.iterator]();
  }

  /** For the reader ahead. */
  *ahead(): Generator<T> {
    for (let one = this.#source.next(); one.done !== true; one = this.#source.next()) {
      this.#between.push(one.value);
      yield one.value;
    }
  }

  /** For the reader behind; undefined at the end. */
  next(): T | undefined {
    if (this.#next === this.#between.length) {
      const one = this.#source.next();
      return one.done === true ? undefined : one.value;
    }
    const value = this.#between[this.#next];
    this.#next += 1;
    if (this.#next >= 64 && this.#next * 2 > this.#between.length) {
      this.#between = this.#between.slice(this.#next);
      this.#next = 0;
    }
    return value;
  }
}
