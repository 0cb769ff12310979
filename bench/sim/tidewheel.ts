/** Tidewheel's own policy in the simulator: the code of packages/placement/policy and nothing else. */

import { fittedRegimes, type RegimeTable } from '../../packages/placement/belief/regimes.ts';
import { controller, tableFor, termsOf } from '../../packages/placement/policy/controller.ts';
import shipped from '../../packages/placement/policy/lattice-600.json' with { type: 'json' };
import { type MarketModel, marketModel } from '../../packages/placement/policy/market-model.ts';
import { type Horizon, type PlanTable, planFrom } from '../../packages/placement/policy/value-function.ts';
import { type ZoneChoice, zoneChoice } from '../../packages/placement/policy/zone-choice.ts';
import type { Setting } from '../../test/support/market/job.ts';
import type { Strategy } from './world.ts';

/** The settings of one key are planned by one table. */
export const planKey = (setting: Setting): string => JSON.stringify(termsOf(setting));

/** A table and the jobs that it was made for. */
interface Kept {
  readonly key: string;
  readonly table: PlanTable;
  readonly jobs: ReadonlySet<string>;
}

const jobOf = ({ workSeconds, deadlineSeconds }: Horizon): string => `${workSeconds} ${deadlineSeconds}`;

/** One table is kept, since one can take a gigabyte: settings of one key had best come one after the other. */
export function tidewheel(table: RegimeTable = fittedRegimes): Strategy {
  const models = new Map<number, { readonly model: MarketModel; readonly chooseZone: ZoneChoice }>();
  let expected: readonly Setting[] = [];
  let kept: Kept | undefined;
  const marketOf = (tickSeconds: number) => {
    const found = models.get(tickSeconds);
    if (found !== undefined) return found;
    // Where the lattice that `place` uses fits, it is that one.
    const drawn = shipped.table === table.name && shipped.tickSeconds === tickSeconds ? shipped : undefined;
    const model = marketModel(table, tickSeconds, drawn);
    const market = { model, chooseZone: zoneChoice(model) };
    models.set(tickSeconds, market);
    return market;
  };
  const tableOf = (model: MarketModel, setting: Setting): PlanTable => {
    const key = planKey(setting);
    if (kept?.key === key && kept.jobs.has(jobOf(setting))) return kept.table;
    // Before the next is made, so that they are never held both.
    kept = undefined;
    const horizons = [setting, ...expected.filter((each) => planKey(each) === key)];
    const made = tableFor(model, termsOf(setting), horizons);
    kept = { key, table: made, jobs: new Set(horizons.map(jobOf)) };
    return made;
  };
  return {
    name: 'tidewheel',
    expect(settings) {
      expected = settings;
    },
    begin(setting) {
      const { model, chooseZone } = marketOf(setting.tickSeconds);
      return controller(model, setting, planFrom(tableOf(model, setting), setting), chooseZone);
    },
  };
}
