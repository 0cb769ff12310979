import type { TrainingJobDescription } from '../launch/job/training-service.ts';

/** Start of the current status, if that is Training. */
export function trainingSinceOf({
  SecondaryStatus,
  SecondaryStatusTransitions,
}: TrainingJobDescription): Date | undefined {
  if (SecondaryStatus !== 'Training') return undefined;
  return SecondaryStatusTransitions.findLast(({ Status }) => Status === 'Training')?.StartTime;
}
