import { describe, expect, it } from 'vitest';
import { buildTrainingJob } from '../../../functions/launch/sagemaker/training-job.ts';
import { generationAt } from '../../support/builders/generations.ts';
import {
  declaration,
  launch,
  problemsOf as problems,
  requestOf as request,
} from '../../support/builders/launch.ts';

const channelNames = (over: Parameters<typeof declaration>[0]) =>
  request(launch({ declaration: declaration(over) })).InputDataConfig.map(({ ChannelName }) => ChannelName);

describe('channels beside the shards', () => {
  const vpc = {
    securityGroupIds: ['sg-0123456789abcdef0'],
    subnets: [{ id: 'subnet-0123456789abcdef0', zoneId: 'use1-az4' }],
  };
  const channels = {
    images: { fsxLustre: 'fs-0123456789abcdef0', directory: '/1234abcd/images' },
    cache: { efs: 'fs-89abcdef', access: 'rw' },
    words: { s3: 's3://elsewhere/words/', inputMode: 'FastFile' },
  };
  const requested = (compute: Record<string, unknown>) =>
    launch({ declaration: declaration({ training: { channels }, compute }) });

  it('are mounted read-only from the root by default', () => {
    const made = request(requested({ vpc }));
    const own = made.InputDataConfig.filter(({ ChannelName }) => Object.hasOwn(channels, ChannelName));
    expect(own.map(({ InputMode, DataSource }) => [InputMode, DataSource])).toEqual([
      [
        'File',
        {
          FileSystemDataSource: {
            FileSystemId: 'fs-0123456789abcdef0',
            FileSystemType: 'FSxLustre',
            FileSystemAccessMode: 'ro',
            DirectoryPath: '/1234abcd/images',
          },
        },
      ],
      [
        'File',
        {
          FileSystemDataSource: {
            FileSystemId: 'fs-89abcdef',
            FileSystemType: 'EFS',
            FileSystemAccessMode: 'rw',
            DirectoryPath: '/',
          },
        },
      ],
      [
        'FastFile',
        {
          S3DataSource: {
            S3DataType: 'S3Prefix',
            S3Uri: 's3://elsewhere/words/',
            S3DataDistributionType: 'FullyReplicated',
          },
        },
      ],
    ]);
  });

  it("lie in the pipeline's folder without a bucket", () => {
    const here = declaration({ training: { channels: { data: { s3: 'incoming/' } } } });
    const uris = request(launch({ declaration: here })).InputDataConfig.map(({ DataSource }) =>
      'S3DataSource' in DataSource ? DataSource.S3DataSource.S3Uri : undefined,
    );
    expect(uris).toContain(`s3://${launch().bucket}/${here.name}/incoming/`);
  });

  it('need a VPC and no instance groups', () => {
    expect(problems(requested({}))).toEqual(['training.channels.images', 'training.channels.cache']);
    const helpers = [{ name: 'prepare', instanceType: 'c7i.4xlarge', nodes: 1 }];
    expect(problems(requested({ vpc, helpers, spotWithHelpers: true }))).toEqual([
      'training.channels.images',
      'training.channels.cache',
    ]);
  });

  it.each(['train', 'validation', '2.5-m_x'])('may have the name %s', (name) => {
    const channels = { [name]: { s3: 's3://b-b/x/' } };
    expect(channelNames({ training: { channels } })).toEqual([
      name === 'train' ? 'shards_train' : 'train',
      'code',
      'agent',
      name,
    ]);
  });

  it('move the shards, with their list, splits and Pipes', () => {
    const channels = { train: { s3: 'incoming/' }, 'validation-1': { s3: 's3://b-b/x/' } };
    const packing = { split: { train: 0.9, validation: 0.1 } };
    const piped = { channels, inputMode: 'Pipe', strategy: 'ddp', processesPerHost: 2 };
    const generations = (['train', 'validation'] as const).map((split) => ({
      ...generationAt(`digits/dataset/digits-000001/shards/${split}/`, ['0.tar', '1.tar']),
      split,
    }));
    const job = buildTrainingJob(
      launch({ declaration: declaration({ training: piped, packing }), generations }),
    );
    if (job.kind !== 'request') throw new Error('no request');
    expect(job.request.InputDataConfig.map(({ ChannelName }) => ChannelName)).toEqual([
      'shards_train',
      'shards_train-1',
      'shards_validation',
      'shards_validation-1',
      'code',
      'agent',
      'train',
      'validation-1',
    ]);
    const lists = job.objects.map(({ key }) => key.split('/').at(-1));
    expect(lists.slice(0, 2)).toEqual(['shards_train.manifest-0', 'shards_train.manifest-1']);
  });

  it('named by an argument go before the shards', () => {
    const channels = { train: { s3: 'incoming/' } };
    const named = (name: string) =>
      problems(
        launch({
          declaration: declaration({ training: { channels, arguments: [`\${channel:${name}}`] } }),
          generations: [],
        }),
      );
    expect(named('train')).toEqual([]);
    expect(named('shards_train')).toEqual(['training.arguments']);
  });

  it.each([
    [{ train: { s3: 'a/' }, shards_train: { s3: 'b/' } }, 'because train is declared too'],
    [{ Train: { s3: 'a/' }, train: { s3: 'b/' } }, 'has the variable SM_CHANNEL_TRAIN, as Train has'],
  ])('%j are refused together', (channels, message) => {
    expect(() => declaration({ training: { channels } })).toThrow(message);
  });

  it('cannot be used by a job in another region', () => {
    expect(problems({ ...requested({ vpc }), dataBucket: 'home-bucket' })).toEqual(['training.channels']);
  });

  it.each([
    ['code', { s3: 's3://b-b/x/' }],
    ['agent', { s3: 's3://b-b/x/' }],
    ['.x', { s3: 's3://b-b/x/' }],
    ['../x', { s3: 's3://b-b/x/' }],
    ['data', { s3: 's3://b-b/x' }],
    ['data', { s3: '../other/incoming/' }],
    ['data', { s3: 's3://b-b/x/', inputMode: 'Pipe' }],
    ['data', { fsxLustre: 'fs-0123456789abcdef0' }],
    ['data', { efs: 'fs-89abcdef', directory: '/a/../../etc' }],
    ['data', { efs: 'fs-89ABCDEF' }],
    ['data', { efs: 'fs-89abcdef', fsxLustre: 'fs-89abcdef', directory: '/' }],
  ])('named %s as %j are refused by the schema', (name, channel) => {
    expect(() => declaration({ training: { channels: { [name]: channel } } })).toThrow(/channels/);
  });
});
