import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  checkpointDirectory,
  commandOf,
  cpusPerHost,
  environmentOf,
  planHosts,
  resourceConfig,
} from '../../../sagemaker/hosts/container.ts';
import { keysOfManifest, planFiles, receivers } from '../../../sagemaker/hosts/host-channels.ts';
import { relativeKey, segmentsOf } from '../../../sagemaker/hosts/objects.ts';
import { groups, plainRequest } from './requests.ts';

const hostsOf = (request = plainRequest(), slot = 0) =>
  planHosts(request, { job: '/state/jobs/a-job', temporary: '/tmp/tw-01234567' }, slot);
const surroundings = {
  jobArn: 'arn',
  region: 'us-east-1',
  awsEndpointUrl: 'http://127.0.0.1:1',
  credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  path: '/bin',
  masterPort: 1,
  cpusPerHost: 2,
  graceSeconds: 30,
};
const firstHost = (request = plainRequest()) => {
  const [host] = hostsOf(request);
  if (!host) throw new Error('the plan has no host');
  return host;
};

test('hosts of all groups are numbered consecutively', () => {
  const request = plainRequest({ ResourceConfig: groups(1, 2) });
  expect(hostsOf(request, 300).map(({ name, address, groupName }) => [name, address, groupName])).toEqual([
    ['algo-1', '127.65.44.2', 'group-0'],
    ['algo-2', '127.65.44.3', 'group-1'],
    ['algo-3', '127.65.44.4', 'group-1'],
  ]);
});

test('a homogeneous job has one named group', () => {
  const host = firstHost();
  expect(resourceConfig([host], host)).toEqual({
    current_host: '127.64.0.2',
    current_instance_type: 'ml.c5.xlarge',
    current_group_name: 'homogeneousCluster',
    hosts: ['127.64.0.2'],
    instance_groups: [
      { instance_group_name: 'homogeneousCluster', instance_type: 'ml.c5.xlarge', hosts: ['127.64.0.2'] },
    ],
    network_interface_name: 'lo',
  });
});

test('hosts are listed in lexicographic order', () => {
  const hosts = hostsOf(plainRequest({ ResourceConfig: groups(12) }));
  const [first] = hosts;
  if (!first) throw new Error('the plan has no host');
  const { hosts: listed } = resourceConfig(hosts, first);
  expect(listed).toEqual(hosts.map((host) => host.address).toSorted());
  expect(listed).not.toEqual(hosts.map((host) => host.address));
});

test('entry point and arguments follow docker', () => {
  const command = (spec: object) =>
    commandOf(
      plainRequest({ AlgorithmSpecification: { TrainingImage: 'i', TrainingInputMode: 'File', ...spec } }),
    );
  expect(command({})).toEqual(['train']);
  expect(command({ ContainerArguments: ['a', 'b'] })).toEqual(['a', 'b']);
  expect(command({ ContainerEntrypoint: ['e'] })).toEqual(['e']);
  expect(command({ ContainerEntrypoint: ['e'], ContainerArguments: ['$(x)', 'y z'] })).toEqual([
    'e',
    '$(x)',
    'y z',
  ]);
});

test('a request’s environment cannot pass for the platform’s', () => {
  const request = plainRequest({
    Environment: { TRAINING_JOB_NAME: 'other', SAGEMAKER_BASE_DIR: '/', MINE: '1' },
  });
  const environment = environmentOf(request, firstHost(), surroundings);
  expect(environment).toMatchObject({
    TRAINING_JOB_NAME: 'a-job',
    SAGEMAKER_BASE_DIR: '/opt/ml',
    MINE: '1',
  });
});

test('a script may use 11/12 of the grace', () => {
  const graceOf = (graceSeconds: number) =>
    environmentOf(plainRequest(), firstHost(), { ...surroundings, graceSeconds })['TIDEWHEEL_GRACE_SECONDS'];
  expect([120, 30, 5, 1].map(graceOf)).toEqual(['110', '27.5', '4.6', '0.9']);
});

test('no two hosts share a temporary folder', () => {
  const request = plainRequest({ ResourceConfig: groups(1, 2) });
  const folders = [0, 1, 11].flatMap((slot) => hostsOf(request, slot).map(({ temporary }) => temporary));
  expect(new Set(folders).size).toBe(9);
});

test('hosts share the machine’s CPUs, and each has one', () => {
  expect([1, 2, 3, 8].map((hosts) => cpusPerHost(8, hosts))).toEqual([8, 4, 2, 1]);
  expect(cpusPerHost(2, 5)).toBe(1);
});

test('no checkpoint path leaves the host’s folder', () => {
  fc.assert(
    fc.property(fc.string(), (LocalPath) => {
      const host = firstHost();
      const request = plainRequest({ CheckpointConfig: { S3Uri: 's3://b/c', LocalPath } });
      expect(`${checkpointDirectory(request, host) ?? ''}/`.startsWith(`${host.root}/`)).toBe(true);
    }),
  );
  expect(checkpointDirectory(plainRequest(), firstHost())).toBeUndefined();
  expect(checkpointDirectory(plainRequest({ CheckpointConfig: { S3Uri: 's3://b/c' } }), firstHost())).toBe(
    '/state/jobs/a-job/hosts/algo-1/opt/ml/checkpoints',
  );
});

test('no key leaves its folder', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('..', '.', 'a', '', 'b\0', 'c.txt')), (parts) => {
      const place = segmentsOf(parts.join('/'));
      if (!place.ok) return;
      expect(place.segments.filter((part) => ['..', '.', ''].includes(part) || part.includes('\0'))).toEqual(
        [],
      );
      expect(place.segments.length).toBeGreaterThan(0);
    }),
  );
  expect(segmentsOf(`${'x'.repeat(256)}/a`).ok).toBe(false);
});

test.each([
  ['data/a/b', 'data/', 'a/b'],
  ['data/a/b', 'data', 'a/b'],
  ['data/train-1/x', 'data/train', 'train-1/x'],
  ['a', '', 'a'],
])('key %s under prefix %s lies at %s', (key, prefix, expected) => {
  expect(relativeKey(key, prefix).replace(/^\//, '')).toBe(expected);
});

test('a whole key is one file, markers none', () => {
  expect(planFiles(['data/model.bin'], 'data/model.bin', 'c')).toEqual([
    { key: 'data/model.bin', path: 'model.bin' },
  ]);
  expect(planFiles(['data/', 'data/sub/', 'data/sub/a'], 'data/', 'c')).toEqual([
    { key: 'data/sub/a', path: 'sub/a' },
  ]);
});

test('sharding gives every object to exactly one host, evenly', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 60 }), (hostCount, objects) => {
      const hosts = Array.from({ length: hostCount }, (_, index) => index);
      const counts = hosts.map(() => 0);
      for (let position = 0; position < objects; position += 1) {
        const [owner, ...others] = receivers(hosts, position, 'ShardedByS3Key');
        expect(others).toEqual([]);
        counts[owner ?? -1] = (counts[owner ?? -1] ?? 0) + 1;
      }
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }),
  );
  expect(receivers(['a', 'b'], 5, 'FullyReplicated')).toEqual(['a', 'b']);
});

test('a manifest names keys and its problems', () => {
  expect(keysOfManifest('[{"prefix":"s3://b/x/"},"a","c/d"]')).toEqual({
    bucket: 'b',
    prefix: 'x/',
    keys: ['x/a', 'x/c/d'],
  });
  for (const text of [
    '{',
    '{}',
    '[]',
    '["a"]',
    '[{"prefix":1},"a"]',
    '[{"prefix":"s3://b/"},1]',
    '[{"prefix":"s3://b/"}]',
  ]) {
    expect(() => keysOfManifest(text)).toThrow('ClientError: Data download failed: the manifest file');
  }
});
