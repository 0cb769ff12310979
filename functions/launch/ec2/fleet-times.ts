/** Computes when a fleet was launched and ended, and for how long EC2 bills it. */
import { currentHosts, type FleetInstance, type FleetView } from './fleet-view.ts';

const MILLISECONDS = 1_000;

export interface FleetTimes {
  readonly createdAt: Date;
  /** Launch of the first instance that ran, from which EC2 bills; absent when none ran. */
  readonly launchedAt?: Date | undefined;
  /** Start of the first host's program. */
  readonly spokeAt?: Date | undefined;
  readonly scriptAt?: Date | undefined;
  readonly endedAt: Date;
  /** Billed seconds per paid node. */
  readonly seconds?: number | undefined;
}

interface Life {
  readonly id: string;
  readonly from: number;
  readonly endedAt?: number | undefined;
}

export function timesOf(view: FleetView): FleetTimes {
  const { reports, instances, now } = view;
  const lives = livesOf(view);
  const counted = new Set(currentHosts(view));
  const ends = reports.flatMap(({ instanceId, endedAt }) =>
    endedAt === undefined || !counted.has(instanceId) ? [] : [Date.parse(endedAt)],
  );
  const first = least(lives.map(({ from }) => from));
  // A host without a report ended now at the latest: the cost may be overstated but never hidden.
  const last = ends.length >= view.nodes ? Math.max(...ends) : now.getTime();
  const scripts = reports.flatMap(({ scriptStartedAt }) =>
    scriptStartedAt === undefined ? [] : [Date.parse(scriptStartedAt)],
  );
  const launches = instances.flatMap(({ launchedAt }) => launchedAt?.getTime() ?? []);
  return {
    createdAt: dateOf(least([...launches, ...lives.map(({ from }) => from)])) ?? now,
    launchedAt: dateOf(first),
    spokeAt: dateOf(least(reports.map(({ startedAt }) => Date.parse(startedAt)))),
    scriptAt: dateOf(least(scripts)),
    endedAt: new Date(last),
    seconds:
      first === undefined ? undefined : Math.max(0, last - first, hostTime(view, lives, last)) / MILLISECONDS,
  };
}

const least = (times: readonly number[]): number | undefined =>
  times.length === 0 ? undefined : Math.min(...times);
const dateOf = (time: number | undefined): Date | undefined =>
  time === undefined ? undefined : new Date(time);

/** EC2 knows an ended instance for about an hour; then the host's own report says when it was launched. */
function livesOf({ instances, reports }: FleetView): Life[] {
  const ran = instances.filter(hasRun);
  const ids = new Set([...ran, ...reports].map(({ instanceId }) => instanceId));
  return [...ids].flatMap((id) => {
    const instance = ran.find(({ instanceId }) => instanceId === id);
    const report = reports.find(({ instanceId }) => instanceId === id);
    const said = report?.launchedAt ?? report?.startedAt;
    const from = instance?.launchedAt?.getTime() ?? (said === undefined ? undefined : Date.parse(said));
    const endedAt = report?.endedAt === undefined ? undefined : Date.parse(report.endedAt);
    return from === undefined ? [] : [{ id, from, endedAt }];
  });
}

/** An instance that never left `pending` is not billed. */
const hasRun = ({ reasonCode }: FleetInstance): boolean =>
  reasonCode !== 'Server.InsufficientInstanceCapacity';

/** The time of all hosts divided by the paid number of hosts: a lost host and its replacement may overlap. */
function hostTime(view: FleetView, lives: readonly Life[], last: number): number {
  const counted = new Set(currentHosts(view));
  const gone = view.rounds === undefined ? last : Date.parse(view.rounds.round.openedAt);
  const times = lives.map(({ id, from, endedAt }) =>
    Math.max(0, (endedAt ?? (counted.has(id) ? last : gone)) - from),
  );
  return times.reduce((total, time) => total + time, 0) / view.nodes;
}
