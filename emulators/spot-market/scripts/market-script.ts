/** The scripts by which the local market's capacity comes and goes. */

import { type CapacityPlan, PLENTY } from '../model/capacity-plan.ts';
import { type DemoScript, demoPlan } from './demo.ts';
import { type SeedScript, seedPlan } from './seed.ts';
import { type TraceScript, tracePlan } from './trace.ts';

interface CalmScript {
  readonly kind: 'calm';
}

export type MarketScript = CalmScript | SeedScript | TraceScript | DemoScript;

export function planOf(script: MarketScript): CapacityPlan {
  if (script.kind === 'calm') return calmPlan();
  if (script.kind === 'seed') return seedPlan(script);
  return script.kind === 'trace' ? tracePlan(script) : demoPlan(script);
}

/** Plenty everywhere, for ever: nothing is lost. */
const calmPlan = (): CapacityPlan => ({ capacityAt: () => PLENTY, nextChange: () => undefined });
