/** The FleetService port on EC2, with the bucket as the hosts' memory. */

import type { FleetService } from '../../core/launch/ec2/fleet-service.ts';
import { describeFleet, STOP_GRACE_SECONDS } from '../../core/launch/ec2/fleet-state.ts';
import { asked } from '../../core/launch/ec2/host-requests.ts';
import { isTerminal } from '../../core/launch/job/job-state.ts';
import type { StopOutcome, TrainingJobDescription } from '../../core/launch/job/training-service.ts';
import { endHosts, hostsOf, jobsOf, release, remains } from './fleet-hosts.ts';
import { launch } from './fleet-launch.ts';
import { type FleetDeps, type FleetMemory, recall } from './fleet-memory.ts';
import { refill } from './fleet-refill.ts';

const MILLISECONDS = 1_000;

export function makeFleetService(deps: FleetDeps): FleetService {
  return {
    launch: (plan) => launch(deps.ec2, deps.store, plan),
    describe: async (jobName) => {
      const memory = await recall(deps.store, jobName);
      return memory && tell(deps, jobName, memory);
    },
    stop: (jobName) => stop(deps, jobName),
    askToSave: (jobName, instanceId) => askToSave(deps, jobName, instanceId),
    refill: (jobName, warned) => refill(deps, jobName, warned),
    release: (jobName) => release(deps.ec2, jobName),
    remains: () => remains(deps.ec2),
    jobsOf: (instanceIds) => jobsOf(deps.ec2, instanceIds),
  };
}

async function tell(
  deps: FleetDeps,
  jobName: string,
  memory: FleetMemory,
): Promise<TrainingJobDescription | undefined> {
  const { folder: _, document, ...said } = memory;
  const instances = await hostsOf(deps.ec2, jobName);
  return describeFleet({ jobName, ...document, ...said, instances, now: deps.clock.now() });
}

async function stop(deps: FleetDeps, jobName: string): Promise<StopOutcome> {
  const memory = await recall(deps.store, jobName);
  const job = memory && (await tell(deps, jobName, memory));
  if (memory === undefined || job === undefined) return 'notFound';
  if (isTerminal(job)) return 'alreadyEnded';
  const now = deps.clock.now();
  // Of several that ask at once the first sets the time, so that asking again does not prolong the grace.
  await deps.store.createText(memory.folder + asked.stop, now.toISOString());
  const since = memory.stopAskedAt ?? now;
  if ((now.getTime() - since.getTime()) / MILLISECONDS >= STOP_GRACE_SECONDS)
    await endHosts(deps.ec2, jobName);
  return 'stopping';
}

async function askToSave(deps: FleetDeps, jobName: string, instanceId: string): Promise<void> {
  const memory = await recall(deps.store, jobName);
  if (memory === undefined) return;
  await deps.store.createText(memory.folder + asked.save(instanceId), deps.clock.now().toISOString());
}
