/** When a training that has not begun would end, and what it would cost, as 90 % intervals. Pure. */
import { type PlacementInput, situationOf } from '@tidewheel/placement/choose.ts';
import { restartOf, type WorkEstimate, workOf } from '@tidewheel/placement/estimate.ts';
import {
  fileSystemsUsd,
  type Placement,
  type PoolAssessment,
  samePool,
} from '@tidewheel/placement/records.ts';
import {
  type ForecastInterval,
  PACE_SPREAD,
  PRIOR_UP_SECONDS,
  workIntervals,
  Z,
} from '../../run/attempts/forecast.ts';
import { gangHourlyUsd } from '../../run/attempts/stop-rules.ts';

export interface ExpectedEnd {
  /** declared: as former runs of the pipeline took; assumed: nothing is known, and half of the time is taken. */
  readonly basis: WorkEstimate['basis'];
  /** Training alone, on the topology that was chosen. */
  readonly workSeconds: number;
  /** From the decision to the end, with waits, starts and interruptions. */
  readonly seconds: ForecastInterval;
  readonly usd: ForecastInterval;
  /** The same work without an interruption, at the On-Demand price. */
  readonly onDemandUsd: number;
}

/** Without a former run the work may take a fifth or five times of what is assumed. */
const SPREAD = { ...PACE_SPREAD, assumed: 1 } as const;
/** An exponential wait is longer than three means once in twenty times. */
const LONG_WAIT = 3;
/** Capacity that is there this often counts as there. */
const NEARLY_SURE = 0.95;

/** @returns undefined where the chosen pool is none of the question's */
export function expectedEnd(input: PlacementInput, placement: Placement): ExpectedEnd | undefined {
  const { work, candidates, timeUsd, fileSystems } = situationOf(input);
  const isChosen = ({ pool, topology }: Pick<PoolAssessment, 'pool' | 'topology'>): boolean =>
    samePool(pool, placement.pool) && topology.nodes === placement.topology.nodes;
  const candidate = candidates.find(isChosen);
  const row = placement.considered.find(isChosen);
  if (candidate === undefined || row === undefined) return undefined;
  const workSeconds = workOf(candidate, work);
  const startSeconds = restartOf(candidate, work);
  const spread = Math.hypot(SPREAD[work.basis], candidate.throughput.uncertainty);
  const ends = endsOf(placement, row, { workSeconds, startSeconds, spread });
  const onDemandHourly =
    placement.onDemandHourlyUsd * placement.topology.nodes + (placement.helpersHourlyUsd ?? 0);
  const usd = moneyOf(placement, { ...ends, onDemandHourly });
  const unbilledHourly = timeUsd - fileSystems.hourlyUsd;
  const byPlan = row.expectedCostUsd - (unbilledHourly * row.expectedSeconds) / 3_600;
  const least = leastUsd(placement, workSeconds + startSeconds);
  return {
    basis: work.basis,
    workSeconds,
    seconds: around(ends.seconds, row.expectedSeconds),
    // Every expected cost of a placement holds the value of the time until the end, which no bill has. The two come from
    // other models, so where time is worth much the difference may be less than the work itself costs.
    usd: around(usd, Math.max(usd.low, byPlan, least)),
    onDemandUsd: ((onDemandHourly + fileSystems.hourlyUsd) * (workSeconds + startSeconds)) / 3_600,
  };
}

/** On Spot the work costs at least its own price; a run that begins on demand may return to Spot and pay less. */
const leastUsd = (placement: Placement, seconds: number): number =>
  placement.pool.purchaseOption === 'spot'
    ? (gangHourlyUsd(placement) * seconds) / 3_600 + fileSystemsUsd(placement, seconds)
    : 0;

/** The placement's own expectation, which knows what the run does after an interruption. */
const around = ({ low, high }: ForecastInterval, expected: number): ForecastInterval => ({
  low: Math.min(low, expected),
  expected,
  high: Math.max(high, expected),
});

interface Work {
  readonly workSeconds: number;
  readonly startSeconds: number;
  readonly spread: number;
}

function endsOf(placement: Placement, row: PoolAssessment, { workSeconds, startSeconds, spread }: Work) {
  const isSpot = placement.pool.purchaseOption === 'spot';
  const untilOnDemand = secondsUntilOnDemand(placement);
  const { seconds, billedSeconds } = workIntervals({
    workSeconds,
    spread,
    startSeconds,
    firstWaitSeconds: isSpot ? firstWait(row, untilOnDemand) : NO_WAIT,
    restartSeconds: startSeconds,
    waitSeconds: row.expectedWaitSeconds ?? 0,
    lossesPerSecond: isSpot ? 1 / Math.max(60, row.expectedUpSeconds ?? PRIOR_UP_SECONDS) : 0,
  });
  // Whatever happens on Spot, the whole work then fits on demand.
  const latest = untilOnDemand + startSeconds + workSeconds * Math.exp(Z * spread);
  return { billedSeconds, seconds: { ...seconds, high: Math.min(seconds.high, latest) } };
}

const NO_WAIT: ForecastInterval = { low: 0, expected: 0, high: 0 };

function firstWait(
  { chanceNow = 1, expectedWaitSeconds = 0 }: PoolAssessment,
  untilOnDemand: number,
): ForecastInterval {
  const atMost = (seconds: number): number => Math.min(seconds, untilOnDemand);
  return {
    low: 0,
    expected: atMost((1 - chanceNow) * expectedWaitSeconds),
    high: atMost(chanceNow >= NEARLY_SURE ? 0 : LONG_WAIT * expectedWaitSeconds),
  };
}

/** From then on the run trains on demand. */
const secondsUntilOnDemand = ({ spotUntil, decidedAt }: Placement): number =>
  spotUntil === undefined
    ? Number.POSITIVE_INFINITY
    : Math.max(0, Date.parse(spotUntil) - Date.parse(decidedAt)) / 1_000;

/** What trains after the last moment for Spot pays the On-Demand price. */
function moneyOf(
  placement: Placement,
  {
    seconds,
    billedSeconds,
    onDemandHourly,
  }: {
    readonly seconds: ForecastInterval;
    readonly billedSeconds: ForecastInterval;
    readonly onDemandHourly: number;
  },
): ForecastInterval {
  const hourly = gangHourlyUsd(placement);
  const until = secondsUntilOnDemand(placement);
  const usd = (end: number, billed: number): number => {
    const onDemand = Math.min(billed, Math.max(0, end - until));
    return (
      ((billed - onDemand) * hourly + onDemand * onDemandHourly) / 3_600 +
      fileSystemsUsd(placement, end) +
      (placement.transfer?.usd ?? 0)
    );
  };
  return {
    low: usd(seconds.low, billedSeconds.low),
    expected: usd(seconds.expected, billedSeconds.expected),
    high: usd(seconds.high, billedSeconds.high),
  };
}
