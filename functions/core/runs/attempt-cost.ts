/** What an attempt cost. */
import type { AttemptRecord } from './run-records.ts';

/**
 * SageMaker states BillableTimeInSeconds after the Spot discount, so the On-Demand rate applies to it.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-managed-spot-training.html
 */
export function attemptCost(attempt: AttemptRecord): number {
  // Data moves to another region before the job exists, and is paid for whatever becomes of it.
  const { transfer } = attempt.placement;
  return hoursCost(attempt, attempt.outcome?.billableSeconds ?? 0) + (transfer?.usd ?? 0);
}

export const hoursCost = ({ placement }: AttemptRecord, seconds: number): number =>
  (seconds / 3600) *
  (placement.onDemandHourlyUsd * placement.topology.nodes + (placement.helpersHourlyUsd ?? 0));
