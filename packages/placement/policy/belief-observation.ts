/**
 * Turns the belief about a pool into the states of the policy's plans: the simulator's chain, in ticks of ten minutes.
 */

import { once } from '@tidewheel/kit/once.ts';
import { type Belief, chanceUp, fittedRegimes, observe } from '../belief/regimes.ts';
import type { MarketBelief } from './decide.ts';
import drawn from './lattice-600.json' with { type: 'json' };
import { marketModel } from './market-model.ts';

/** Seconds of a tick of the policy. */
export const TICK_SECONDS = 600;

/** Computed at its first use: it takes 90 ms, and most functions import a rule that may need it. */
export const market = /* @__PURE__ */ once(() => marketModel(fittedRegimes, drawn));

/** Every plan asks for the belief of the same pools. */
const observedBeliefs = new WeakMap<Belief, MarketBelief>();

export function marketBeliefOf(belief: Belief): MarketBelief {
  const known = observedBeliefs.get(belief);
  if (known !== undefined) return known;
  const observed = {
    chance: chanceUp(belief),
    ifThere: market().weights(observe(belief, 1, 0)),
    ifNot: market().weights(observe(belief, 0, 1)),
  };
  observedBeliefs.set(belief, observed);
  return observed;
}
