/** Tidewheel's own policy in the simulator: the values of packages/placement/policy, looked up once a tick. */

import {
  type Belief,
  fittedRegimes,
  observe,
  type RegimeTable,
} from '../../packages/placement/belief/regimes.ts';
import shipped from '../../packages/placement/policy/lattice-600.json' with { type: 'json' };
import { type MarketModel, marketModel } from '../../packages/placement/policy/market-model.ts';
import { type Action, IDLE, ON_DEMAND, SPOT, type Terms } from '../../packages/placement/policy/plan-pass.ts';
import {
  comparedSpan,
  keptPlans,
  offers,
  type PolicyJob,
  type PolicyPlan,
  type PolicyState,
} from '../../packages/placement/policy/value-function.ts';
import type { Setting } from '../../test/support/market/job.ts';
import type { Decision, Strategy, View } from './world.ts';
import { drawLattice } from './write-lattice.ts';

/** The settings of one key are planned by one table. */
export const planKey = (setting: Setting): string => JSON.stringify(termsOf(setting));

/** With ticks of 195 s a table can take a gigabyte, so one is kept: settings of one key had best come the widest first. */
const PLANS = { cellsPerTick: 4, mostTables: 1, spare: 0 } as const;

export function tidewheel(table: RegimeTable = fittedRegimes): Strategy {
  const markets = new Map<number, Market>();
  const marketOf = (tickSeconds: number): Market => {
    const found = markets.get(tickSeconds);
    if (found !== undefined) return found;
    // Where the lattice that `place` uses fits, it is that one.
    const drawn =
      shipped.table === table.name && shipped.tickSeconds === tickSeconds
        ? shipped
        : drawLattice(table, tickSeconds);
    const model = marketModel(table, drawn);
    const market = { model, planOf: keptPlans(() => model.lattice, PLANS), smallPlanOf: smallPlans(model) };
    markets.set(tickSeconds, market);
    return market;
  };
  return {
    name: 'tidewheel',
    begin: (setting) => controller(setting, marketOf(setting.tickSeconds)),
  };
}

interface Market {
  readonly model: MarketModel;
  readonly planOf: (job: PolicyJob) => PolicyPlan;
  readonly smallPlanOf: SmallPlanOf;
}

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
const termsOf = ({ tickSeconds, restartSeconds, spotUsd, onDemandUsd }: Setting): Terms => ({
  tickSeconds,
  restartSeconds,
  spotUsd: planPrice(spotUsd, onDemandUsd),
  onDemandUsd,
});

/**
 * A new controller for one run: the returned function keeps what it has observed and must be called once for every tick,
 * in order. The belief of the zone in use, or of the best zone, decides between Spot, On-Demand and waiting; one common
 * belief decides when no zone has capacity.
 */
function controller(job: Setting, { model, planOf, smallPlanOf }: Market): (moment: View) => Decision {
  const plan = planOf({ ...job, ...termsOf(job) });
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
    const lasting = model.lastingTicks(pool) / model.longestTicks;
    return inZone(candidate, { model, smallPlanOf, job, moment, slack, beliefs: zones, lasting });
  };
}

/** Whole ticks that end by the deadline, and the time that can still be lost if On-Demand runs from now. */
function slackAt(
  { job: { tickSeconds, deadlineSeconds } }: PolicyPlan,
  { nowSeconds, workLeft, runs, debt }: View,
): Pick<PolicyState, 'ticksLeft' | 'slack'> {
  const ticksLeft = Math.floor((deadlineSeconds - nowSeconds) / tickSeconds + 1e-9);
  const owed = runs === IDLE ? 0 : debt;
  return { ticksLeft, slack: Math.max(0, ticksLeft * tickSeconds - workLeft - owed) };
}

interface Known {
  readonly model: MarketModel;
  readonly smallPlanOf: SmallPlanOf;
  readonly job: Setting;
  readonly moment: View;
  readonly slack: number;
  readonly beliefs: readonly Belief[];
  /** Share of the coming time in which some zone will have capacity. */
  readonly lasting: number;
}

/** How far the comparison of two zones looks, and the most slack that it may use up. */
const AHEAD = { mostWorkSeconds: 12 * 3_600, mostSlackSeconds: 6 * 3_600 } as const;
/** Prices as shares of the price at hand are rounded to this many steps, so that few tables serve many zones. */
const RATIO_STEPS = 128;

type SmallPlanOf = (restartSeconds: number, ratio: number) => PolicyPlan;

function smallPlans({ lattice, tickSeconds }: MarketModel): SmallPlanOf {
  // With ticks of 195 s one takes 13 MB.
  const plans = keptPlans(() => lattice, { cellsPerTick: 1, mostTables: 32, spare: 0 });
  const { mostWorkSeconds: workSeconds, mostSlackSeconds } = AHEAD;
  return (restartSeconds, ratio) =>
    plans({
      tickSeconds,
      restartSeconds,
      spotUsd: Math.max(1, Math.round(ratio * RATIO_STEPS)) / RATIO_STEPS,
      onDemandUsd: 1,
      workSeconds,
      // A tick more for each of the two, which are counted in whole ticks.
      deadlineSeconds: workSeconds + mostSlackSeconds + 2 * tickSeconds,
    });
}

/**
 * As `decision/cheaper-pool.ts` compares pools: the zone at hand takes On-Demand's part beside a cheaper one that comes
 * and goes. A run that waits for another zone stays in its zone.
 */
function inZone(
  atHand: number,
  { model, smallPlanOf, job, moment, slack, beliefs, lasting }: Known,
): Decision {
  const { tickSeconds, restartSeconds, spotUsd } = job;
  const stays: Decision = { action: SPOT, zone: atHand };
  const span = comparedSpan({
    ...AHEAD,
    tickSeconds,
    restartSeconds,
    workLeft: moment.workLeft,
    slack,
    lasting,
  });
  if (span === undefined) return stays;
  const standing: PolicyState = {
    ticksLeft: Math.max(2, (span.workSeconds + span.slackSeconds) / tickSeconds),
    slack: span.slackSeconds,
    runs: moment.runs === SPOT ? ON_DEMAND : IDLE,
  };
  const price = spotUsd[atHand] ?? 0;
  const savedIn = (zone: number, ratio: number): { readonly action: Action; readonly savedUsd: number } => {
    const ahead = model.weights(beliefs[zone] ?? model.start);
    const sees = { chance: moment.available[zone] === true ? 1 : 0, ifThere: ahead, ifNot: ahead };
    const plan = smallPlanOf(restartSeconds, ratio);
    const found = offers(plan, standing, { ...sees, spotUsd: ratio });
    const sure = found.find(({ action }) => action === ON_DEMAND)?.expectedUsd ?? 0;
    const [best] = found.filter(({ action }) => span.mayWait || action !== IDLE);
    return { action: best?.action ?? IDLE, savedUsd: (sure - (best?.expectedUsd ?? sure)) * price };
  };
  let best = { ...stays, savedUsd: 0 };
  for (const [zone, usd] of spotUsd.entries()) {
    if (!(usd < price)) continue;
    const { action, savedUsd } = savedIn(zone, usd / price);
    if (savedUsd > best.savedUsd) best = { action, zone: action === SPOT ? zone : atHand, savedUsd };
  }
  return best;
}

/** The cheapest zone with capacity; the cost of a zone that will not last includes the restarts it causes. */
function bestZone(job: Setting, available: readonly boolean[], stays: readonly number[]): number | undefined {
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
