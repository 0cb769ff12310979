/** The known state of a fleet: EC2's view of its instances, the hosts' reports, and the requests to them. */

import type { HostReport } from '../job/job-document.ts';
import type { RoundState } from './host-requests.ts';

export interface FleetInstance {
  readonly instanceId: string;
  readonly instanceType?: string | undefined;
  /** pending, running, shutting-down, terminated, stopping, stopped */
  readonly state: string;
  /** EC2 bills from here. */
  readonly launchedAt?: Date | undefined;
  /** Such as Server.SpotInstanceTermination. */
  readonly reasonCode?: string | undefined;
  readonly reasonMessage?: string | undefined;
  /** The round of its launch; 1 for the launch of the attempt. */
  readonly round?: number | undefined;
}

export interface FleetView {
  readonly jobName: string;
  readonly nodes: number;
  readonly managedSpot: boolean;
  readonly priceRatio: number;
  readonly maximumRunSeconds: number;
  /** Whether lost hosts are replaced one by one. */
  readonly refills: boolean;
  readonly instances: readonly FleetInstance[];
  readonly reports: readonly HostReport[];
  /** The newest round; absent in the first. */
  readonly rounds?: RoundState | undefined;
  /** Time of the stop request, if any. */
  readonly stopRequestedAt?: Date | undefined;
  /** The ends of console outputs by instance id, read only for a failure. */
  readonly consoles?: ReadonlyMap<string, string> | undefined;
  readonly now: Date;
}

/** Time for a host to save, upload and leave after a stop request. Then it is terminated. */
export const STOP_GRACE_SECONDS = 180;

const GONE: ReadonlySet<string> = new Set(['shutting-down', 'terminated', 'stopping', 'stopped']);
export const isGone = ({ state }: FleetInstance): boolean => GONE.has(state);

/** The members of the newest round. Until they are complete, the remaining and the new hosts. */
export function currentHosts({ rounds, instances, reports }: FleetView): readonly string[] {
  if (rounds?.members !== undefined) return rounds.members;
  const first = rounds?.round.round ?? 1;
  const came = instances.filter(({ round = 1 }) => round === first).map(({ instanceId }) => instanceId);
  // EC2 knows an ended instance for about an hour; its report stays.
  if (rounds === undefined) return [...new Set([...came, ...reports.map(({ instanceId }) => instanceId)])];
  return [...rounds.round.stay, ...came];
}
