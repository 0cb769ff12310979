/** The clock that the local region goes by: the one on the wall, or a virtual one that moves only when nothing is at work. */

export interface LocalClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back at that moment, at once if it has passed; returns what calls it off. Keeps no process alive. */
  at(momentMs: number, action: () => void): () => void;
  /**
   * A virtual clock stands still until the function returned is called; the wall's takes no notice.
   * @param why the reason that the clock names when it cannot move
   */
  hold(why: string): () => void;
}

/** setTimeout fires at once beyond this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const wallClock: LocalClock = {
  now: () => Date.now(),
  at: (momentMs, action) => {
    // Not by the date: that one may be set while we wait.
    const end = performance.now() + (momentMs - Date.now());
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const leftMs = Math.max(0, end - performance.now());
      timer = leftMs <= LONGEST_TIMER_MS ? setTimeout(action, leftMs) : setTimeout(arm, LONGEST_TIMER_MS);
      timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
  hold: () => () => undefined,
};
