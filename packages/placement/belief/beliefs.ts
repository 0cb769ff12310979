/**
 * The belief about each pool's capacity now: the fitted chain, updated by our attempts' observations and by the
 * placement score. A pool that has just lost a job is believed to be down, and less so with every hour.
 */

import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import { once } from '@tidewheel/kit/once.ts';
import { assumed } from '../model/assumed.ts';
import type { Pool } from '../records/placement-records.ts';
import {
  longRunShare,
  meanUpSeconds,
  type Observation,
  type PoolRecord,
  type PoolRecords,
  RECENT_MILLISECONDS,
  recordFor,
} from './attempt-observations.ts';
import {
  advance,
  type Belief,
  beginWalk,
  type Chain,
  chanceUp,
  keptPowers,
  type Lesson,
  meanPassageHours,
  multiply,
  type OwnShare,
  observe,
  type RegimeTable,
  transition,
} from './regimes.ts';

export interface Outlook {
  readonly belief: Belief;
  /** Chance that the gang would get capacity now. */
  readonly chanceUp: number;
  /** Mean seconds until it would get capacity. */
  readonly waitSeconds: number;
  /** Mean seconds from there until an interruption. */
  readonly upSeconds: number;
}

/** How far scores can be trusted, given the observations. */
export const trustOf = (observations: readonly Observation[]): ScoreTrust =>
  scoreTrust(
    observations.flatMap(({ score, purchaseOption, seen }) =>
      score === undefined || purchaseOption !== 'spot' ? [] : [{ score, had: seen === 'up' }],
    ),
  );

const ofLauncher = (observation: Observation, pool: Pool): number =>
  observation.launcher === pool.launcher ? 1 : assumed.close;

/** How much news of another pool says about this one, from 0 (nothing) to 1 (everything). */
function kinship(observation: Observation, pool: Pool): number {
  // A quota of the account says nothing about capacity; capacity-errors.ts leaves such pools alone.
  if (observation.purchaseOption !== pool.purchaseOption || observation.quota === true) return 0;
  if (observation.zoneId === undefined && pool.zoneId === undefined && observation.region !== pool.region)
    return 0;
  const sameType = observation.instanceType === pool.instanceType;
  if (sameType && observation.zoneId === pool.zoneId) return ofLauncher(observation, pool);
  const sameZone = observation.zoneId !== undefined && observation.zoneId === pool.zoneId;
  // A shortage of one type in a zone also affects its neighbours, which share hosts; other zones have other
  // hosts.
  if (sameZone)
    return familyOf(observation.instanceType) === familyOf(pool.instanceType)
      ? assumed.close
      : assumed.sameZone;
  return sameType ? assumed.sameType : 0;
}

/** Times are rounded to this step. */
export const STEP_SECONDS = 600;
/** 2^13 steps are 57 days. Nothing of an observation is left after them, so longer gaps are cut. */
const DOUBLINGS = 13;

const MAXIMUM_OBSERVATIONS = 40;
/** The observations, and what attempts that held their hosts showed meanwhile. */
const MAXIMUM_NEWS = 240;

/** The observations that still matter, oldest first. */
export const recentObservations = (
  observations: readonly Observation[],
  nowMilliseconds: number,
): readonly Observation[] =>
  observations
    .filter(({ atMilliseconds: at }) => at <= nowMilliseconds && nowMilliseconds - at <= RECENT_MILLISECONDS)
    .toSorted((a, b) => a.atMilliseconds - b.atMilliseconds);

interface BeliefModel extends Chain {
  readonly passage: () => ReturnType<typeof meanPassageHours>;
}

export function beliefModel(table: RegimeTable): BeliefModel {
  const doublings = [transition(table, STEP_SECONDS / 3_600)];
  for (let k = 1; k < DOUBLINGS; k += 1) {
    const last = doublings.at(-1) ?? [];
    doublings.push(multiply(last, last));
  }
  return {
    doublings,
    power: keptPowers(doublings),
    start: advance(
      table.ratesPerHour.map((_, __, { length }) => 1 / length),
      doublings.at(-1) ?? [],
    ),
    passage: once(() => meanPassageHours(table)),
  };
}

const weigh = (hours: readonly number[], shares: Belief): number =>
  shares.reduce((sum, share, j) => sum + share * (hours[j] ?? 0), 0);

export interface Seen {
  /** As recentObservations returns them. */
  readonly observations: readonly Observation[];
  readonly score?: number | undefined;
  readonly trust?: ScoreTrust | undefined;
  /** Age of the score; absent: it is of this moment. */
  readonly scoreAgeSeconds?: number | undefined;
  /** Statistics of the weeks before the observations. */
  readonly records?: PoolRecords | undefined;
  readonly nowMilliseconds: number;
}

/** News about a pool at one moment. */
interface News extends Lesson {
  readonly at: number;
}

/** So often at least an attempt that holds its hosts shows that the pool has capacity. */
const HELD_MILLISECONDS = 1_800_000;

function heldBefore({ atMilliseconds: at, heldSinceMilliseconds: since = at }: Observation): readonly News[] {
  const count = Math.min(MAXIMUM_OBSERVATIONS, Math.floor((at - since) / HELD_MILLISECONDS));
  return Array.from({ length: count }, (_, k) => ({ at: at - (k + 1) * HELD_MILLISECONDS, up: 1, down: 0 }));
}

/** The newest first. */
function newsOf(observation: Observation, pool: Pool): readonly News[] {
  const weight = kinship(observation, pool);
  if (weight <= 0) return [];
  const against = 1 - weight;
  const { atMilliseconds: at, seen } = observation;
  const held = weight === 1 ? heldBefore(observation) : [];
  if (seen === 'up') return [{ at, up: 1, down: against }, ...held];
  const isNeighbours = seen === 'lost' && weight < 1;
  return [{ at, up: against, down: 1, ...(isNeighbours && { struck: weight }) }, ...held];
}

function newsAbout(pool: Pool, observations: readonly Observation[]): readonly News[] {
  const found: News[] = [];
  // From the newest backwards: only the last few of a month's observations are used.
  for (let k = observations.length - 1, left = MAXIMUM_OBSERVATIONS; k >= 0 && left > 0; k -= 1) {
    if (found.length >= MAXIMUM_NEWS) break;
    const observation = observations[k];
    const news = observation ? newsOf(observation, pool) : [];
    found.push(...news);
    left -= Math.min(1, news.length);
  }
  return found.reverse();
}

/** Believes what a chain says of a pool after all that was seen of it. */
export function believed(
  model: Chain,
  pool: Pool,
  seen: Seen,
): { readonly belief: Belief; readonly logLikelihood: number } {
  const scoredAt = seen.nowMilliseconds - (seen.scoreAgeSeconds ?? 0) * 1_000;
  const score = seen.score === undefined ? [] : [{ at: scoredAt, ...(seen.trust ?? UNTRIED)(seen.score) }];
  const walk = beginWalk(model);
  const own = ownShare(model, recordFor(seen.records, pool));
  walk.tilt(own, 1);
  let clock: number | undefined;
  const stepAt = (at: number): number => Math.round(at / (STEP_SECONDS * 1_000));
  // Steps of absolute times: gaps below half a step add up.
  const pass = (from: number, to: number): void => {
    walk.pass(Math.min(2 ** DOUBLINGS - 1, stepAt(to) - stepAt(from)));
    walk.tilt(own, 1 - Math.exp((from - to) / 3_600_000 / assumed.forgettingHours));
  };
  for (const news of [...newsAbout(pool, seen.observations), ...score].toSorted((a, b) => a.at - b.at)) {
    if (clock !== undefined) pass(clock, news.at);
    clock = news.at;
    walk.learn(news);
  }
  if (clock !== undefined) pass(clock, seen.nowMilliseconds);
  return { belief: walk.belief(), logLikelihood: walk.logLikelihood() };
}

export function outlookOf(model: BeliefModel, pool: Pool, seen: Seen): Outlook {
  const outlook = describe(model, believed(model, pool, seen).belief);
  return { ...outlook, upSeconds: meanUpSeconds(outlook.upSeconds, recordFor(seen.records, pool)) };
}

/** The pool's own long-run share of time with capacity relative to the chain's, and the same without capacity. */
function ownShare(model: Chain, record: PoolRecord): OwnShare | undefined {
  if (record.had + record.capacityErrors === 0) return undefined;
  const chain = chanceUp(model.start);
  const own = longRunShare(chain, record);
  return { up: own / chain, down: (1 - own) / (1 - chain) };
}

function describe(model: BeliefModel, belief: Belief): Outlook {
  const half = belief.length / 2;
  const { toUp, toDown } = model.passage();
  // Capacity a moment from now: in the regimes that lasted, or in those in which capacity returns.
  const momentLater = observe(advance(belief, model.doublings[0] ?? []), 1, 0);
  return {
    belief,
    chanceUp: chanceUp(belief),
    waitSeconds:
      weigh(
        toUp,
        belief.map((share, j) => (j < half ? 0 : share)),
      ) * 3_600,
    upSeconds: weigh(toDown, momentLater) * 3_600,
  };
}

// What a placement score says about capacity, learned from the outcomes of attempts that asked under a score. AWS says
// that a high score is likely to succeed and promises nothing; the likelihood must be measured.

export interface ScoredMeeting {
  readonly score: number;
  readonly had: boolean;
}

/** The likelihood of a score with and without capacity, up to a common factor. */
interface ScoreLikelihood {
  readonly up: number;
  readonly down: number;
}

type ScoreTrust = (score: number) => ScoreLikelihood;

/** How much high and low scores differ in what they say: 0 for nothing, 1 for everything. */
export const reliabilityOf = (trust: ScoreTrust): number => trust(8).up - trust(3).up;

/** The lowest score that counts as high. */
const HIGH_FROM = 5;
/**
 * Stated, not fitted: with capacity a score has probability (score - 0.5) / 50, without capacity the mirror image.
 */
const HIGH_IF_UP = 0.84;
const HIGH_IF_DOWN = 0.36;
/** The log odds ratio of capacity between a high and a low score. */
const PRIOR_GAP = Math.log((HIGH_IF_UP * (1 - HIGH_IF_DOWN)) / (HIGH_IF_DOWN * (1 - HIGH_IF_UP)));
/** No score is ever certain. */
const LEAST = 0.02;

function scoreTrust(meetings: readonly ScoredMeeting[]): ScoreTrust {
  const shareOfHigh = (had: boolean, prior: number): number => {
    const met = meetings.filter((each) => each.had === had);
    const high = met.filter(({ score }) => score >= HIGH_FROM).length;
    return (assumed.scoreMeetings * prior + high) / (assumed.scoreMeetings + met.length);
  };
  const highIfUp = shareOfHigh(true, HIGH_IF_UP);
  const highIfDown = shareOfHigh(false, HIGH_IF_DOWN);
  const high = highIfUp / HIGH_IF_UP / (highIfDown / HIGH_IF_DOWN);
  const low = (1 - highIfUp) / (1 - HIGH_IF_UP) / ((1 - highIfDown) / (1 - HIGH_IF_DOWN));
  // Where high scores turn out worse than low ones, scores count less and finally not at all; a better score
  // never counts less than a worse one.
  const weight = Math.min(1, Math.max(0, 1 + Math.log(high / low) / PRIOR_GAP));
  return (score) => {
    const prior = Math.min(0.95, Math.max(0.05, (score - 0.5) / 10));
    const learned = high < low ? 1 : score >= HIGH_FROM ? high : low;
    const odds = (prior / (1 - prior)) ** weight * learned;
    const up = Math.min(1 - LEAST, Math.max(LEAST, odds / (1 + odds)));
    return { up, down: 1 - up };
  };
}

const UNTRIED = scoreTrust([]);
