import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { efaOf } from '@tidewheel/catalog/speeds.ts';
import { describe, expect, it } from 'vitest';
import { buildFleet } from '../../../../functions/launch/ec2/fleet.ts';
import { buildTrainingJob } from '../../../../functions/launch/sagemaker/training-job.ts';
import { type Choice, fleetInput, planOf, scriptOf } from '../../../support/builders/fleet.ts';
import { TRAINING_ROLE } from '../../../support/builders/launchers.ts';

const interfacesOf = (choice: Choice) => planOf(choice).launchTemplate.LaunchTemplateData.NetworkInterfaces;

function problems(choice: Choice): readonly string[] {
  const result = buildFleet(fleetInput(choice));
  return result.kind === 'problems' ? result.problems.map(({ path }) => path) : [];
}

describe('buildFleet', () => {
  it('requests a whole gang of one type and zone', () => {
    const { fleet } = planOf({ nodes: 4 });
    expect(fleet).toMatchObject({
      Type: 'instant',
      TargetCapacitySpecification: { TotalTargetCapacity: 4, DefaultTargetCapacityType: 'spot' },
      SpotOptions: {
        SingleInstanceType: true,
        SingleAvailabilityZone: true,
        MinTargetCapacity: 4,
        AllocationStrategy: 'price-capacity-optimized',
        InstanceInterruptionBehavior: 'terminate',
      },
    });
    expect(fleet.LaunchTemplateConfigs).toEqual([
      {
        LaunchTemplateSpecification: { LaunchTemplateName: fleet.ClientToken, Version: '1' },
        Overrides: [{ InstanceType: 'p4d.24xlarge' }],
      },
    ]);
  });

  it('holds the same for On-Demand', () => {
    const { fleet } = planOf({ nodes: 4, purchaseOption: 'on-demand' });
    expect(fleet.SpotOptions).toBeUndefined();
    expect(fleet.OnDemandOptions).toMatchObject({
      SingleInstanceType: true,
      SingleAvailabilityZone: true,
      MinTargetCapacity: 4,
    });
  });

  it('names further On-Demand types that fit its template', () => {
    const overridesOf = (first: string, ...others: readonly string[]) =>
      planOf({
        instanceType: first,
        purchaseOption: 'on-demand',
        placed: { alternatives: others.map((instanceType) => ({ instanceType, onDemandHourlyUsd: 3 })) },
      }).fleet;
    const { LaunchTemplateConfigs, OnDemandOptions } = overridesOf(
      'g5.8xlarge',
      'g6.8xlarge',
      'p4d.24xlarge',
    );
    // The EFA interfaces of a p4d are others.
    expect(LaunchTemplateConfigs[0]?.Overrides).toEqual([
      { InstanceType: 'g5.8xlarge', Priority: 0 },
      { InstanceType: 'g6.8xlarge', Priority: 1 },
    ]);
    expect(OnDemandOptions?.AllocationStrategy).toBe('prioritized');
  });

  it('puts a gang close together and one host anywhere', () => {
    const gang = planOf();
    expect(gang.placementGroup).toMatchObject({ GroupName: gang.name, Strategy: 'cluster' });
    expect(gang.launchTemplate.LaunchTemplateData.Placement).toEqual({ GroupName: gang.name });
    const alone = planOf({ nodes: 1 });
    expect(alone.placementGroup).toBeUndefined();
    expect(alone.launchTemplate.LaunchTemplateData.Placement).toBeUndefined();
  });

  it('launches into the subnet of the placed zone', () => {
    const subnets = new Set(interfacesOf({}).map(({ SubnetId }) => SubnetId));
    expect(subnets).toEqual(new Set(['subnet-1a1b2c3d4e5f60718']));
  });

  it('gives EFA to every network card of a gang', () => {
    expect(interfacesOf({}).map((one) => [one.NetworkCardIndex, one.DeviceIndex, one.InterfaceType])).toEqual(
      [
        [0, 0, 'efa'],
        [1, 1, 'efa-only'],
        [2, 1, 'efa-only'],
        [3, 1, 'efa-only'],
      ],
    );
    expect(interfacesOf({ instanceType: 'p5.48xlarge' })).toHaveLength(32);
  });

  it.each([
    ['p5e.48xlarge', 32],
    ['p6-b200.48xlarge', 8],
    ['trn1n.32xlarge', 16],
    ['trn2.48xlarge', 16],
    ['g7e.48xlarge', 4],
  ])('knows the EFA interfaces of %s', (instanceType, count) => {
    expect(interfacesOf({ instanceType })).toHaveLength(count);
  });

  it('gives a p6-b300 a card for IP alone', () => {
    const cards = interfacesOf({ instanceType: 'p6-b300.48xlarge' });
    expect(cards.slice(0, 2).map((one) => [one.NetworkCardIndex, one.InterfaceType])).toEqual([
      [0, 'interface'],
      [1, 'efa-only'],
    ]);
    expect(cards).toHaveLength(17);
  });

  it("believes the account's answer before the snapshot", () => {
    const hardware = (type: string) => {
      const facts = instanceFacts('p4d.24xlarge');
      return facts && { ...facts, type, efaInterfaces: 2 };
    };
    for (const instanceType of ['p4d.24xlarge', 'm6i.xlarge'])
      expect(interfacesOf({ instanceType, over: { hardware } })).toHaveLength(2);
  });

  it.each([
    ['a host alone', { nodes: 1 }],
    ['a type without EFA', { instanceType: 'g5.xlarge' }],
    ['a type without known cards', { instanceType: 'm6i.xlarge' }],
  ])('gives one plain interface to %s', (_, choice) => {
    expect(interfacesOf(choice).map(({ InterfaceType }) => InterfaceType)).toEqual(['interface']);
  });

  it('gives credentials of the role to the host only', () => {
    expect(planOf().launchTemplate.LaunchTemplateData.MetadataOptions).toEqual({
      HttpTokens: 'required',
      HttpEndpoint: 'enabled',
      HttpPutResponseHopLimit: 1,
    });
  });

  it('terminates a host and its disk at shutdown', () => {
    const data = planOf().launchTemplate.LaunchTemplateData;
    expect(data.InstanceInitiatedShutdownBehavior).toBe('terminate');
    expect(data.BlockDeviceMappings[0]?.Ebs).toMatchObject({
      Encrypted: true,
      DeleteOnTermination: true,
      VolumeSize: 131,
    });
  });

  it('tags everything with the job', () => {
    const { fleet, name } = planOf();
    expect(fleet.TagSpecifications.map(({ ResourceType }) => ResourceType)).toEqual([
      'fleet',
      'instance',
      'volume',
      'network-interface',
    ]);
    for (const { Tags } of fleet.TagSpecifications)
      expect(Tags).toContainEqual({ Key: 'tidewheel:job', Value: name });
  });

  it('gives declared tags to all that AWS bills', () => {
    const { declaration } = fleetInput({});
    const tags = Object.fromEntries(Array.from({ length: 43 }, (_, index) => [`key-${index}`, 'v']));
    const owned = { ...declaration, owner: 'vision', tags: { ...tags, 'key-0': 'first' } };
    const { fleet, launchTemplate, placementGroup } = planOf({ over: { declaration: owned } });
    const all = [fleet, launchTemplate, placementGroup].flatMap((each) => each?.TagSpecifications ?? []);
    expect(all).toHaveLength(6);
    for (const { Tags } of all) {
      expect(Tags).toContainEqual({ Key: 'key-0', Value: 'first' });
      expect(Tags).toContainEqual({ Key: 'tidewheel:owner', Value: 'vision' });
      expect(new Set(Tags.map(({ Key }) => Key)).size).toBe(Tags.length);
      expect(Tags.length).toBeLessThanOrEqual(50);
    }
  });

  it('is idempotent by the name of the attempt', () => {
    expect(planOf()).toEqual(planOf());
    expect(planOf({ over: { attempt: 2 } }).fleet.ClientToken).not.toBe(planOf().fleet.ClientToken);
  });

  it('gives the hosts the same job as SageMaker', () => {
    const input = fleetInput({ training: { hyperparameters: { epochs: 3 } } });
    const compute = { ...input.declaration.compute, launcher: 'sagemaker' } as const;
    const onSageMaker = { ...input, roleArn: TRAINING_ROLE, declaration: { ...input.declaration, compute } };
    const [plan, job] = [buildFleet(input), buildTrainingJob(onSageMaker)];
    if (plan.kind !== 'fleet' || job.kind !== 'request') throw new Error('no plan');
    const document: unknown = JSON.parse(plan.objects.at(-1)?.text ?? '');
    const {
      TrainingJobName,
      HyperParameters,
      InputDataConfig,
      CheckpointConfig,
      OutputDataConfig,
      Environment,
    } = job.request;
    expect(document).toMatchObject({
      version: 1,
      nodes: 2,
      instanceType: 'ml.p4d.24xlarge',
      TrainingJobName,
      HyperParameters,
      InputDataConfig,
      CheckpointConfig,
      OutputDataConfig,
      Environment,
    });
  });

  it('records the price ratio to On-Demand', () => {
    const pool = {
      instanceType: 'p4d.24xlarge',
      zoneId: 'use1-az6',
      launcher: 'ec2',
      purchaseOption: 'spot',
    } as const;
    const topology = { nodes: 1, acceleratorsPerNode: 8 };
    const assessed = {
      pool,
      topology,
      hourlyUsd: 5,
      expectedCostUsd: 1,
      expectedSeconds: 1,
      verdict: 'chosen',
    };
    const [plan, unknown] = [planOf({ placed: { considered: [assessed] } }), planOf()];
    expect(JSON.parse(plan.objects.at(-1)?.text ?? '')).toMatchObject({ priceRatio: 0.25 });
    expect(JSON.parse(unknown.objects.at(-1)?.text ?? '')).toMatchObject({ priceRatio: 1 });
  });

  it('reports every problem at once', () => {
    const { declaration } = fleetInput();
    const helpers = [{ name: 'cpu', instanceType: 'c5.xlarge', nodes: 1 }];
    // All of it is refused when it is declared; a run may have been closed before it was.
    const compute = { ...declaration.compute, vpc: undefined, ec2: undefined, helpers };
    const generations = [{ shardsPrefix: 'other/dataset/', shards: [], totals: { shards: 0, bytes: 0 } }];
    const choice = { over: { generations, declaration: { ...declaration, compute } } };
    expect(new Set(problems(choice))).toEqual(
      new Set(['compute.ec2', 'compute.vpc', 'compute.helpers', 'generations']),
    );
  });

  it('needs a zone of the placement', () => {
    const pool = { instanceType: 'p4d.24xlarge', launcher: 'ec2', purchaseOption: 'spot' } as const;
    expect(problems({ placed: { pool } })).toEqual(['compute.vpc.subnets']);
    expect(problems({ placed: { pool: { ...pool, zoneId: 'use1-az1' } } })).toEqual(['compute.vpc.subnets']);
  });

  it('knows EFA as the catalog does', () => {
    const known = [
      'g5.xlarge',
      'g5.8xlarge',
      'g6e.48xlarge',
      'p4d.24xlarge',
      'p5.48xlarge',
      'c5n.18xlarge',
      'm5.xlarge',
      'trn1.32xlarge',
    ];
    const differing = known.filter((type) => efaOf(type).interfaces > 0 !== instanceFacts(type)?.efa);
    expect(differing).toEqual([]);
  });
});

describe('the user data', () => {
  it('arms the end of the host before anything else', () => {
    const lines = scriptOf(planOf()).split('\n');
    const armed = lines.findIndex((line) => line.startsWith('shutdown -h +90 '));
    const fetched = lines.findIndex((line) => line.includes('aws s3 cp'));
    expect(armed).toBeGreaterThan(0);
    expect(armed).toBeLessThan(fetched);
    expect(lines.findIndex((line) => line.startsWith("trap 'shutdown -h now"))).toBeLessThan(fetched);
  });

  it('fetches the files of the agent and runs it', () => {
    const script = scriptOf(planOf());
    expect(script).toMatch(
      /s3 cp --only-show-errors --recursive 's3:\/\/tw-data\/agent\/[0-9a-f]+\/' '(.+)' &&/,
    );
    expect(script.trimEnd().split('\n').at(-1)).toMatch(
      / '\/opt\/ml\/input\/data\/agent\/tidewheel.pyz' --host$/,
    );
  });

  it('holds no hyperparameter and no path of the user', () => {
    const training = { hyperparameters: { word: 'PWNED-$(id)' }, entryPoint: 'PWNED.py', source: 'PWNED/' };
    expect(scriptOf(planOf({ training }))).not.toContain('PWNED');
  });

  it('stays far below what EC2 takes', () => {
    const plan = planOf({ over: { agentPrefix: `agent/${'a'.repeat(900)}/` } });
    expect(Buffer.byteLength(scriptOf(plan))).toBeLessThan(16_384);
  });
});
