/**
 * Decides whether a cheaper zone is worth a wait or a move. This is a small campaign of its own: the cheaper zone
 * comes and goes by the chain, and the zone at hand takes On-Demand's part, more expensive and always available. The
 * same backward pass plans it, including restarts; only the ratio of prices counts.
 */
import { IDLE, ON_DEMAND, SPOT } from './actions.ts';
import { type MarketBelief, type Offer, offers, type PolicyState } from './decide.ts';
import type { MarketModel } from './market-model.ts';
import { keptPlans, type PolicyPlan } from './value-function.ts';

/** The parameters of the small campaigns. */
interface ZonePlan {
  /** How far they look, and the most slack that they may use up on the way. */
  readonly aheadSeconds: number;
  readonly mostSlackSeconds: number;
  /** Price ratios are rounded to this many steps, so that few tables serve many zones. */
  readonly ratioSteps: number;
}

const ZONE_PLAN: ZonePlan = { aheadSeconds: 12 * 3_600, mostSlackSeconds: 6 * 3_600, ratioSteps: 128 };
/** The most tables kept, newest first: with ticks of 195 s one takes 13 MB. */
const MOST_TABLES = 32;
/**
 * Slack must cover a start there, one back, one more, and one request without success; otherwise nothing is compared.
 */
const STARTS = 3;

/** The input of the choice. Times in seconds, prices per hour by zone. */
export interface ZoneQuestion {
  readonly restartSeconds: number;
  readonly spotUsd: readonly number[];
  /** The cost of an hour in which nothing runs, where time has a value; the prices then include it too. */
  readonly waitingUsd?: number | undefined;
  /** The belief about a zone's capacity now; the chance is 1 or 0 where it is observed. */
  readonly marketBeliefOf: (zone: number) => Pick<MarketBelief, 'chance' | 'ifThere' | 'ifNot'>;
  readonly workLeft: number;
  readonly slack: number;
  /** The zone that has capacity and would be used, and whether it is in use already. */
  readonly atHand: number;
  readonly inUse: boolean;
  /** Seconds that a request without success takes; 0, the default, where capacity is observed. */
  readonly secondsIfRefused?: number | undefined;
  /**
   * How surely the zone's return will be noticed: 1, the default, where every tick is observed; at 0 the run does not
   * wait for it.
   */
  readonly seesBack?: ((zone: number) => number) | undefined;
  /** Share of the coming time in which some zone will have capacity; the rest comes out of the slack. */
  readonly lasting: number;
}

export interface CheaperZone {
  /** SPOT: ask for it now. IDLE: wait for it with nothing running. */
  readonly action: typeof SPOT | typeof IDLE;
  readonly zone: number;
  /** Against going on in the zone at hand, over the time looked ahead. */
  readonly savedUsd: number;
}

/** Undefined: the zone at hand is the best. */
export type ZoneChoice = (question: ZoneQuestion) => CheaperZone | undefined;

/** Prices as shares of the price at hand. */
interface Ratios {
  readonly spot: number;
  readonly waiting: number;
}

type PlanOf = (restartSeconds: number, ratios: Ratios) => PolicyPlan;

/** Keeps the tables of the small campaigns. */
export function zoneChoice({ lattice, tickSeconds }: MarketModel, zonePlan = ZONE_PLAN): ZoneChoice {
  const { ratioSteps, aheadSeconds, mostSlackSeconds } = zonePlan;
  const plans = keptPlans(() => lattice, { cellsPerTick: 1, mostTables: MOST_TABLES, spare: 0 });
  const planOf: PlanOf = (restartSeconds, { spot, waiting }) =>
    plans({
      tickSeconds,
      restartSeconds,
      spotUsd: Math.max(1, Math.round(spot * ratioSteps)) / ratioSteps,
      onDemandUsd: 1,
      waitingUsd: Math.round(waiting * ratioSteps) / ratioSteps,
      workSeconds: aheadSeconds,
      // A tick more for each of the two, which are counted in whole ticks.
      deadlineSeconds: aheadSeconds + mostSlackSeconds + 2 * tickSeconds,
    });
  return (question) => choose(question, { ...zonePlan, tickSeconds, planOf });
}

interface Given extends Omit<ZonePlan, 'ratioSteps'> {
  readonly tickSeconds: number;
  readonly planOf: PlanOf;
}

function choose(question: ZoneQuestion, given: Given): CheaperZone | undefined {
  const { planOf } = given;
  const standing = standingIn(question, given);
  if (standing === undefined) return undefined;
  const atHandUsd = question.spotUsd[question.atHand] ?? 0;
  let best: CheaperZone | undefined;
  for (const [zone, usd] of question.spotUsd.entries()) {
    if (!(usd < atHandUsd)) continue;
    const found = compare(zone, { question, standing, planOf });
    if (found !== undefined && found.savedUsd > (best?.savedUsd ?? 0)) best = found;
  }
  return best;
}

/** Compares this zone with the one at hand: the saving of asking for it or waiting for it, whichever is better. */
function compare(
  zone: number,
  {
    question,
    standing,
    planOf,
  }: { readonly question: ZoneQuestion; readonly standing: SmallStanding; readonly planOf: PlanOf },
): CheaperZone | undefined {
  const { restartSeconds, spotUsd, waitingUsd = 0, atHand } = question;
  const seesBack = question.seesBack?.(zone) ?? 1;
  const price = spotUsd[atHand] ?? 0;
  const ratio = (spotUsd[zone] ?? 0) / price;
  const plan = planOf(restartSeconds, { spot: ratio, waiting: waitingUsd / price });
  // A run that does not notice its return pays the price at hand for all the work.
  const unseenUsd = standing.workSeconds / 3_600 + (question.inUse ? 0 : restartSeconds / 3_600);
  const seen = ({ action, expectedUsd }: Offer): Offer =>
    action === SPOT
      ? { action, expectedUsd }
      : { action, expectedUsd: seesBack * expectedUsd + (1 - seesBack) * Math.max(unseenUsd, expectedUsd) };
  const found = offers(plan, standing, { ...question.marketBeliefOf(zone), spotUsd: ratio })
    .map(seen)
    .toSorted((a, b) => a.expectedUsd - b.expectedUsd);
  const staying = found.find(({ action }) => action === ON_DEMAND);
  const best = found.find(({ action }) => standing.mayWait || action !== IDLE);
  if (staying === undefined || best === undefined || best.action === ON_DEMAND) return undefined;
  const savedUsd = (staying.expectedUsd - best.expectedUsd) * price;
  return { action: best.action === IDLE ? IDLE : SPOT, zone, savedUsd };
}

interface SmallStanding extends PolicyState {
  readonly workSeconds: number;
  readonly mayWait: boolean;
}

/** Where the small campaign stands; undefined where there is no slack for one. */
function standingIn(
  { restartSeconds, workLeft, slack, inUse, lasting, secondsIfRefused = 0 }: ZoneQuestion,
  { tickSeconds, aheadSeconds, mostSlackSeconds }: Given,
): SmallStanding | undefined {
  const kept = STARTS * restartSeconds + secondsIfRefused;
  const free = slack - kept - tickSeconds;
  if (free < 0 || workLeft <= 0) return undefined;
  // Slack that outages of all zones will take cannot be spent on waiting; the rest is spread over the work.
  const toWait = lasting > 0 ? Math.max(0, free - (workLeft * (1 - lasting)) / lasting) : 0;
  const work = Math.min(workLeft, aheadSeconds);
  const smallSlack = Math.min((toWait * work) / workLeft + kept, mostSlackSeconds);
  // Both in whole ticks, as billed: with part of a tick, work that ends in this tick would seem done and
  // waiting free.
  const slackTicks = Math.ceil(smallSlack / tickSeconds - 1e-9);
  const ticksLeft = Math.max(2, Math.ceil(work / tickSeconds - 1e-9) + slackTicks);
  const runs = inUse ? ON_DEMAND : IDLE;
  const slackLeft = slackTicks * tickSeconds;
  return { ticksLeft, slack: slackLeft, runs, debt: 0, workSeconds: work, mayWait: toWait > 0 };
}
