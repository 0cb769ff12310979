/** Seconds of the region's clock, from 0 at the market's start. */
import { type LocalClock, wallClock } from '../../clock/clock.ts';
import type { MarketSecond } from './capacity-plan.ts';

export interface MarketTime {
  now(): MarketSecond;
  /** Milliseconds since 1970 at which the region's clock shows that moment. */
  wallMs(at: MarketSecond): number;
  marketSecond(wallMs: number): MarketSecond;
  /** Calls back at that moment; returns the way to call it off. */
  at(moment: MarketSecond, action: () => void): () => void;
}

export function startMarketTime(clock: LocalClock = wallClock): MarketTime {
  const startedMs = clock.now();
  const marketSecond = (wallMs: number): MarketSecond => (wallMs - startedMs) / 1_000;
  const wallMs = (at: MarketSecond): number => startedMs + at * 1_000;

  // A millisecond late, never early: the woken listener reads the capacity of that moment.
  const at = (moment: MarketSecond, action: () => void): (() => void) =>
    clock.at(Math.ceil(wallMs(moment)), action);

  return { now: () => marketSecond(clock.now()), wallMs, marketSecond, at };
}
