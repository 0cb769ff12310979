/**
 * Whether a job that runs well should be recalled all the same: a Spot job that turned out too slow to risk a loss any
 * more, and an On-Demand job whose rest is expected to be clearly cheaper on Spot. Decided from the newest checkpoint,
 * by the placement's own code; the stop lets the script save, and where it goes on is again `place`'s decision.
 */

import { ON_DEMAND } from '../policy/actions.ts';
import { NEXT_LOOK_SECONDS, SAVE_SECONDS, type StopReason } from '../policy/running.ts';
import { type AttemptRecord, type Pool, type Progress, samePool } from '../records.ts';
import { fallbackOf } from './assess-spot.ts';
import { spotToAsk } from './choose.ts';
import { safeWorkOf } from './gang-cost.ts';
import type { Candidate } from './pools.ts';
import { unitUsd } from './pools.ts';
import { type PlacementInput, type Situation, situationOf } from './situation.ts';

export interface RunningCampaign {
  readonly attempt: AttemptRecord;
  /** The newest complete checkpoint; on demand that of an attempt before will do. */
  readonly progress: Progress;
  /** Since when it has been training, start-up left out. */
  readonly trainingSince: Date;
  readonly now: Date;
  /** What `place` would be asked now, but for this attempt: the attempts before it, the newest prices and scores. */
  readonly question: PlacementInput;
}

/** On-Demand is held; it is not given up for Spot that is more likely gone than there. */
const LEAST_CHANCE = 0.5;
/** Of the time since the newest checkpoint so much is believed to be work that the stop will save. */
const MOST_UNSAVED_SECONDS = 3_600;

export function revise(campaign: RunningCampaign): StopReason {
  const { attempt, question } = campaign;
  if (question.compute.market !== 'spot-then-on-demand') return undefined;
  const situation = situationOf(asIfEnded(campaign));
  const here = situation.candidates.find(
    ({ pool, topology }) =>
      samePool(pool, attempt.placement.pool) && topology.nodes === attempt.placement.topology.nodes,
  );
  if (here === undefined || situation.work.basis !== 'measured') return undefined;
  return attempt.placement.pool.market === 'spot'
    ? tooSlow(campaign, situation, here)
    : cheaperOnSpot(campaign, situation, here);
}

/** The question that `place` would be put if the job had just been stopped and had saved. */
function asIfEnded({ attempt, progress, trainingSince, now, question }: RunningCampaign): PlacementInput {
  const ran = (now.getTime() - trainingSince.getTime()) / 1_000;
  const ended: AttemptRecord = {
    ...attempt,
    progressAfter: progress,
    outcome: {
      kind: 'recalled',
      message: '',
      startedAt: trainingSince.toISOString(),
      endedAt: now.toISOString(),
      // Nothing is known yet of what this start cost, so it says nothing of restarts.
      trainingSeconds: 0,
      billableSeconds: ran,
      interruptions: 0,
    },
  };
  return { ...question, now: now.toISOString(), attempts: [...question.attempts, ended], progress };
}

/** Work since the checkpoint, which a stop saves. */
const unsavedSeconds = ({ progress, trainingSince, now }: RunningCampaign): number => {
  const since = Math.max(Date.parse(progress.updatedAt), trainingSince.getTime());
  return Math.min(MOST_UNSAVED_SECONDS, Math.max(0, now.getTime() - since) / 1_000);
};

/**
 * While work goes as fast as believed slack does not shrink. When it has shrunk so far that after the next look an
 * On-Demand start could not end in time any more, a loss could not be borne: it changes now, while it can.
 */
function tooSlow(campaign: RunningCampaign, situation: Situation, here: Candidate): StopReason {
  const { work, slackSeconds, marginSeconds } = situation;
  const unsaved = unsavedSeconds(campaign);
  const left = safeWorkOf(here, work) - unsaved;
  const slack = slackSeconds + unsaved - SAVE_SECONDS;
  // Too late for On-Demand, or nearly done: going on is the best there is.
  if (slack < 0 || left <= work.restartSeconds + SAVE_SECONDS) return undefined;
  if (slack > Math.min(NEXT_LOOK_SECONDS, marginSeconds)) return undefined;
  const why = `is slower than it was believed: ${hours(left)} of work are left, and a loss of Spot could not be borne any more: stopped after a save, for On-Demand`;
  return { cause: 'deadline', why };
}

/**
 * By the same values as the choice of an attempt: asking for Spot now, the save and both starts included, against going on
 * here until Spot is seen to be back another time.
 */
function cheaperOnSpot(campaign: RunningCampaign, situation: Situation, here: Candidate): StopReason {
  const { question } = campaign;
  const { work, slackSeconds, marginSeconds } = situation;
  if (question.attempts.length + 2 >= question.limits.attempts) return undefined;
  if (slackSeconds - work.restartSeconds - marginSeconds < SAVE_SECONDS) return undefined;
  const unsaved = unsavedSeconds(campaign) / here.pace.factor;
  const saved = { ...situation, work: { ...work, workSeconds: Math.max(0, work.workSeconds - unsaved) } };
  // Nearly done: ticks are too coarse to tell what a move would save.
  if (saved.work.workSeconds <= 2 * (work.restartSeconds + SAVE_SECONDS)) return undefined;
  const there = spotToAsk(saved);
  if (there === undefined || there.outlook.chanceUp < LEAST_CHANCE) return undefined;
  const { candidate, outlook } = there;
  const { plan, hourlyUsd } = fallbackOf(here, unitUsd(candidate, candidate.hourlyUsd), saved);
  if (plan === undefined) return undefined;
  const { ask, onDemand } = plan.expectedUsd(outlook.belief, ON_DEMAND);
  const movedUsd = ask + (hourlyUsd * SAVE_SECONDS) / 3_600;
  if (movedUsd >= onDemand) return undefined;
  const why = `is moved to Spot (${nameOf(candidate.pool)}), where the rest is expected to cost $${movedUsd.toFixed(2)} instead of $${onDemand.toFixed(2)}: stopped after a save`;
  return { cause: 'spot', why };
}

const nameOf = ({ instanceType, zoneId }: Pool): string =>
  zoneId === undefined ? instanceType : `${instanceType} in ${zoneId}`;
const hours = (seconds: number): string => `${(seconds / 3_600).toFixed(1)} h`;
