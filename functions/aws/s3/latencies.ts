/** The 95th percentile of the last latencies, computed each time that the memory is full. */
export class Latencies {
  readonly #times: Float64Array;
  #count = 0;
  #percentile: number | undefined;

  constructor(memory: number) {
    this.#times = new Float64Array(memory);
  }

  add(milliseconds: number): void {
    this.#times[this.#count % this.#times.length] = milliseconds;
    this.#count += 1;
    if (this.#count % this.#times.length !== 0) return;
    this.#percentile = this.#times.toSorted()[Math.floor(this.#times.length * 0.95)];
  }

  get percentile(): number | undefined {
    return this.#percentile;
  }
}
