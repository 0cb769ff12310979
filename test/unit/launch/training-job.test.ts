import type { Pool } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import type { CreateTrainingJobRequest } from '../../../functions/launch/job/request.ts';
import { buildTrainingJob } from '../../../functions/launch/sagemaker/training-job.ts';
import { generationAt } from '../../support/builders/generations.ts';
import {
  declaration,
  launch,
  placement,
  problemsOf as problems,
  requestOf as request,
} from '../../support/builders/launch.ts';

const channel = (made: CreateTrainingJobRequest, name: string) =>
  made.InputDataConfig.find(({ ChannelName }) => ChannelName === name)?.DataSource.S3DataSource;

const on = (instanceType: string, over: Partial<Pool> = {}) =>
  placement({ pool: { instanceType, launcher: 'sagemaker', purchaseOption: 'spot', ...over } });

describe('buildTrainingJob', () => {
  it('requests managed Spot with a sufficient wait limit', () => {
    const made = request(launch());
    expect(made.EnableManagedSpotTraining).toBe(true);
    expect(made.StoppingCondition).toEqual({ MaxRuntimeInSeconds: 3_600, MaxWaitTimeInSeconds: 7_200 });
    expect(made.Environment).toEqual({
      TIDEWHEEL_SPOT: '1',
      TIDEWHEEL_MODEL: 'required',
      TIDEWHEEL_WHEELS: 'us-east-1 s3://tw-data/digits/wheels/',
    });
  });

  it('leaves the wait limit out on demand', () => {
    const made = request(
      launch({
        placement: on('g5.xlarge', { purchaseOption: 'on-demand' }),
      }),
    );
    expect(made.EnableManagedSpotTraining).toBe(false);
    expect(made.StoppingCondition).toEqual({ MaxRuntimeInSeconds: 3_600 });
    expect(made.Environment).toEqual({
      TIDEWHEEL_SPOT: '0',
      TIDEWHEEL_MODEL: 'required',
      TIDEWHEEL_WHEELS: 'us-east-1 s3://tw-data/digits/wheels/',
    });
  });

  it('has hosts end a script that hangs', () => {
    const ends = declaration({ limits: { hangSeconds: 90 } });
    expect(request(launch({ declaration: ends })).Environment['TIDEWHEEL_HANG_SECONDS']).toBe('90');
  });

  it('writes models under the customer key', () => {
    const kmsKey = 'arn:aws:kms:us-east-1:123456789012:key/abc';
    const made = request({ ...launch(), kmsKey });
    expect(made.OutputDataConfig).toEqual({ ...request(launch()).OutputDataConfig, KmsKeyId: kmsKey });
    expect(request(launch()).OutputDataConfig).not.toHaveProperty('KmsKeyId');
  });

  it('gives all attempts one checkpoint folder and different names', () => {
    const [first, second] = [request(launch()), request(launch({ attempt: 2 }))];
    expect(second.CheckpointConfig).toEqual(first.CheckpointConfig);
    expect(first.CheckpointConfig.S3Uri).toBe('s3://tw-data/digits/runs/digits-000001/checkpoints/');
    expect(second.TrainingJobName).not.toBe(first.TrainingJobName);
  });

  it('makes the same request from the same input', () => {
    expect(buildTrainingJob(launch())).toEqual(buildTrainingJob(launch()));
  });

  it('starts the agent from its own channel', () => {
    const made = request(launch());
    expect(made.AlgorithmSpecification.ContainerEntrypoint).toEqual([
      'python3',
      '/opt/ml/input/data/agent/tidewheel.pyz',
    ]);
    expect(channel(made, 'agent')?.S3Uri).toBe('s3://tw-data/agent/0123abcd/');
  });

  it('encodes hyperparameters as the SageMaker SDK does', () => {
    const training = {
      hyperparameters: { epochs: 3, rate: 0.1, big: { number: '1e200' }, amp: true, tag: 'a "b" é\u2028' },
    };
    expect(request(launch({ declaration: declaration({ training }) })).HyperParameters).toMatchObject({
      epochs: '3',
      rate: '0.1',
      big: '1e200',
      amp: 'true',
      tag: '"a \\"b\\" \\u00e9\\u2028"',
      sagemaker_program: '"train.py"',
      sagemaker_container_log_level: '20',
      sagemaker_region: '"us-east-1"',
      tidewheel_strategy: '"ddp"',
      tidewheel_run_id: '"digits-000001"',
      tidewheel_checkpoint_seconds: '30',
    });
  });

  it('sends no EBS size for types with NVMe', () => {
    expect(request(launch()).ResourceConfig).toEqual({ InstanceType: 'ml.g5.xlarge', InstanceCount: 2 });
    const m5 = on('m5.xlarge');
    expect(request(launch({ placement: m5 })).ResourceConfig.VolumeSizeInGB).toBe(30);
  });

  it('asks the API for a later generation', () => {
    const made = request(launch({ placement: on('g8.xlarge') })).ResourceConfig;
    expect(made).toMatchObject({ InstanceType: 'ml.g8.xlarge' });
    expect(made).not.toHaveProperty('VolumeSizeInGB');
  });

  it('reads the source from the folder or declared URI', () => {
    expect(channel(request(launch()), 'code')?.S3Uri).toBe('s3://tw-data/digits/source/');
    const own = declaration({ training: { source: 's3://elsewhere/v7/' } });
    expect(channel(request(launch({ declaration: own })), 'code')?.S3Uri).toBe('s3://elsewhere/v7/');
  });

  it('divides the data, never the code, when declared', () => {
    const made = request(
      launch({ declaration: declaration({ training: { distribution: 'ShardedByS3Key' } }) }),
    );
    expect(channel(made, 'train')?.S3DataDistributionType).toBe('ShardedByS3Key');
    expect(channel(made, 'code')?.S3DataDistributionType).toBe('FullyReplicated');
    expect(channel(made, 'agent')?.S3DataDistributionType).toBe('FullyReplicated');
  });

  it('lists the shards of several generations in one manifest', () => {
    const generations = [
      generationAt('digits/dataset/digits-000001/shards/', ['00000.tar', '00001.tar']),
      generationAt('digits/dataset/digits-000002/shards/', ['00000.tar']),
    ];
    const job = buildTrainingJob(launch({ runId: 'digits-000002', generations }));
    if (job.kind !== 'request') throw new Error('no request');
    const source = channel(job.request, 'train');
    expect(source?.S3DataType).toBe('ManifestFile');
    const [object] = job.objects;
    expect(source?.S3Uri).toBe(`s3://tw-data/${object?.key}`);
    expect(JSON.parse(object?.text ?? '')).toEqual([
      { prefix: 's3://tw-data/digits/dataset/' },
      'digits-000001/shards/00000.tar',
      'digits-000001/shards/00001.tar',
      'digits-000002/shards/00000.tar',
    ]);
  });

  describe('a Pipe for each process of a host', () => {
    const shardsPrefix = 'digits/dataset/digits-000001/shards/';
    const generations = [
      generationAt(
        shardsPrefix,
        ['0', '1', '2', '3', '4'].map((name) => `${name}.tar`),
      ),
    ];
    const training = { strategy: 'mpi', inputMode: 'Pipe', distribution: 'ShardedByS3Key' };
    const piped = (over: Record<string, unknown> = {}) =>
      launch({ declaration: declaration({ training: { ...training, ...over } }), generations });

    it('get each shard once in a new order', () => {
      const job = buildTrainingJob(piped({ processesPerHost: 2, pinGpus: true }));
      if (job.kind !== 'request') throw new Error('no request');
      const pipes = job.request.InputDataConfig.filter(({ InputMode }) => InputMode === 'Pipe');
      expect(pipes.map(({ ChannelName }) => ChannelName)).toEqual(['train', 'train-1']);
      expect(pipes.map(({ ShuffleConfig }) => ShuffleConfig)).toEqual([{ Seed: 0 }, { Seed: 0 }]);
      for (const [index, { DataSource }] of pipes.entries()) {
        expect(DataSource.S3DataSource).toMatchObject({
          S3DataType: 'ManifestFile',
          S3Uri: `s3://tw-data/${job.objects[index]?.key}`,
          S3DataDistributionType: 'ShardedByS3Key',
        });
      }
      const named = job.objects.map(({ text }) => (JSON.parse(text) as unknown[]).slice(1));
      expect(named).toEqual([
        ['digits-000001/shards/0.tar', 'digits-000001/shards/2.tar', 'digits-000001/shards/4.tar'],
        ['digits-000001/shards/1.tar', 'digits-000001/shards/3.tar'],
      ]);
      expect(job.request.HyperParameters).toMatchObject({
        tidewheel_processes_per_host: '2',
        tidewheel_pin_gpus: 'true',
      });
    });

    it('counts the accelerators of a node by default', () => {
      const four = placement({ topology: { nodes: 1, acceleratorsPerNode: 4 } });
      const made = request({ ...piped(), placement: four });
      expect(made.InputDataConfig.map(({ ChannelName }) => ChannelName)).toEqual([
        'train',
        'train-1',
        'train-2',
        'train-3',
        'code',
        'agent',
      ]);
      expect(made.HyperParameters).not.toHaveProperty('tidewheel_processes_per_host');
    });

    it('is one prefix for a single process', () => {
      for (const over of [{ processesPerHost: 1 }, { strategy: 'single', processesPerHost: 2 }]) {
        expect(channel(request(piped(over)), 'train')?.S3DataType).toBe('S3Prefix');
      }
    });

    it('is refused with too few or unknown shards', () => {
      expect(problems(piped({ processesPerHost: 6 }))).toEqual(['generations']);
      const many = Array.from({ length: 40 }, (_, index) => `${index}.tar`);
      const nineteen = piped({ processesPerHost: 19 });
      expect(problems({ ...nineteen, generations: [generationAt(shardsPrefix, many)] })).toContain(
        'generations',
      );
      expect(
        problems({ ...piped({ processesPerHost: 2 }), generations: [generationAt(shardsPrefix, [])] }),
      ).toEqual(['generations']);
    });
  });

  const vpc = {
    securityGroupIds: ['sg-0a1b2c3d'],
    subnets: [
      { id: 'subnet-aaaa1111', zoneId: 'use1-az1' },
      { id: 'subnet-bbbb2222', zoneId: 'use1-az4' },
    ],
  };
  it('uses the one subnet of its zone', () => {
    const made = request(
      launch({
        declaration: declaration({ compute: { vpc } }),
        placement: on('g5.xlarge', { zoneId: 'use1-az4' }),
      }),
    );
    expect(made.VpcConfig).toEqual({ SecurityGroupIds: ['sg-0a1b2c3d'], Subnets: ['subnet-bbbb2222'] });
  });

  it('uses every subnet when no zone is placed', () => {
    expect(request(launch({ declaration: declaration({ compute: { vpc } }) })).VpcConfig?.Subnets).toEqual([
      'subnet-aaaa1111',
      'subnet-bbbb2222',
    ]);
  });

  it('refuses a zone that no declared subnet lies in', () => {
    const input = launch({
      declaration: declaration({ compute: { vpc } }),
      placement: on('g5.xlarge', { zoneId: 'use1-az6' }),
    });
    expect(problems(input)).toEqual(['compute.vpc.subnets']);
  });

  it('prefers an image of the user', () => {
    const own = declaration({ training: { image: '123456789012.dkr.ecr.us-east-1.amazonaws.com/mine:1' } });
    expect(request(launch({ declaration: own })).AlgorithmSpecification.TrainingImage).toMatch(/mine:1$/);
  });

  it('reports every problem at once', () => {
    const declared = declaration({ training: { frameworkVersion: '1.2' } });
    // Such names and sources are refused when they are declared; a run may have been closed before it was.
    const hyperparameters = { tidewheel_strategy: 'x', long: 'é'.repeat(500) };
    const input = launch({
      declaration: { ...declared, training: { ...declared.training, source: '../other/', hyperparameters } },
      placement: on('c6a.xlarge'),
      generations: [{ shardsPrefix: 'other/dataset/', shards: [], totals: { shards: 0, bytes: 0 } }],
    });
    expect(new Set(problems(input))).toEqual(
      new Set([
        'compute.instanceTypes',
        'training.frameworkVersion',
        'training.source',
        'training.hyperparameters.tidewheel_strategy',
        'training.hyperparameters.long',
        'generations',
      ]),
    );
  });

  it('has no channel of shards where nothing was packed', () => {
    const channelsOf = (training: Readonly<Record<string, unknown>>) =>
      request(launch({ declaration: declaration({ training }), generations: [] })).InputDataConfig.map(
        ({ ChannelName }) => ChannelName,
      );
    expect(channelsOf({})).toEqual(['code', 'agent']);
    expect(channelsOf({ inputMode: 'Pipe', processesPerHost: 4 })).toEqual(['code', 'agent']);
    expect(channelsOf({ arguments: ['${channel:train}/x?'] })).toEqual(['code', 'agent']);
  });

  it('refuses an argument that names shards where none are', () => {
    const training = { arguments: ['${channel:train}'] };
    const input = launch({ declaration: declaration({ training }), generations: [] });
    expect(problems(input)).toEqual(['training.arguments']);
  });

  it('has no script where a command is declared', () => {
    const { HyperParameters } = request(
      launch({ declaration: declaration({ training: { command: ['bash', 'run.sh'] } }) }),
    );
    expect(HyperParameters).not.toHaveProperty('sagemaker_program');
    expect(JSON.parse(JSON.parse(HyperParameters['tidewheel_script'] ?? ''))).toEqual({
      command: ['bash', 'run.sh'],
    });
  });

  it('sends a number as it was written', () => {
    const training = { hyperparameters: { lr: { number: '0.0' } } };
    expect(request(launch({ declaration: declaration({ training }) })).HyperParameters).toMatchObject({
      lr: '0.0',
    });
  });

  it('says which sizes of a family SageMaker trains on', () => {
    const job = buildTrainingJob(
      launch({
        placement: on('p5.2xlarge'),
      }),
    );
    expect(job).toMatchObject({
      kind: 'problems',
      problems: [{ message: expect.stringContaining('p5.4xlarge, p5.48xlarge') }],
    });
  });

  it('refuses generations of another pipeline and unlisted shards', () => {
    const foreign = launch({ generations: [generationAt('other/dataset/x/shards/')] });
    expect(problems(foreign)).toEqual(['generations']);
    const unlisted = launch({
      generations: [
        generationAt('digits/dataset/a/shards/', ['0.tar']),
        generationAt('digits/dataset/b/shards/', []),
      ],
    });
    expect(problems(unlisted)).toEqual(['generations']);
  });
});

describe('a job with helper groups', () => {
  const helpers = [{ name: 'prepare', instanceType: 'c7i.4xlarge', nodes: 3 }];
  const onDemand = on('g5.xlarge', { purchaseOption: 'on-demand' });
  const made = request(launch({ declaration: declaration({ compute: { helpers } }), placement: onDemand }));

  it('names no type for the whole job', () => {
    expect(made.ResourceConfig).toEqual({
      InstanceGroups: [
        { InstanceGroupName: 'train', InstanceType: 'ml.g5.xlarge', InstanceCount: 2 },
        { InstanceGroupName: 'prepare', InstanceType: 'ml.c7i.4xlarge', InstanceCount: 3 },
      ],
      VolumeSizeInGB: 30,
    });
  });

  it('routes every channel to every group', () => {
    expect(made.InputDataConfig.map(({ DataSource }) => DataSource.S3DataSource?.InstanceGroupNames)).toEqual(
      [
        ['train', 'prepare'],
        ['train', 'prepare'],
        ['train', 'prepare'],
      ],
    );
  });

  it.each(['ray', 'data-service'])('names all groups to %s, which joins one cluster', (strategy) => {
    const single = declaration({ compute: { helpers } });
    // A pipeline cannot declare them yet.
    const clustered = { ...single, training: { ...single.training, strategy: strategy as 'ddp' } };
    const { HyperParameters } = request(launch({ declaration: clustered, placement: onDemand }));
    expect(HyperParameters['sagemaker_distribution_instance_groups']).toBe('["train","prepare"]');
  });

  it('tells the container which group trains', () => {
    expect(made.HyperParameters['sagemaker_distribution_instance_groups']).toBe('["train"]');
  });

  it('takes the image of the nodes that train', () => {
    expect(made.AlgorithmSpecification.TrainingImage).toMatch(/cu133/);
  });

  it('does not dare Spot unasked', () => {
    const spot = (compute: Record<string, unknown>) =>
      launch({ declaration: declaration({ compute: { helpers, ...compute } }) });
    expect(problems(spot({}))).toEqual(['compute.helpers']);
    expect(problems(spot({ spotWithHelpers: true }))).toEqual([]);
  });

  it('names the helper whose type SageMaker does not know', () => {
    const wrong = [...helpers, { name: 'cache', instanceType: 'i4i.large', nodes: 1 }];
    const declared = declaration({ compute: { helpers } });
    // The declaration refuses it too; a run may have been closed before it did.
    const compute = { ...declared.compute, helpers: wrong };
    const input = launch({ declaration: { ...declared, compute }, placement: onDemand });
    expect(problems(input)).toEqual(['compute.helpers[1].instanceType']);
  });
});
