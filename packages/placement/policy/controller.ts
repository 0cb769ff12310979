/**
 * The policy over one or many zones, called once a tick. It keeps a belief for every zone and one for all zones
 * together. The belief of the zone in use, or of the best zone, decides between Spot, On-Demand and waiting; the
 * common belief decides when no zone has capacity. The zones' beliefs decide where to run, and when a cheaper zone is
 * worth a wait or a move.
 */

import { type Belief, observe } from '../belief/regimes.ts';
import { type Action, IDLE, ON_DEMAND, SPOT } from './actions.ts';
import { offers, slackAt } from './decide.ts';
import type { MarketModel } from './market-model.ts';
import { type Terms } from './plan-pass.ts';
import {
  type Horizon,
  makeTable,
  type PlanOptions,
  type PlanTable,
  type PolicyJob,
  type PolicyPlan,
} from './value-function.ts';
import { type CheaperZone, type ZoneQuestion, zoneChoice } from './zone-choice.ts';

export interface ZonedJob extends Omit<PolicyJob, 'spotUsd'> {
  /** Per hour, by zone. */
  readonly spotUsd: readonly number[];
}

export interface ZonedMoment {
  readonly nowSeconds: number;
  readonly workLeft: number;
  /** What runs: IDLE after an interruption. */
  readonly runs: Action;
  readonly zone: number;
  readonly debt: number;
  readonly available: readonly boolean[];
}

export interface ZonedDecision {
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
 * A new controller for one run. The returned function keeps what it has observed and must be called once for every
 * tick, in order.
 */
export function controller(
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
