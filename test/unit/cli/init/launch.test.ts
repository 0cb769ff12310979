/** What `init` reads of launch scripts and notebooks. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { terminalOf } from '../../../../cli/command/terminal.ts';
import { findLaunch, launchersIn } from '../../../../cli/init/find-launch.ts';
import { declareJob } from '../../../../cli/init/parts.ts';
import { foundJob } from '../../../../cli/init/request.ts';
import { verb } from '../../../../cli/verbs/init.ts';
import { folderOfTest } from '../../../support/folders.ts';
import { type Files, SAGEMAKER_PROJECTS, writeFiles } from '../../../support/sagemaker-projects.ts';

const clone = path.join(import.meta.dirname, '../../../..');

/** What `tidewheel init` writes and says in a folder of these files. */
async function initIn(files: Files, ...words: readonly string[]) {
  const folder = folderOfTest('init');
  await writeFiles(folder, files);
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const terminal = { ...terminalOf(process, {}), print: say, problem: say };
  await verb.invoke([...words], { terminal, folder, environment: {}, clone });
  const text = await readFile(path.join(folder, 'tidewheel.yaml'), 'utf8');
  return { folder, text, declared: parse(text), said: said.join('\n') };
}

describe('a project of someone who trains with the SDK', () => {
  it('of text has channels, Spot and hyperparameters', async () => {
    const { declared, text } = await initIn(SAGEMAKER_PROJECTS.text, '--name', 'text');
    expect(declared).toMatchObject({
      name: 'text',
      'x-local': { source: 'scripts', data: 'data' },
      tags: { team: 'nlp' },
      packing: 'none',
      training: {
        strategy: 'single',
        entryPoint: 'train.py',
        framework: 'huggingface',
        frameworkVersion: '4.56.2',
        hyperparameters: {
          epochs: 3,
          'learning-rate': 5e-5,
          'model-name': 'distilbert-base-uncased',
          fp16: true,
        },
        environment: { TOKENIZERS_PARALLELISM: 'false' },
        channels: { train: { s3: 'incoming/train/' }, test: { s3: 'incoming/test/' } },
      },
      compute: { instanceTypes: ['g5.xlarge'], nodes: 1, purchaseOption: 'spot', volumeGigabytes: 100 },
      limits: { deadlineHours: 8, maximumRunSeconds: 14_400 },
    });
    expect(text).toContain('learning-rate: 5e-05');
    expect(text).toContain('# requirements.txt is installed');
    expect(declared.training.arguments).toBeUndefined();
  });

  it('of churn reads CSV files in S3 on CPUs', async () => {
    const { declared, said } = await initIn(SAGEMAKER_PROJECTS.churn);
    expect(declared).toMatchObject({
      'x-local': { source: 'src' },
      training: {
        strategy: 'single',
        entryPoint: 'train_xgb.py',
        framework: 'xgboost',
        hyperparameters: { max_depth: 6, eta: 0.3, num_round: 200, objective: 'binary:logistic' },
        channels: {
          train: { s3: 's3://acme-churn/data/train/' },
          validation: { s3: 's3://acme-churn/data/validation/' },
        },
      },
      compute: { instanceTypes: ['m5.2xlarge'], nodes: 1, purchaseOption: 'spot-then-on-demand' },
    });
    expect(said).toMatch(/not taken\n +content_type +text\/csv/);
    expect(said).toMatch(/tidewheel run \S+ +trains on what is in S3/);
  });

  it('of segmentation trains by torchrun on two nodes', async () => {
    const { declared, said } = await initIn(SAGEMAKER_PROJECTS.segmentation);
    expect(declared).toMatchObject({
      'x-local': { source: 'code', data: 'data' },
      training: {
        strategy: 'ddp',
        entryPoint: 'train.py',
        framework: 'pytorch',
        frameworkVersion: '2.8',
        hyperparameters: { 'batch-size': 16, lr: 0.001 },
        channels: { training: { s3: 'incoming/' } },
      },
      compute: { instanceTypes: ['g5.12xlarge'], nodes: 2, purchaseOption: 'spot' },
      limits: { deadlineHours: 48 },
    });
    expect(said).toContain('64 images\n');
    expect(said).toMatch(/not taken\n +keep_alive_period_in_seconds +600/);
  });
});

/** The job that a launch script starts. */
async function jobIn(text: string, name = 'launch.py') {
  const folder = folderOfTest('launch');
  await writeFiles(folder, { [name]: text });
  const found = await findLaunch({ folder, names: [name] }, [name], undefined, { environment: {}, clone });
  return { folder, job: found?.job };
}
const partsIn = async (text: string, name?: string) => {
  const { job } = await jobIn(text, name);
  if (job === undefined) throw new Error('no job was found');
  return { ...declareJob(job, { files: [], facts: undefined }), hyperparameters: job.hyperparameters };
};
const estimator = (more: string, before = '') => `
from sagemaker.pytorch import PyTorch
${before}
PyTorch("train.py", role="r", instance_count=1, instance_type="ml.g5.xlarge", ${more}).fit()
`;

describe('a launch script', () => {
  it('is read and never run', async () => {
    const { folder, job } = await jobIn(
      `open("ran", "w").close()\nimport os; os.system("touch ran")\n${estimator('framework_version="2.8"')}`,
    );
    expect(job?.entryPoint).toBe('train.py');
    expect(existsSync(path.join(folder, 'ran'))).toBe(false);
  });

  it.each([
    ['a name', 'n = 3', 'n', 3],
    ['an f-string', 'base = "bert"', 'f"{base}-large"', 'bert-large'],
    ['arithmetic', 'hour = 60 * 60', '24 * hour', 86_400],
    ['a default of the command line', PARSER, 'args.epochs', 7],
    ['a float', '', '1.0', { $number: '1.0' }],
    ['a list', '', '["a", 1]', ['a', 1]],
    ['a name that is set again', 'for n in []: pass\nn = 1\nn = n + 1', 'n', 2],
    ['a table that is set again', 'n = {"a": 1}\nn["a"] = 3\nn = {}\nn["b"] = 2', '{**n}', { b: 2 }],
    ['a text with its parts', 'b = "a"', '"s3://{}/{}".format(b, 1)', 's3://a/1'],
    ['a choice', 'spot = True', '7 if spot else None', 7],
  ])('has the value of %s', async (_, before, written, value) => {
    const { hyperparameters } = await partsIn(estimator(`hyperparameters={"x": ${written}}`, before));
    expect(hyperparameters).toEqual({ x: value });
  });

  it.each([
    ['an environment variable', '', 'os.environ["X"]'],
    ['a name that a condition sets again', 'n = 1\nif flag:\n    n = 2', 'n'],
    ['a name that a function sets again', 'n = 1\nn = 2\ndef f():\n    global n\n    n = 3', 'n'],
    ['a table that is updated', 'n = 1\nn = {}\nn.update(more)', 'n'],
    ['a name of a loop', 'for n in range(3): pass', 'n'],
    ['a value under a condition', 'if flag:\n    n = 2', 'n'],
    ['a name of itself', 'n = n', 'n'],
    ['a text that grows', 'n = 1', '"{:>999999999}".format(n)'],
    ['a power that never ends', '', '9 ** 9 ** 9'],
    ['a text as long as memory', 'a = "x" * 10 ** 12', 'a'],
  ])('leaves %s as a comment with its line', async (_, before, written) => {
    const { hyperparameters, rows } = await partsIn(estimator(`hyperparameters={"x": ${written}}`, before));
    expect(hyperparameters).toMatchObject({ x: { line: expect.stringMatching(/^line \d+$/) } });
    expect(rows).toContainEqual(expect.objectContaining({ theirs: 'hyperparameters: x', verdict: 'unread' }));
  });

  it.each([
    ['try:\n  n = 2\n  CALL\nexcept Exception:\n  pass', 2],
    ['n = 1\nif flag:\n  n = 2\n  CALL\nelse:\n  n = 3', 2],
    ['n = {"a": 1}\nif flag:\n  n["b"] = 2\n  CALL', { a: 1, b: 2 }],
    ['try:\n  n = 2\nexcept Exception:\n  CALL', { line: 'line 6' }],
    ['try:\n  n = 2\nfinally:\n  pass\nCALL', { line: 'line 7' }],
    ['if flag:\n  n = 2\nelif other:\n  CALL', { line: 'line 6' }],
    ['n = 1\nfor _ in x:\n  CALL\n  n = 2', { line: 'line 5' }],
  ])('knows what its block has set: %j', async (text, value) => {
    const call = 'PyTorch("t.py", hyperparameters={"x": n}).fit()';
    const found = await partsIn(`from sagemaker.pytorch import PyTorch\n\n${text.replace('CALL', call)}`);
    expect(found.hyperparameters).toMatchObject({ x: value });
  });

  it('shows in the file what could not be read', async () => {
    const { text } = await initIn({
      'launch.py': estimator('hyperparameters={"lr": config["lr"]}, use_spot_instances=True'),
      'train.py': 'import torch',
    });
    expect(text).toContain(
      "# TO DO: hyperparameters: lr is config['lr'] (line 4) in launch.py: write training.hyperparameters.",
    );
  });

  it.each([
    ['{"mpi": {"enabled": True, "processes_per_host": 4}}', { strategy: 'mpi', processesPerHost: 4 }],
    ['{"parameter_server": {"enabled": True}}', { strategy: 'parameter-server' }],
    ['{"smdistributed": {"dataparallel": {"enabled": True}}}', { strategy: 'ddp' }],
  ])('with distribution %s has its strategy', async (distribution, training) => {
    expect((await partsIn(estimator(`distribution=${distribution}`))).training).toMatchObject(training);
  });

  it('of two instance groups has helpers', async () => {
    const { compute } = await partsIn(`
from sagemaker.tensorflow import TensorFlow
from sagemaker.instance_group import InstanceGroup
estimator = TensorFlow(entry_point="train.py", framework_version="2.19", instance_groups=[
    InstanceGroup("cpu", "ml.c5.2xlarge", 2), InstanceGroup("gpu", instance_type="ml.g5.xlarge", instance_count=1)])
estimator.fit("s3://b/data")
`);
    expect(compute).toMatchObject({
      instanceTypes: ['g5.xlarge'],
      nodes: 1,
      helpers: [{ name: 'cpu', instanceType: 'c5.2xlarge', nodes: 2 }],
    });
  });

  it('keeps numbers in lists and dollar signs', async () => {
    const { training } = await partsIn(
      estimator('hyperparameters={"betas": [0.9, 1.0]}, environment={"A": "${B}", "C": "$D"}'),
    );
    expect(training).toMatchObject({
      hyperparameters: { betas: '[0.9,1.0]' },
      environment: { A: '$${B}', C: '$D' },
    });
  });

  it.each([
    ['instance_type=config.type', 'instance_type'],
    ['max_wait=hours * 3600', 'max_wait'],
    ['environment=env', 'environment: **'],
  ])('without a value of %s leaves a comment', async (written, theirs) => {
    const { rows } = await partsIn(`
from sagemaker.pytorch import PyTorch
PyTorch(entry_point="t.py", ${written}).fit(inputs)
`);
    const unread = rows.filter(({ verdict }) => verdict === 'unread').map((row) => row.theirs);
    expect(unread).toEqual(expect.arrayContaining([theirs, 'inputs']));
  });

  it('below the project names code and dependencies from there', async () => {
    const { declared } = await initIn({
      'jobs/launch.py': estimator('source_dir="../src", dependencies=["../common", "gone"]'),
      'src/train.py': 'import torch',
      'common/a.py': '',
    });
    expect(declared['x-local']).toEqual({ source: 'src', dependencies: ['common'] });
  });

  it('of local mode gets types of AWS', async () => {
    const { declared, said } = await initIn({
      'launch.py': estimator('').replace('ml.g5.xlarge', 'local_gpu'),
      'train.py': 'import torch',
    });
    expect(declared.compute.instanceTypes).toEqual(['g5.xlarge', 'g4dn.xlarge', 'g6.xlarge']);
    expect(said).toMatch(/not taken\n +instance_type +local_gpu/);
  });

  it('of an old version gets the nearest image', async () => {
    const { training, rows } = await partsIn(estimator('framework_version="1.13"'));
    expect(training).toMatchObject({ framework: 'pytorch', frameworkVersion: expect.stringMatching(/^2\./) });
    expect(rows.filter(({ value }) => value === '1.13')).toMatchObject([{ verdict: 'cannot' }]);
  });

  it('of version 1 is read by its words', async () => {
    const { training, compute, rows } = await partsIn(`
from sagemaker.tensorflow import TensorFlow
TensorFlow(entry_point="t.py", train_instance_type="ml.m5.xlarge", train_instance_count=2, script_mode=True,
           framework_version="2.19", distributions={"mpi": {"enabled": True}}).fit()
`);
    expect(training).toMatchObject({ strategy: 'mpi' });
    expect(compute).toMatchObject({ instanceTypes: ['m5.xlarge'], nodes: 2 });
    expect(rows.filter(({ verdict }) => verdict === 'cannot')).toEqual([]);
  });

  it.each([
    ['HuggingFace', 'transformers_version="4.12", tensorflow_version="2.5"', { framework: 'tensorflow' }],
    ['SKLearn', 'framework_version="0.23-1"', { framework: 'sklearn', frameworkVersion: '1.4-2' }],
    ['XGBoost', 'framework_version="1.7-1", instance_count=2', { strategy: 'single' }],
    ['Estimator', 'image_uri=image_uris.retrieve("xgboost", region, "3.0-5")', { framework: 'xgboost' }],
    [
      'Estimator',
      'image_uri=f"763104351884.dkr.ecr.{region}.amazonaws.com/pytorch-training:2.6.0-cpu-py312"',
      { framework: 'pytorch', frameworkVersion: '2.6.0' },
    ],
  ])('of %s with %s gets its image', async (name, written, training) => {
    const found = await partsIn(`
from sagemaker import image_uris
from sagemaker.x import ${name}
${name}(entry_point="t.py", instance_type="ml.c4.xlarge", ${written}).fit()
`);
    expect(found.training).toMatchObject(training);
    expect(found.compute['nodes']).toBe(1);
    const twice = found.rows.filter(({ theirs, verdict }) =>
      found.rows.some((row) => row.theirs === theirs && row.verdict !== verdict),
    );
    expect(twice.map(({ theirs }) => theirs)).not.toContain('framework_version');
  });

  it('of TensorFlow is not started by torchrun', async () => {
    const text = `
from sagemaker.tensorflow import TensorFlow
TensorFlow("t.py", instance_count=2, distribution={"smdistributed": {"dataparallel": {"enabled": True}}}).fit()
`;
    expect((await partsIn(text)).training).toMatchObject({ strategy: 'multi-worker-mirrored' });
  });

  it('with a tuner has the channels of the tuner', async () => {
    const { training, rows } = await partsIn(`
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import HyperparameterTuner
e = PyTorch(entry_point="t.py", instance_type="ml.g5.xlarge", instance_count=1)
HyperparameterTuner(e, "loss", {}).fit({"train": "s3://b/train"})
`);
    expect(training['channels']).toEqual({ train: { s3: 's3://b/train/' } });
    expect(rows).toContainEqual(
      expect.objectContaining({ theirs: 'HyperparameterTuner', verdict: 'cannot' }),
    );
  });

  it('without its script says nothing of the script', async () => {
    const { declared, said, text } = await initIn({
      'launch.py': estimator('source_dir="s"'),
      'imgs/a.png': '',
    });
    expect(declared['x-local']).toEqual({ source: '.' });
    expect(text).toContain('no such file is here: where a cell writes it, run that cell first');
    expect(`${said}${text}`).not.toContain('saves');
  });

  it.each([
    [
      'validation',
      'none',
      { format: 'none', split: { by: 'folder', train: ['train.csv'], validation: ['val.csv'] } },
    ],
    ['extra', 'the channels train, extra have the same files', 'none'],
  ])('that uploads single files keeps train and %s apart', async (channel, todo, packing) => {
    const inputs = `{"train": s.upload_data("data/train.csv"), "${channel}": s.upload_data("data/val.csv")}`;
    const { declared, text } = await initIn({
      'launch.py': estimator('').replace('.fit()', `.fit(${inputs})`),
      'train.py': 'import torch\ntorch.save(1)',
      'data/train.csv': 'a\n1',
      'data/val.csv': 'a\n2',
    });
    expect(declared.packing).toEqual(packing);
    expect(text).toContain(todo);
  });

  it('that uploads a missing folder names it', async () => {
    const files = { 'launch.py': estimator('').replace('.fit()', '.fit(s.upload_data(path="./data"))') };
    const { declared, said } = await initIn({ ...files, 'train.py': 'save(1)', 'imgs/a.png': '' });
    expect(declared['x-local']).toEqual({ source: '.', data: 'data' });
    expect(declared.training.channels).toEqual({ training: { s3: 'incoming/' } });
    expect(said).toContain('data/ is not here yet');
  });

  it('of version 3 with a command keeps its source', async () => {
    const { declared, text } = await initIn({
      'launch.py': `
from sagemaker.modules.train import ModelTrainer
from sagemaker.modules.configs import SourceCode
code = SourceCode(source_dir="src", command="python train.py")
ModelTrainer(source_code=code, **settings).train(input_data_config=[channel])
`,
      'src/train.py': 'save(1)',
    });
    expect(declared['x-local']).toEqual({ source: 'src' });
    const unread = [...text.matchAll(/TO DO: (.+?) is/g)].map(([, what]) => what);
    expect(unread).toEqual(['**settings', 'inputs', 'AlgorithmSpecification.TrainingImage']);
  });

  it('of version 3 has the fields of its classes', async () => {
    const { training, compute, limits, data } = await partsIn(`
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import *
from sagemaker.train import configs
from sagemaker.train.distributed import Torchrun
from sagemaker.core.training.configs import Compute, InputData, SourceCode, StoppingCondition, Networking
trainer = ModelTrainer(
    training_image="123456789012.dkr.ecr.us-east-1.amazonaws.com/mine:1",
    source_code=SourceCode(source_dir="src", entry_script="train.py"),
    compute=Compute(instance_type="ml.p4d.24xlarge", instance_count=2, volume_size_in_gb=200,
                    enable_managed_spot_training=True),
    distributed=Torchrun(process_count_per_node=8),
    stopping_condition=StoppingCondition(max_runtime_in_seconds=3600, max_wait_time_in_seconds=7200),
    networking=Networking(enable_network_isolation=False),
    hyperparameters={"epochs": 2},
)
trainer.train(input_data_config=[InputData(channel_name="train", data_source="s3://b/train")])
`);
    expect(training).toMatchObject({
      strategy: 'ddp',
      processesPerHost: 8,
      entryPoint: 'train.py',
      image: '123456789012.dkr.ecr.us-east-1.amazonaws.com/mine:1',
      hyperparameters: { epochs: 2 },
      channels: { train: { s3: 's3://b/train/' } },
    });
    expect(compute).toEqual({
      instanceTypes: ['p4d.24xlarge'],
      nodes: 2,
      purchaseOption: 'spot',
      volumeGigabytes: 200,
    });
    expect(limits).toEqual({ deadlineHours: 2, maximumRunSeconds: 3600 });
    expect(data).toBeUndefined();
  });

  it('with channels of every kind declares them', async () => {
    const { training, rows } = await partsIn(`
from sagemaker.pytorch import PyTorch
from sagemaker.inputs import TrainingInput, FileSystemInput
e = PyTorch(entry_point="t.py", instance_type="ml.g5.xlarge", instance_count=1, input_mode="FastFile")
e.fit({
  "a": "s3://b/a",
  "b": TrainingInput("s3://b/b/", input_mode="Pipe", distribution="ShardedByS3Key"),
  "c": FileSystemInput("fs-0123456789abcdef0", "FSxLustre", "/mnt/x", "ro"),
  "d": "s3://b/d/part.csv",
})
`);
    expect(training['channels']).toMatchObject({
      a: { s3: 's3://b/a/', inputMode: 'FastFile' },
      b: { s3: 's3://b/b/' },
      d: { s3: 's3://b/d/' },
    });
    expect(rows.filter(({ verdict }) => verdict === 'cannot').map(({ theirs }) => theirs)).toEqual(
      expect.arrayContaining(['distribution', 'input_mode', 'inputs: d']),
    );
  });

  it('with several jobs asks which is meant', async () => {
    const twice = `${estimator('base_job_name="a"')}${estimator('base_job_name="b"')}`;
    await expect(initIn({ 'launch.py': twice, 'train.py': 'x' })).rejects.toThrow(
      'several jobs are started: name one with --launch launch.py:4, or launch.py:8',
    );
    const { declared } = await initIn({ 'launch.py': twice, 'train.py': 'x' }, '--launch', 'launch.py:8');
    expect(declared.training.entryPoint).toBe('train.py');
  });

  it('that Python cannot read is named with the reason', async () => {
    await expect(
      initIn({ 'launch.py': 'import sagemaker\nPyTorch((', 'train.py': 'epochs = 1' }),
    ).rejects.toThrow(/launch.py cannot be read: .*never closed/);
  });
});

describe('a job of boto3', () => {
  const document = {
    TrainingJobName: 'pets-1',
    RoleArn: 'arn:aws:iam::123456789012:role/r',
    HyperParameters: {
      sagemaker_program: 'train.py',
      sagemaker_submit_directory: 's3://acme/code/sourcedir.tar.gz',
      epochs: '3',
    },
    AlgorithmSpecification: {
      TrainingImage: '763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8.0-gpu-py312',
      TrainingInputMode: 'File',
    },
    InputDataConfig: [
      {
        ChannelName: 'train',
        DataSource: { S3DataSource: { S3DataType: 'S3Prefix', S3Uri: 's3://acme/pets/train/' } },
      },
    ],
    OutputDataConfig: { S3OutputPath: 's3://acme/out' },
    ResourceConfig: { InstanceType: 'ml.g5.xlarge', InstanceCount: 1, VolumeSizeInGB: 100 },
    StoppingCondition: { MaxRuntimeInSeconds: 3600 },
    Tags: [{ Key: 'team', Value: 'vision' }],
  };
  const request = JSON.stringify(document);
  const launched = (call: string, before = '') =>
    partsIn(`import boto3, json\n${before}\nboto3.client("sagemaker").create_training_job(${call})\n`);

  it.each([
    ['one dictionary', '**request', `request = ${request}`],
    ['its arguments', `TrainingJobName="x", **{**rest, "Tags": tags}`, `rest = ${request}\ntags = rest_tags`],
  ])('in %s is read as the job itself', async (_, call, before) => {
    const { Tags, ...rest } = document;
    const text = before.replace('rest_tags', JSON.stringify(Tags));
    const { rows, hyperparameters, origin, ...parts } = await launched(call, text);
    const same = declareJob(foundJob({ ...rest, Tags }), { files: [], facts: undefined });
    expect(parts).toEqual({ ...same, rows: undefined, origin: undefined, hyperparameters: undefined });
    expect(hyperparameters).toEqual({ epochs: 3 });
    expect([origin, rows.map(({ theirs }) => theirs)]).toEqual([
      'launch.py',
      same.rows.map(({ theirs }) => theirs),
    ]);
  });

  it('has texts that are made of values', async () => {
    const { hyperparameters } = await launched(
      'HyperParameters={"a": str(n), "b": json.dumps(0.1), "c": json.dumps("x"), "d": str(n + m)}',
      'n = 2',
    );
    expect(hyperparameters).toMatchObject({ a: 2, b: { $number: '0.1' }, c: 'x', d: { line: 'line 3' } });
  });

  it('names what it leaves open', async () => {
    const before = 'p = {"StoppingCondition": {"MaxRuntimeInSeconds": 9}}\np["StoppingCondition"]["x"] = 3';
    const { rows } = await launched('ResourceConfig=resources, **p, **more', before);
    const unread = rows.filter(({ verdict }) => verdict === 'unread');
    expect(unread.map(({ theirs, ours }) => [theirs, ours])).toEqual(
      expect.arrayContaining([
        ['ResourceConfig', 'compute.instanceTypes'],
        ['StoppingCondition', 'limits.maximumRunSeconds'],
        ['**more', 'what it has'],
      ]),
    );
  });

  it('takes the code that lies here', async () => {
    const { declared } = await initIn({
      'jobs/start.py': `import boto3\nboto3.client("sagemaker").create_training_job(**${request})`,
      'train.py': 'import torch\ntorch.save(1)',
    });
    expect(declared).toMatchObject({ 'x-local': { source: '.' }, training: { entryPoint: 'train.py' } });
  });
});

const notebook = (...cells: readonly string[]) =>
  JSON.stringify({ cells: cells.map((source) => ({ cell_type: 'code', source: source.split(/(?<=\n)/) })) });

describe('a notebook', () => {
  it('is read cell by cell, without magics', async () => {
    const text = notebook(
      '%pip install sagemaker\n!ls\nn = 5',
      '%%bash\nrm -rf data',
      '%%time\nrate = 3',
      'this is no Python',
      estimator('hyperparameters={"epochs": n, "lr": lr, "rate": rate}'),
    );
    const { hyperparameters } = await partsIn(text, 'train.ipynb');
    expect(hyperparameters).toEqual({ epochs: 5, rate: 3, lr: { $unread: 'lr', line: 'cell 5, line 4' } });
  });

  it.each(['{"cells": 3}', '[]', '{', '{"cells": [{"cell_type": "code", "source": [[1]]}]}'])(
    'of the form %s is refused',
    async (text) => {
      await expect(jobIn(text, 'x.ipynb')).rejects.toThrow('cannot be read');
    },
  );
});

const PARSER = `
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-e", "--epochs", type=int, default=7)
args = parser.parse_args()
`;

describe('a training script', () => {
  const read = 'import os\nx = os.environ["SM_CHANNEL_TRAIN"]\ny = os.environ["SM_CHANNEL_VALIDATION"]\n';

  it('is found by the variables of SageMaker', async () => {
    const { declared } = await initIn({
      'src/fit.py': `${read}import sklearn\nout = os.environ["SM_MODEL_DIR"]`,
      'src/utils.py': 'import json',
      'data/train/a.csv': '1',
      'data/validation/b.csv': '2',
    });
    expect(declared.training).toMatchObject({ entryPoint: 'src/fit.py' });
    expect(declared.training.model).toBeUndefined();
  });

  it('that is not found leaves a list', async () => {
    const files = { 'utils.py': 'import json', 'launch.py': 'import sagemaker\nPyTorch()' };
    await expect(initIn(files)).rejects.toThrow(
      /Looked at utils.py: none has an optimizer.*; launch.py starts a SageMaker job/,
    );
  });

  it('gets a channel for each that it names', async () => {
    const { declared } = await initIn({
      'train.py': read,
      'data/train/a.csv': '1',
      'data/validation/b.csv': '2',
    });
    expect(declared.training.channels).toEqual({
      train: { s3: 'incoming/train/' },
      validation: { s3: 'incoming/validation/' },
    });
    expect(declared.packing).toBe('none');
  });

  it.each([
    ['data/a.png', 'declare packing.split, such as { train: 0.9, validation: 0.1 }'],
    ['data/validation/a.png', '$SM_CHANNEL_TRAIN'],
  ])('of shards gets parts of a split: %s', async (file, words) => {
    const others = { 'data/train/b.png': '', 'data/train/c.png': '' };
    const { declared, text } = await initIn({ 'train.py': `${read}import tarfile\n`, [file]: '', ...others });
    expect(declared.training.channels).toBeUndefined();
    expect(declared.packing).toMatchObject({ format: 'webdataset' });
    expect(text).toContain(words);
  });

  it('that reads more channels has a comment', async () => {
    const { declared, text } = await initIn({
      'launch.py': estimator('').replace('.fit()', '.fit({"train": "s3://b/train"})'),
      'train.py': read,
    });
    expect(Object.keys(declared.training.channels)).toEqual(['train']);
    expect(text).toContain('# The script also reads $SM_CHANNEL_VALIDATION, which launch.py does not give.');
  });

  it('is no launcher by its name', async () => {
    const folder = folderOfTest('launchers');
    await writeFiles(folder, { 'launch.py': 'import torch', 'go.py': estimator('') });
    expect(await launchersIn({ folder, names: ['go.py', 'launch.py'] })).toEqual(['go.py']);
  });
});
