/** Launches that cover what a pipeline can declare and a placement can choose, each with a name that says what it is. */

import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Pool } from '@tidewheel/placement/records.ts';
import type { TrainingJobInput } from '../../functions/launch/sagemaker/training-job.ts';
import { generationAt } from '../support/builders/generations.ts';
import { declaration, launch, placement } from '../support/builders/launch.ts';

const PURCHASE_OPTIONS = ['spot', 'on-demand'] as const;
/** CPU on EBS, CPU with NVMe, one GPU, many GPUs, the largest, and a GPU type that needs EBS. */
const TYPES = ['m5.xlarge', 'r5d.4xlarge', 'g5.xlarge', 'g6e.12xlarge', 'p5.48xlarge', 'p3.8xlarge'] as const;
const NODES = [1, 2, 16] as const;
const VERSIONS = ['2.8', '2.10.0', '2.13'] as const;
const REGIONS = ['us-east-1', 'eu-south-2', 'cn-north-1'] as const;

const vpc = {
  securityGroupIds: ['sg-0a1b2c3d4e5f60718'],
  subnets: [
    { id: 'subnet-0a1b2c3d4e5f60718', zoneId: 'use1-az4' },
    { id: 'subnet-1a1b2c3d4e5f60718', zoneId: 'use1-az6' },
  ],
};

const shardsOf = (generation: string, count: number) =>
  generationAt(
    `digits/dataset/${generation}/shards/`,
    Array.from({ length: count }, (_, index) => `${String(index).padStart(5, '0')}.tar`),
  );

const MOST_TAGS = {
  owner: 'o'.repeat(256),
  tags: Object.fromEntries(
    Array.from({ length: 43 }, (_, index) => [`${index}-é_.:/=+-@`.padEnd(127, 'k'), 'v'.repeat(256)]),
  ),
};

/** A dataset that is not packed. */
const ofFiles = (training: Record<string, unknown> = {}, packing: Record<string, unknown> = {}) => ({
  declaration: declaration({
    packing: { format: 'none', ...packing },
    training: { strategy: 'single', ...training },
  }),
  generations: [{ ...generationAt('digits/dataset/digits-000001/shards/'), isUnpacked: true as const }],
  channelLists: new Map(
    ['training', 'train', 'test'].map((name) => [
      name,
      `s3://tw-data/digits/runs/digits-000001/${name}.manifest`,
    ]),
  ),
});

interface Choice {
  readonly purchaseOption: Pool['purchaseOption'];
  readonly instanceType: string;
  readonly nodes: number;
  readonly zoneId?: string;
  readonly compute?: Record<string, unknown>;
  readonly training?: Record<string, unknown>;
  readonly over?: Partial<TrainingJobInput>;
}

/** The default image holds no code for V100. */
const imageOf = (instanceType: string) => (instanceType.startsWith('p3.') ? { frameworkVersion: '2.8' } : {});

function made({
  purchaseOption,
  instanceType,
  nodes,
  zoneId,
  compute,
  training,
  over,
}: Choice): TrainingJobInput {
  const declared: Pipeline = declaration({
    training: { strategy: nodes === 1 ? 'single' : 'ddp', ...imageOf(instanceType), ...training },
    compute: { instanceTypes: [instanceType], nodes, ...compute },
  });
  return launch({
    declaration: declared,
    placement: placement({
      pool: {
        instanceType,
        launcher: 'sagemaker',
        purchaseOption,
        ...(zoneId === undefined ? {} : { zoneId }),
      },
      topology: { nodes, acceleratorsPerNode: 1 },
      maximumWaitSeconds: purchaseOption === 'spot' ? 7_200 : undefined,
    }),
    ...over,
  });
}

const base = { purchaseOption: 'spot', instanceType: 'g5.xlarge', nodes: 2 } as const;

/** Every purchase option on every type with every number of nodes. */
const grid: [string, TrainingJobInput][] = PURCHASE_OPTIONS.flatMap((purchaseOption) =>
  TYPES.flatMap((instanceType) =>
    NODES.map((nodes): [string, TrainingJobInput] => [
      `${nodes} x ${instanceType} ${purchaseOption}`,
      made({ purchaseOption, instanceType, nodes, over: { region: 'eu-west-1' } }),
    ]),
  ),
);

const images: [string, TrainingJobInput][] = VERSIONS.flatMap((frameworkVersion) =>
  REGIONS.flatMap((region) =>
    (['c7i.4xlarge', 'g5.xlarge'] as const).map((instanceType): [string, TrainingJobInput] => [
      `PyTorch ${frameworkVersion} on ${instanceType} in ${region}`,
      made({ ...base, instanceType, training: { frameworkVersion }, over: { region } }),
    ]),
  ),
);

/** Helper groups, on demand as on Spot where the pipeline dares it. */
const helpers = [
  { name: 'prepare', instanceType: 'c7i.4xlarge', nodes: 4 },
  { name: 'cache-1', instanceType: 'r5d.4xlarge', nodes: 1 },
];
const grouped: [string, TrainingJobInput][] = PURCHASE_OPTIONS.flatMap((purchaseOption) =>
  (['g5.xlarge', 'p3.8xlarge'] as const).flatMap((instanceType) =>
    [1, 2].map((groups): [string, TrainingJobInput] => [
      `${instanceType} ${purchaseOption} with ${groups} helper groups`,
      made({
        ...base,
        purchaseOption,
        instanceType,
        compute: { helpers: helpers.slice(0, groups), spotWithHelpers: true },
      }),
    ]),
  ),
);

const long = 'p'.repeat(32);
/** The same data at sizes that call for different ways of reading it. */
const sized = (bytes: number, shards: number): Partial<TrainingJobInput> => ({
  generations: [{ ...generationAt('digits/dataset/digits-000001/shards/'), totals: { shards, bytes } }],
});
const modes: [string, TrainingJobInput][] = [
  ['files that are not packed', made({ ...base, over: ofFiles() })],
  ['files as a Pipe', made({ ...base, over: ofFiles({ inputMode: 'Pipe' }) })],
  ['files divided among hosts', made({ ...base, over: ofFiles({ distribution: 'ShardedByS3Key' }) })],
  ['parts of files', made({ ...base, over: ofFiles({}, { split: { train: 0.5, test: 0.5 } }) })],
  ['data that is downloaded', made({ ...base, over: { ...sized(1e9, 4), attempt: 11 } })],
  ['data that is streamed', made({ ...base, over: { ...sized(5e12, 20_000), attempt: 12 } })],
  ['FastFile as declared', made({ ...base, training: { inputMode: 'FastFile' } })],
  ['Pipe as declared', made({ ...base, training: { inputMode: 'Pipe' } })],
  [
    'Pipe divided over the hosts',
    made({ ...base, training: { inputMode: 'Pipe', distribution: 'ShardedByS3Key' } }),
  ],
];

const single: [string, TrainingJobInput][] = [
  [
    'a private package index',
    made({
      ...base,
      training: {
        packageIndex: {
          url: 'https://packages.example.com/simple/',
          secret: 'arn:aws:secretsmanager:us-east-1:123456789012:secret:team/index-AbCdEf',
        },
      },
    }),
  ],
  [
    'FSx for Lustre, EFS and a prefix beside the shards',
    made({
      ...base,
      zoneId: 'use1-az6',
      compute: { vpc },
      training: {
        channels: {
          images: { fsxLustre: 'fs-0123456789abcdef0', directory: '/1234abcd/images' },
          cache: { efs: 'fs-89abcdef', directory: '/cache', access: 'rw' },
          words: { s3: 's3://elsewhere/words/', inputMode: 'FastFile' },
        },
      },
    }),
  ],
  [
    'a prefix beside the shards of a job with groups',
    made({
      ...base,
      compute: { helpers: helpers.slice(0, 1), spotWithHelpers: true },
      training: { channels: { words: { s3: 's3://elsewhere/words/' } } },
    }),
  ],
  ['one zone of a VPC', made({ ...base, zoneId: 'use1-az6', compute: { vpc } })],
  ['any zone of a VPC', made({ ...base, compute: { vpc } })],
  ['shards divided over the hosts', made({ ...base, training: { distribution: 'ShardedByS3Key' } })],
  [
    'a source elsewhere',
    made({ ...base, training: { source: 's3://other-bucket/code/v7/', entryPoint: 'src/main.py' } }),
  ],
  [
    'an image of the user',
    made({
      ...base,
      training: { image: '123456789012.dkr.ecr.us-east-1.amazonaws.com/mine@sha256:' + 'a'.repeat(64) },
    }),
  ],
  [
    'three generations',
    made({
      ...base,
      over: {
        runId: 'digits-000003',
        generations: ['digits-000001', 'digits-000002', 'digits-000003'].map((name) => shardsOf(name, 3)),
      },
    }),
  ],
  [
    'four hundred generations',
    made({
      ...base,
      over: { generations: Array.from({ length: 400 }, (_, index) => shardsOf(`digits-${index}`, 2)) },
    }),
  ],
  ['the thousandth attempt', made({ ...base, over: { attempt: 1_000 } })],
  [
    'the longest name',
    launch({
      runId: `${long}-999999`,
      declaration: declaration({ name: long }),
      generations: [generationAt(`${long}/dataset/${long}-999999/shards/`)],
    }),
  ],
  ['no checkpoint interval', made({ ...base, over: { checkpointSeconds: undefined } })],
  [
    'wait equal to run',
    { ...made(base), placement: placement({ maximumRunSeconds: 7_200, maximumWaitSeconds: 7_200 }) },
  ],
  [
    '28 days',
    { ...made(base), placement: placement({ maximumRunSeconds: 2_419_200, maximumWaitSeconds: 2_419_200 }) },
  ],
  [
    'a role in a path',
    made({ ...base, over: { roleArn: 'arn:aws-cn:iam::123456789012:role/service-role/x@y' } }),
  ],
  [
    '80 hyperparameters',
    made({
      ...base,
      training: {
        hyperparameters: Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`p${index}`, index])),
      },
    }),
  ],
  [
    'hostile hyperparameters',
    made({
      ...base,
      training: {
        hyperparameters: {
          a: '"; rm -rf / #',
          b: '$(id) `id` \\',
          c: '\u2028\u0085é🎈\t',
          d: '--x=y',
          e: '',
        },
      },
    }),
  ],
  [
    'as many tags as AWS takes, of their longest',
    made({ ...base, over: { declaration: declaration(MOST_TAGS) } }),
  ],
  [
    'a training plan',
    {
      ...made({ ...base, purchaseOption: 'on-demand' }),
      placement: placement({
        pool: {
          instanceType: 'p5.48xlarge',
          launcher: 'sagemaker',
          purchaseOption: 'reserved',
          reservation: 'arn:aws:sagemaker:us-east-1:123456789012:training-plan/team-a',
        },
        reserved: { kind: 'training-plan' },
        topology: { nodes: 2, acceleratorsPerNode: 8 },
      }),
    },
  ],
  ['the longest value', made({ ...base, training: { hyperparameters: { a: 'x'.repeat(2_000) } } })],
];

export const CONFIGURATIONS: readonly (readonly [string, TrainingJobInput])[] = [
  ...grid,
  ...images,
  ...grouped,
  ...modes,
  ...single,
];
