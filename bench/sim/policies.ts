/** The policies by name. */
import { peers } from './peers.ts';
import { decidedTogether } from './short-ticks.ts';
import { tidewheel } from './tidewheel.ts';
import type { Strategy } from './world.ts';

export const POLICY_NAMES: readonly string[] = [...peers.map(({ name }) => name), 'tidewheel'];

export function chosenPolicies(names: readonly string[]): readonly Strategy[] {
  const all = [...peers, decidedTogether(tidewheel())];
  return names.flatMap((name) => all.filter((each) => each.name === name));
}
