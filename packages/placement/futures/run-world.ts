/** What every future of a run starts from: its pools with what is believed of them, and the table that decides. */

import { once } from '@tidewheel/kit/once.ts';
import { pick } from '@tidewheel/kit/seeded-random.ts';
import { beliefModel, believed, reliabilityOf, type Seen, trustOf } from '../belief/beliefs.ts';
import { type Belief, fittedRegimes, observe, type RegimeTable, withRates } from '../belief/regimes.ts';
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { REFERENCE_THROUGHPUT } from '../candidates/throughput-estimate.ts';
import { fitted, seenIn } from '../decision/assess.ts';
import { campaignAhead } from '../decision/cheaper-pool.ts';
import type { Situation } from '../decision/situation.ts';
import { type SpotValue, spotValue } from '../decision/spot-value.ts';
import { costUsd, gangUsd, hourlyUsdOf, restartOf, safeWorkOf } from '../decision/work.ts';
import { assumed } from '../model/assumed.ts';
import { market, TICK_SECONDS } from '../policy/market-model.ts';
import { type Placement, type Pool, samePool } from '../records/placement-records.ts';

/** A pool in which the run may train. */
interface Place {
  /** For the whole gang. */
  readonly hourlyUsd: number;
  /** Seconds here for a second of the reference's work, and the spread of its logarithm. */
  readonly factor: number;
  readonly spread: number;
  readonly startSeconds: number;
  /** Paid once, on the way there. */
  readonly transferUsd: number;
}

export interface SpotPlace extends Place {
  readonly pool: Pool;
  /** By the fitted chain, as the run decides. */
  readonly belief: Belief;
  readonly kinds: readonly PoolKind[];
  /** Scores show when it has capacity. */
  readonly isScored: boolean;
  readonly capacityErrors: number;
  readonly coolSeconds: number;
}

export interface DemandPlace extends Place {
  /** Share of the reference's work for which a deadline reckons. */
  readonly safeFactor: number;
}

export interface World {
  readonly spot: readonly SpotPlace[];
  /** From the cheapest to the fastest; none where the pipeline allows none. */
  readonly onDemand: readonly DemandPlace[];
  readonly secondsLeft: number;
  readonly marginSeconds: number;
  /** The least that a start costs. */
  readonly restartSeconds: number;
  /** What file systems cost until the end. */
  readonly heldUsdPerHour: number;
  /** For how long the run has waited for On-Demand, or was refused it lately. */
  readonly refusedSeconds: number;
  /** Seconds that On-Demand starts waited for their hosts. */
  readonly onDemandWaits: readonly number[];
  /** Left of the budget. */
  readonly budgetUsd: number;
  readonly value: SpotValue | undefined;
  /** Index of the cheapest among the Spot pools that have scores, or -1. */
  readonly cheapest: number;
  readonly savedByWait: ReturnType<typeof savedByWait>;
  /** Seconds of the reference's work by which its pace is known. */
  readonly trainedSeconds: number;
}

/** Futures ask the cheapest pools; what more of them would add is small, and each costs time. */
const MOST_SPOT = 6;

const isAt = ({ pool, topology }: Candidate, here: Pick<Placement, 'pool' | 'topology'>): boolean =>
  samePool(pool, here.pool) && topology.nodes === here.topology.nodes;

/** @param here where the run is; it comes first among its kind @param askedSeconds for which it waits there for On-Demand */
export function worldOf(
  situation: Situation,
  here: Placement | undefined,
  spentUsd: number,
  askedSeconds: number,
): World {
  const { candidates, met, fallbacks, work, fileSystems, input } = situation;
  const own = paidAt(here, candidates);
  const usable = candidates
    .filter(({ pool, closed }) => pool.purchaseOption === 'spot' && closed === undefined)
    .filter((each) => each !== own && !met(each).isLimited)
    .toSorted((a, b) => unitUsd(a) - unitUsd(b));
  const isOnSpot = own?.pool.purchaseOption === 'spot';
  const spot = [...(own !== undefined && isOnSpot ? [own] : []), ...usable].slice(0, MOST_SPOT);
  const bought = [
    ...(own !== undefined && !isOnSpot ? [own] : []),
    ...fallbacks.filter((each) => each !== own),
  ];
  const onDemand = bought.map((each) => ({
    ...placeOf(each, situation),
    safeFactor: safeWorkOf(each, { ...work, workSeconds: 1 }),
  }));
  const seen = seenIn(situation);
  const { budgetUsd = Number.POSITIVE_INFINITY } = input.limits;
  const byUnit = spot.toSorted((a, b) => unitUsd(a) - unitUsd(b));
  const scored = byUnit.find(({ score }) => score !== undefined);
  const cheapest = spot.findIndex((each) => each === scored);
  return {
    spot: spot.map((each) => ({
      ...placeOf(each, situation),
      pool: each.pool,
      belief: believed(fitted(), each.pool, seen(each)).belief,
      kinds: kindsOf(each.pool, seen(each)),
      isScored: each.score !== undefined,
      capacityErrors: met(each).capacityErrors,
      coolSeconds: met(each).coolsSeconds,
    })),
    onDemand,
    secondsLeft: situation.secondsLeft,
    marginSeconds: situation.marginSeconds,
    restartSeconds: work.restartSeconds,
    heldUsdPerHour: fileSystems.hourlyUsd,
    refusedSeconds: refusedFor(situation, askedSeconds),
    onDemandWaits: situation.onDemandWaits,
    budgetUsd: Math.max(0, budgetUsd - spentUsd),
    trainedSeconds: work.basis === 'measured' ? (input.progress?.trainingSeconds ?? 0) : 0,
    value: valueOf(byUnit[0], situation),
    cheapest,
    savedByWait: savedByWait(spot, cheapest, situation),
  };
}

/** USD that a wait for the cheapest pool saves against a start in the one at hand, as `cheaperPool` weighs it. */
function savedByWait(spot: readonly Candidate[], cheapest: number, situation: Situation) {
  const { work, timeUsd, observations } = situation;
  const seesBack = reliabilityOf(trustOf(observations));
  const zones = new Set(spot.map(({ pool }) => pool.zoneId)).size;
  /** @param belief about the cheapest @param workSeconds of the reference @param slackSeconds until On-Demand is needed */
  return (pool: number, belief: Belief, workSeconds: number, slackSeconds: number): number => {
    const [atHand, there] = [spot[pool], spot[cheapest]];
    if (atHand === undefined || there === undefined) return 0;
    const ahead = campaignAhead(
      atHand,
      { work: { ...work, workSeconds }, timeUsd },
      { slack: slackSeconds + 2 * work.restartSeconds, lasting: 1 - (1 - spellShare()) ** zones },
    );
    if (ahead?.mayWait !== true) return 0;
    const { wait, onDemand } = spotValue(atHand, unitUsd(there), ahead).expectedUsd(belief);
    const stillUsd = assumed.stillShare * costUsd(unitUsd(atHand) + timeUsd, TICK_SECONDS);
    return seesBack * (onDemand - wait) - stillUsd;
  };
}

/** The share of the next half day for which capacity lasts in a zone that has it. */
const spellShare = once(() => market().lastingTicks(observe(market().start, 1, 0)) / market().longestTicks);

/** None in a reservation. */
function paidAt(here: Placement | undefined, candidates: readonly Candidate[]): Candidate | undefined {
  if (here === undefined || here.reserved !== undefined) return undefined;
  return candidates.find((each) => isAt(each, here)) ?? candidateOf(here);
}

/** None where nothing can be weighed against On-Demand. */
const valueOf = (cheapest: Candidate | undefined, situation: Situation): SpotValue | undefined => {
  const [planned] = situation.fallbacks;
  return planned && cheapest && spotValue(planned, unitUsd(cheapest), situation);
};

/** A pool that may not be chosen again, such as one whose download would now end too late, still trains. */
const candidateOf = (here: Placement): Candidate => ({
  pool: here.pool,
  topology: here.topology,
  throughput: REFERENCE_THROUGHPUT,
  helpersHourlyUsd: here.helpersHourlyUsd ?? 0,
  hourlyUsd: hourlyUsdOf(here),
  onDemandHourlyUsd: here.onDemandHourlyUsd,
  priceNote: '',
});

const placeOf = (each: Candidate, { work }: Situation): Place => ({
  hourlyUsd: gangUsd(each),
  factor: each.throughput.factor,
  spread: each.throughput.uncertainty,
  startSeconds: restartOf(each, work),
  transferUsd: each.transfer?.usd ?? 0,
});

/** Since the first of the refusals of On-Demand that no success has ended, or as long as the run has waited for it. */
function refusedFor({ observations, nowMilliseconds }: Situation, askedSeconds: number): number {
  const bought = observations.filter(({ purchaseOption }) => purchaseOption === 'on-demand');
  const first = bought[bought.findLastIndex(({ seen }) => seen !== 'capacityError') + 1];
  const refused = first === undefined ? 0 : Math.max(0, nowMilliseconds - first.atMilliseconds) / 1_000;
  return Math.max(refused, askedSeconds > assumed.patienceSeconds ? askedSeconds : 0);
}

// One drawn future of a Spot pool: when its capacity goes and comes again, by a chain in continuous time.

export interface PoolFuture {
  /** Times are seconds from now, and must not fall from call to call. */
  isUp(at: number): boolean;
  /** When it next changes between capacity and none. */
  changeAfter(at: number): number;
}

/** Factors by which pools differ from the fitted chain. Stated: each pair is as likely, before the pool is seen. */
const ABUNDANCES = [0.55, 0.8, 1, 1.25, 1.8];
const SPEEDS = [0.7, 1, 1.4];

const kinds = once(() =>
  ABUNDANCES.flatMap((abundance) => SPEEDS.map((speed) => withRates(fittedRegimes, abundance, speed))).map(
    (table) => ({ model: beliefModel(table), exits: exitsOf(table) }),
  ),
);

interface PoolKind {
  /** How likely a pool changes as this chain does, by what was seen of it. */
  readonly chance: number;
  readonly belief: Belief;
  readonly exits: ReturnType<typeof exitsOf>;
}

function kindsOf(pool: Pool, seen: Seen): readonly PoolKind[] {
  const found = kinds().map(({ model, exits }) => ({ exits, ...believed(model, pool, seen) }));
  const most = Math.max(...found.map(({ logLikelihood }) => logLikelihood));
  const likely = found.map(({ logLikelihood }) => Math.exp(logLikelihood - most));
  const all = likely.reduce((sum, each) => sum + each, 0);
  return found.map(({ exits, belief }, k) => ({ exits, belief, chance: (likely[k] ?? 0) / all }));
}

const HALF = fittedRegimes.ratesPerHour.length / 2;
const isUpIn = (regime: number): boolean => regime < HALF;

/** From one regime: the rate a second at which it ends, and where that leads. */
const exitsOf = ({ ratesPerHour }: RegimeTable) =>
  ratesPerHour.map((row) => {
    const ratePerHour = row.reduce((sum, each) => sum + each, 0);
    return { rate: ratePerHour / 3_600, shares: row.map((each) => each / ratePerHour) };
  });

export function drawByChain({ kinds }: SpotPlace, draw: () => number): PoolFuture {
  const shares = kinds.map(({ chance }) => chance);
  const kind = kinds[pick(shares, draw())];
  let regime = pick(kind?.belief ?? [], draw());
  let clock = 0;
  const nextChange = (): number => {
    for (;;) {
      const exits = kind?.exits[regime];
      if (exits === undefined || exits.rate <= 0) return Number.POSITIVE_INFINITY;
      clock -= Math.log(1 - draw()) / exits.rate;
      const next = pick(exits.shares, draw());
      const leaves = isUpIn(next) !== isUpIn(regime);
      regime = next;
      if (leaves) return clock;
    }
  };
  return alternating(isUpIn(regime), nextChange);
}

/** @param nextChange when capacity comes or goes after the change before, in seconds from now */
export function alternating(isUpAtFirst: boolean, nextChange: () => number): PoolFuture {
  let isUpNow = isUpAtFirst;
  let change = nextChange();
  const goTo = (at: number): void => {
    while (change <= at) {
      isUpNow = !isUpNow;
      change = nextChange();
    }
  };
  return {
    isUp(at) {
      goTo(at);
      return isUpNow;
    },
    changeAfter(at) {
      goTo(at);
      return change;
    },
  };
}
