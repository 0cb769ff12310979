/** What is known of a fleet: what EC2 says of its instances, what the hosts wrote, and what they were asked. */
import type { RoundState } from './host-requests.ts';
import type { HostReport } from './job-document.ts';

export interface FleetInstance {
  readonly instanceId: string;
  /** pending, running, shutting-down, terminated, stopping, stopped */
  readonly state: string;
  readonly launchedAt: Date;
  /** Such as Server.SpotInstanceTermination. */
  readonly reasonCode?: string | undefined;
  /** The round that it was launched for; 1 for the launch of the attempt. */
  readonly round?: number | undefined;
}

export interface FleetView {
  readonly jobName: string;
  readonly nodes: number;
  readonly managedSpot: boolean;
  readonly priceRatio: number;
  readonly maximumRunSeconds: number;
  /** Lost hosts are replaced one by one. */
  readonly refills: boolean;
  readonly instances: readonly FleetInstance[];
  readonly reports: readonly HostReport[];
  /** The newest round; absent in the first. */
  readonly rounds?: RoundState | undefined;
  /** When we asked the hosts to stop, if we did. */
  readonly stopRequestedAt?: Date | undefined;
  readonly now: Date;
}

/** Time for a host to save, upload and leave after it was asked; then it is ended. */
export const STOP_GRACE_SECONDS = 180;

const GONE: ReadonlySet<string> = new Set(['shutting-down', 'terminated', 'stopping', 'stopped']);
export const isGone = ({ state }: FleetInstance): boolean => GONE.has(state);

/** The hosts that count: the members of the newest round; until they are complete, those that stay and those that came. */
export function currentHosts({ rounds, instances, reports }: FleetView): readonly string[] {
  if (rounds?.members !== undefined) return rounds.members;
  const first = rounds?.round.round ?? 1;
  const came = instances.filter(({ round = 1 }) => round === first).map(({ instanceId }) => instanceId);
  // EC2 knows an ended instance for about an hour; its report stays.
  if (rounds === undefined) return [...new Set([...came, ...reports.map(({ instanceId }) => instanceId)])];
  return [...rounds.round.stay, ...came];
}
