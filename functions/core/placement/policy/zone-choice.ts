/**
 * Whether a cheaper zone is worth waiting for or moving to. That is a small campaign of its own: the cheaper zone comes and
 * goes as the chain says, and the one at hand stands where On-Demand stands in the large one, dearer and always to be had.
 * The same backward pass plans it, starts and all; prices count by their ratio only.
 */
import { IDLE, ON_DEMAND, SPOT } from './actions.ts';
import { type MarketBelief, type Offer, offers, type Standing } from './decide.ts';
import type { MarketModel } from './market-model.ts';
import { makeTable, type Plan, planFrom } from './value-function.ts';

/** What the small campaigns are planned with. */
interface ZonePlan {
  /** How far they look, and the most slack that they may use up on the way. */
  readonly aheadSeconds: number;
  readonly mostSlackSeconds: number;
  /** Prices are compared in steps of so small a part, so that few tables serve many zones. */
  readonly ratioSteps: number;
}

const ZONE_PLAN: ZonePlan = { aheadSeconds: 12 * 3_600, mostSlackSeconds: 6 * 3_600, ratioSteps: 128 };
/** At most so many tables are kept, the newest: at ticks of 195 s one takes 13 MB. */
const MOST_TABLES = 32;
/** A start there, one back, and one more must fit, and the time to ask in vain: nothing is weighed with less slack. */
const STARTS = 3;

/** Everything about the moment that the choice follows from. Times in seconds, prices per hour by zone. */
export interface ZoneQuestion {
  readonly restartSeconds: number;
  readonly spotUsd: readonly number[];
  /** What an hour costs in which nothing runs, where time has a value; the prices then hold it as well. */
  readonly waitingUsd?: number | undefined;
  /** What is known of a zone's capacity now: its chance is 1 or 0 for who sees it. */
  readonly marketBeliefOf: (zone: number) => Pick<MarketBelief, 'chance' | 'ifThere' | 'ifNot'>;
  readonly workLeft: number;
  readonly slack: number;
  /** The zone that has capacity and would be used, and whether it is in use already. */
  readonly atHand: number;
  readonly inUse: boolean;
  /** What asking in vain takes; 0, the default, for who sees what is there. */
  readonly inVainSeconds?: number | undefined;
  /** How surely it will be seen that this zone is back: 1, the default, for who sees every tick; at 0 it is not waited for. */
  readonly seesBack?: ((zone: number) => number) | undefined;
  /** Share of the time to come in which some zone will have capacity: what is out of it has to come out of the slack. */
  readonly lasting: number;
}

export interface CheaperZone {
  /** SPOT: asked for now. IDLE: waited for, with nothing running. */
  readonly action: typeof SPOT | typeof IDLE;
  readonly zone: number;
  /** Beside going on in the zone at hand, in what is looked ahead. */
  readonly savedUsd: number;
}

/** undefined: the zone at hand is the best there is. */
export type ZoneChoice = (question: ZoneQuestion) => CheaperZone | undefined;

/** Prices as shares of the price at hand. */
interface Ratios {
  readonly spot: number;
  readonly waiting: number;
}

type PlanOf = (restartSeconds: number, ratios: Ratios) => Plan;

/** Keeps the tables of the small campaigns that it was asked about. */
export function zoneChoice(model: MarketModel, zonePlan = ZONE_PLAN): ZoneChoice {
  const { ratioSteps } = zonePlan;
  const plans = new Map<string, Plan>();
  const planOf: PlanOf = (restartSeconds, ratios) => {
    const [spot, waiting] = [ratios.spot, ratios.waiting].map((each) => Math.round(each * ratioSteps));
    const key = `${restartSeconds} ${spot} ${waiting}`;
    const rounded = { spot: Math.max(1, spot ?? 0) / ratioSteps, waiting: (waiting ?? 0) / ratioSteps };
    const plan = plans.get(key) ?? smallPlan(model, zonePlan, { restartSeconds, ...rounded });
    const [oldest] = plans.keys();
    if (oldest !== undefined && plans.size >= MOST_TABLES && !plans.has(key)) plans.delete(oldest);
    plans.set(key, plan);
    return plan;
  };
  return (question) => choose(question, { ...zonePlan, tickSeconds: model.tickSeconds, planOf });
}

function smallPlan(
  model: MarketModel,
  { aheadSeconds, mostSlackSeconds }: ZonePlan,
  { restartSeconds, spot, waiting }: Ratios & { readonly restartSeconds: number },
): Plan {
  const terms = {
    tickSeconds: model.tickSeconds,
    restartSeconds,
    spotUsd: spot,
    onDemandUsd: 1,
    waitingUsd: waiting,
  };
  // A tick more for each of the two, which are counted in whole ticks.
  const deadlineSeconds = aheadSeconds + mostSlackSeconds + 2 * model.tickSeconds;
  const horizon = { workSeconds: aheadSeconds, deadlineSeconds };
  return planFrom(makeTable(model.lattice, terms, [horizon], { cellsPerTick: 1 }), horizon);
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

/** This zone beside the one at hand: what the best of asking for it and waiting for it saves. */
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
  // Who does not see that it is back pays the price at hand for all the work.
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

interface SmallStanding extends Standing {
  readonly workSeconds: number;
  readonly mayWait: boolean;
}

/** Where the small campaign stands; undefined where there is no slack for one. */
function standingIn(
  { restartSeconds, workLeft, slack, inUse, lasting, inVainSeconds = 0 }: ZoneQuestion,
  { tickSeconds, aheadSeconds, mostSlackSeconds }: Given,
): SmallStanding | undefined {
  const kept = STARTS * restartSeconds + inVainSeconds;
  const free = slack - kept - tickSeconds;
  if (free < 0 || workLeft <= 0) return undefined;
  // What outages of all zones will take is not there to be waited away; the rest is spread over the work.
  const toWait = lasting > 0 ? Math.max(0, free - (workLeft * (1 - lasting)) / lasting) : 0;
  const work = Math.min(workLeft, aheadSeconds);
  const smallSlack = Math.min((toWait * work) / workLeft + kept, mostSlackSeconds);
  // Both in whole ticks, as they are billed: by a part of one, what ends in this tick would seem done, and waiting free.
  const slackTicks = Math.ceil(smallSlack / tickSeconds - 1e-9);
  const ticksLeft = Math.max(2, Math.ceil(work / tickSeconds - 1e-9) + slackTicks);
  const runs = inUse ? ON_DEMAND : IDLE;
  const slackLeft = slackTicks * tickSeconds;
  return { ticksLeft, slack: slackLeft, runs, debt: 0, workSeconds: work, mayWait: toWait > 0 };
}
