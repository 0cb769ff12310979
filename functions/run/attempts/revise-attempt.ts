/** Recalls a running attempt if another pool is now the better choice. */

import { factsWith } from '@tidewheel/catalog/hardware.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import {
  mayMoveToSpot,
  type PlacementInput,
  type RunningCampaign,
  reservationsOf,
  revise,
  storedQuestion,
} from '@tidewheel/placement/choose.ts';
import { typesOf } from '@tidewheel/placement/estimate.ts';
import { questionOf } from '@tidewheel/placement/explain.ts';
import {
  type MarketSource,
  type MarketView,
  observationsOfOthers,
  type ReservationSource,
  refreshedBy,
  samplesFor,
  withScoresOfNow,
} from '@tidewheel/placement/market.ts';
import type { Progress, StopReason } from '@tidewheel/placement/records.ts';
import type { TrainingJobDescription } from '../../launch/job/training-service.ts';
import { advanced, readProgress } from '../../records/progress.ts';
import type { AttemptRecord, RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { type ObserveDeps, recallAttempt } from './observe-attempt.ts';
import { trainingSinceOf } from './watch-attempt.ts';

export interface ReviseDeps
  extends ObserveDeps,
    Pick<Stores, 'placements' | 'marketSamples' | 'poolOutcomes' | 'scoreQuestions'> {
  readonly store: ObjectStore;
  /** Of the data's own region. */
  readonly market: Pick<MarketSource, 'region' | 'scores'>;
  /** Needed only for a pipeline that declares `compute.reserved`. */
  readonly reservations?: ReservationSource | undefined;
}

/**
 * Safe to repeat: an attempt is recalled once.
 * @param job a fresh description of the running job
 */
export async function reviseAttempt(
  deps: ReviseDeps,
  attempt: AttemptRecord,
  job: TrainingJobDescription,
): Promise<'recalled' | 'left'> {
  const view = await campaignNow(deps, attempt, job);
  const why = view && (await whyRecall(view));
  if (why === undefined) return 'left';
  const current = await deps.attempts.get(attempt.runId, attempt.attempt);
  if (current === undefined || current.outcome !== undefined || current.recall !== undefined) return 'left';
  await recallAttempt(deps, current, why);
  return 'recalled';
}

/** A running campaign with stored scores, and with current scores on request. */
interface CampaignView {
  readonly campaign: RunningCampaign;
  readonly withScoresOfNow: () => Promise<RunningCampaign>;
}

/**
 * Stored scores are minutes old, and the Spot capacity that a run on demand waits for may last no longer. Such a run
 * requests current scores whenever a move is safe. A run on Spot loses little in minutes, so it requests them only to
 * confirm a move.
 */
async function whyRecall({ campaign, withScoresOfNow }: CampaignView): Promise<StopReason> {
  if (campaign.attempt.placement.pool.purchaseOption === 'on-demand')
    return revise(mayMoveToSpot(campaign) ? await withScoresOfNow() : campaign);
  const why = revise(campaign);
  return why?.cause === 'spot' ? revise(await withScoresOfNow()) : why;
}

/** @returns undefined when there is nothing to decide */
async function campaignNow(
  deps: ReviseDeps,
  attempt: AttemptRecord,
  job: TrainingJobDescription,
): Promise<CampaignView | undefined> {
  const trainingSince = trainingSinceOf(job);
  // The progress of an attempt in another region is in that region's bucket.
  if (trainingSince === undefined || attempt.placement.pool.region !== undefined) return undefined;
  const run = await deps.runs.get(attempt.runId);
  if (run?.declaration === undefined) return undefined;
  const { purchaseOption, reserved } = run.declaration.compute;
  if (purchaseOption === 'on-demand' && reserved === undefined) return undefined;
  const progress = await progressOf(deps.store, attempt);
  if (progress === undefined) return undefined;
  const now = deps.clock.now();
  const question = await questionNow(deps, { run, attempt, now });
  if (question === undefined) return undefined;
  const campaign = { attempt, progress, trainingSince, now, question };
  return {
    campaign,
    withScoresOfNow: async () => {
      const asked = { ...deps, compute: question.compute, hardware: factsWith(question.hardware) };
      const market = await withScoresOfNow(question.market, deps.market, asked);
      return { ...campaign, question: { ...question, market } };
    },
  };
}

/**
 * An attempt without a checkpoint of its own has measured nothing. An On-Demand job may be judged by an earlier attempt's
 * throughput; a Spot job must show its own.
 */
async function progressOf(
  store: ObjectStore,
  { pipeline, runId, placement, progressBefore }: AttemptRecord,
): Promise<Progress | undefined> {
  const progress = await readProgress(store, pipeline, runId);
  if (advanced(progressBefore, progress)) return progress;
  return placement.pool.purchaseOption === 'on-demand' ? progressBefore : undefined;
}

/** The attempt's own question with current prices and outcomes, and the newest stored scores. */
async function questionNow(
  deps: ReviseDeps,
  { run, attempt, now }: { readonly run: RunRecord; readonly attempt: AttemptRecord; readonly now: Date },
): Promise<PlacementInput | undefined> {
  const { runId } = run;
  const stored = await deps.placements.get(runId, attempt.attempt);
  if (stored === undefined || run.declaration === undefined) return undefined;
  const { compute } = run.declaration;
  const { decision } = stored;
  const hardware = factsWith(storedQuestion(decision).hardware);
  const instanceTypes = typesOf(compute, hardware);
  const [attempts, reserved, observations] = await Promise.all([
    deps.attempts.list(runId),
    reservationsOf(deps, { compute, instanceTypes, now }),
    observationsOfOthers(deps.poolOutcomes, { runId, instanceTypes, now }),
  ]);
  const question = questionOf({ run, attempts, attempt: attempt.attempt, decision, observations });
  if (question === undefined) return undefined;
  const { market, elsewhere = [], now: readAt } = question;
  /** Adds the samples stored since the decision. A score without a newer sample ages. */
  const upToDate = async (view: MarketView): Promise<MarketView> => {
    const request = { compute, hardware, region: view.region, now };
    return refreshedBy(await samplesFor(deps.marketSamples, request), view, { ...request, readAt });
  };
  const home = await upToDate({ ...market, ...(reserved && { reservations: reserved.reservations }) });
  const away = elsewhere.map(async (view) => ({ ...view, market: await upToDate(view.market) }));
  return { ...question, market: home, elsewhere: await Promise.all(away) };
}
