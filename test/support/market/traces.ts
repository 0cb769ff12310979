/** Capacity of a zone over time, drawn from the fitted chain. Real traces are no part of this project. */

import { pick, type Seed, seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { fittedRegimes, longRun, transition } from '../../../packages/placement/belief/regimes.ts';

/** Whether there is capacity for the whole gang, tick by tick; none after the last. */
export type Trace = readonly boolean[];

/** As the policy plans. */
export const TICK_SECONDS = 600;

export function drawTrace(seed: Seed, ticks: number): Trace {
  const step = transition(fittedRegimes, TICK_SECONDS / 3_600);
  const draw = seededUniform(seed);
  let regime = pick(longRun(fittedRegimes), draw());
  return Array.from({ length: ticks }, () => {
    const up = regime < step.length / 2;
    regime = pick(step[regime] ?? [], draw());
    return up;
  });
}

const SEEDS_APART = 1_000;

/** Zones are independent: each has a seed of its own. */
export const drawTraces = (seed: number, zones: number, ticks: number): readonly Trace[] =>
  Array.from({ length: zones }, (_, zone) => drawTrace(seed + zone * SEEDS_APART, ticks));

export interface Spell {
  readonly startsIn: number;
  readonly endsIn: number;
}

/** The spell with capacity that is under way, or else the next one, in seconds from that moment on. */
export function nextSpell(trace: Trace, fromSeconds: number): Spell | undefined {
  const up = trace.indexOf(true, Math.floor(fromSeconds / TICK_SECONDS));
  if (up < 0) return undefined;
  const down = trace.indexOf(false, up);
  const secondsTo = (tick: number): number => Math.max(0, tick * TICK_SECONDS - fromSeconds);
  return { startsIn: secondsTo(up), endsIn: secondsTo(down < 0 ? trace.length : down) };
}
