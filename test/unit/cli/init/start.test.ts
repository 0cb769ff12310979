/** What starts a training in folders as people have them, and where its data lies. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { declarationText, toDo } from '../../../../cli/init/declaration.ts';
import { lookAt } from '../../../../cli/verbs/init.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidewheel-start-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

type Files = Readonly<Record<string, string>>;

async function proposed(files: Files, script?: string) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.join(folder, path.dirname(name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  const project = await lookAt(folder, { name: 'a', script }, undefined);
  const text = declarationText(project);
  const read = readDeclaration('a', text);
  if (!read.valid) throw new Error(JSON.stringify(read.problems));
  const local: unknown = parse(text)['x-local'];
  return {
    training: read.pipeline.training,
    compute: read.pipeline.compute,
    local,
    toDo: toDo(project).join('\n'),
  };
}

const TORCH = 'import torch\noptimizer = torch.optim.SGD([], 0.1)\ntorch.save({}, "m.pt")\n';
const CPUS = ['c5.2xlarge', 'm5.2xlarge', 'c5.4xlarge'];
const notebook = (...cells: string[]): string =>
  JSON.stringify({ cells: cells.map((source) => ({ cell_type: 'code', source: [source] })), nbformat: 4 });

describe('a tabular script', () => {
  const SKLEARN = `
import argparse, joblib
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
p = argparse.ArgumentParser()
p.add_argument("--train-csv", default="train.csv")
p.add_argument("--test-csv")
p.add_argument("--depth", type=int, default=5)
p.add_argument("--out", default="model.joblib")
joblib.dump(RandomForestClassifier().fit(x, y), args.out)
`;
  it('of sklearn beside its tables is whole', async () => {
    const { training, compute, local, toDo } = await proposed({
      'train.py': SKLEARN,
      'train.csv': 'a\n1\n',
      'test.csv': 'a\n1\n',
    });
    expect(training).toMatchObject({
      framework: 'sklearn',
      arguments: [
        '--train-csv',
        '${channel:data}/train.csv',
        '--test-csv',
        '${channel:data}/test.csv',
        '--out',
        '${model}/model.joblib',
        '${hyperparameters}',
      ],
    });
    expect(compute.instanceTypes).toEqual(CPUS);
    expect(local).toEqual({ source: '.', data: ['test.csv', 'train.csv'] });
    expect(toDo).toBe('');
  });

  it.each([
    ['import xgboost as xgb\nxgb.train({}, d)', 'xgboost', ''],
    ['import lightgbm as lgb\nlgb.train({}, d)', 'sklearn', 'lightgbm'],
    ['from catboost import CatBoostRegressor\nCatBoostRegressor().fit(x)', 'sklearn', 'catboost'],
    ['import numpy as np\nfor epoch in range(3): pass', 'sklearn', ''],
  ])('that says %j trains on CPUs', async (text, framework, lacks) => {
    const found = await proposed({ 'fit.py': `${text}\nmodel.save_model("m")`, 'data/a.csv': 'a\n1\n' });
    expect(found.training.framework).toBe(framework);
    expect(found.compute.instanceTypes).toEqual(CPUS);
    expect(found.toDo).toBe(
      lacks === '' ? '' : `fit.py needs ${lacks}, which an image may lack: write it into requirements.txt`,
    );
  });

  it('with torch in a module trains on GPUs', async () => {
    const files = { 'train.py': 'import numpy\nfrom net.model import Net', 'net/model.py': TORCH };
    const { training, compute, toDo } = await proposed(files);
    expect(training.framework).toBe('pytorch');
    expect(compute.instanceTypes).not.toEqual(CPUS);
    expect(toDo).toBe('');
  });
});

describe('what starts the training', () => {
  const YOLO = 'path: ../datasets/x\ntrain: images/train\nval: images/val\nnames: [cat]\n';
  const SPACY =
    '[paths]\ntrain = "corpus/train.spacy"\ndev = null\n[nlp]\nlang = "en"\n[training]\nmax_epochs = 1\n';
  const SEVERAL = { 'src/a.py': TORCH, 'src/b.py': TORCH };
  const ARGUMENTS = `${TORCH}p.add_argument("--data_dir")\np.add_argument("--epochs", type=int)\n`;
  it.each<readonly [string, Files, object, RegExp]>([
    [
      'a notebook',
      { 'train.ipynb': notebook('import torch', 'torch.save({}, "m.pt")\nfor epoch in range(3): pass') },
      { command: ['python', '-m', 'IPython', '--colors=nocolor', '${source}/train.ipynb'] },
      /needs ipython, nbformat/,
    ],
    [
      'a line of a shell script',
      {
        ...SEVERAL,
        'src/a.py': ARGUMENTS,
        'data/1.png': '',
        'run.sh':
          '#!/bin/sh\nCUDA_VISIBLE_DEVICES=0 torchrun --nproc_per_node=4 src/a.py \\\n  --data_dir data --epochs 3\n',
      },
      {
        entryPoint: 'src/a.py',
        strategy: 'ddp',
        arguments: ['--data_dir', '${channel:data}', '--epochs', '3'],
      },
      /^$/,
    ],
    [
      'a shell script of several lines',
      {
        'run.sh': 'for seed in 1 2; do\n  python -m job.fit --seed $seed\ndone\n',
        'job/fit.py': TORCH,
        'job/b.py': TORCH,
      },
      { command: ['bash', '${source}/run.sh'] },
      /^$/,
    ],
    [
      'a Makefile',
      {
        ...SEVERAL,
        'conf/base.yaml': 'a: 1',
        Makefile: 'train:\n\t@python src/b.py --config conf/base.yaml\n',
      },
      { entryPoint: 'src/b.py', arguments: ['--config', '${source}/conf/base.yaml'] },
      /^$/,
    ],
    [
      'the only line for its only script',
      {
        'dvc.yaml': 'stages:\n  train:\n    cmd: python src/fit.py data model.pkl --depth 3\n',
        'src/fit.py': `import sys\n${TORCH}open(sys.argv[1])\n`,
        'data/1.csv': 'a\n1\n',
      },
      { entryPoint: 'src/fit.py', arguments: ['${channel:data}', 'model.pkl', '--depth', '3'] },
      /^$/,
    ],
    [
      'a package',
      { 'job/__init__.py': '', 'job/__main__.py': 'from job.loop import main\nmain()', 'job/loop.py': TORCH },
      { command: ['python', '-m', 'job'] },
      /^$/,
    ],
    [
      'a module with neighbours',
      { 'job/__init__.py': '', 'job/fit.py': `from . import net\n${TORCH}`, 'job/net.py': '' },
      { command: ['python', '-m', 'job.fit'] },
      /^$/,
    ],
    [
      'a Dockerfile',
      { ...SEVERAL, Dockerfile: 'FROM python\nCMD ["python", "src/a.py", "--epochs", "3"]\n' },
      { entryPoint: 'src/a.py', arguments: ['--epochs', '3'] },
      /^$/,
    ],
    [
      "spaCy's configuration",
      { 'config.cfg': SPACY, 'corpus/train.spacy': '' },
      {
        command:
          'python -m spacy train ${source}/config.cfg --output ${checkpoints} --paths.train ${channel:data}/train.spacy'.split(
            ' ',
          ),
        model: 'none',
      },
      /^config.cfg needs spacy, which[^\n]*$/,
    ],
    [
      "YOLO's description of its data",
      { 'set/data.yaml': YOLO, 'set/images/train/1.jpg': '', 'set/images/val/2.jpg': '' },
      {
        command: [
          'yolo',
          'train',
          'data=${channel:data}/data.yaml',
          'model=yolo11n.pt',
          'project=${checkpoints}',
        ],
      },
      /has a "path:", which is elsewhere there/,
    ],
    [
      "axolotl's configuration",
      { 'lora.yml': 'base_model: x/y\ndatasets:\n  - path: data/train.jsonl\n', 'data/train.jsonl': '{}' },
      { command: ['axolotl', 'train', '${source}/lora.yml', '--output-dir=${checkpoints}'] },
      /needs axolotl, [^\n]*\nlora.yml reads "data" itself, [^\n]*read \/opt\/ml\/input\/data\/data$/,
    ],
    [
      "LLaMA-Factory's configuration",
      { 'sft.yaml': 'model_name_or_path: x\nstage: sft\n' },
      { command: ['llamafactory-cli', 'train', '${source}/sft.yaml', 'output_dir=${checkpoints}'] },
      /llamafactory/,
    ],
    [
      "torchtune's configuration",
      { '1B.yaml': 'model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\n' },
      { command: expect.arrayContaining(['tune', 'run', '--config', '${source}/1B.yaml']) },
      /write the recipe that 1B\.yaml is for/,
    ],
    [
      "MMEngine's configuration",
      { 'my.py': "_base_ = 'mmdet::rtmdet_tiny.py'\ntrain_cfg = dict(max_epochs=3)\n" },
      { command: ['mim', 'train', 'mmdet', '${source}/my.py', '--work-dir', '${checkpoints}'] },
      /openmim, mmdet/,
    ],
  ])('%s is found', async (_, files, training, things) => {
    const found = await proposed(files);
    expect(found.training).toMatchObject(training);
    expect(found.toDo).toMatch(things);
  });

  it('is named where several could be it', async () => {
    await expect(proposed(SEVERAL)).rejects.toThrow('several files start a training (src/a.py, src/b.py)');
  });

  it('has a line to write where nothing is known', async () => {
    await expect(proposed({ 'notes.txt': 'x' })).rejects.toThrow('write its command as training.command');
    await expect(proposed({}, 'notes.txt')).rejects.toThrow('training.command (docs/pipeline.md)');
  });

  it('may be any that is named', async () => {
    const { training } = await proposed({ 'run.sh': 'make it so\n', 'train.py': TORCH }, 'run.sh');
    expect(training.command).toEqual(['bash', '${source}/run.sh']);
  });
});

describe('arguments that a framework parses', () => {
  it('of a dataclass are those of argparse', async () => {
    const { training, toDo } = await proposed({
      'run_glue.py': `from transformers import HfArgumentParser, Trainer, TrainingArguments
@dataclass
class Arguments:
    model_name_or_path: str = field(
        metadata={"help": "path (or name) of the model"}
    )
    train_file: Optional[str] = field(default=None, metadata={"help": "A csv or a json file."})
    validation_file: Optional[str] = field(default=None)
parser = HfArgumentParser((Arguments, TrainingArguments))
if training_args.do_train: Trainer(args=training_args).train()
`,
      'requirements.txt': 'transformers\n',
      'data/train.csv': 'a\n',
      'data/dev.csv': 'a\n',
    });
    expect(training.arguments).toEqual([
      '--train_file',
      '${channel:data}/train.csv',
      '--validation_file',
      '${channel:data}/dev.csv',
      '--output_dir',
      '${checkpoints}',
      '--do_train',
    ]);
    expect(toDo).toBe('run_glue.py requires --model_name_or_path: add it to arguments');
  });

  it('of other commands are left out', async () => {
    const { training, toDo } = await proposed({
      'style.py': `${TORCH}train = subparsers.add_parser("train", help="x")
train.add_argument("--dataset", type=str, required=True)
train.add_argument("--save-model-dir", type=str, required=True)
run = subparsers.add_parser("eval")
run.add_argument("--content-image", type=str, required=True)
`,
      'coco/1.jpg': '',
    });
    const words = ['train', '--dataset', '${channel:data}', '--save-model-dir', '${model}'];
    expect(training.arguments).toEqual(words);
    expect(toDo).toBe('');
  });

  it('get the only file of settings', async () => {
    const files = {
      'train.py': `${TORCH}args.add_argument('-c', '--config', default=None, type=str)`,
      'config.json': '{}',
    };
    expect((await proposed(files)).training.arguments).toEqual(['--config', '${source}/config.json']);
  });
});

it('names that a decoder takes for numbers are said', async () => {
  const { toDo } = await proposed({
    'train.py': `import torch, webdataset\nwebdataset.WebDataset(x).decode("pil")\ntorch.save(m, "m")`,
    'requirements.txt': 'webdataset\n',
    'data/cat/1.png': '',
    'data/dog/1.png': '',
  });
  expect(toDo).toContain('add webdataset.handle_extension("cls", bytes.decode) to decode()');
});

describe('data beside the code', () => {
  it('at an absolute path is said', async () => {
    const { toDo } = await proposed({
      'kernel.py':
        'import sklearn\npd.read_csv("/kaggle/input/titanic/train.csv")\nm.fit(x)\ny.to_csv("out.csv")',
      'train.csv': 'a\n',
    });
    expect(toDo).toBe(
      'kernel.py reads "train.csv" itself, which is elsewhere there: have it read os.path.join(os.environ.get("SM_CHANNEL_DATA", "."), "train.csv")',
    );
  });

  it('goes with its description', async () => {
    const { local, training } = await proposed({
      'data.yaml': 'train: ../train/images\nval: ../valid/images\nnames: [cat]\n',
      'train/images/1.jpg': '',
      'valid/images/2.jpg': '',
    });
    expect(local).toEqual({ source: '.', data: ['train', 'valid', 'data.yaml'] });
    expect(training.command?.slice(0, 3)).toEqual(['yolo', 'train', 'data=${channel:data}/data.yaml']);
  });

  it('is no code with its settings', async () => {
    const { local } = await proposed({
      'train.py': `${TORCH}open("logger/logger.json")`,
      'logger/logger.json': '{}',
      'logger/logger.py': '',
      'logger/view.py': '',
    });
    expect(local).toEqual({ source: '.', data: 'data' });
  });

  it('is named part by part', async () => {
    const { local, training, toDo } = await proposed({
      'solution.py': 'import lightgbm\npd.read_csv("train.csv")\nmodel.fit(x)\nmodel.save_model("m")',
      'requirements.txt': 'lightgbm\n',
      'train.csv': 'a\n',
      'train_images/1.jpg': '',
      'test_images/2.jpg': '',
      'metrics.csv': 'a\n',
    });
    expect(local).toEqual({ source: '.', data: ['test_images', 'train_images', 'train.csv'] });
    expect(training.channels).toEqual({ data: { s3: 'incoming/', inputMode: 'File' } });
    expect(toDo).toContain('have it read os.path.join(os.environ.get("SM_CHANNEL_DATA", "."), "train.csv")');
  });

  it('is no output and no configuration', async () => {
    const { local } = await proposed({
      'train.py': TORCH,
      'configs/a.yaml': 'a: 1',
      'runs/1/log.csv': 'a\n',
    });
    expect(local).toEqual({ source: '.', data: 'data' });
  });
});
