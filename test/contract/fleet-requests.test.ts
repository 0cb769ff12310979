import { _InstanceType } from '@aws-sdk/client-ec2';
import { efaOf } from '@tidewheel/catalog/speeds.ts';
import { requestViolations } from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import { describe, expect, it } from 'vitest';
import { type Choice, planOf } from '../support/builders/fleet.ts';
import { loadModel } from './botocore.ts';

const ec2 = loadModel('ec2/2016-11-15');

const TYPES = [
  'c7i.4xlarge',
  'm5.xlarge',
  'g5.xlarge',
  'g5.48xlarge',
  'g6e.48xlarge',
  'p4d.24xlarge',
  'p5.48xlarge',
  'p5en.48xlarge',
  'trn1.32xlarge',
];
const IMAGES = [
  'ami-0123456789abcdef0',
  'resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id',
];

const CHOICES: [string, Choice][] = TYPES.flatMap((instanceType) =>
  [1, 2, 8].flatMap((nodes) =>
    (['spot', 'on-demand'] as const).map((purchaseOption): [string, Choice] => [
      `${nodes} x ${instanceType} ${purchaseOption}`,
      { instanceType, nodes, purchaseOption },
    ]),
  ),
);

const named: [string, Choice][] = IMAGES.map((image) => [
  `the image ${image}`,
  {
    compute: {
      ec2: {
        image,
        rootDevice: '/dev/sda1',
      },
    },
  },
]);

const several: [string, Choice] = [
  'several types',
  {
    instanceType: 'g5.xlarge',
    purchaseOption: 'on-demand',
    placed: {
      alternatives: ['g5.2xlarge', 'g6.xlarge', 'g6.2xlarge', 'g5.4xlarge'].map((instanceType) => ({
        instanceType,
        onDemandHourlyUsd: 3,
      })),
    },
  },
];

const BLOCK = 'cr-0123456789abcdef0';
const pool = {
  instanceType: 'p5.48xlarge',
  zoneId: 'use1-az6',
  launcher: 'ec2',
  reservation: BLOCK,
} as const;
const reserved = (kind: 'capacity-block' | 'capacity-reservation'): Choice => ({
  instanceType: 'p5.48xlarge',
  placed: { pool: { ...pool, purchaseOption: 'reserved' }, reserved: { kind } },
});
const intoReserved: [string, Choice][] = (['capacity-block', 'capacity-reservation'] as const).map((kind) => [
  `a ${kind}`,
  reserved(kind),
]);

it('a launch into a Capacity Block names its market', () => {
  const { fleet, launchTemplate, placementGroup } = planOf(reserved('capacity-block'));
  expect(fleet.TargetCapacitySpecification.DefaultTargetCapacityType).toBe('capacity-block');
  expect([fleet.OnDemandOptions, fleet.SpotOptions, placementGroup]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(launchTemplate.LaunchTemplateData).toMatchObject({
    CapacityReservationSpecification: { CapacityReservationTarget: { CapacityReservationId: BLOCK } },
    InstanceMarketOptions: { MarketType: 'capacity-block' },
  });
});

it('a launch into a Capacity Reservation is On-Demand', () => {
  const { fleet, launchTemplate } = planOf(reserved('capacity-reservation'));
  expect(fleet.TargetCapacitySpecification.DefaultTargetCapacityType).toBe('on-demand');
  expect(launchTemplate.LaunchTemplateData.InstanceMarketOptions).toBeUndefined();
});

it('a launch joins the group of its reservation', () => {
  const { placed } = reserved('capacity-reservation');
  const grouped = { ...placed, reserved: { kind: 'capacity-reservation', placementGroup: 'ours' } } as const;
  const { launchTemplate, placementGroup } = planOf({ instanceType: 'p5.48xlarge', placed: grouped });
  expect(launchTemplate.LaunchTemplateData.Placement).toEqual({ GroupName: 'ours' });
  expect(placementGroup).toBeUndefined();
});

describe('every request for a fleet', () => {
  it.each([...CHOICES, ...named, several, ...intoReserved])('is valid for %s', (_, choice) => {
    const plan = planOf(choice);
    expect(requestViolations(ec2, 'CreateFleet', plan.fleet)).toEqual([]);
    expect(requestViolations(ec2, 'CreateLaunchTemplate', plan.launchTemplate)).toEqual([]);
    expect(
      plan.placementGroup === undefined
        ? []
        : requestViolations(ec2, 'CreatePlacementGroup', plan.placementGroup),
    ).toEqual([]);
  });

  it.each(CHOICES)('keeps the rules between fields for %s', (_, choice) => {
    const { fleet, launchTemplate, placementGroup } = planOf(choice);
    const data = launchTemplate.LaunchTemplateData;
    const options = fleet.SpotOptions ?? fleet.OnDemandOptions;
    // All or nothing is only for instant fleets, and only with one of the two flags.
    expect(fleet.Type).toBe('instant');
    expect(options?.SingleAvailabilityZone || options?.SingleInstanceType).toBe(true);
    expect(options?.MinTargetCapacity).toBe(fleet.TargetCapacitySpecification.TotalTargetCapacity);
    // The options of the requested market, and of no other.
    expect(fleet.SpotOptions !== undefined).toBe(
      fleet.TargetCapacitySpecification.DefaultTargetCapacityType === 'spot',
    );
    // The template that is launched is the one that is made, in a group that is made.
    expect(fleet.LaunchTemplateConfigs[0]?.LaunchTemplateSpecification.LaunchTemplateName).toBe(
      launchTemplate.LaunchTemplateName,
    );
    expect(data.Placement?.GroupName).toBe(placementGroup?.GroupName);
    // Subnet and security groups stand with the interfaces, so they may not stand beside them.
    expect(
      'SecurityGroupIds' in data || 'SubnetId' in (fleet.LaunchTemplateConfigs[0]?.Overrides[0] ?? {}),
    ).toBe(false);
    expect(new Set(data.NetworkInterfaces.map(({ SubnetId }) => SubnetId)).size).toBe(1);
    // One primary interface, which carries IP; a card holds one EFA.
    const primary = data.NetworkInterfaces.filter(({ DeviceIndex }) => DeviceIndex === 0);
    expect(
      primary.map(({ NetworkCardIndex, InterfaceType }) => [NetworkCardIndex, InterfaceType === 'efa-only']),
    ).toEqual([[0, false]]);
    expect(new Set(data.NetworkInterfaces.map(({ NetworkCardIndex }) => NetworkCardIndex)).size).toBe(
      data.NetworkInterfaces.length,
    );
    // Tokens are 64 characters at most, user data 16 KB.
    expect(fleet.ClientToken.length).toBeLessThanOrEqual(64);
    expect(Buffer.from(data.UserData, 'base64').length).toBeLessThanOrEqual(16_384);
  });
});

describe('the table of network cards', () => {
  it('names only types that EC2 has', () => {
    const types: readonly string[] = Object.values(_InstanceType);
    expect(types.filter((type) => efaOf(type).interfaces > 0).length).toBeGreaterThan(20);
    expect(TYPES.filter((type) => !types.includes(type))).toEqual([]);
  });
});

const rules = (request: unknown): string[] =>
  requestViolations(ec2, 'CreateFleet', request).map(({ rule, path }) => `${rule} ${path}`);

describe('the check against the model of EC2', () => {
  it('finds seeded mistakes', () => {
    const { fleet } = planOf();
    expect(rules({ ...fleet, Type: 'now' })).toEqual(['enum type']);
    expect(rules({ ...fleet, MinTargetCapacity: 1 })).toEqual(['unknown minTargetCapacity']);
    expect(rules({ ...fleet, TargetCapacitySpecification: {} })).toEqual([
      'required targetCapacitySpecification.totalTargetCapacity',
    ]);
    expect(
      rules({ ...fleet, LaunchTemplateConfigs: [{ Overrides: [{ InstanceType: 'ml.g5.xlarge' }] }] }),
    ).toEqual(['enum launchTemplateConfigs.1.member.overrides.1.member.instanceType']);
  });
});
