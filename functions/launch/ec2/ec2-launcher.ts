/** The launcher on EC2: one fleet of hosts in the data's own region, which Tidewheel refills, stops and removes. */
import type { Launcher, Starter } from '../launcher.ts';
import { type PipelineRole, startUnder } from '../pipeline-role.ts';
import { buildFleet } from './fleet.ts';
import type { FleetService } from './fleet-service.ts';

export const makeEc2Launcher = (fleets: Omit<FleetService, 'launch'>): Launcher => ({
  describe: ({ jobName }) => fleets.describe(jobName),
  stop: ({ jobName }, mode) => fleets.stop(jobName, mode),
  hosts: fleets,
  leftovers: { list: fleets.listLeftovers, release: fleets.release },
});

/** The installation's settings for hosts. */
export interface HostSettings {
  /** The instance profiles of hosts. */
  readonly role: PipelineRole;
  /** The log group of CloudWatch Logs for the hosts' output. */
  readonly hostLogGroup?: string | undefined;
}

export const makeEc2Starter = (fleets: Pick<FleetService, 'launch'>, settings: HostSettings): Starter => ({
  prepare: (input) => {
    const { role, hostLogGroup } = settings;
    const { name } = input.declaration;
    const plan = buildFleet({ ...input, hostProfileArn: role.arnOf(name), hostLogGroup });
    if (plan.kind === 'problems') return plan;
    return {
      kind: 'prepared',
      objects: plan.objects,
      inputMode: 'File',
      inputReason: 'File: hosts on EC2 download their shards',
      ...(hostLogGroup !== undefined && {
        log: { group: hostLogGroup, streamPrefix: `${plan.name}/` },
      }),
      start: () => startUnder(role, name, () => fleets.launch(plan)),
    };
  },
});
