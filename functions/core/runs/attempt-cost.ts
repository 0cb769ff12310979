/** The cost of an attempt. */
import type { AttemptRecord } from './run-records.ts';

/**
 * SageMaker states BillableTimeInSeconds after the Spot discount, so the On-Demand rate applies to it.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-managed-spot-training.html
 */
export function attemptCost(attempt: AttemptRecord): number {
  // The copy to another region precedes the job and is paid for whatever its outcome.
  const { transfer } = attempt.placement;
  return hoursCost(attempt, attempt.outcome?.billableSeconds ?? 0) + (transfer?.usd ?? 0);
}

export const hoursCost = ({ placement }: AttemptRecord, seconds: number): number =>
  (seconds / 3600) *
  (placement.onDemandHourlyUsd * placement.topology.nodes + (placement.helpersHourlyUsd ?? 0));
