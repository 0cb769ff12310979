/** The policies by name. */
import { peers } from './peers.ts';
import { decidedTogether } from './short-ticks.ts';
import { tidewheel } from './tidewheel.ts';
import type { Strategy } from './world.ts';

export const POLICY_NAMES: readonly string[] = [...peers.map(({ name }) => name), 'tidewheel'];

class UnknownPolicyError extends Error {
  override readonly name = 'UnknownPolicyError';
}

export function chosenPolicies(names: readonly string[]): readonly Strategy[] {
  return names.map((name) => {
    const found =
      name === 'tidewheel' ? decidedTogether(tidewheel()) : peers.find((peer) => peer.name === name);
    if (!found)
      throw new UnknownPolicyError(`there is no policy "${name}": choose from ${POLICY_NAMES.join(', ')}`);
    return found;
  });
}
