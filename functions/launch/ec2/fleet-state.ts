/**
 * Describes a fleet in the shape of DescribeTrainingJob, so that one set of rules judges attempts of every launcher. EC2
 * knows an instance for about an hour after its end. The hosts' reports in the bucket stay.
 */

import type { HostReport } from '../job/job-document.ts';
import { isPlatformFailure } from '../job/platform-fault.ts';
import type { StatusTransition, TrainingJobDescription } from '../job/training-service.ts';
import { hostsWithoutReport, silenceReason, silentHosts } from './fleet-silence.ts';
import { type FleetTimes, timesOf } from './fleet-times.ts';
import { currentHosts, type FleetView, isGone, STOP_GRACE_SECONDS } from './fleet-view.ts';
import { nextRefillStep } from './refill.ts';

export type { FleetInstance, FleetView } from './fleet-view.ts';
export { STOP_GRACE_SECONDS } from './fleet-view.ts';

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
  const unwell = reports.filter(({ exitCode = 0 }) => exitCode !== 0);
  const faulty = unwell.find(({ failure = '' }) => isPlatformFailure(failure));
  if (faulty !== undefined) return `InternalServerError: ${faulty.failure} (on ${faulty.instanceId})`;
  const bad = unwell.find(({ failure }) => failure) ?? unwell[0];
  const said = bad && `AlgorithmError: ${bad.failure ?? ''} (exit code ${bad.exitCode} on ${bad.instanceId})`;
  if (said !== undefined && bad?.phase === 'script') return said;
  if (instances.some(({ reasonCode }) => reasonCode === 'Server.InsufficientInstanceCapacity')) {
    return 'CapacityError: EC2 could not start a host';
  }
  // Hosts that reported have left because these did not come.
  if (hostsWithoutReport(view).length > 0) return silenceReason(view);
  const ended = reports.filter(({ endedAt }) => endedAt !== undefined).length;
  return said ?? `InternalServerError: ${view.nodes - ended} of ${view.nodes} hosts ended without a report`;
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
