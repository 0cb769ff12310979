/**
 * Whether to recall a running attempt: because the budget would not last until the next look, or because its Spot pool
 * keeps it waiting. The script saves before the stop, and `place` chooses the next pool.
 */

import { hourlyUsdOf, spentUsd } from '@tidewheel/placement/estimate.ts';
import {
  assumed,
  NEXT_LOOK_SECONDS,
  nameOfReservation,
  type Placement,
  type StopReason,
  samePool,
  type Topology,
} from '@tidewheel/placement/records.ts';
import { isTerminal } from '../../launch/job/job-state.ts';
import { mustRecall, type Patience } from '../../launch/job/recall.ts';
import type { TrainingJobDescription } from '../../launch/job/training-service.ts';
import { type AttemptRecord } from '../../records/run-records.ts';

export interface RunningQuestion {
  readonly attempt: AttemptRecord;
  readonly job: TrainingJobDescription;
  readonly now: Date;
  /** Other attempts of the run. */
  readonly others: readonly AttemptRecord[];
  readonly budgetUsd?: number | undefined;
  readonly deadlineAt?: Date | undefined;
}

export function whyStop(question: RunningQuestion): StopReason {
  const { attempt, job, now } = question;
  if (isTerminal(job) || job.TrainingJobStatus === 'Stopping') return undefined;
  const why = overBudget(question) ?? reservationEnds(question);
  if (why !== undefined) return why;
  const { pool, spotUntil } = attempt.placement;
  const place = pool.zoneId ?? 'its zone';
  if (mustRecall(job, now, patienceOf(question))) {
    const what = job.TrainingStartTime === undefined ? 'found no' : 'lost its';
    return { cause: 'capacity', why: `${what} capacity in ${place}: recalled` };
  }
  const waits = mustRecall(job, now, { patienceSeconds: 0 });
  return waits && spotUntil !== undefined && now.getTime() >= Date.parse(spotUntil)
    ? {
        cause: 'capacity',
        why: `has waited for Spot in ${place} until the latest safe moment for On-Demand: recalled`,
      }
    : undefined;
}

/** The next look would come too late for a save: AWS then takes the hosts, or they cost more. */
function reservationEnds({ attempt, now }: RunningQuestion): StopReason {
  const { pool, reserved } = attempt.placement;
  const ahead = now.getTime() + (NEXT_LOOK_SECONDS + assumed.saveSeconds) * 1_000;
  if (reserved?.until === undefined || ahead < Date.parse(reserved.until)) return undefined;
  const name = nameOfReservation(pool.reservation);
  return { cause: 'reservation', why: `has to leave ${name} by ${reserved.until}: stopped after a save` };
}

/** On demand the run waits in the queue as long as its slack lasts: elsewhere it would queue from the end again. */
function patienceOf({ attempt, deadlineAt }: RunningQuestion): Patience {
  const { pool, topology, considered } = attempt.placement;
  // A reservation was seen to be idle; in the queue of a training plan a job may wait for days.
  if (pool.purchaseOption !== 'on-demand')
    return { patienceSeconds: assumed.patienceSeconds, preparationSeconds: preparationSeconds(topology) };
  if (deadlineAt === undefined) return { patienceSeconds: Number.POSITIVE_INFINITY };
  const left = (deadlineAt.getTime() - Date.parse(attempt.createdAt)) / 1_000;
  // Work of unknown length may take half of the time.
  const work = considered.find((each) => samePool(each.pool, pool))?.expectedSeconds ?? left / 2;
  return { patienceSeconds: Math.max(assumed.queueSeconds, left - work) };
}

/** Stated, not measured: large types boot longer, and the slowest of many nodes decides. */
const preparationSeconds = ({ nodes, acceleratorsPerNode }: Topology): number =>
  assumed.patienceSeconds * (3 + Math.log2(nodes) / 2 + (acceleratorsPerNode >= 8 ? 1 : 0));

function overBudget({ attempt, job, now, others, budgetUsd }: RunningQuestion): StopReason {
  if (budgetUsd === undefined || job.TrainingStartTime === undefined) return undefined;
  const ran = Math.max(0, now.getTime() - job.TrainingStartTime.getTime()) / 1_000;
  const spent = spentUsd(others.filter((each) => each.attempt !== attempt.attempt));
  const ahead = ran + NEXT_LOOK_SECONDS + assumed.saveSeconds;
  // The copy of the data to another region was paid for before the job existed.
  const copied = attempt.placement.transfer?.usd ?? 0;
  const needed = spent + copied + (heldHourlyUsd(attempt.placement) * ahead) / 3_600;
  // SageMaker's own time limit would leave no time for a save.
  if (needed <= budgetUsd) return undefined;
  const why = `would pass the budget of $${budgetUsd.toFixed(2)} before the next look: stopped after a save`;
  return { cause: 'budget', why };
}

/** Helper groups always pay the On-Demand price. */
export const gangHourlyUsd = (placement: Placement): number =>
  hourlyUsdOf(placement) * placement.topology.nodes + (placement.helpersHourlyUsd ?? 0);

/** With the file systems, which are paid for at the same time. */
export const heldHourlyUsd = (placement: Placement): number =>
  gangHourlyUsd(placement) + (placement.fileSystemsHourlyUsd ?? 0);

/** How long after the job's own limits a waiting execution looks for itself. */
const GRACE_SECONDS = 1_800;
/** An On-Demand job may queue before it runs, as long as slack is left. */
const QUEUE_LIMIT_SECONDS = 86_400;

/**
 * Every attempt ends by its own limits before this. Events or reconcile report the end; the timeout fires only if both
 * are lost.
 */
export const attemptTimeoutSeconds = ({ pool, maximumWaitSeconds, maximumRunSeconds }: Placement): number => {
  const queueSeconds = pool.purchaseOption === 'spot' ? 0 : QUEUE_LIMIT_SECONDS;
  return (maximumWaitSeconds ?? maximumRunSeconds) + queueSeconds + GRACE_SECONDS;
};
