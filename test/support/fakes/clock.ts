/** Time that passes only when a test says so. */
import type { Clock } from '@tidewheel/kit/clock.ts';

export interface FakeClock extends Clock {
  advance(seconds: number): void;
  set(time: Date): void;
}

export function fakeClock(start = '2026-11-20T00:00:00.000Z'): FakeClock {
  let milliseconds = Date.parse(start);
  return {
    now: () => new Date(milliseconds),
    advance: (seconds) => {
      milliseconds += seconds * 1_000;
    },
    set: (time) => {
      milliseconds = time.getTime();
    },
  };
}
