/**
 * When a run will end and what that will have cost: the median, and the interval that holds nine times in ten, over
 * futures that are drawn from what placement believes and decided as placement decides. Pure; a seed gives the same
 * futures again.
 */

import { deadlineHoursOf } from '@tidewheel/declaration/pipeline.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import type { Candidate } from '../candidates/pools.ts';
import { measuredThroughputs } from '../candidates/throughput-estimate.ts';
import { choosePlacement } from '../decision/choose.ts';
import { idleSpan, isReserved, paidRest, spansAhead } from '../decision/reserved.ts';
import { asIfEnded } from '../decision/revise.ts';
import {
  type PlacementInput,
  type ReservedSpan,
  type Situation,
  situationOf,
} from '../decision/situation.ts';
import { spentUsd, type WorkEstimate } from '../decision/work.ts';
import { assumed } from '../model/assumed.ts';
import { fileSystemsUsd, type PlacedAttempt } from '../records/attempts.ts';
import {
  type Interval,
  type Placement,
  type PlacementDecision,
  samePool,
  type Widths,
  widened,
} from '../records/placement-records.ts';
import { type Begins, type Drawn, live } from './live.ts';
import { drawByChain, type PoolFuture, type SpotPlace, type World, worldOf } from './run-world.ts';

export interface Forecast {
  /** measured: from this run's steps; declared: from former runs. */
  readonly basis: Exclude<WorkEstimate['basis'], 'assumed'>;
  /** Training left in the pool at hand. */
  readonly workSeconds: number;
  /** From now to the end. */
  readonly seconds: Interval;
  /** From now on. */
  readonly usd: Interval;
  /** The rest of the work at the On-Demand price, without an interruption. */
  readonly onDemandUsd: number;
  /** The chance of an end after the deadline; absent without a deadline. */
  readonly lateChance?: number | undefined;
  /** The chance that the budget ends the run. */
  readonly overBudgetChance: number;
  /** With which both intervals were corrected. */
  readonly widths: Widths;
}

/** Where the run is: an attempt that is open, a pool that was just chosen, or a wait for the next decision. */
export type Standing =
  | {
      readonly kind: 'attempt';
      readonly placed: PlacedAttempt;
      /** When its hosts were there; absent while it waits for them. */
      readonly heldSince?: Date | undefined;
      readonly scriptSince?: Date | undefined;
    }
  | { readonly kind: 'chosen'; readonly placement: Placement }
  | { readonly kind: 'waits'; readonly seconds: number };

interface ForecastQuestion {
  /** The input that `place` would get now without the attempt that is open. */
  readonly input: PlacementInput;
  readonly standing: Standing;
  /** What the run has cost so far. */
  readonly spentUsd: number;
  /** The run's name will do: it is on every record. */
  readonly seed: string;
  /** What comes before the placement, as former runs took for it. */
  readonly packingSeconds?: readonly number[] | undefined;
  /** Draws what becomes of a Spot pool; default: as placement believes. A measurement may know better. */
  readonly drawPool?: DrawPool | undefined;
}

export type DrawPool = (place: SpotPlace, draw: () => number) => PoolFuture;

/** Enough for the twentieth at either end. */
const FUTURES = 320;

/** Where the next attempt goes, and what that means for the end and the cost. */
export function decide(input: PlacementInput, seed: string): PlacementDecision {
  const decision = choosePlacement(input);
  const forecast = forecastDecision({ input, decision, seed });
  if (forecast === undefined || decision.kind === 'giveUp') return decision;
  const { seconds, usd, lateChance } = forecast;
  return { ...decision, expected: { seconds, usd, lateChance } };
}

export function forecastDecision({
  decision,
  ...question
}: Pick<ForecastQuestion, 'input' | 'seed' | 'packingSeconds'> & {
  readonly decision: PlacementDecision;
}): Forecast | undefined {
  if (decision.kind === 'giveUp') return undefined;
  const standing: Standing =
    decision.kind === 'wait'
      ? { kind: 'waits', seconds: decision.seconds }
      : { kind: 'chosen', placement: decision.placement };
  return forecastRun({ ...question, standing, spentUsd: spentUsd(question.input.attempts) });
}

/** @returns undefined where nothing says how much work there is */
export function forecastRun(question: ForecastQuestion): Forecast | undefined {
  const { input, standing, seed } = question;
  const whole = situationOf(withHeld(input, standing));
  const { basis } = whole.work;
  const here = placementOf(standing);
  if (basis === 'assumed') return undefined;
  // Futures live through what is paid for; the hours of reservations come on top.
  const { situation, used } = paidRest(whole, reservedSpans(whole, here));
  const world = worldOf(situation, here, question.spentUsd, askedFor(question));
  const begins = beginsOf(question, world);
  const left = workLeft(whole, begins);
  const paces = pacesOf(whole, begins, here);
  const free = used.reduce((sum, { workSeconds }) => sum + workSeconds, 0);
  const paid = (quantile: number): number => Math.max(0, left(quantile) - free);
  const added = withReserved(used, world);
  const ends = Array.from({ length: FUTURES }, (_, k) => {
    const quantile = (k + 0.5) / FUTURES;
    const drawn = drawnBy(seededUniform(`${seed} ${k}`), quantile, { question, world, paces, left: paid });
    const ending = live(world, drawn, begins);
    return added(ending, left(quantile));
  });
  const share = (of: (typeof ends)[number][]): number => of.length / FUTURES;
  const deadline = deadlineIn(input);
  const { widths = { end: 1, cost: 1 } } = input;
  const workSeconds = left(0.5) * factorOf(world, begins);
  return {
    basis,
    workSeconds,
    widths,
    seconds: widened(intervalOf(ends.map(({ seconds }) => seconds)), widths.end),
    usd: widened(intervalOf(ends.map(({ usd }) => usd)), widths.cost),
    onDemandUsd: onDemandUsdOf(world, here, workSeconds + startOf(world, begins)),
    ...(deadline !== undefined && {
      lateChance: share(ends.filter(({ isDone, seconds }) => isDone && seconds > deadline)),
    }),
    overBudgetChance: share(ends.filter(({ isDone, usd }) => !isDone && usd >= world.budgetUsd)),
  };
}

/** Those that begin later, the one that a run is in, and those that are idle while it is in none. */
const reservedSpans = (whole: Situation, here: Placement | undefined): readonly ReservedSpan[] => {
  const isPaid = here !== undefined && here.reserved === undefined;
  const now = whole.candidates.flatMap((each) => {
    const isHere = here !== undefined && samePool(each.pool, here.pool);
    if (!isReserved(each) || isPaid || (here !== undefined && !isHere)) return [];
    return idleSpan(isHere ? asIdle(each) : each, whole) ?? [];
  });
  return [...now, ...spansAhead(whole)];
};

/** Its own hosts are what fills it. */
const asIdle = (each: Candidate): Candidate => ({
  ...each,
  reservation: each.reservation && { ...each.reservation, availableInstances: each.reservation.instances },
});

/** The same on the clock: paid work stands still while a reservation works, and the run ends with the later of both. */
const withReserved =
  (used: readonly ReservedSpan[], { heldUsdPerHour, budgetUsd }: World) =>
  (ending: ReturnType<typeof live>, workSeconds: number): ReturnType<typeof live> => {
    let { seconds } = ending;
    let left = workSeconds;
    let free = 0;
    for (const span of used) {
      const share = Math.min(1, left / span.workSeconds);
      const lasts = (span.untilSeconds - span.fromSeconds) * share;
      if (lasts > 0 && seconds > span.fromSeconds) seconds += lasts;
      free = lasts > 0 ? span.fromSeconds + lasts : free;
      left -= span.workSeconds * share;
    }
    seconds = Math.max(seconds, free);
    const heldUsd = (heldUsdPerHour * (seconds - ending.seconds)) / 3_600;
    return { ...ending, seconds, usd: Math.min(budgetUsd, ending.usd + heldUsd) };
  };

const placementOf = (standing: Standing): Placement | undefined => {
  switch (standing.kind) {
    case 'attempt':
      return standing.placed.placement;
    case 'chosen':
      return standing.placement;
    case 'waits':
      return undefined;
  }
};

/** What an attempt that has its hosts shows of pace and capacity counts as if it had just saved. */
function withHeld(input: PlacementInput, standing: Standing): PlacementInput {
  if (standing.kind !== 'attempt' || standing.heldSince === undefined) return input;
  const { placed: attempt, heldSince: trainingSince } = standing;
  const { progress } = input;
  return asIfEnded({ attempt, progress, trainingSince, now: new Date(input.now), question: input });
}

/** Seconds for which an On-Demand attempt has waited for its hosts. */
function askedFor({ standing, input }: ForecastQuestion): number {
  if (standing.kind !== 'attempt' || standing.heldSince !== undefined) return 0;
  const { placement, createdAt } = standing.placed;
  const isBought = placement.pool.purchaseOption === 'on-demand';
  return isBought ? (Date.parse(input.now) - Date.parse(createdAt)) / 1_000 : 0;
}

function beginsOf({ input, standing }: ForecastQuestion, world: World): Begins {
  switch (standing.kind) {
    case 'waits':
      return { kind: 'nothing', waitSeconds: standing.seconds };
    case 'chosen':
      return asksFor(standing.placement.pool, 0);
    case 'attempt':
      return beginsWith(standing, input, world);
  }
}

/** What a run in a reservation does that is paid for. */
const NOTHING_PAID: Begins = { kind: 'nothing', waitSeconds: 0 };

const asksFor = ({ purchaseOption }: Placement['pool'], forSeconds: number): Begins =>
  purchaseOption === 'reserved' ? NOTHING_PAID : { kind: 'asks', purchaseOption, forSeconds };

function beginsWith(
  { placed, heldSince, scriptSince }: Extract<Standing, { kind: 'attempt' }>,
  { now, progress }: PlacementInput,
  { spot, onDemand }: World,
): Begins {
  const { pool } = placed.placement;
  const { purchaseOption } = pool;
  const since = (at: Date): number => Math.max(0, Date.parse(now) - at.getTime()) / 1_000;
  if (heldSince === undefined) return asksFor(pool, since(new Date(placed.createdAt)));
  if (purchaseOption === 'reserved') return NOTHING_PAID;
  const forSeconds = since(heldSince);
  const [place] = purchaseOption === 'spot' ? spot : onDemand;
  const starts = place?.startSeconds ?? 0;
  const trained = scriptSince === undefined ? Math.max(0, forSeconds - starts) : since(scriptSince);
  const sinceSave = progress === undefined ? Number.POSITIVE_INFINITY : since(new Date(progress.updatedAt));
  const isStarted = sinceSave < forSeconds || scriptSince !== undefined;
  return {
    kind: 'holds',
    purchaseOption,
    forSeconds,
    debtSeconds: isStarted ? 0 : Math.max(0, starts - forSeconds),
    unsavedSeconds: sinceSave < forSeconds ? sinceSave : trained,
  };
}

const factorOf = ({ spot, onDemand }: World, begins: Begins): number =>
  begins.kind === 'nothing' ? 1 : ((begins.purchaseOption === 'spot' ? spot : onDemand)[0]?.factor ?? 1);

const deadlineIn = ({ limits, closedAt, now }: PlacementInput): number | undefined => {
  const hours = deadlineHoursOf(limits);
  return hours === undefined ? undefined : hours * 3_600 - (Date.parse(now) - Date.parse(closedAt)) / 1_000;
};

const LEAST_OVERRUN_SECONDS = 60;

/** Seconds of the reference's work that are left, by quantile; never none while the run goes on. */
function workLeft({ input, work }: Situation, begins: Begins): (quantile: number) => number {
  const unsaved = begins.kind === 'holds' ? begins.unsavedSeconds : 0;
  const trained = Math.max(
    unsaved,
    input.progress?.trainingSeconds ?? 0,
    LEAST_OVERRUN_SECONDS / assumed.overrun,
  );
  const overrun = (quantile: number): number =>
    trained * assumed.overrun * logLogistic(assumed.overrunSpread, quantile);
  if (work.basis === 'measured') {
    const rest = work.workSeconds - unsaved;
    return rest > 0 ? () => rest : overrun;
  }
  const former = (input.formerSeconds ?? []).map(Math.log);
  const whole = former.length === 0 ? work.workSeconds : scaledTo(work, input, former);
  const spread = spreadOf(former, assumed.workSpread) * Math.sqrt(1 + 1 / Math.max(1, former.length));
  // It has taken so long already; where no former run did, nothing but that is known.
  const passed = chanceBelow(spread, unsaved / whole);
  if (passed > 0.98) return overrun;
  return (quantile) => whole * logLogistic(spread, passed + quantile * (1 - passed)) - unsaved;
}

/** The mean of former runs in place of the longest, which counts for the deadline. */
const scaledTo = (
  { workSeconds }: WorkEstimate,
  { expectedSeconds = workSeconds }: PlacementInput,
  former: readonly number[],
): number => (workSeconds / expectedSeconds) * Math.exp(meanOf(former));

interface Paces {
  /** That of the attempt at hand over the mean of all, where its steps showed it. */
  readonly own?: number | undefined;
  /** Standard deviation of the logarithms of attempts' paces. */
  readonly spread: number;
  /** Standard deviation of the logarithm of `spread` itself: few attempts show little of it. */
  readonly ofSpread: number;
  /** The mean spreads by this share of it. */
  readonly ofMean: number;
}

function pacesOf({ input, work }: Situation, begins: Begins, here: Placement | undefined): Paces {
  const measured = measuredThroughputs(input.attempts).filter(
    ({ instanceType }) => here === undefined || instanceType === here.pool.instanceType,
  );
  const spread = spreadOf(
    measured.map(({ stepSeconds }) => Math.log(stepSeconds)),
    assumed.paceSpread,
  );
  const ofSpread = 1 / Math.sqrt(2 * Math.max(1, measured.length));
  if (work.basis !== 'measured') return { spread, ofSpread, ofMean: 0 };
  const [last] = begins.kind === 'holds' ? measuredThroughputs(input.attempts.slice(-1)) : [];
  const steps = measured.reduce((sum, each) => sum + each.steps, 0);
  const seconds = measured.reduce((sum, each) => sum + each.steps * each.stepSeconds, 0);
  return {
    own: last && (last.stepSeconds * steps) / seconds,
    spread,
    ofSpread,
    ofMean: steps > 0 ? Math.hypot(...measured.map((each) => each.steps)) / steps : 1,
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length);

/** Standard deviation of a logarithm, as if one more value had shown the prior. */
function spreadOf(logs: readonly number[], prior: number): number {
  const mean = meanOf(logs);
  const squares = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return Math.sqrt((squares + prior ** 2) / Math.max(1, logs.length));
}

/** The logistic distribution stands in for the normal one: its quantiles and chances have closed forms. */
const scaleOf = (spread: number): number => (spread * Math.sqrt(3)) / Math.PI;
const logLogistic = (spread: number, quantile: number): number =>
  (quantile / (1 - quantile)) ** scaleOf(spread);
const chanceBelow = (spread: number, factor: number): number =>
  factor <= 0 ? 0 : 1 / (1 + factor ** (-1 / scaleOf(spread)));

const about = (spread: number, quantile: number): number =>
  spread === 0 ? 1 : logLogistic(spread, Math.min(0.999, Math.max(0.001, quantile)));

interface Given {
  readonly question: ForecastQuestion;
  readonly world: World;
  readonly paces: Paces;
  readonly left: (quantile: number) => number;
}

/** @param quantile from 0 to 1, over the futures: of what is uncertain for all that is left */
function drawnBy(draw: () => number, quantile: number, { question, world, paces, left }: Given): Drawn {
  const { packingSeconds = [], drawPool = drawByChain } = question;
  const unmeasured = draw();
  const common = { start: about(assumed.startSpread, draw()), price: about(assumed.priceSpread, draw()) };
  const spread = paces.spread * about(paces.ofSpread, draw());
  const mean = about(paces.ofMean * spread, quantile);
  const nextPace = (): number => mean * about(spread, draw());
  return {
    ...common,
    workSeconds: left(quantile),
    ownPace: paces.own === undefined ? nextPace() : paces.own * about(assumed.withinShare * spread, draw()),
    nextPace,
    packingSeconds: packingSeconds[Math.floor(draw() * packingSeconds.length)] ?? 0,
    demandWaitSeconds: demandWait(world, draw()),
    placePace: (spread) => about(spread, unmeasured),
    pools: world.spot.map((each) => drawPool(each, draw)),
  };
}

/** One of the waits that were seen, and were longer than this one; as long again, in the median, where none was. */
function demandWait({ onDemandWaits, refusedSeconds }: World, quantile: number): number {
  const longer = onDemandWaits.filter((seconds) => seconds >= refusedSeconds);
  const seen = longer[Math.floor(quantile * longer.length)];
  return (seen ?? refusedSeconds / Math.max(0.02, quantile)) - refusedSeconds;
}

const TAIL = 0.05;

function intervalOf(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (quantile: number): number => {
    const place = quantile * (sorted.length - 1);
    const low = sorted[Math.floor(place)] ?? 0;
    return low + ((sorted[Math.ceil(place)] ?? low) - low) * (place - Math.floor(place));
  };
  return { low: at(TAIL), expected: at(0.5), high: at(1 - TAIL) };
}

/** A start that has happened is not paid again. */
const startOf = ({ onDemand, spot }: World, { kind }: Begins): number =>
  kind === 'holds' ? 0 : ((onDemand[0] ?? spot[0])?.startSeconds ?? 0);

function onDemandUsdOf({ onDemand }: World, here: Placement | undefined, seconds: number): number {
  if (here === undefined) return ((onDemand[0]?.hourlyUsd ?? 0) * seconds) / 3_600;
  const hourlyUsd = here.onDemandHourlyUsd * here.topology.nodes + (here.helpersHourlyUsd ?? 0);
  return (hourlyUsd * seconds) / 3_600 + fileSystemsUsd(here, seconds);
}
