/** What `init --from-job` reads of a saved job, and of its archive. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { terminalOf } from '../../../../cli/command/terminal.ts';
import type { Table } from '../../../../cli/init/job.ts';
import { declareJob } from '../../../../cli/init/parts.ts';
import { runPython } from '../../../../cli/init/python.ts';
import { foundJob } from '../../../../cli/init/request.ts';
import { verb } from '../../../../cli/verbs/init.ts';
import { projectPython } from '../../../support/emulator.ts';
import { folderOfTest } from '../../../support/folders.ts';

const clone = path.join(import.meta.dirname, '../../../..');
const AWS = '763104351884.dkr.ecr.eu-west-1.amazonaws.com';

/** As DescribeTrainingJob answers, saved by the AWS CLI. */
const job = (over: Table = {}): Table => ({
  TrainingJobName: 'pets-2026-11-25-10-00-00-123',
  TrainingJobArn: 'arn:aws:sagemaker:eu-west-1:123456789012:training-job/pets',
  TrainingJobStatus: 'Completed',
  HyperParameters: {
    sagemaker_program: '"train.py"',
    sagemaker_submit_directory: '"s3://gone/sourcedir.tar.gz"',
    sagemaker_container_log_level: '20',
    sagemaker_region: '"eu-west-1"',
    epochs: '3',
  },
  AlgorithmSpecification: {
    TrainingImage: `${AWS}/pytorch-training:2.8.0-gpu-py312`,
    TrainingInputMode: 'File',
  },
  ResourceConfig: { InstanceType: 'ml.g5.xlarge', InstanceCount: 1, VolumeSizeInGB: 30 },
  StoppingCondition: { MaxRuntimeInSeconds: 86_400 },
  EnableManagedSpotTraining: false,
  ...over,
});
const partsFor = (over: Table) => declareJob(foundJob(job(over)), { files: [], facts: undefined });

/** Of a saved file, in a folder of its own. */
async function initFrom(text: string): Promise<{ readonly declared: unknown; readonly said: string }> {
  const folder = folderOfTest('from-job');
  await writeFile(path.join(folder, 'job.json'), text);
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const terminal = { ...terminalOf(process, {}), print: say, problem: say };
  await verb.invoke(['--from-job', 'job.json'], { terminal, folder, environment: {}, clone });
  return {
    declared: parse(await readFile(path.join(folder, 'tidewheel.yaml'), 'utf8')),
    said: said.join('\n'),
  };
}

it('a saved job without an archive is a declaration', async () => {
  const { sagemaker_submit_directory: _gone, ...rest } = z
    .record(z.string(), z.string())
    .parse(job()['HyperParameters']);
  const { declared, said } = await initFrom(JSON.stringify(job({ HyperParameters: rest })));
  expect(declared).toMatchObject({
    training: { strategy: 'single', entryPoint: 'train.py', framework: 'pytorch', frameworkVersion: '2.8.0' },
    compute: { instanceTypes: ['g5.xlarge'], purchaseOption: 'spot-then-on-demand' },
  });
  expect(said).toContain('What pets-2026-11-25-10-00-00-123 has:');
});

it.each(['', '[]', '{"TrainingJobName": 3}', '{"Clusters": []}'])('%j is no job', async (text) => {
  await expect(initFrom(text)).rejects.toThrow(/save what "aws sagemaker describe-training-job" prints/);
});

describe('hyperparameters of a job', () => {
  it.each([
    ['"resnet"', 'resnet'],
    ['3', 3],
    ['1e-05', { $number: '1e-05' }],
    ['0.10', { $number: '0.10' }],
    ['true', true],
    ['["a", 1]', ['a', 1]],
    ['plain text', 'plain text'],
    ['007', { $number: '007' }],
    ['12345678901234567890', { $number: '12345678901234567890' }],
  ])('are decoded: %s', (written, value) => {
    expect(foundJob(job({ HyperParameters: { x: written } })).hyperparameters).toEqual({ x: value });
  });

  it("are without the SDK's own", () => {
    expect(foundJob(job()).hyperparameters).toEqual({ epochs: 3 });
  });
});

it.each([
  ['pytorch-training:2.8.0-gpu-py312', { framework: 'pytorch', frameworkVersion: '2.8.0' }],
  ['tensorflow-training:2.19.0-gpu-py312', { framework: 'tensorflow', frameworkVersion: '2.19.0' }],
  ['huggingface-pytorch-training:2.1.0-transformers4.36.0-gpu-py310', { framework: 'huggingface' }],
  ['sagemaker-xgboost:1.7-1', { framework: 'xgboost' }],
  ['mine:latest', { image: `${AWS}/mine:latest` }],
])('the image %s is known', (image, training) => {
  const parts = partsFor({ AlgorithmSpecification: { TrainingImage: `${AWS}/${image}` } });
  expect(parts.training).toMatchObject(training);
});

it('channels keep their place, mode and file system', () => {
  const s3 = (ChannelName: string, uri: string, more: Table = {}) => ({
    ChannelName,
    DataSource: { S3DataSource: { S3DataType: 'S3Prefix', S3Uri: uri, ...more } },
  });
  const { training, rows } = partsFor({
    InputDataConfig: [
      { ...s3('train', 's3://b/train'), InputMode: 'FastFile' },
      s3('listed', 's3://b/list.manifest', { S3DataType: 'ManifestFile' }),
      {
        ChannelName: 'lustre',
        DataSource: {
          FileSystemDataSource: {
            FileSystemId: 'fs-0123456789abcdef0',
            FileSystemType: 'FSxLustre',
            FileSystemAccessMode: 'rw',
            DirectoryPath: '/mount/x',
          },
        },
      },
      s3('sm_drivers', 's3://b/drivers/'),
    ],
  });
  expect(training['channels']).toEqual({
    train: { s3: 's3://b/train/', inputMode: 'FastFile' },
    listed: { s3: 's3://b/' },
    lustre: { fsxLustre: 'fs-0123456789abcdef0', directory: '/mount/x', access: 'rw' },
  });
  expect(rows).toContainEqual(expect.objectContaining({ value: 'ManifestFile', verdict: 'cannot' }));
});

it('a command of an own image stays one', () => {
  const { training } = partsFor({
    HyperParameters: {},
    AlgorithmSpecification: {
      TrainingImage: 'public.ecr.aws/mine:1',
      ContainerEntrypoint: ['python', 'run.py'],
      ContainerArguments: ['--fast'],
    },
  });
  expect(training).toMatchObject({ command: ['python', 'run.py', '--fast'], image: 'public.ecr.aws/mine:1' });
});

it('what a declaration refuses is left out and named', () => {
  const { training, rows } = partsFor({
    Environment: { GOOD: '1', AWS_REGION: 'x', SM_CHANNEL_X: '/x' },
    CheckpointConfig: { S3Uri: 's3://b/c', LocalPath: '/data/checkpoints' },
  });
  expect(training['environment']).toEqual({ GOOD: '1' });
  expect(rows.filter(({ verdict }) => verdict === 'cannot').map(({ theirs }) => theirs)).toEqual([
    'CheckpointConfig.LocalPath',
    'environment: AWS_REGION',
    'environment: SM_CHANNEL_X',
  ]);
});

it('secrets are left out, and no line has them', () => {
  const made = partsFor({
    Environment: { HF_TOKEN: 'hush', WANDB_API_KEY: 'hush', TOKENIZERS_PARALLELISM: 'false' },
    HyperParameters: {
      hub_token: '"hush"',
      pad_token: '"</s>"',
      max_tokens: '3',
      sagemaker_program: '"t.py"',
    },
  });
  expect(made.training).toMatchObject({
    environment: { TOKENIZERS_PARALLELISM: 'false' },
    hyperparameters: { pad_token: '</s>', max_tokens: 3 },
  });
  expect(JSON.stringify(made)).not.toContain('hush');
  const secrets = made.rows.filter(({ why }) => why.startsWith('every reader of a run sees it'));
  expect(secrets.map(({ theirs }) => theirs)).toEqual([
    'hyperparameters: hub_token',
    'environment: HF_TOKEN',
    'environment: WANDB_API_KEY',
  ]);
});

/** An archive that Python writes by these statements. */
function archiveOf(folder: string, statements: string): string {
  const file = path.join(folder, 'sourcedir.tar.gz');
  const program = `
import io, sys, tarfile
def add(name, size=1, kind=tarfile.REGTYPE, link=""):
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = (size if kind == tarfile.REGTYPE else 0), kind, link
    tar.addfile(member, io.BytesIO(b"x" * member.size))
def head(size):
    member = tarfile.TarInfo("b")
    member.size = size
    return member.tobuf()
with tarfile.open(sys.argv[1], "w:gz") as tar:
    ${statements}
`;
  execFileSync(projectPython(), ['-I', '-c', program, file]);
  return file;
}
const unpack = (file: string, folder: string) =>
  runPython('unpack_source.py', z.object({ members: z.number() }), [file, path.join(folder, 'out')], {
    environment: {},
    clone,
  });

describe('an archive', () => {
  it('is unpacked with its folders', async () => {
    const folder = folderOfTest('archive');
    const file = archiveOf(folder, 'add("./train.py"); add("lib/a.py"); add("lib", kind=tarfile.DIRTYPE)');
    expect(await unpack(file, folder)).toEqual({ members: 3 });
    expect(existsSync(path.join(folder, 'out/lib/a.py'))).toBe(true);
  });

  it.each([
    ['a path out of the folder', 'add("../out.py")', 'outside its folder'],
    ['a path from the root', 'add("/tmp/out.py")', 'outside its folder'],
    ['a link', 'add("a", kind=tarfile.SYMTYPE, link="/etc")', 'a link or device'],
    ['a hard link', 'add("b"); add("a", kind=tarfile.LNKTYPE, link="b")', 'a link or device'],
    ['a device', 'add("a", kind=tarfile.CHRTYPE)', 'a link or device'],
    ['too many files', '[add(str(n)) for n in range(5001)]', 'more than 5000 members'],
    ['too many bytes', 'add("a"); tar.fileobj.write(head(64 * 2**20))', 'more than 5000 members'],
  ])('with %s is refused', async (_, statements, words) => {
    const folder = folderOfTest('archive');
    await expect(unpack(archiveOf(folder, statements), folder)).rejects.toThrow(words);
    expect(existsSync(path.join(folder, 'out.py'))).toBe(false);
  });

  it('that is none is refused', async () => {
    const folder = folderOfTest('archive');
    await writeFile(path.join(folder, 'a.tar.gz'), 'no archive');
    await expect(unpack(path.join(folder, 'a.tar.gz'), folder)).rejects.toThrow('cannot be read');
  });
});
