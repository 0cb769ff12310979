/**
 * One future of a run, decided as the policy decides: Spot while a loss can still be borne, waits between capacity
 * errors, On-Demand at the latest safe moment or where the plan's table says so, and back. Times are seconds from now.
 */

import { once } from '@tidewheel/kit/once.ts';
import { advance, type Belief, chanceUp, observe } from '../belief/regimes.ts';
import { fitted } from '../decision/assess.ts';
import { coolSecondsAfter } from '../decision/met.ts';
import { assumed } from '../model/assumed.ts';
import { market, marketBeliefOf, TICK_SECONDS } from '../policy/market-model.ts';
import { IDLE, ON_DEMAND, SPOT } from '../policy/plan-pass.ts';
import type { MarketBelief, StateChance } from '../policy/value-function.ts';
import type { DemandPlace, PoolFuture, SpotPlace, World } from './run-world.ts';

/** What the run does at the moment of the look. */
export type Begins =
  | { readonly kind: 'nothing'; readonly waitSeconds: number }
  /** An attempt waits for capacity in the first pool of its kind, since so many seconds. */
  | { readonly kind: 'asks'; readonly purchaseOption: 'spot' | 'on-demand'; readonly forSeconds: number }
  /** It has its hosts. A start that goes on still owes `debtSeconds`. */
  | {
      readonly kind: 'holds';
      readonly purchaseOption: 'spot' | 'on-demand';
      readonly forSeconds: number;
      readonly debtSeconds: number;
      /** Training that a loss would take. */
      readonly unsavedSeconds: number;
    };

/** What chance decides in one future. */
export interface Drawn {
  /** Seconds of the reference's work. */
  readonly workSeconds: number;
  /** Before the run is placed. */
  readonly packingSeconds: number;
  /** One for each Spot pool of the world. */
  readonly pools: readonly PoolFuture[];
  /** A factor on the time that work takes in a place whose speed is known up to this spread. */
  readonly placePace: (spread: number) => number;
  /** The same of the attempt at hand, and of each one that starts later. */
  readonly ownPace: number;
  readonly nextPace: () => number;
  /** Factors on starts, and on Spot prices. */
  readonly start: number;
  readonly price: number;
  readonly demandWaitSeconds: number;
}

interface Ending {
  readonly seconds: number;
  /** From now on. */
  readonly usd: number;
  /** false: its budget ended it, or it was followed no further. */
  readonly isDone: boolean;
}

interface Course {
  at: number;
  work: number;
  usd: number;
  runs: typeof IDLE | typeof SPOT | typeof ON_DEMAND;
  /** Index of the place in use. */
  place: number;
  debt: number;
  unsaved: number;
  /** Seconds that a second of the reference's work takes in this attempt, apart from its place. */
  pace: number;
  /** Seconds of the reference's work trained so far, and how long they took: what decisions go by. */
  shown: number;
  took: number;
  readonly budgetUsd: number;
  readonly pools: Seen[];
}

/** What the run itself has seen of a Spot pool. */
interface Seen {
  errors: number;
  coolUntil: number;
  lostAt: number;
  /** When its capacity came, or was last seen to be missing. */
  since: number;
  /** What the run knew of it then. */
  belief: Belief;
}

/** A future is followed this many times as long as the deadline, or the work, is away. */
const HORIZONS = 4;

export function live(world: World, drawn: Drawn, begins: Begins): Ending {
  const course = begin(world, drawn, begins);
  const horizon = HORIZONS * Math.max(world.secondsLeft, drawn.workSeconds + world.restartSeconds, 3_600);
  while (course.work > 0 && course.at < horizon && course.usd < world.budgetUsd - LEAST_USD) {
    if (course.runs === SPOT) trainOnSpot(world, drawn, course);
    else if (course.runs === ON_DEMAND) trainOnDemand(world, drawn, course);
    else ask(world, drawn, course);
  }
  const held = (world.heldUsdPerHour * course.at) / 3_600;
  return {
    seconds: course.at,
    usd: Math.min(world.budgetUsd, course.usd + held),
    isDone: course.work <= 0,
  };
}

function begin(world: World, drawn: Drawn, begins: Begins): Course {
  const course: Course = {
    at: drawn.packingSeconds + (begins.kind === 'nothing' ? begins.waitSeconds : 0),
    work: drawn.workSeconds,
    usd: 0,
    runs: IDLE,
    place: 0,
    debt: 0,
    unsaved: 0,
    pace: drawn.ownPace,
    shown: world.trainedSeconds,
    took: world.trainedSeconds,
    budgetUsd: world.budgetUsd,
    pools: world.spot.map(({ capacityErrors, coolSeconds, belief }) => ({
      errors: capacityErrors,
      coolUntil: coolSeconds,
      lostAt: Number.NEGATIVE_INFINITY,
      since: 0,
      belief,
    })),
  };
  if (begins.kind === 'nothing') return course;
  const isSpot = begins.purchaseOption === 'spot';
  if (begins.kind === 'asks') {
    if (isSpot) askPool(world, drawn, course, { pool: 0, since: course.at - begins.forSeconds });
    else startOnDemand(world, drawn, course, 0);
    return course;
  }
  course.runs = isSpot ? SPOT : ON_DEMAND;
  course.debt = begins.debtSeconds * drawn.start;
  course.unsaved = begins.unsavedSeconds;
  return course;
}

/** Until then On-Demand can be put off; in the past it is needed. */
function latestSafe(world: World, course: Course): number {
  let least = Number.POSITIVE_INFINITY;
  for (const each of world.onDemand) least = Math.min(least, neededOn(each, course));
  if (least === Number.POSITIVE_INFINITY) return least;
  return world.secondsLeft - least - world.restartSeconds - world.marginSeconds;
}

/** Seconds of the rest of the work at the pace that was seen: what comes is not known to the run. */
const workSeen = ({ work, shown, took }: Course): number => (shown > 0 ? (work * took) / shown : work);

/** Seconds that the rest of the work is sure to take there. */
const neededOn = ({ safeFactor, startSeconds }: DemandPlace, course: Course): number =>
  workSeen(course) * safeFactor + startSeconds;

/** Money that no bill shows. */
const LEAST_USD = 1e-6;

/** @param factor seconds here for a second of the reference's work, at its plain pace */
function train(course: Course, hourlyUsd: number, factor: number, until: number): void {
  const pace = factor * course.pace;
  const whole = course.debt + course.work * pace;
  const affordable = ((course.budgetUsd - course.usd) / hourlyUsd) * 3_600;
  const passed = Math.max(0, Math.min(whole, until - course.at, affordable));
  const worked = Math.max(0, passed - course.debt);
  course.debt = Math.max(0, course.debt - passed);
  course.work = passed >= whole ? 0 : course.work - worked / pace;
  course.shown += worked / pace;
  course.took += worked / factor;
  course.usd += (hourlyUsd * passed) / 3_600;
  course.at += passed;
}

function trainOnSpot(world: World, drawn: Drawn, course: Course): void {
  const { place } = course;
  const [here, future] = [world.spot[place], drawn.pools[place]];
  if (here === undefined || future === undefined) return;
  const lost = future.changeAfter(course.at);
  const isDearer = world.spot.some((each) => each.isScored && unitOf(each) < 0.95 * unitOf(here));
  const until = isDearer ? Math.min(lost, course.at + assumed.futureLookSeconds) : lost;
  train(course, here.hourlyUsd * drawn.price, here.factor * drawn.placePace(here.spread), until);
  if (course.work <= 0) return;
  if (course.at >= lost) {
    course.runs = IDLE;
    course.work += course.unsaved / here.factor / course.pace;
    course.unsaved = 0;
    const seen = course.pools[place];
    if (seen) Object.assign(seen, { lostAt: course.at, since: course.at, belief: ages().lost });
    return;
  }
  const there = cheaperThan(here, world, drawn, course);
  if (there === undefined || course.debt > 0) return;
  save(course, here.hourlyUsd * drawn.price);
  startOnSpot(world, drawn, course, there);
}

const unitOf = ({ hourlyUsd, factor }: SpotPlace): number => hourlyUsd * factor;

const save = (course: Course, hourlyUsd: number): void => {
  course.unsaved = 0;
  course.at += assumed.saveSeconds;
  course.usd += (hourlyUsd * assumed.saveSeconds) / 3_600;
};

/** A pool that a score shows to be up, and whose price pays for the move within the hours that capacity mostly lasts. */
function cheaperThan(here: SpotPlace, world: World, drawn: Drawn, course: Course): number | undefined {
  const lasts = Math.min(course.work, spellSeconds());
  const move = world.restartSeconds + assumed.saveSeconds;
  if (latestSafe(world, course) - course.at < move) return undefined;
  const found = world.spot.findIndex(
    (each, k) =>
      each.isScored &&
      drawn.pools[k]?.isUp(course.at) === true &&
      (unitOf(here) - unitOf(each)) * lasts > unitOf(each) * move,
  );
  return found < 0 ? undefined : found;
}

const spellSeconds = once(() => market().lastingTicks(observe(market().start, 1, 0)) * TICK_SECONDS);

function startOnSpot(world: World, drawn: Drawn, course: Course, pool: number): void {
  const place = world.spot[pool];
  const seen = course.pools[pool];
  if (place === undefined || seen === undefined) return;
  Object.assign(seen, { errors: 0, coolUntil: 0, since: course.at });
  course.usd += pool === course.place ? 0 : place.transferUsd;
  const debt = place.startSeconds * drawn.start;
  Object.assign(course, { runs: SPOT, place: pool, debt, pace: drawn.nextPace() });
}

/** On the cheapest that ends in time, or the fastest. */
function startOnDemand(world: World, drawn: Drawn, course: Course, given?: number): void {
  const left = world.secondsLeft - course.at;
  const inTime = world.onDemand.findIndex((each) => neededOn(each, course) <= left);
  const index = given ?? (inTime < 0 ? world.onDemand.length - 1 : inTime);
  course.at += drawn.demandWaitSeconds;
  Object.assign(course, {
    runs: ON_DEMAND,
    place: index,
    debt: (world.onDemand[index]?.startSeconds ?? 0) * drawn.start,
    pace: drawn.nextPace(),
  });
}

function trainOnDemand(world: World, drawn: Drawn, course: Course): void {
  const here = world.onDemand[course.place];
  if (here === undefined) return;
  const returns = world.spot.length > 0 && world.value !== undefined;
  const until = returns ? course.at + course.debt + assumed.futureLookSeconds : Number.POSITIVE_INFINITY;
  train(course, here.hourlyUsd, here.factor * drawn.placePace(here.spread), until);
  if (course.work <= 0 || !returns) return;
  const pool =
    course.work > 2 * (world.restartSeconds + assumed.saveSeconds) ? backTo(world, drawn, course) : undefined;
  if (pool === undefined) return;
  save(course, here.hourlyUsd);
  course.runs = IDLE;
  askPool(world, drawn, course, { pool, since: course.at });
}

/** The Spot pool to which a job on demand returns: seen to be up or, without a score, believed to be. */
function backTo(world: World, drawn: Drawn, course: Course): number | undefined {
  if (latestSafe(world, course) - course.at < assumed.saveSeconds) return undefined;
  for (const [pool, seenOf] of course.pools.entries()) {
    const isUp = drawn.pools[pool]?.isUp(course.at) === true;
    const chance = world.spot[pool]?.isScored ? Number(isUp) : chanceUp(beliefAt(seenOf, course.at));
    if (chance < assumed.leastChance) continue;
    const seen = { chance, ifThere: ahead(true, course, pool), ifNot: ahead(false, course, pool) };
    return bestOf(world, course, { seen, runs: ON_DEMAND }) === SPOT ? pool : undefined;
  }
  return undefined;
}

/** Once the pool has been up, or down, for so long. */
function aged(isUp: boolean, { at, pools }: Course, pool: number): Belief {
  const walk = isUp ? ages().up : ages().down;
  const age = Math.floor((at - (pools[pool]?.since ?? 0)) / TICK_SECONDS);
  return walk[Math.min(walk.length - 1, age)] ?? [];
}

const ahead = (isUp: boolean, course: Course, pool: number): readonly StateChance[] =>
  marketBeliefOf(aged(isUp, course, pool))[isUp ? 'ifThere' : 'ifNot'];

/** Without news since. */
function beliefAt({ belief, since }: Seen, at: number): Belief {
  const ticks = Math.min(MOST_AGES, Math.floor((at - since) / TICK_SECONDS));
  const passed = ticks > 0 ? fitted().power(ticks) : undefined;
  return passed === undefined ? belief : advance(belief, passed);
}

const bestOf = (
  { value, secondsLeft, onDemand }: World,
  course: Course,
  moment: { readonly seen: MarketBelief; readonly runs: typeof IDLE | typeof ON_DEMAND },
) =>
  value?.best({
    ...moment,
    secondsLeft: secondsLeft - course.at,
    workSeconds: workSeen(course) * (onDemand[0]?.factor ?? 1),
  });

/** Asks for Spot, waits, or starts on demand. */
function ask(world: World, drawn: Drawn, course: Course): void {
  const safe = latestSafe(world, course);
  if (world.spot.length === 0 || safe < course.at) {
    if (world.onDemand.length > 0) startOnDemand(world, drawn, course);
    else course.at = Number.POSITIVE_INFINITY;
    return;
  }
  const pool = poolToAsk(world, drawn, course);
  if (pool === undefined) {
    course.at = Math.min(
      safe + 1,
      ...course.pools.map(({ coolUntil }) => Math.max(coolUntil, course.at + 1)),
    );
    return;
  }
  const back = awaited(world, drawn, course, pool);
  if (back !== undefined) {
    course.at = Math.min(safe + 1, course.at + assumed.futureLookSeconds, back);
    return;
  }
  const isThere = drawn.pools[pool]?.isUp(course.at) === true;
  const buys =
    !isThere &&
    bestOf(world, course, {
      seen: { chance: 0, ifThere: [], ifNot: ahead(false, course, pool) },
      runs: IDLE,
    }) === ON_DEMAND;
  if (buys && world.onDemand.length > 0) startOnDemand(world, drawn, course);
  else askPool(world, drawn, course, { pool, since: course.at });
}

/** When the cheapest pool is back, where its score will show that and a wait for it saves more than this pool brings. */
function awaited(world: World, drawn: Drawn, course: Course, pool: number): number | undefined {
  const { cheapest } = world;
  const [future, there] = [drawn.pools[cheapest], course.pools[cheapest]];
  if (there === undefined || cheapest === pool || future?.isUp(course.at) !== false) return undefined;
  const belief = there.lostAt > 0 ? aged(false, course, cheapest) : ages().gone;
  const slackSeconds = latestSafe(world, course) - course.at;
  const saved = world.savedByWait(pool, belief, workSeen(course), slackSeconds);
  return saved > 0 ? future.changeAfter(course.at) : undefined;
}

function askPool(
  world: World,
  drawn: Drawn,
  course: Course,
  { pool, since }: { readonly pool: number; readonly since: number },
): void {
  const [future, seen] = [drawn.pools[pool], course.pools[pool]];
  if (future === undefined || seen === undefined) return;
  const comes = future.isUp(course.at) ? course.at : future.changeAfter(course.at);
  const until = Math.max(course.at, Math.min(since + assumed.patienceSeconds, latestSafe(world, course)));
  if (comes <= until) {
    course.at = comes;
    startOnSpot(world, drawn, course, pool);
    return;
  }
  course.at = until;
  seen.errors += 1;
  seen.belief = observe(beliefAt(seen, until), 0, 1);
  seen.since = until;
  seen.coolUntil = until + coolSecondsAfter(seen.errors);
}

/** The cheapest that scores show to be up, else the one that refused least often; one just lost only if no other is open. */
function poolToAsk(world: World, drawn: Drawn, { at, pools }: Course): number | undefined {
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  let bestIsCalm = false;
  for (const [k, place] of world.spot.entries()) {
    const seen = pools[k];
    if (seen === undefined || seen.coolUntil > at) continue;
    const isCalm = at - seen.lostAt >= assumed.lossCoolSeconds;
    const isSeenUp = place.isScored && drawn.pools[k]?.isUp(at) === true;
    const worth = unitOf(place) * (isSeenUp ? 1 : assumed.doubtful) ** (seen.errors + 1);
    if (isCalm === bestIsCalm ? worth >= least : bestIsCalm) continue;
    [best, least, bestIsCalm] = [k, worth, isCalm];
  }
  return best;
}

/** Less than half a day; a spell that has lasted so long is believed to go on. */
const MOST_AGES = 63;

/** Beliefs by the ticks for which a pool has been up or down; `lost`: it went a tick ago; `gone`: when is unknown. */
const ages = once(() => {
  const model = market();
  const after = (up: number, down: number): Belief =>
    observe(model.ahead(observe(model.start, down, up)), up, down);
  const walk = (up: number, down: number): readonly Belief[] => {
    let belief = after(up, down);
    return Array.from({ length: MOST_AGES }, () => {
      const now = belief;
      belief = observe(model.ahead(belief), up, down);
      return now;
    });
  };
  return { up: walk(1, 0), down: walk(0, 1), lost: after(0, 1), gone: observe(model.start, 0, 1) };
});
