/** The cost of an attempt. */
import type { PlacedAttempt } from './attempts.ts';
import type { Placement } from './placement-records.ts';

/**
 * SageMaker states BillableTimeInSeconds after the Spot discount, so the On-Demand rate applies to it.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-managed-spot-training.html
 */
export function attemptCost(attempt: PlacedAttempt): number {
  // The copy to another region precedes the job and is paid for whatever its outcome.
  const { transfer } = attempt.placement;
  const { outcome } = attempt;
  return hoursCost(attempt, outcome?.billableSeconds ?? 0) + (transfer?.usd ?? 0) + fileSystemsCost(attempt);
}

export const hoursCost = ({ placement }: PlacedAttempt, seconds: number): number =>
  (seconds / 3600) *
  (placement.onDemandHourlyUsd * placement.topology.nodes + (placement.helpersHourlyUsd ?? 0));

/** File systems are paid for as long as they are there, so the whole life of the attempt counts, waits included. */
export function fileSystemsCost({ placement, createdAt, outcome }: PlacedAttempt): number {
  if (outcome === undefined) return 0;
  const lived = (Date.parse(outcome.endedAt ?? '') - Date.parse(createdAt)) / 1_000;
  return fileSystemsUsd(placement, lived >= 0 ? lived : outcome.trainingSeconds);
}

export const fileSystemsUsd = (
  { fileSystemsHourlyUsd = 0 }: Pick<Placement, 'fileSystemsHourlyUsd'>,
  seconds: number,
): number => (fileSystemsHourlyUsd * seconds) / 3_600;

export interface Spent {
  readonly costUsd: number;
  /** Cost of the same on On-Demand. */
  readonly onDemandUsd: number;
}

/** Below 0 where Spot cost more. */
export const savedOf = ({ costUsd, onDemandUsd }: Spent) => ({
  savedUsd: onDemandUsd - costUsd,
  savedPercent: onDemandUsd > 0 ? Math.round((1 - costUsd / onDemandUsd) * 1_000) / 10 : 0,
});
