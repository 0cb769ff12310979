/** One worker's part in the clock: while it works the clock stands; while it is idle the clock may move. */
import type { Clock } from './clock.ts';

export class Presence {
  readonly #clock: Clock;
  readonly #name: string;
  #release: (() => void) | undefined;

  constructor(clock: Clock, name: string) {
    this.#clock = clock;
    this.#name = name;
  }

  /** Takes effect at once; doing it twice is doing it once. */
  work(): void {
    this.#release ??= this.#clock.hold(this.#name);
  }

  rest(): void {
    this.#release?.();
    this.#release = undefined;
  }
}
