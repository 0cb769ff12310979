/** Simulated time and random interleaving: chance chooses which waiting process continues. */
import type { FakeClock } from '../fakes/clock.ts';
import type { Random } from './random.ts';

export interface Loop {
  after(seconds: number, act: () => void): void;
  sleep(seconds: number): Promise<void>;
  sleepUntil(moment: Date): Promise<void>;
  /** Before every call of a port: between any two calls anything else may happen. */
  gate(): Promise<void>;
  /** @returns whether it was over before the limit */
  run(until: {
    readonly isOver: () => boolean;
    readonly limit: Date;
    readonly onTime: () => void;
  }): Promise<boolean>;
}

/** @param stepSeconds passes with every act; default: a moment that chance chooses */
export function simulatedLoop(
  clock: FakeClock,
  random: Random,
  stepSeconds = () => random.whole(1, 40) / 1_000,
): Loop {
  const gates: (() => void)[] = [];
  let timers: { readonly at: number; readonly act: () => void }[] = [];
  const after = (seconds: number, act: () => void) => {
    // A date holds whole milliseconds.
    timers.push({ at: clock.now().getTime() + Math.ceil(seconds * 1_000), act });
  };
  const takeDue = (): (() => void) | undefined => {
    const now = clock.now().getTime();
    const due = timers.filter(({ at }) => at <= now);
    if (due.length + gates.length === 0) return undefined;
    const chosen = random.whole(0, due.length + gates.length - 1);
    const timer = due[chosen];
    if (timer === undefined) return gates.splice(chosen - due.length, 1)[0];
    timers = timers.filter((each) => each !== timer);
    return timer.act;
  };
  return {
    after,
    sleep: (seconds) => new Promise((resolve) => after(seconds, resolve)),
    sleepUntil: (moment) =>
      new Promise((resolve) => timers.push({ at: moment.getTime(), act: () => resolve() })),
    gate: () => new Promise((resolve) => gates.push(resolve)),
    run: async ({ isOver, limit, onTime }) => {
      for (;;) {
        // Lets everybody who can go on without a gate or a time do so.
        await new Promise((resolve) => setImmediate(resolve));
        if (gates.length === 0 && isOver()) return true;
        const act = takeDue();
        if (act !== undefined) {
          clock.advance(stepSeconds());
          act();
          continue;
        }
        const next = Math.min(...timers.map(({ at }) => at));
        if (next > limit.getTime()) return false;
        clock.set(new Date(next));
        onTime();
      }
    },
  };
}

/** What a dead process says. */
export const forever = (): Promise<never> => new Promise(() => {});
