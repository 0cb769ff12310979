import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { channelOf, type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';
import { hasNamespaces, pythonWithoutNamespaces } from '../../../../test/support/without-namespaces.ts';

const emulator = emulatorOfSuite();
let ground: Ground;

beforeAll(async () => {
  ground = await layGround(emulator.url);
  return () => ground.close();
});

/** Each host writes what it finds into the merged output. */
const SHOW = `
import json, os, pathlib, sys
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
config = json.loads((base / 'input/config/resourceconfig.json').read_text())
files = {str(p.relative_to(base / 'input/data')): p.read_text() for p in (base / 'input/data').rglob('*') if p.is_file() and 'code' not in p.parts}
inputs = json.loads((base / 'input/config/inputdataconfig.json').read_text())
hyper = json.loads((base / 'input/config/hyperparameters.json').read_text())
seen = {'config': config, 'files': files, 'inputs': inputs, 'hyper': hyper, 'environment': dict(os.environ), 'arguments': sys.argv[1:], 'directory': os.getcwd()}
(base / 'output/data' / (config['current_host'] + '.json')).write_text(json.dumps(seen))
`;

interface Seen {
  readonly config: {
    readonly current_host: string;
    readonly current_group_name: string;
    readonly current_instance_type: string;
    readonly hosts: readonly string[];
    readonly instance_groups: readonly {
      instance_group_name: string;
      instance_type: string;
      hosts: string[];
    }[];
    readonly network_interface_name: string;
  };
  readonly files: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly hyper: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly arguments: readonly string[];
  readonly directory: string;
}

/** In the order of the hosts' addresses. */
async function seenBy(name: string): Promise<Seen[]> {
  const job = await ground.ended(name);
  expect(job.FailureReason).toBeUndefined();
  const prefix = `models/${name}/output/output/`;
  const keys = await ground.keys(prefix);
  return Promise.all(keys.map(async (key) => JSON.parse((await ground.get(key)).toString()) as Seen));
}

const plainOutput = () => ({
  OutputDataConfig: { S3OutputPath: `s3://${ground.bucket}/models/`, CompressionType: 'NONE' as const },
});

test('sharded channels split data, replicated ones repeat it', async () => {
  for (const letter of ['a', 'b', 'c', 'd', 'e']) await ground.put(`data/deep/${letter}.txt`, letter);
  const name = await ground.create({
    script: SHOW,
    ...plainOutput(),
    ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
    InputDataConfig: [
      channelOf('shards', `s3://${ground.bucket}/data/`, { S3DataDistributionType: 'ShardedByS3Key' }),
      channelOf('all', `s3://${ground.bucket}/data/deep`),
    ],
  });
  const [first, second, ...others] = await seenBy(name);
  expect(others).toEqual([]);
  const shards = [first, second].map((seen) =>
    Object.keys(seen?.files ?? {})
      .filter((path) => path.startsWith('shards/'))
      .toSorted(),
  );
  expect(new Set(shards.map((shard) => shard.length))).toEqual(new Set([2, 3]));
  expect(shards.flat().toSorted()).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map((letter) => `shards/deep/${letter}.txt`),
  );
  for (const seen of [first, second]) {
    expect(Object.keys(seen?.files ?? {}).filter((path) => path.startsWith('all/'))).toHaveLength(5);
    expect(seen?.files['all/c.txt']).toBe('c');
  }
  expect(first?.inputs['shards']).toEqual({
    TrainingInputMode: 'File',
    S3DistributionType: 'ShardedByS3Key',
    RecordWrapperType: 'None',
  });
});

test('instance groups get channels and configurations of their own', async () => {
  await ground.put('grouped/x', 'x');
  const name = await ground.create({
    script: SHOW,
    ...plainOutput(),
    ResourceConfig: {
      VolumeSizeInGB: 1,
      InstanceGroups: [
        { InstanceGroupName: 'gpu', InstanceType: 'ml.g5.xlarge', InstanceCount: 1 },
        { InstanceGroupName: 'cpu', InstanceType: 'ml.c5.xlarge', InstanceCount: 2 },
      ],
    },
    InputDataConfig: [channelOf('train', `s3://${ground.bucket}/grouped/`, { InstanceGroupNames: ['gpu'] })],
  });
  const seen = await seenBy(name);
  expect(seen).toHaveLength(3);
  expect(seen.map(({ config }) => [config.current_group_name, config.current_instance_type])).toEqual([
    ['gpu', 'ml.g5.xlarge'],
    ['cpu', 'ml.c5.xlarge'],
    ['cpu', 'ml.c5.xlarge'],
  ]);
  const hosts = seen.map(({ config }) => config.current_host);
  for (const { config } of seen) {
    expect(config.hosts).toEqual(hosts.toSorted());
    expect(config.instance_groups).toEqual([
      { instance_group_name: 'gpu', instance_type: 'ml.g5.xlarge', hosts: hosts.slice(0, 1) },
      { instance_group_name: 'cpu', instance_type: 'ml.c5.xlarge', hosts: hosts.slice(1) },
    ]);
  }
  expect(seen.map(({ files }) => Object.keys(files))).toEqual([['train/x'], [], []]);
});

test('the program sees only its environment and arguments', async () => {
  process.env['A_SECRET_OF_THE_SERVER'] = 'leak';
  const name = await ground.create({
    script: SHOW,
    ...plainOutput(),
    HyperParameters: { evil: '"; touch /tmp/evil; echo "' },
    Environment: { MINE: 'a\nb' },
    AlgorithmSpecification: {
      TrainingImage: 'image',
      TrainingInputMode: 'File',
      ContainerEntrypoint: ['python', '/opt/ml/input/data/code/main.py'],
      ContainerArguments: ['$(touch /tmp/evil)', '--data=/opt/ml/input/data', '/srv/opt/ml', '; exit 3'],
    },
  });
  delete process.env['A_SECRET_OF_THE_SERVER'];
  const [seen] = await seenBy(name);
  const base = hasNamespaces ? '/opt/ml' : `${ground.stateDirectory}/jobs/${name}/hosts/algo-1/opt/ml`;
  expect(seen?.arguments).toEqual([
    '$(touch /tmp/evil)',
    `--data=${base}/input/data`,
    '/srv/opt/ml',
    '; exit 3',
  ]);
  expect(seen?.hyper).toEqual({ evil: '"; touch /tmp/evil; echo "' });
  expect(seen?.directory).toBe(`${ground.stateDirectory}/jobs/${name}/hosts/algo-1`);
  const { LC_CTYPE: _python, ...environment } = seen?.environment ?? {};
  expect(new Set(Object.keys(environment))).toEqual(
    new Set([
      'AWS_ACCESS_KEY_ID',
      'AWS_DEFAULT_REGION',
      'AWS_EC2_METADATA_DISABLED',
      'AWS_ENDPOINT_URL',
      'AWS_REGION',
      'AWS_SECRET_ACCESS_KEY',
      'GLOO_SOCKET_IFNAME',
      'HOME',
      'LANG',
      'MINE',
      'NCCL_SOCKET_IFNAME',
      'PATH',
      'SAGEMAKER_BASE_DIR',
      'TIDEWHEEL_CPUS',
      'TIDEWHEEL_GRACE_SECONDS',
      'TIDEWHEEL_MASTER_PORT',
      'TMPDIR',
      'TRAINING_JOB_ARN',
      'TRAINING_JOB_NAME',
    ]),
  );
  expect(environment).toMatchObject({ MINE: 'a\nb', TRAINING_JOB_NAME: name, SAGEMAKER_BASE_DIR: base });
});

test('a climbing key fails the job, unwritten', async () => {
  await ground.put('evil/../../escaped', 'x');
  const name = await ground.create({
    script: SHOW,
    InputDataConfig: [channelOf('evil', `s3://${ground.bucket}/evil/`)],
  });
  const job = await ground.ended(name);
  expect(job.FailureReason).toMatch(
    /^ClientError: Data download failed: object key "evil\/\.\.\/\.\.\/escaped"/,
  );
  expect(await ground.keys('escaped')).toEqual([]);
});

test('log metrics survive a hostile expression', async () => {
  const name = await ground.create({
    script: `
for step in range(5):
    print(f'step {step} loss=0.{9 - step}', flush=True)
print('a' * 60 + 'b', flush=True)
`,
    AlgorithmSpecification: {
      TrainingImage: 'image',
      TrainingInputMode: 'File',
      MetricDefinitions: [
        { Name: 'loss', Regex: 'loss=([0-9.]+)' },
        { Name: 'evil', Regex: '(a+)+$' },
        { Name: 'step', Regex: 'step (?P<step>\\d+)' },
      ],
    },
  });
  const job = await ground.ended(name);
  expect(job.TrainingJobStatus).toBe('Completed');
  expect(job.FinalMetricDataList?.map(({ MetricName, Value }) => [MetricName, Value])).toEqual([
    ['loss', expect.closeTo(0.5)],
    ['step', 4],
  ]);
  expect(ground.lines.join('\n')).toContain("metric 'evil' is not watched any more");
});

test('Pipe channels stream epochs, shuffled by their seed', async () => {
  const big = 'x'.repeat(300_000);
  for (const letter of ['a', 'b', 'c', 'd']) await ground.put(`stream/${letter}`, letter + big);
  const name = await ground.create({
    script: `
import os, pathlib
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
lines = []
for epoch in range(3):
    with open(base / f'input/data/flow_{epoch}', 'rb') as pipe:
        if epoch == 1:
            pipe.read(10)
            continue
        text = pipe.read().decode()
        lines.append(text.replace('x', '') + ' ' + str(len(text)))
(base / 'model/lines').write_text('\\n'.join(lines))
`,
    ...plainOutput(),
    InputDataConfig: [
      {
        ...channelOf('flow', `s3://${ground.bucket}/stream/`),
        InputMode: 'Pipe',
        ShuffleConfig: { Seed: 7 },
      },
    ],
  });
  expect((await ground.ended(name)).FailureReason).toBeUndefined();
  const lines = (await ground.get(`models/${name}/output/model/lines`)).toString().split('\n');
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).toMatch(/^[abcd]{4} 1200004$/);
  expect(new Set(lines.map((line) => line.slice(0, 4))).size).toBe(2);
});

/** Saves a link by its absolute path, as frameworks do with their newest checkpoint. */
const ABSOLUTE = `
import json, os, pathlib
ml = pathlib.Path('/opt/ml')
assert os.environ['SAGEMAKER_BASE_DIR'] == '/opt/ml' and __file__.startswith('/opt/ml/input/data/code/')
read = lambda name: json.loads((ml / 'input/config' / name).read_text())
config = read('resourceconfig.json')
me = str(config['hosts'].index(config['current_host']))
assert read('checkpointconfig.json')['LocalPath'] == '/opt/ml/checkpoints'
found = sorted(str(p) for p in (ml / 'checkpoints').glob('*/newest'))
saved = ml / 'checkpoints' / me
saved.mkdir(exist_ok=True)
(saved / 'a.pt').write_text(os.environ['TRAINING_JOB_NAME'])
(saved / 'newest').unlink(missing_ok=True)
(saved / 'newest').symlink_to(saved / 'a.pt')
(ml / 'model' / me).write_text(' '.join(found))
(ml / 'model' / f'{me}-link').symlink_to(ml / 'model' / me)
`;

test.skipIf(!hasNamespaces)('each host has its own folder as /opt/ml', async () => {
  const start = (prefix: string): Promise<string> =>
    ground.create({
      script: ABSOLUTE,
      ...plainOutput(),
      CheckpointConfig: { S3Uri: `s3://${ground.bucket}/${prefix}/` },
      ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
    });
  const textOf = async (key: string): Promise<string> => (await ground.get(key)).toString();
  const [one, other] = await Promise.all(['one', 'other'].map(start));
  for (const name of [one, other]) expect((await ground.ended(name ?? '')).FailureReason).toBeUndefined();
  expect(await textOf('one/0/newest')).toBe(one);
  expect(await textOf('other/1/newest')).toBe(other);
  const resumed = await start('one');
  expect((await ground.ended(resumed)).FailureReason).toBeUndefined();
  for (const host of ['0', '1-link'])
    expect(await textOf(`models/${resumed}/output/model/${host}`)).toBe(
      '/opt/ml/checkpoints/0/newest /opt/ml/checkpoints/1/newest',
    );
  expect(await textOf(`models/${other}/output/model/0`)).toBe('');
});

test('a machine without namespaces runs the same jobs', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-python-'));
  const folders = await layGround(emulator.url, { pythonPath: await pythonWithoutNamespaces(folder) });
  try {
    const name = await folders.create({
      script: `
import os, pathlib
base = os.environ['SAGEMAKER_BASE_DIR']
assert base != '/opt/ml' and __file__.startswith(base + '/input/data/code/')
pathlib.Path(base, 'checkpoints/a.pt').write_text('saved')
`,
      CheckpointConfig: { S3Uri: `s3://${folders.bucket}/kept/`, LocalPath: '/opt/ml/checkpoints' },
    });
    expect((await folders.ended(name)).FailureReason).toBeUndefined();
    expect(await folders.keys('kept/')).toEqual(['kept/a.pt']);
  } finally {
    await folders.close();
    await rm(folder, { recursive: true });
  }
});

test('a manifest feeds its channel', async () => {
  for (const letter of ['a', 'b', 'c']) await ground.put(`listed/${letter}`, letter);
  const manifest = [{ prefix: `s3://${ground.bucket}/listed/` }, 'a', 'c'];
  await ground.put('manifest.json', JSON.stringify(manifest));
  const name = await ground.create({
    script: SHOW,
    ...plainOutput(),
    InputDataConfig: [
      channelOf('chosen', `s3://${ground.bucket}/manifest.json`, { S3DataType: 'ManifestFile' }),
    ],
  });
  const [seen] = await seenBy(name);
  expect(seen?.files).toEqual({ 'chosen/a': 'a', 'chosen/c': 'c' });
});
