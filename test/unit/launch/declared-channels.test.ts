import { describe, expect, it } from 'vitest';
import {
  declaration,
  launch,
  problemsOf as problems,
  requestOf as request,
} from '../../support/builders/launch.ts';

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

  it('cannot be used by a job in another region', () => {
    expect(problems({ ...requested({ vpc }), dataBucket: 'home-bucket' })).toEqual(['training.channels']);
  });

  it.each([
    ['train', { s3: 's3://b-b/x/' }],
    ['train-3', { s3: 's3://b-b/x/' }],
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
