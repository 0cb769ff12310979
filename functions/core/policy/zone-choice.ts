/**
 * Which zone to run in, and whether a cheaper one is worth waiting for or moving to. That is a small campaign of its own:
 * the cheaper zone comes and goes as the chain says, and the one at hand stands where On-Demand stands in the large one,
 * dearer and always to be had. The same backward pass plans it, starts and all; prices count by their ratio only.
 */
import { type Action, IDLE, ON_DEMAND, SPOT } from './actions.ts';
import { offers, type Standing } from './decide.ts';
import type { MarketModel } from './market-model.ts';
import { makeTable, type Plan, planFrom } from './plan.ts';
import type { Belief } from './regimes.ts';

/** How far the small campaign looks, and the most slack that it may use up on the way. */
const AHEAD_SECONDS = 12 * 3_600;
const MOST_SLACK_SECONDS = 6 * 3_600;
/** Prices are compared in steps of a 128th, so that few tables serve many zones. */
const RATIO_STEPS = 128;
/** A start there, one back, and one more must fit: nothing is weighed with less slack. */
const STARTS = 3;

/** Everything about the moment that the choice follows from. Times in seconds, prices per hour by zone. */
export interface ZoneQuestion {
  readonly tickSeconds: number;
  readonly restartSeconds: number;
  readonly spotUsd: readonly number[];
  readonly available: readonly boolean[];
  readonly beliefs: readonly Belief[];
  readonly workLeft: number;
  readonly slack: number;
  /** The zone that has capacity and would be used, and whether it is in use already. */
  readonly atHand: number;
  readonly inUse: boolean;
  /** Share of the time to come in which some zone will have capacity: what is out of it has to come out of the slack. */
  readonly lasting: number;
}

export type ZoneChoice = (question: ZoneQuestion) => { readonly action: Action; readonly zone: number };

/** Keeps the tables of the small campaigns that it was asked about, of one tick and one restart at a time. */
export function zoneChoice(model: MarketModel): ZoneChoice {
  const plans = new Map<number, Plan>();
  let restart: number | undefined;
  const planOf = (restartSeconds: number, ratio: number): Plan => {
    if (restart !== restartSeconds) plans.clear();
    restart = restartSeconds;
    const rounded = Math.max(1, Math.round(ratio * RATIO_STEPS));
    const plan = plans.get(rounded) ?? smallPlan(model, restartSeconds, rounded / RATIO_STEPS);
    plans.set(rounded, plan);
    return plan;
  };
  return (question) => choose(model, question, planOf);
}

function smallPlan(model: MarketModel, restartSeconds: number, ratio: number): Plan {
  const terms = { tickSeconds: model.tickSeconds, restartSeconds, spotUsd: ratio, onDemandUsd: 1 };
  const horizon = { workSeconds: AHEAD_SECONDS, deadlineSeconds: AHEAD_SECONDS + MOST_SLACK_SECONDS };
  return planFrom(makeTable(model.lattice, terms, [horizon], { cellsPerTick: 1 }), horizon);
}

function choose(
  model: MarketModel,
  question: ZoneQuestion,
  planOf: (restartSeconds: number, ratio: number) => Plan,
): ReturnType<ZoneChoice> {
  const { restartSeconds, spotUsd, available, atHand } = question;
  let best: ReturnType<ZoneChoice> = { action: SPOT, zone: atHand };
  const standing = standingIn(question);
  if (standing === undefined) return best;
  const price = spotUsd[atHand] ?? 0;
  let mostSaved = 0;
  for (const [zone, belief] of question.beliefs.entries()) {
    const ratio = (spotUsd[zone] ?? 0) / price;
    if (!(ratio < 1)) continue;
    const weights = model.weights(belief);
    const chance = available[zone] === true ? 1 : 0;
    const sees = { chance, ifThere: weights, ifNot: weights, spotUsd: ratio };
    const found = offers(planOf(restartSeconds, ratio), standing, sees);
    const staying = found.find(({ action }) => action === ON_DEMAND);
    const first = found.find(({ action }) => standing.mayWait || action !== IDLE);
    if (staying === undefined || first === undefined) continue;
    const saved = (staying.expectedUsd - first.expectedUsd) * price;
    if (saved <= mostSaved) continue;
    mostSaved = saved;
    best = first.action === IDLE ? { action: IDLE, zone: atHand } : { action: SPOT, zone };
  }
  return best;
}

/** Where the small campaign stands; undefined where there is no slack for one. */
function standingIn({
  tickSeconds,
  restartSeconds,
  workLeft,
  slack,
  inUse,
  lasting,
}: ZoneQuestion): (Standing & { readonly mayWait: boolean }) | undefined {
  const kept = STARTS * restartSeconds;
  const free = slack - kept - tickSeconds;
  if (free < 0 || workLeft <= 0) return undefined;
  // What outages of all zones will take is not there to be waited away; the rest is spread over the work.
  const toWait = lasting > 0 ? Math.max(0, free - (workLeft * (1 - lasting)) / lasting) : 0;
  const work = Math.min(workLeft, AHEAD_SECONDS);
  const smallSlack = Math.min((toWait * work) / workLeft + kept, MOST_SLACK_SECONDS);
  const ticksLeft = Math.max(2, Math.floor((work + smallSlack) / tickSeconds));
  return { ticksLeft, slack: smallSlack, runs: inUse ? ON_DEMAND : IDLE, debt: 0, mayWait: toWait > 0 };
}
