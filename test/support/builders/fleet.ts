/** A launch on EC2 that is right, to be varied by the tests. */
import type { Placement } from '@tidewheel/placement/records.ts';
import { buildFleet, type FleetInput, type FleetPlan } from '../../../functions/launch/ec2/fleet.ts';
import { declaration, launch, placement } from './launch.ts';
import { HOST_PROFILE } from './launchers.ts';

const vpc = {
  securityGroupIds: ['sg-0a1b2c3d4e5f60718'],
  subnets: [
    { id: 'subnet-0a1b2c3d4e5f60718', zoneId: 'use1-az4' },
    { id: 'subnet-1a1b2c3d4e5f60718', zoneId: 'use1-az6' },
  ],
};

const ec2 = { image: 'ami-0123456789abcdef0' };

export interface Choice {
  readonly instanceType?: string;
  readonly nodes?: number;
  readonly purchaseOption?: 'spot' | 'on-demand';
  readonly compute?: Record<string, unknown>;
  readonly training?: Record<string, unknown>;
  readonly placed?: Partial<Placement>;
  readonly over?: Partial<FleetInput>;
}

export function fleetInput(choice: Choice = {}): FleetInput {
  const {
    instanceType = 'p4d.24xlarge',
    nodes = 2,
    purchaseOption = 'spot',
    compute,
    training,
    placed,
    over,
  } = choice;
  const input = launch({
    declaration: declaration({
      training: { ...training },
      compute: { instanceTypes: [instanceType], nodes, launcher: 'ec2', vpc, ec2, ...compute },
    }),
    placement: placement({
      pool: { instanceType, zoneId: 'use1-az6', launcher: 'ec2', purchaseOption },
      topology: { nodes, acceleratorsPerNode: 8 },
      onDemandHourlyUsd: 20,
      ...placed,
    }),
  });
  return { ...input, hostProfileArn: HOST_PROFILE, ...over };
}

export function planOf(choice: Choice = {}): FleetPlan {
  const plan = buildFleet(fleetInput(choice));
  if (plan.kind !== 'fleet') throw new Error(JSON.stringify(plan.problems));
  return plan;
}

export const scriptOf = (plan: FleetPlan): string =>
  Buffer.from(plan.launchTemplate.LaunchTemplateData.UserData, 'base64').toString('utf8');
