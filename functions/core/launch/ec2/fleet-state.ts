/**
 * Describes a fleet in the shape of DescribeTrainingJob, so that one set of rules judges attempts of every launcher. EC2
 * knows an instance for about an hour after its end. The hosts' reports in the bucket stay.
 */
import type { StatusTransition, TrainingJobDescription } from '../job/training-service.ts';
import { currentHosts, type FleetView, isGone, STOP_GRACE_SECONDS } from './fleet-view.ts';
import type { HostReport } from './job-document.ts';
import { nextRefillStep } from './refill.ts';

export type { FleetInstance, FleetView } from './fleet-view.ts';
export { STOP_GRACE_SECONDS } from './fleet-view.ts';

const MILLISECONDS = 1_000;

/** @returns undefined when neither EC2 nor the bucket knows the fleet */
export function describeFleet(view: FleetView): TrainingJobDescription | undefined {
  if (view.instances.length === 0 && view.reports.length === 0) return undefined;
  const verdict = isAlive(view) ? living(view) : ended(view);
  const times = timesOf(view);
  return {
    TrainingJobName: view.jobName,
    EnableManagedSpotTraining: view.managedSpot,
    CreationTime: times.createdAt,
    TrainingStartTime: times.startedAt,
    TrainingEndTime: isAlive(view) ? undefined : times.endedAt,
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
  return view.reports.length > 0 ? 'Training' : 'Starting';
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
  return failed(failureOf(view));
}

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
  const { nodes } = view;
  const bad =
    reports.find(({ exitCode = 0, failure }) => exitCode !== 0 && failure) ??
    reports.find(({ exitCode = 0 }) => exitCode !== 0);
  if (bad !== undefined)
    return `AlgorithmError: ${bad.failure ?? ''} (exit code ${bad.exitCode} on ${bad.instanceId})`;
  if (instances.some(({ reasonCode }) => reasonCode === 'Server.InsufficientInstanceCapacity')) {
    return 'CapacityError: EC2 could not start a host';
  }
  const spoke = reports.filter(({ endedAt }) => endedAt !== undefined).length;
  return `InternalServerError: ${nodes - spoke} of ${nodes} hosts ended without a report`;
}

interface Times {
  readonly createdAt: Date;
  readonly startedAt?: Date | undefined;
  readonly endedAt: Date;
  readonly seconds?: number | undefined;
}

function timesOf(view: FleetView): Times {
  const starts = view.reports.map(({ startedAt }) => Date.parse(startedAt));
  const launches = view.instances.map(({ launchedAt }) => launchedAt.getTime());
  const ends = current(view).reports.flatMap(({ endedAt }) =>
    endedAt === undefined ? [] : [Date.parse(endedAt)],
  );
  const first = starts.length === 0 ? undefined : Math.min(...starts);
  // A host without a report ended now at the latest: the cost may be overstated but never hidden.
  const last = ends.length >= view.nodes ? Math.max(...ends) : view.now.getTime();
  return {
    createdAt: new Date(Math.min(...launches, ...starts)),
    startedAt: first === undefined ? undefined : new Date(first),
    endedAt: new Date(last),
    seconds: first === undefined ? undefined : Math.max(0, last - first, hostTime(view, last)) / MILLISECONDS,
  };
}

/** The time of all hosts divided by the paid number of hosts: a lost host and its replacement may overlap. */
function hostTime(view: FleetView, last: number): number {
  const counted = new Set(currentHosts(view));
  const gone = view.rounds === undefined ? last : Date.parse(view.rounds.round.openedAt);
  const times = view.reports.map(({ instanceId, startedAt, endedAt }) => {
    const end = endedAt === undefined ? (counted.has(instanceId) ? last : gone) : Date.parse(endedAt);
    return Math.max(0, end - Date.parse(startedAt));
  });
  return times.reduce((total, time) => total + time, 0) / view.nodes;
}

function transitions(view: FleetView, times: Times, last: string): StatusTransition[] {
  const starting = { Status: 'Starting', StartTime: times.createdAt, EndTime: times.startedAt };
  if (times.startedAt === undefined) return [starting];
  const training = { Status: 'Training', StartTime: times.startedAt };
  const interrupted =
    reclaimedHosts(view).length > 0 ? [{ Status: 'Interrupted', StartTime: times.endedAt }] : [];
  const rest =
    last === 'Training' || last === 'Interrupted' ? [] : [{ Status: last, StartTime: times.endedAt }];
  return [starting, training, ...refills(view), ...interrupted, ...rest];
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
