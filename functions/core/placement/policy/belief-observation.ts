/**
 * Turns the belief about a pool into the states of the policy's plans: the simulator's chain, in ticks of ten minutes.
 */

import { type Belief, chanceUp, fittedRegimes, observe } from '../belief/regimes.ts';
import type { MarketBelief } from './decide.ts';
import drawn from './lattice-600.json' with { type: 'json' };
import { marketModel } from './market-model.ts';

export const market = marketModel(fittedRegimes, 600, drawn);

/** Every plan asks for the belief of the same pools. */
const sights = new WeakMap<Belief, MarketBelief>();

export function marketBeliefOf(belief: Belief): MarketBelief {
  const known = sights.get(belief);
  if (known !== undefined) return known;
  const sight = {
    chance: chanceUp(belief),
    ifThere: market.weights(observe(belief, 1, 0)),
    ifNot: market.weights(observe(belief, 0, 1)),
  };
  sights.set(belief, sight);
  return sight;
}
