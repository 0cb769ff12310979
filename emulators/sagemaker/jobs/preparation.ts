/** SageMaker prepares the instances of a job before it downloads anything. The bill begins with the download. */
import type { Clock } from '../../clock/clock.ts';
import type { Presence } from '../../clock/presence.ts';
import type { CapacityLease } from '../../spot-market/model/capacity-source.ts';

/** As botocore's model words the messages of `Starting`. */
export const LAUNCHING = 'Launching requested ML instances.';
export const PREPARING = 'Preparing the instances for training.';
export const REPLACING = 'Launched instance was unhealthy, replacing it!';

export type Prepared = 'ready' | 'reclaimed' | 'ended';

/**
 * The clock may go on meanwhile.
 * @param endMs of the preparation, in milliseconds since 1970 of the clock
 * @param ending aborted when the job ends
 */
export function whenPrepared(
  lease: CapacityLease,
  endMs: number,
  {
    clock,
    presence,
    ending,
  }: { readonly clock: Clock; readonly presence: Presence; readonly ending: AbortSignal },
): Promise<Prepared> {
  return new Promise((resolve) => {
    const settle = (prepared: Prepared): void => {
      // At once: a virtual clock must not move before the job goes on.
      presence.work();
      cancel();
      ending.removeEventListener('abort', onEnding);
      resolve(prepared);
    };
    const onEnding = (): void => settle('ended');
    const cancel = clock.at(endMs, () => settle('ready'));
    if (ending.aborted) return onEnding();
    ending.addEventListener('abort', onEnding);
    presence.rest();
    lease.onReclaim(() => settle('reclaimed'));
  });
}
