/** Numbers by index, grown by doubling; 0 where none was set. */
export class GrowingNumbers {
  #values: Float64Array = new Float64Array(1_024);

  add(index: number, amount: number): void {
    this.set(index, this.at(index) + amount);
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) {
      const larger = new Float64Array(Math.max(this.#values.length * 2, index + 1));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[index] = value;
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }
}
