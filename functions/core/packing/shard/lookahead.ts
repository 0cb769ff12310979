/** One sequence with two readers, one ahead of the other. It holds only the values between the two. */
export class Lookahead<T> {
  readonly #source: Iterator<T>;
  /** From `#next` on: what only the reader ahead has seen. */
  #between: T[] = [];
  #next = 0;

  constructor(all: Iterable<T>) {
    this.#source = all[Symbol.iterator]();
  }

  /** The reader ahead. */
  *ahead(): Generator<T> {
    for (let one = this.#source.next(); one.done !== true; one = this.#source.next()) {
      this.#between.push(one.value);
      yield one.value;
    }
  }

  /** The reader behind; undefined at the end. */
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
