/**
 * Finds hosts that do not report. An instant fleet holds its instances, so their silence is no lack of capacity: the
 * subnet has no route to S3, the image has no AWS CLI, or its Python has another path. Longer waits only cost money.
 */
import { NO_REPORT } from '../job/platform-fault.ts';
import { currentHosts, type FleetView, isGone } from './fleet-view.ts';

/** A boot from a large image takes about three minutes. The user data tries to reach S3 for four more. */
const SILENCE_SECONDS = 900;
const MILLISECONDS = 1_000;

/** Running hosts that have not reported for too long, except those that run the script. */
export function silentHosts(view: FleetView): readonly string[] {
  const { instances, reports, rounds, stopRequestedAt, now } = view;
  // Rounds have their own limit, and a stop has its grace.
  if (rounds !== undefined || stopRequestedAt !== undefined) return [];
  return instances
    .filter((instance) => {
      const report = reports.find(({ instanceId }) => instanceId === instance.instanceId);
      if (isGone(instance) || report?.phase === 'script' || report?.endedAt !== undefined) return false;
      const heardAt = report === undefined ? instance.launchedAt : new Date(report.seenAt);
      return heardAt !== undefined && now.getTime() - heardAt.getTime() >= SILENCE_SECONDS * MILLISECONDS;
    })
    .map(({ instanceId }) => instanceId);
}

/** The user data ends a host so when its program could not start. EC2's own faults have other reasons. */
const SHUT_ITSELF_DOWN = 'Client.InstanceInitiatedShutdown';

/** The hosts that FailureReason names: silent hosts, else hosts that shut themselves down before their first report. */
export function hostsWithoutReport(view: FleetView): readonly string[] {
  const silent = silentHosts(view);
  if (silent.length > 0) return silent;
  const current = currentHosts(view);
  return view.instances
    .filter(({ reasonCode }) => reasonCode === SHUT_ITSELF_DOWN)
    .map(({ instanceId }) => instanceId)
    .filter((id) => current.includes(id) && !view.reports.some(({ instanceId }) => instanceId === id));
}

/** FailureReason, with the end of one console where the view holds it. */
export function silenceReason(view: FleetView): string {
  const ids = hostsWithoutReport(view);
  const phase = view.reports.find(({ instanceId }) => ids.includes(instanceId))?.phase;
  const since = phase === undefined ? 'the launch' : `the phase "${phase}"`;
  const minutes = SILENCE_SECONDS / 60;
  const when = silentHosts(view).length > 0 ? `for ${minutes} minutes since ${since}` : 'before the end';
  const shown = ids.find((id) => view.consoles?.has(id));
  const end =
    shown === undefined ? '' : `; the console of ${shown} ends with:\n${view.consoles?.get(shown) ?? ''}`;
  return `${NO_REPORT} ${ids.join(', ')} ${when}${end}`;
}
