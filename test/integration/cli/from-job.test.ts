/** `init --from-job NAME`: a training job of the SDK, with its source, becomes a folder with a declaration. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { verb } from '../../../cli/verbs/init.ts';
import { TEST_KEY } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { folderOfTest } from '../../support/folders.ts';
import { channelOf, type Ground, layGround } from '../../support/local-sagemaker.ts';

const emulator = emulatorOfSuite();
let ground: Ground;

beforeAll(async () => {
  ground = await layGround(emulator.url);
  // No host starts: only the request counts.
  ground.market.isOpen = false;
  vi.stubEnv('AWS_ENDPOINT_URL', emulator.url);
  vi.stubEnv('AWS_ENDPOINT_URL_SAGEMAKER', ground.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', TEST_KEY.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', TEST_KEY.secretAccessKey);
}, 60_000);

afterAll(async () => {
  await ground?.close();
  vi.unstubAllEnvs();
}, 60_000);

async function archive(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const tar = pack();
  for (const [name, text] of Object.entries(files)) tar.entry({ name }, text);
  tar.finalize();
  return buffer(tar.pipe(createGzip()));
}

async function init(folder: string, job: string): Promise<string> {
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const terminal = { ...terminalOf(process, {}), print: say, problem: say };
  const clone = path.join(import.meta.dirname, '../../..');
  await verb.invoke(['--from-job', job, '--name', 'pets'], { terminal, folder, environment: {}, clone });
  return said.join('\n');
}

it('a job is read by name, with its source', async () => {
  const source = await archive({ 'train.py': 'import torch\n', 'requirements.txt': 'timm\n' });
  await ground.put('code/sourcedir.tar.gz', source);
  const uri = `s3://${ground.bucket}/code/sourcedir.tar.gz`;
  const name = await ground.create({
    script: 'print(1)',
    EnableManagedSpotTraining: true,
    StoppingCondition: { MaxRuntimeInSeconds: 3_600, MaxWaitTimeInSeconds: 7_200 },
    HyperParameters: {
      sagemaker_program: '"train.py"',
      sagemaker_submit_directory: JSON.stringify(uri),
      sagemaker_torch_distributed_enabled: 'true',
      epochs: '3',
      lr: '1e-05',
      model: '"resnet"',
    },
  });
  const folder = folderOfTest('from-job');
  const said = await init(folder, name);
  expect(await readFile(path.join(folder, 'source/requirements.txt'), 'utf8')).toBe('timm\n');
  expect(parse(await readFile(path.join(folder, 'tidewheel.yaml'), 'utf8'))).toMatchObject({
    name: 'pets',
    'x-local': { source: 'source' },
    training: {
      strategy: 'ddp',
      entryPoint: 'train.py',
      hyperparameters: { epochs: 3, lr: 1e-5, model: 'resnet' },
    },
    compute: { purchaseOption: 'spot' },
    limits: { deadlineHours: 2, maximumRunSeconds: 3_600 },
  });
  expect(said).toContain(`What ${name} has:`);
});

it('a job of version 3 has its script', async () => {
  const TrainingJobName = 'of-version-3';
  await ground.put(`code/${TrainingJobName}/lib/a.py`, '');
  await ground.put('v3/sourcecode.json', JSON.stringify({ entry_script: 'main.py', command: null }));
  await ground.put('v3/distributed.json', JSON.stringify({ process_count_per_node: 2, smp: null }));
  const name = await ground.create({
    TrainingJobName,
    script: 'import torch\n',
    AlgorithmSpecification: {
      TrainingImage: '000000000000.dkr.ecr.us-east-1.amazonaws.com/image:1',
      TrainingInputMode: 'File',
      ContainerEntrypoint: ['/bin/bash', '-c', '/opt/ml/input/data/sm_drivers/sm_train.sh'],
    },
    HyperParameters: { epochs: '3' },
    InputDataConfig: [channelOf('sm_drivers', `s3://${ground.bucket}/v3`)],
  });
  const folder = folderOfTest('from-job');
  await init(folder, name);
  expect(await readFile(path.join(folder, 'source/lib/a.py'), 'utf8')).toBe('');
  const { training } = parse(await readFile(path.join(folder, 'tidewheel.yaml'), 'utf8'));
  expect(training).toMatchObject({ strategy: 'ddp', processesPerHost: 2, entryPoint: 'main.py' });
  expect(training.channels ?? training.command).toBeUndefined();
});

it('a job whose source is gone leaves a comment', async () => {
  const uri = `s3://${ground.bucket}/gone/sourcedir.tar.gz`;
  const name = await ground.create({
    script: 'print(1)',
    HyperParameters: { sagemaker_program: '"run.sh"', sagemaker_submit_directory: JSON.stringify(uri) },
  });
  const folder = folderOfTest('from-job');
  await init(folder, name);
  const text = await readFile(path.join(folder, 'tidewheel.yaml'), 'utf8');
  expect(text).toContain(`source is ${uri} in ${name}: write x-local.source; it could not`);
  expect(parse(text).training.command).toEqual(['bash', 'run.sh', '${hyperparameters}']);
});

it('an unknown job is named with the remedy', async () => {
  await expect(init(folderOfTest('from-job'), 'no-such-job')).rejects.toThrow(
    '--from-job is "no-such-job": there is no such training job in this account and region',
  );
});
