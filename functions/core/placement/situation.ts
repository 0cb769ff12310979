/** What a placement is decided from, and what follows from it before any pool is looked at. */
import type { Pipeline } from '../pipeline.ts';
import type { AttemptRecord, Progress } from '../records.ts';
import type { Sighting } from './beliefs.ts';
import type { MarketView } from './port.ts';
import { estimateWork, spentUsd, type WorkEstimate } from './work.ts';

export interface PlacementInput {
  readonly compute: Pipeline['compute'];
  readonly limits: Pipeline['limits'];
  readonly market: MarketView;
  /** When the batch was closed: the deadline counts from here. */
  readonly closedAt: string;
  readonly now: string;
  /** Of this run, oldest first. */
  readonly attempts: readonly AttemptRecord[];
  readonly progress?: Progress | undefined;
  /** Training seconds of the whole run, as declared or as former runs took. */
  readonly expectedSeconds?: number | undefined;
  /** Of all helper groups together; what `helpersHourlyUsd` finds. */
  readonly helpersHourlyUsd?: number | undefined;
  /** What other runs met in these pools. */
  readonly sightings?: readonly Sighting[] | undefined;
}

/** Everything the decision is made from, derived once. */
export interface Situation {
  readonly input: PlacementInput;
  readonly nowMilliseconds: number;
  readonly secondsLeft: number;
  readonly work: WorkEstimate;
  /** How long an On-Demand start can still be put off; below 0 the deadline is lost already. */
  readonly slackSeconds: number;
  /** Kept free for noticing a loss and for On-Demand being refused at first. */
  readonly marginSeconds: number;
  readonly spentUsd: number;
}

/** Noticing takes a turn of reconcile; On-Demand may be refused once or twice. No more than a twentieth of the campaign. */
const MARGIN_SECONDS = 900;

export function situationOf(input: PlacementInput): Situation {
  const nowMilliseconds = Date.parse(input.now);
  const campaignSeconds = input.limits.deadlineHours * 3_600;
  const secondsLeft = (Date.parse(input.closedAt) - nowMilliseconds) / 1_000 + campaignSeconds;
  const work = estimateWork({
    attempts: input.attempts,
    progress: input.progress,
    expectedSeconds: input.expectedSeconds,
    maximumRunSeconds: input.limits.maximumRunSeconds,
    campaignSeconds,
  });
  return {
    input,
    nowMilliseconds,
    secondsLeft,
    work,
    slackSeconds: secondsLeft - work.workSeconds - work.restartSeconds,
    marginSeconds: Math.min(MARGIN_SECONDS, campaignSeconds / 20),
    spentUsd: spentUsd(input.attempts),
  };
}
