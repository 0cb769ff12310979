/**
 * Limits the requests in flight. The limit falls at once when S3 answers SlowDown, and rises slowly while it does not
 * (additive increase, multiplicative decrease). S3 splits a hot prefix in minutes.
 */
export interface PacerLimits {
  readonly least: number;
  readonly most: number;
  /** Throttles within this time of the last decrease cause no further one. */
  readonly calmMilliseconds: number;
}

const DEFAULT_PACE: PacerLimits = { least: 4, most: 128, calmMilliseconds: 500 };
const DECREASE = 0.7;

export class Pacer {
  readonly #limits: PacerLimits;
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  #limit: number;
  #running = 0;
  #decreasedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number, limits: PacerLimits = DEFAULT_PACE) {
    this.#now = now;
    this.#limits = limits;
    this.#limit = limits.most;
  }

  /** Requests allowed at once, for now. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Undefined if the caller may go on at once. Every turn must end with `leave`. */
  enter(): Promise<void> | undefined {
    if (this.#running < this.limit) {
      this.#running += 1;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** @param throttled whether S3 asked for a slower pace */
  leave(throttled: boolean): void {
    this.#running -= 1;
    if (throttled) this.#slowDown();
    else this.#limit = Math.min(this.#limits.most, this.#limit + 1 / this.#limit);
    while (this.#running < this.limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#running += 1;
      next();
    }
  }

  #slowDown(): void {
    const now = this.#now();
    if (now - this.#decreasedAt < this.#limits.calmMilliseconds) return;
    this.#decreasedAt = now;
    this.#limit = Math.max(this.#limits.least, this.#limit * DECREASE);
  }
}
