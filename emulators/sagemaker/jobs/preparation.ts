/** SageMaker prepares the instances of a job before it downloads anything. The bill begins with the download. */
import type { Clock } from '../../clock/clock.ts';
import { type Presence, restUntil } from '../../clock/presence.ts';

/** As botocore's model words the messages of `Starting`. */
export const LAUNCHING = 'Launching requested ML instances.';
export const PREPARING = 'Preparing the instances for training.';
export const REPLACING = 'Launched instance was unhealthy, replacing it!';

export type Prepared = 'ready' | 'reclaimed' | 'ended';

/**
 * The clock may go on meanwhile.
 * @param endMs of the preparation, in milliseconds since 1970 of the clock
 */
export async function whenPrepared(
  endMs: number,
  {
    clock,
    presence,
    reclaim,
    ending,
  }: {
    readonly clock: Clock;
    readonly presence: Presence;
    /** Aborted when the capacity goes. */
    readonly reclaim: AbortSignal;
    /** Aborted when the job ends. */
    readonly ending: AbortSignal;
  },
): Promise<Prepared> {
  const cut = AbortSignal.any([reclaim, ending]);
  const rest = (): void => presence.rest();
  const work = (): void => presence.work();
  await restUntil(endMs, { clock, cut, rest, work });
  return ending.aborted ? 'ended' : reclaim.aborted ? 'reclaimed' : 'ready';
}
