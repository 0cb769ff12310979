/** Market time runs `scale` times as fast as the clock on the wall, from 0 at the market's start. */
import type { MarketSecond } from './scripts/plan.ts';

export interface MarketTime {
  readonly scale: number;
  now(): MarketSecond;
  /** Milliseconds since 1970 at which the clock on the wall shows that moment. */
  wallMs(at: MarketSecond): number;
  marketSecond(wallMs: number): MarketSecond;
  /** Calls back at that moment; returns the way to call it off. */
  at(moment: MarketSecond, action: () => void): () => void;
}

/** The longest that setTimeout can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function startMarketTime(scale = 1, now: () => number = Date.now): MarketTime {
  const startedMs = now();
  const marketSecond = (wallMs: number): MarketSecond => ((wallMs - startedMs) / 1_000) * scale;
  const wallMs = (at: MarketSecond): number => startedMs + (at / scale) * 1_000;

  const at = (moment: MarketSecond, action: () => void): (() => void) => {
    const waitMs = Math.ceil(wallMs(moment) - now());
    if (waitMs > LONGEST_TIMER_MS) return () => undefined;
    const timer = setTimeout(action, Math.max(1, waitMs));
    timer.unref();
    return () => clearTimeout(timer);
  };

  return { scale, now: () => marketSecond(now()), wallMs, marketSecond, at };
}
