/**
 * Describes a fleet in the shape of DescribeTrainingJob, so that one set of rules judges attempts of every launcher. EC2
 * knows an instance for about an hour after its end. The hosts' reports in the bucket stay.
 */
import type { HostReport } from '../job/job-document.ts';
import { endedByEc2, isPlatformFailure } from '../job/platform-fault.ts';
import type { StatusTransition, TrainingJobDescription } from '../job/training-service.ts';
import { hostsWithoutReport, silenceReason, silentHosts } from './fleet-silence.ts';
import {
  currentHosts,
  type FleetInstance,
  type FleetView,
  isGone,
  STOP_GRACE_SECONDS,
} from './fleet-view.ts';
import { nextRefillStep } from './refill.ts';

const MILLISECONDS = 1_000;
/** SageMaker's status for instances that are held but not ready. A job in it does not wait for capacity. */
const BOOTING = 'PreparingTrainingStack';

/** @returns undefined when neither EC2 nor the bucket knows the fleet */
export function describeFleet(view: FleetView): TrainingJobDescription | undefined {
  if (view.instances.length === 0 && view.reports.length === 0) return undefined;
  const silent = silentHosts(view);
  const alive = isAlive(view) && silent.length === 0;
  const verdict = silent.length > 0 ? failed(silenceReason(view)) : alive ? living(view) : ended(view);
  const times = timesOf(view);
  return {
    TrainingJobName: view.jobName,
    EnableManagedSpotTraining: view.managedSpot,
    selectedType: view.instances[0]?.instanceType,
    CreationTime: times.createdAt,
    TrainingStartTime: times.launchedAt,
    TrainingEndTime: alive ? undefined : times.endedAt,
    TrainingTimeInSeconds: times.seconds,
    BillableTimeInSeconds: times.seconds === undefined ? undefined : times.seconds * view.priceRatio,
    SecondaryStatusTransitions: transitions(view, times, verdict.SecondaryStatus),
    ModelArtifacts: {
      S3ModelArtifacts: view.reports.find(({ modelUri }) => modelUri !== undefined)?.modelUri,
    },
    ...verdict,
  };
}

type Verdict = Pick<TrainingJobDescription, 'TrainingJobStatus' | 'SecondaryStatus' | 'FailureReason'>;

/**
 * The hosts that count. A replaced host counts until its round has its members: it may still save, and the attempt ends
 * with it if no new host comes.
 */
function current(view: FleetView): Pick<FleetView, 'instances' | 'reports'> {
  const { rounds } = view;
  const going = rounds === undefined || rounds.members !== undefined ? [] : rounds.round.lost;
  const ids = new Set([...currentHosts(view), ...going]);
  return {
    instances: view.instances.filter(({ instanceId }) => ids.has(instanceId)),
    reports: view.reports.filter(({ instanceId }) => ids.has(instanceId)),
  };
}

/** An instance is gone if EC2 has forgotten it or its own report says that it has ended. */
function isAlive(view: FleetView): boolean {
  const { instances, reports } = current(view);
  return instances.some(
    (instance) =>
      !isGone(instance) &&
      !reports.some((report) => report.instanceId === instance.instanceId && report.endedAt),
  );
}

/** Hosts that EC2 reclaimed, by EC2's own reason or by the notice that the host saw. */
function reclaimedHosts(view: FleetView): string[] {
  const { instances, reports } = current(view);
  return [
    ...new Set([
      ...instances
        .filter(({ reasonCode = '' }) => reasonCode.startsWith('Server.Spot'))
        .map(({ instanceId }) => instanceId),
      ...reports.filter(({ stoppedBy }) => stoppedBy === 'spot').map(({ instanceId }) => instanceId),
    ]),
  ];
}

function living(view: FleetView): Verdict {
  const { stopRequestedAt, now } = view;
  if (stopRequestedAt !== undefined) {
    const waited = (now.getTime() - stopRequestedAt.getTime()) / MILLISECONDS;
    // After the grace period the job counts as running again, so that the next stop terminates its hosts.
    return {
      TrainingJobStatus: waited < STOP_GRACE_SECONDS ? 'Stopping' : 'InProgress',
      SecondaryStatus: 'Stopping',
    };
  }
  return { TrainingJobStatus: 'InProgress', SecondaryStatus: livingStatus(view) };
}

/** A gang during a refill keeps its pool. A gang that cannot be refilled has lost it. */
function livingStatus(view: FleetView): string {
  const step = nextRefillStep({ ...view, warned: [] });
  if (step.kind === 'impossible' || (step.kind === 'none' && reclaimedHosts(view).length > 0))
    return 'Interrupted';
  if (step.kind !== 'none') return 'Restarting';
  const { reports } = current(view);
  if (reports.some(({ phase }) => phase === 'script')) return 'Training';
  return reports.length > 0 ? 'Downloading' : BOOTING;
}

function ended(view: FleetView): Verdict {
  const { reports } = current(view);
  const { nodes } = view;
  const well = reports.filter(({ exitCode, stoppedBy }) => exitCode === 0 && stoppedBy === undefined);
  if (well.length >= nodes) return { TrainingJobStatus: 'Completed', SecondaryStatus: 'Completed' };
  const taken = reclaimedHosts(view);
  if (taken.length > 0)
    return failed(`CapacityError: EC2 reclaimed ${taken.join(', ')}${unsavedOn(reports)}`);
  if (reports.some(({ stoppedBy }) => stoppedBy === 'timeLimit')) {
    return { TrainingJobStatus: 'Stopped', SecondaryStatus: 'MaxRuntimeExceeded' };
  }
  if (view.stopRequestedAt !== undefined || reports.some(({ stoppedBy }) => stoppedBy === 'stop')) {
    return { TrainingJobStatus: 'Stopped', SecondaryStatus: 'Stopped' };
  }
  const [stopped] = hostsStoppedByPerson(view);
  if (stopped === undefined) return failed(failureOf(view));
  return {
    TrainingJobStatus: 'Stopped',
    SecondaryStatus: 'Stopped',
    FailureReason: endedByEc2(stopped.instanceId, stopped.reasonCode ?? '', stopped.reasonMessage),
  };
}

/** Empty unless a person ended every host. Tidewheel leaves its own request first. A host that failed before is not meant. */
function hostsStoppedByPerson(view: FleetView): readonly FleetInstance[] {
  const { instances, reports } = current(view);
  const areAll = instances.every(({ reasonCode = '' }) => STOPPED_BY_PERSON.has(reasonCode));
  return areAll && reports.every(({ exitCode = 0 }) => exitCode === 0) ? instances : [];
}

const STOPPED_BY_PERSON: ReadonlySet<string> = new Set([
  'Client.UserInitiatedShutdown',
  'Client.InstanceTerminated',
  'Client.UserInitiatedHibernate',
]);

/** The hosts end so themselves, or Spot and those who stop them do. Any other reason of EC2's is the cause of the end. */
const ORDINARY_END = /^$|^Server\.Spot|^Client\.InstanceInitiatedShutdown$/;

/** A checkpoint that stayed on a host is lost: the next attempt resumes from an earlier one. */
function unsavedOn(reports: readonly HostReport[]): string {
  const hosts = reports.filter(({ unsavedFiles = 0 }) => unsavedFiles > 0);
  if (hosts.length === 0) return '';
  return `; the last checkpoint did not reach the bucket from ${hosts.map(({ instanceId }) => instanceId).join(', ')}`;
}

const failed = (FailureReason: string): Verdict => ({
  TrainingJobStatus: 'Failed',
  SecondaryStatus: 'Failed',
  FailureReason,
});

function failureOf(view: FleetView): string {
  const { instances, reports } = current(view);
  // What the scripts of the other hosts said follows from it.
  const loss = lossOf(instances);
  if (loss !== undefined) return loss;
  const unwell = reports.filter(({ exitCode = 0 }) => exitCode !== 0);
  const faulty = unwell.find(({ failure = '' }) => isPlatformFailure(failure));
  if (faulty !== undefined) return `InternalServerError: ${faulty.failure} (on ${faulty.instanceId})`;
  const bad = unwell.find(({ failure }) => failure) ?? unwell[0];
  const said = bad && `AlgorithmError: ${bad.failure ?? ''} (exit code ${bad.exitCode} on ${bad.instanceId})`;
  if (said !== undefined && bad?.phase === 'script') return said;
  // Hosts that reported have left because these did not come.
  if (hostsWithoutReport(view).length > 0) return silenceReason(view);
  const ended = reports.filter(({ endedAt }) => endedAt !== undefined).length;
  return said ?? `InternalServerError: ${view.nodes - ended} of ${view.nodes} hosts ended without a report`;
}

/** What EC2 itself says of the end of a host. */
function lossOf(instances: readonly FleetInstance[]): string | undefined {
  const lost = instances.find(
    ({ reasonCode = '' }) => !ORDINARY_END.test(reasonCode) && !STOPPED_BY_PERSON.has(reasonCode),
  );
  if (lost?.reasonCode === undefined) return undefined;
  return lost.reasonCode === NO_CAPACITY
    ? `CapacityError: EC2 could not start ${lost.instanceId}`
    : endedByEc2(lost.instanceId, lost.reasonCode, lost.reasonMessage);
}

function transitions(view: FleetView, times: FleetTimes, last: string): StatusTransition[] {
  const { createdAt, spokeAt, scriptAt, endedAt } = times;
  const phases = [
    { Status: BOOTING, StartTime: createdAt, EndTime: spokeAt },
    ...(spokeAt === undefined
      ? []
      : [{ Status: 'Downloading', StartTime: spokeAt, EndTime: scriptAt, StatusMessage: downloads(view) }]),
    ...(scriptAt === undefined ? [] : [{ Status: 'Training', StartTime: scriptAt }]),
  ];
  const interrupted = reclaimedHosts(view).length > 0 ? [{ Status: 'Interrupted', StartTime: endedAt }] : [];
  const named = [...phases.map(({ Status }) => Status), 'Interrupted'];
  const rest = named.includes(last) ? [] : [{ Status: last, StartTime: endedAt }];
  return [...phases, ...refills(view), ...interrupted, ...rest];
}

/** The download of the slowest host, for which all others wait. */
function downloads(view: FleetView): string | undefined {
  const shares = current(view).reports.flatMap(({ downloadedBytes: done, downloadBytes: all }) =>
    done === undefined || all === undefined ? [] : [{ done, all }],
  );
  const slowest = shares.toSorted((a, b) => a.done - b.done)[0];
  if (slowest === undefined) return undefined;
  const [unit, name] = slowest.all < 1e9 ? [1e6, 'MB'] : [1e9, 'GB'];
  return `${(slowest.done / unit).toFixed(1)} of ${(slowest.all / unit).toFixed(1)} ${name} are downloaded.`;
}

/** The transitions of a job that SageMaker restarts in place. Only the time of the last refill is known. */
function refills({ rounds }: FleetView): StatusTransition[] {
  if (rounds === undefined) return [];
  const { round, openedAt } = rounds.round;
  return Array.from({ length: round - 1 }, () => ({
    Status: 'Interrupted',
    StartTime: new Date(openedAt),
  }));
}

// Computes when a fleet was launched and ended, and for how long EC2 bills it.

interface FleetTimes {
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

function timesOf(view: FleetView): FleetTimes {
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

const NO_CAPACITY = 'Server.InsufficientInstanceCapacity';

/** EC2's reasons at a start. An instance that never left `pending` is not billed. */
const ENDED_AT_START = /^Server\.InsufficientInstanceCapacity$|^Client\.(?:Volume|Invalid|Internal)/;
const hasRun = ({ reasonCode = '' }: FleetInstance): boolean => !ENDED_AT_START.test(reasonCode);

/** The time of all hosts divided by the paid number of hosts: a lost host and its replacement may overlap. */
function hostTime(view: FleetView, lives: readonly Life[], last: number): number {
  const counted = new Set(currentHosts(view));
  const gone = view.rounds === undefined ? last : Date.parse(view.rounds.round.openedAt);
  const times = lives.map(({ id, from, endedAt }) =>
    Math.max(0, (endedAt ?? (counted.has(id) ? last : gone)) - from),
  );
  return times.reduce((total, time) => total + time, 0) / view.nodes;
}
