/**
 * What each launcher bills, cannot start, and how long it takes to start.
 *
 * Called by placement, attempts and the command line.
 */

export {
  ASSUMED_SPOT_NOTE,
  ASSUMED_SPOT_SHARE,
  type LauncherFacts,
  type ListedPrices,
  type NodePrices,
  RESERVATION_KINDS,
  type ReservationKind,
} from './launchers/launcher-facts.ts';
export { launcherFacts, launcherSuffix } from './launchers/registry.ts';
