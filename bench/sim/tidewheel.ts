/** Tidewheel's own policy in the simulator: the values of packages/placement/policy, looked up once a tick. */

import {
  type Belief,
  fittedRegimes,
  observe,
  type RegimeTable,
} from '../../packages/placement/belief/regimes.ts';
import { type Action, IDLE, ON_DEMAND, SPOT } from '../../packages/placement/policy/actions.ts';
import { offers, slackAt } from '../../packages/placement/policy/decide.ts';
import shipped from '../../packages/placement/policy/lattice-600.json' with { type: 'json' };
import { type MarketModel, marketModel } from '../../packages/placement/policy/market-model.ts';
import { type Terms } from '../../packages/placement/policy/plan-pass.ts';
import {
  type Horizon,
  makeTable,
  type PlanOptions,
  type PlanTable,
  type PolicyJob,
  type PolicyPlan,
  planFrom,
} from '../../packages/placement/policy/value-function.ts';
import {
  type CheaperZone,
  type ZoneChoice,
  type ZoneQuestion,
  zoneChoice,
} from '../../packages/placement/policy/zone-choice.ts';
import type { Setting } from '../../test/support/market/job.ts';
import type { Strategy } from './world.ts';
import { drawLattice } from './write-lattice.ts';

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
    const drawn =
      shipped.table === table.name && shipped.tickSeconds === tickSeconds
        ? shipped
        : drawLattice(table, tickSeconds);
    const model = marketModel(table, drawn);
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

interface ZonedJob extends Omit<PolicyJob, 'spotUsd'> {
  /** Per hour, by zone. */
  readonly spotUsd: readonly number[];
}

interface ZonedMoment {
  readonly nowSeconds: number;
  readonly workLeft: number;
  /** What runs: IDLE after an interruption. */
  readonly runs: Action;
  readonly zone: number;
  readonly debt: number;
  readonly available: readonly boolean[];
}

interface ZonedDecision {
  readonly action: Action;
  readonly zone: number;
}

const PLAN_OPTIONS: PlanOptions = { cellsPerTick: 4 };

/** As a share of On-Demand's price. Finer steps share fewer plans and make no run cheaper. */
const PRICE_STEP = 1 / 64;

/** The single price of a plan over several zones: between the mean and the cheapest, in steps. */
function planPrice(spotUsd: readonly number[], onDemandUsd: number): number {
  if (spotUsd.length === 1) return spotUsd[0] ?? 0;
  const mean = spotUsd.reduce((sum, price) => sum + price, 0) / spotUsd.length;
  const step = onDemandUsd * PRICE_STEP;
  return Math.max(1, Math.round((mean + Math.min(...spotUsd)) / 2 / step)) * step;
}

/** The terms that a job over these zones is planned on; jobs on the same terms can share a table. */
export const termsOf = ({
  tickSeconds,
  restartSeconds,
  spotUsd,
  onDemandUsd,
  waitingUsd,
}: ZonedJob): Terms => ({
  tickSeconds,
  restartSeconds,
  spotUsd: planPrice(spotUsd, onDemandUsd),
  onDemandUsd,
  waitingUsd,
});

export const tableFor = (model: MarketModel, terms: Terms, horizons: readonly Horizon[]): PlanTable =>
  makeTable(model.lattice, terms, horizons, PLAN_OPTIONS);

/**
 * A new controller for one run: the returned function keeps what it has observed and must be called once for every tick,
 * in order. The belief of the zone in use, or of the best zone, decides between Spot, On-Demand and waiting; one common
 * belief decides when no zone has capacity.
 */
function controller(
  model: MarketModel,
  job: ZonedJob,
  plan: PolicyPlan,
  chooseZone = zoneChoice(model),
): (moment: ZonedMoment) => ZonedDecision {
  let zones: readonly Belief[] | undefined;
  let pool: Belief | undefined;
  return (moment) => {
    const next = (belief: Belief | undefined): Belief => (belief ? model.ahead(belief) : model.start);
    const observed = (belief: Belief | undefined, up: boolean): Belief =>
      observe(next(belief), up ? 1 : 0, up ? 0 : 1);
    zones = moment.available.map((up, zone) => observed(zones?.[zone], up));
    const stays = zones.map((belief) =>
      Math.min(moment.workLeft / job.tickSeconds, model.lastingTicks(belief)),
    );
    const candidate = moment.runs === SPOT ? moment.zone : bestZone(job, moment.available, stays);
    pool = observed(pool, candidate !== undefined);
    // With capacity, the time for which that zone has had it counts; without, the time for which all zones
    // have had none.
    const weights = model.weights((candidate === undefined ? undefined : zones[candidate]) ?? pool);
    const sees = {
      chance: candidate === undefined ? 0 : 1,
      ifThere: weights,
      ifNot: weights,
      // The plan's single price stands for later ticks; this tick has its own.
      spotUsd: candidate === undefined ? undefined : job.spotUsd[candidate],
    };
    const best = offers(plan, { ...moment, ...slackAt(plan, moment) }, sees)[0];
    const action = best?.action ?? IDLE;
    if (action !== SPOT || candidate === undefined) return { action, zone: moment.zone };
    // From On-Demand, or while a start is still owed, there is nothing to wait for.
    if (moment.runs === ON_DEMAND || moment.debt > 0) return { action, zone: candidate };
    const { slack } = slackAt(plan, moment);
    const requested = { job, moment, slack, atHand: candidate, beliefs: zones, together: pool };
    return inZone(chooseZone(zoneQuestion(model, requested)), candidate);
  };
}

/** A run that waits for another zone stays in its zone. */
const inZone = (cheaper: CheaperZone | undefined, atHand: number): ZonedDecision => ({
  action: cheaper?.action ?? SPOT,
  zone: cheaper?.action === SPOT ? cheaper.zone : atHand,
});

interface Known {
  readonly job: ZonedJob;
  readonly moment: ZonedMoment;
  readonly slack: number;
  readonly atHand: number;
  readonly beliefs: readonly Belief[];
  /** Of all zones together. */
  readonly together: Belief;
}

function zoneQuestion(
  model: MarketModel,
  { job, moment, slack, atHand, beliefs, together }: Known,
): ZoneQuestion {
  return {
    restartSeconds: job.restartSeconds,
    spotUsd: job.spotUsd,
    waitingUsd: job.waitingUsd,
    marketBeliefOf(zone) {
      const ahead = model.weights(beliefs[zone] ?? model.start);
      return { chance: moment.available[zone] === true ? 1 : 0, ifThere: ahead, ifNot: ahead };
    },
    workLeft: moment.workLeft,
    slack,
    atHand,
    inUse: moment.runs === SPOT,
    lasting: model.lastingTicks(together) / model.longestTicks,
  };
}

/** The cheapest zone with capacity; the cost of a zone that will not last includes the restarts it causes. */
function bestZone(
  job: ZonedJob,
  available: readonly boolean[],
  stays: readonly number[],
): number | undefined {
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [zone, up] of available.entries()) {
    if (!up) continue;
    const startsPerTick = job.restartSeconds / job.tickSeconds / Math.max(1, stays[zone] ?? 0);
    const price = (job.spotUsd[zone] ?? 0) * (1 + startsPerTick);
    if (price < least) {
      least = price;
      best = zone;
    }
  }
  return best;
}
