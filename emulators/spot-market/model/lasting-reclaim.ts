/** A lease whose owner may change listeners. */
import type { CapacityLease } from './capacity-source.ts';

/** A reclaim that comes between two listeners reaches the later one. */
export function withLastingReclaim(lease: CapacityLease): CapacityLease {
  type Notice = Parameters<Parameters<CapacityLease['onReclaim']>[0]>[0];
  let given: Notice | undefined;
  let tell: ((notice: Notice) => void) | undefined;
  lease.onReclaim((notice) => {
    given = notice;
    tell?.(notice);
  });
  return {
    zoneId: lease.zoneId,
    onReclaim: (listener) => {
      tell = listener;
      if (given !== undefined) listener(given);
    },
    checkpointSynced: () => lease.checkpointSynced(),
    release: () => lease.release(),
  };
}
