/** Tidewheel's own policy in the simulator: the code of functions/core/policy and nothing else. */
import { controller, planFor, planPrice } from '../../functions/core/policy/controller.ts';
import shipped from '../../functions/core/policy/lattice-600.json' with { type: 'json' };
import { type MarketModel, marketModel } from '../../functions/core/policy/market-model.ts';
import type { Plan } from '../../functions/core/policy/plan.ts';
import { fittedRegimes, type RegimeTable } from '../../functions/core/policy/regimes.ts';
import type { Setting, Strategy } from './world.ts';

const MAXIMUM_PLANS = 12;

/** Models and plans are kept, since many windows share them; a kept plan is the same as a fresh one. */
export function tidewheel(table: RegimeTable = fittedRegimes): Strategy {
  const models = new Map<number, MarketModel>();
  const plans = new Map<string, Plan>();
  const modelFor = (tickSeconds: number): MarketModel => {
    // Where the lattice that `place` uses fits, it is that one.
    const drawn = shipped.table === table.name && shipped.tickSeconds === tickSeconds ? shipped : undefined;
    const model = models.get(tickSeconds) ?? marketModel(table, tickSeconds, drawn);
    models.set(tickSeconds, model);
    return model;
  };
  const planOf = (model: MarketModel, setting: Setting): Plan => {
    const key = JSON.stringify({
      ...setting,
      spotUsd: planPrice(setting.spotUsd),
      zones: setting.spotUsd.length > 1,
    });
    const plan = plans.get(key) ?? planFor(model, setting);
    if (plans.size >= MAXIMUM_PLANS) plans.clear();
    plans.set(key, plan);
    return plan;
  };
  return {
    name: 'tidewheel',
    begin(setting) {
      const model = modelFor(setting.tickSeconds);
      return controller(model, setting, planOf(model, setting));
    },
  };
}
