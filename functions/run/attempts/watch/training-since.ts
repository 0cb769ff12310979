import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { TrainingJobDescription } from '../../../launch/job/training-service.ts';
import type { Notifier } from '../../../records/ports.ts';
import type { Stores } from '../../../records/stores.ts';

/** What the watches of a running attempt read, and where they announce what they find. */
export interface WatchDeps extends Pick<Stores, 'attempts' | 'timeline'> {
  readonly store: ObjectStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** Start of the current status, if that is Training. */
export function trainingSinceOf({
  SecondaryStatus,
  SecondaryStatusTransitions,
}: TrainingJobDescription): Date | undefined {
  if (SecondaryStatus !== 'Training') return undefined;
  return SecondaryStatusTransitions.findLast(({ Status }) => Status === 'Training')?.StartTime;
}
