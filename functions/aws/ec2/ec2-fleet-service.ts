/** The FleetService port on EC2. The bucket holds the job, the hosts' reports and the requests to them. */

import { stripVTControlCharacters } from 'node:util';
import { type EC2Client, GetConsoleOutputCommand } from '@aws-sdk/client-ec2';
import type { FleetService } from '../../launch/ec2/fleet-service.ts';
import { hostsWithoutReport } from '../../launch/ec2/fleet-silence.ts';
import { describeFleet } from '../../launch/ec2/fleet-state.ts';
import { STOP_GRACE_SECONDS } from '../../launch/ec2/fleet-view.ts';
import { hostRequests } from '../../launch/ec2/host-requests.ts';
import { isTerminal } from '../../launch/job/job-state.ts';
import { platformFaultOf } from '../../launch/job/platform-fault.ts';
import type { StopOutcome, TrainingJobDescription } from '../../launch/job/training-service.ts';
import type { StopMode } from '../../records/run-records.ts';
import { describeError } from '../shared/aws-errors.ts';
import { endHosts, jobsOf, listLeftovers, releaseFleet } from './fleet-hosts.ts';
import { launchFleet } from './fleet-launch.ts';
import { type Fleet, type FleetDeps, readFleet, readFleetMemory } from './fleet-memory.ts';
import { refill } from './fleet-refill.ts';

const MILLISECONDS = 1_000;

export const makeFleetService = (deps: FleetDeps): FleetService => ({
  ...makeFleetFollower(deps),
  launch: (plan) => launchFleet(deps.ec2, deps.store, plan),
});

/** All but the launch, which only one function needs in its bundle. */
export function makeFleetFollower(deps: FleetDeps): Omit<FleetService, 'launch'> {
  return {
    describe: async (jobName) => {
      const fleet = await readFleet(deps, jobName);
      return fleet && describe(deps, jobName, fleet);
    },
    stop: (jobName, mode) => stop(deps, jobName, mode),
    requestCheckpoint: (jobName, instanceId) => requestCheckpoint(deps, jobName, instanceId),
    refill: (jobName, warned) => refill(deps, jobName, warned),
    release: (jobName) => releaseFleet(deps.ec2, jobName),
    listLeftovers: () => listLeftovers(deps.ec2),
    jobsOf: (instanceIds) => jobsOf(deps.ec2, instanceIds),
  };
}

async function describe(
  deps: FleetDeps,
  jobName: string,
  { instances, memory }: Fleet,
): Promise<TrainingJobDescription | undefined> {
  const { folder: _, document, ...said } = memory;
  const view = { jobName, ...document, ...said, instances, now: deps.clock.now() };
  const job = describeFleet(view);
  // EC2 has no console of an instance that it has forgotten.
  const silent = hostsWithoutReport(view).find((id) => instances.some(({ instanceId }) => instanceId === id));
  if (silent === undefined || platformFaultOf(job?.FailureReason) !== 'silent') return job;
  const consoles = new Map([[silent, await consoleEnd(deps.ec2, silent)]]);
  return describeFleet({ ...view, consoles });
}

async function stop(deps: FleetDeps, jobName: string, mode?: StopMode): Promise<StopOutcome> {
  const fleet = await readFleet(deps, jobName);
  const job = fleet && (await describe(deps, jobName, fleet));
  if (fleet === undefined || job === undefined) return 'notFound';
  if (isTerminal(job)) return 'alreadyEnded';
  const { memory } = fleet;
  const now = deps.clock.now();
  // The first of several requests sets the time, so a repeated request does not prolong the grace period.
  await deps.store.createText(memory.folder + hostRequests.stop, now.toISOString());
  const since = memory.stopRequestedAt ?? now;
  if (mode === 'now' || (now.getTime() - since.getTime()) / MILLISECONDS >= STOP_GRACE_SECONDS)
    await endHosts(deps.ec2, jobName);
  return 'stopping';
}

async function requestCheckpoint(deps: FleetDeps, jobName: string, instanceId: string): Promise<void> {
  const memory = await readFleetMemory(deps.store, jobName);
  if (memory === undefined) return;
  await deps.store.createText(memory.folder + hostRequests.save(instanceId), deps.clock.now().toISOString());
}

const LINES = 12;
const CHARACTERS = 900;

/** The only trace of a host that wrote no report. Never rejects: a missing explanation must not hide the failure. */
async function consoleEnd(ec2: EC2Client, instanceId: string): Promise<string> {
  try {
    return lastLines(await outputOf(ec2, instanceId));
  } catch (error) {
    return `(unavailable: ${describeError(error)})`;
  }
}

/** Only Nitro types have `Latest`. The others keep the output from shortly after the boot. */
async function outputOf(ec2: EC2Client, InstanceId: string): Promise<string> {
  const ask = async (Latest: boolean) => {
    const { Output = '' } = await ec2.send(new GetConsoleOutputCommand({ InstanceId, Latest }));
    return Buffer.from(Output, 'base64').toString('utf8');
  };
  try {
    return await ask(true);
  } catch (error) {
    if (error instanceof Error && error.name === 'UnsupportedOperation') return ask(false);
    throw error;
  }
}

function lastLines(output: string): string {
  // Colors and carriage returns of the boot are for terminals.
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.replaceAll(/\p{Cc}/gu, '').trimEnd())
    .filter((line) => line !== '');
  return lines.length === 0 ? '(empty)' : lines.slice(-LINES).join('\n').slice(-CHARACTERS);
}
