/** One worker's part in the clock: while it works the clock stands; while it is idle the clock may move. */
import type { LocalClock } from './clock.ts';

export class Presence {
  readonly #clock: LocalClock;
  readonly #name: string;
  #release: (() => void) | undefined;

  constructor(clock: LocalClock, name: string) {
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

/**
 * Idle until the moment, or until the signal cuts it short.
 * @param momentMs in milliseconds since 1970 of the clock
 */
export function restUntil(
  momentMs: number,
  {
    clock,
    cut,
    rest,
    work,
  }: {
    readonly clock: LocalClock;
    readonly cut: AbortSignal;
    readonly rest: () => void;
    readonly work: () => void;
  },
): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      // At once: a virtual clock must not move before the work goes on.
      work();
      cancel();
      cut.removeEventListener('abort', settle);
      resolve();
    };
    const cancel = clock.at(momentMs, settle);
    if (cut.aborted) return settle();
    cut.addEventListener('abort', settle);
    rest();
  });
}
