import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { dataIn } from '../../../../cli/init/data.ts';
import { declarationText, type Project, toDo } from '../../../../cli/init/declaration.ts';
import { evaluationIn, readEvaluation } from '../../../../cli/init/find-evaluation.ts';
import { namesFolder, readScript, withoutDefaults } from '../../../../cli/init/script.ts';

const SCRIPT = `
import torch
parser.add_argument("--data-dir", default="images", help="one folder a class (of images)")
parser.add_argument('-e', '--epochs', type=int, default=8)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--checkpoint-dir", default="ckpt")
parser.add_argument("--output", default="out/model.pt")
parser.add_argument("--resume", default=None)
torch.save(model.state_dict(), args.output)
`;
const IMAGES = ['cat/1.jpg', 'cat/2.jpg', 'dog/1.jpg', 'README.md'];

const project = (over: Partial<Project> = {}): Project => ({
  name: 'pets',
  source: '.',
  script: 'train.py',
  facts: readScript(SCRIPT),
  data: dataIn('images', IMAGES),
  requirements: true,
  namesData: false,
  ...over,
});

describe('a script', () => {
  it('has its folders recognised by argument names', () => {
    expect(readScript(SCRIPT).fills).toEqual([
      { argument: '--data-dir', what: 'data', file: 'images' },
      { argument: '--checkpoint-dir', what: 'checkpoints', file: undefined },
      { argument: '--output', what: 'model', file: 'model.pt' },
      { argument: '--resume', what: 'resume', file: undefined },
    ]);
    expect(readScript(SCRIPT).defaults).toEqual([
      ['--epochs', '8'],
      ['--lr', '1e-3'],
    ]);
  });

  it.each([
    ['import tensorflow as tf', { framework: 'tensorflow', strategy: 'single' }],
    ['from torch.nn.parallel import DistributedDataParallel', { framework: 'pytorch', strategy: 'ddp' }],
    ['import ray.train', { strategy: 'ray' }],
    ['print(1)', { framework: 'pytorch', strategy: 'single', saves: false, fills: [] }],
  ])('that says %j is known by it', (text, facts) => {
    expect(readScript(text)).toMatchObject(facts);
  });
});

it.each([
  "os.environ.get('SM_CHANNEL_TRAIN', 'data')",
  "os.getenv('SM_CHANNEL_TRAIN', default='data')",
  "os.environ.get('SM_CHANNEL_TRAIN', pathlib.Path('data'))",
  'os.getenv("SM_CHANNEL_TRAIN") or "data"',
  "os.environ['SM_CHANNEL_TRAIN'] if 'SM_CHANNEL_TRAIN' in os.environ else 'data'",
])('a script with %j reads its channel alone', (text) => {
  expect([text, withoutDefaults(text)].map((one) => namesFolder(one, 'data'))).toEqual([true, false]);
});

it.each([
  ["os.environ.get('SM_CHECKPOINT_DIR', '/opt/ml/checkpoints')", false],
  ["os.environ['TIDEWHEEL_CHECKPOINT_DIR']", false],
  ["'checkpoints'", true],
  ["'checkpoints', # not /opt/ml/checkpoints\n", true],
])('a script that saves below %s is reminded: %s', (folder, isReminded) => {
  const facts = readScript(`torch.save(weights, os.path.join(${folder}, 'last.pt'))`);
  const reminded = declarationText(project({ facts })).includes('To survive an interruption');
  expect(reminded).toBe(isReminded);
});

const FOLDER = "os.environ['SM_MODEL_DIR']";

it.each([
  ['open by a joined path', `with open(os.path.join(${FOLDER}, 'model.json'), 'w') as file:`, true],
  ['open by a bound name', `folder = ${FOLDER}\nwith open(f'{folder}/m.bin', mode="wb") as file:`, true],
  ['open over lines', `with open(\n    os.path.join(str(${FOLDER}), name()),\n    "w",\n) as file:`, true],
  ['a default of argparse', `add_argument('--m', default=${FOLDER})\nopen(Path(args.m) / 'm', 'xb')`, true],
  ['open of a path', `(Path(${FOLDER}) / 'model.json').open("wt")`, true],
  ['write_text', `folder = Path(${FOLDER})\n(folder / 'model.json').write_text(text)`, true],
  ['a copy', `shutil.copy('best.pt', '/opt/ml/model/best.pt')`, true],
  ['a move', `os.replace('best.pt', os.path.join(${FOLDER}, 'best.pt'))`, true],
  ['an export', `model.export(${FOLDER})`, true],
  ['a log elsewhere', `with open('log.txt', 'w') as file:`, false],
  ['a file that it reads', `open(os.path.join(${FOLDER}, 'model.json'))\nchoices = ['w']`, false],
  ['a file that it reads as text', `open(os.path.join(${FOLDER}, 'w'), 'r')`, false],
])('a script is known to save by %s', (_, text, saves) => {
  expect(readScript(text).saves).toBe(saves);
});

it.each([
  [20, 2e9, 'none'],
  [20, 1e9, { format: 'webdataset' }],
  [2_000, 2e12, { format: 'webdataset' }],
])('%d files with %d bytes are packed as %j', (count, bytes, packing) => {
  const found = dataIn(
    'scans',
    Array.from({ length: count }, (_, index) => `${index}.h5`),
  );
  const data = found && { ...found, bytes };
  const text = declarationText(project({ data, facts: readScript('import torch') }));
  expect(parse(text)).toMatchObject({ packing });
});

it.each([
  ['import torch', 'torch.save(model.state_dict(), "model.pt")'],
  ['import tensorflow as tf', 'model.save("model.keras")'],
])('a script that saves nothing gets a remedy: %s', (text, remedy) => {
  expect(toDo(project({ facts: readScript(text) }))).toEqual([
    `train.py seems to save nothing, so that no model is left: add ${remedy} at its end`,
  ]);
});

describe('arguments', () => {
  // As PyTorch's example of a DCGAN has them.
  const DCGAN = `
parser.add_argument('--dataset', required=True, help='cifar10 | lsun | folder')
parser.add_argument('--dataroot', required=False, help='path to dataset')
parser.add_argument('--outf', default='.')
torch.save(netG.state_dict(), '%s/netG.pth' % opt.outf)
`;

  it('that name a place get the data, not words', () => {
    const facts = readScript(DCGAN);
    expect(facts.fills).toEqual([{ argument: '--dataroot', what: 'data', file: undefined }]);
    expect(facts.required).toEqual(['--dataset']);
    expect(toDo(project({ facts }))).toEqual(['train.py requires --dataset: add it to arguments']);
  });

  it.each([
    ['last = get_last_checkpoint(args.output_dir)', 'checkpoints'],
    ['if args.resume: model.load_state_dict(torch.load(args.output_dir + "/last.pt"))', 'checkpoints'],
    ['model.load_state_dict(torch.load("pretrained.pt"))', 'model'],
  ])('for what is read back outlive the host: %s', (line, what) => {
    const facts = readScript(`add_argument('--output_dir', default='out')\ntorch.save(m, "m.pt")\n${line}`);
    expect(facts.fills).toEqual([{ argument: '--output_dir', what, file: undefined }]);
    const text = declarationText(project({ facts }));
    expect(text).toContain(`'\${${what}}'`);
    expect(text.includes('model: none')).toBe(what === 'checkpoints');
    expect(text).not.toContain('workingDirectory');
  });

  it('with choices are words', () => {
    expect(readScript(`add_argument('--dataset', choices=['a', 'b'], default='a')`)).toMatchObject({
      fills: [],
      required: [],
      defaults: [['--dataset', 'a']],
    });
  });

  it('without dashes are required, or have a default', () => {
    const text = `add_argument('data'); add_argument('steps', type=int); add_argument('name', nargs='?')`;
    expect(readScript(text)).toMatchObject({ fills: [{ argument: 'data' }], required: ['steps'] });
  });
});

describe('a folder in the script', () => {
  it.each([
    ['DATA = "images"', true],
    ["os.path.join('./images', name)", true],
    ["open('images/cat/1.jpg')", true],
    ['print("images are read")', false],
    ['myimages = 1', false],
  ])('in %j is found: %j', (text, found) => {
    expect(namesFolder(text, 'images')).toBe(found);
  });

  it('is a thing to do, and has a channel', () => {
    const made = project({ facts: readScript('DATA = "images"'), namesData: true });
    expect(toDo(made).join()).toContain('os.environ.get("SM_CHANNEL_DATA", "images")');
    const read = readDeclaration('pets', declarationText(made));
    expect(read.valid && read.pipeline.training.channels).toMatchObject({ data: { s3: 'incoming/' } });
  });
});

describe('data', () => {
  it('has labels where each file has a folder', () => {
    expect(dataIn('images', IMAGES)).toEqual({
      folder: 'images',
      files: 3,
      kind: 'images',
      suffixes: ['.jpg'],
      otherSuffixes: ['.md'],
      tables: [],
      folders: ['cat', 'dog'],
      labels: ['cat', 'dog'],
    });
    expect(dataIn('all', ['1.png', '2.png'])).toMatchObject({ kind: 'images', labels: [] });
  });

  it('of code alone is none', () => {
    expect(dataIn('src', ['a.py', 'b.md'])).toBeUndefined();
  });
});

describe('the declaration', () => {
  const cases: readonly (readonly [string, Partial<Project>])[] = [
    ['of all that can be found', {}],
    ['without data', { data: undefined }],
    ['of a script without arguments', { facts: readScript('import torch') }],
    [
      'of a name that YAML reads as something else',
      { name: '007', script: 'my script.py'.replace(' ', '_') },
    ],
    [
      'of a script with things to do',
      { facts: readScript(`add_argument('--a', required=True)`), namesData: true },
    ],
    ['of tensorflow', { facts: readScript('import tensorflow') }],
    ['of several processes', { facts: readScript('DistributedDataParallel') }],
    ['of hostile suffixes', { data: dataIn('im: {ages', ['a/#.png', 'b/y.png']) }],
  ];
  it.each(cases)('%s is valid', (_, over) => {
    const made = project(over);
    expect(readDeclaration(made.name, declarationText(made))).toMatchObject({ valid: true });
  });

  const many = Array.from({ length: 200 }, (_each, index) => `cat/${index}.jpg`);
  const photos = [...many, ...IMAGES, 'cat/0.xml', 'train.csv', 'LICENSE'];
  const shards = readScript('import torch');
  it.each([
    {
      of: 'a script that reads files by an argument',
      over: {},
      paths: photos,
      format: 'none',
      words: 'train.py reads files',
    },
    {
      of: 'a script that reads files by their name',
      over: { facts: readScript('DATA = "images"'), namesData: true },
      paths: photos,
      format: 'none',
      words: 'train.py reads files',
    },
    {
      of: 'tables',
      over: { facts: shards },
      paths: many.map((name) => `${name}.csv`),
      format: 'none',
      words: 'Tables are read as files',
    },
    {
      of: 'many files',
      over: { facts: shards },
      paths: photos,
      format: 'webdataset',
      words: 'accept: [.jpg] ',
    },
  ])('packs what shards read faster: $of', ({ over, paths, format, words }) => {
    const text = declarationText(project({ data: dataIn('images', paths), ...over }));
    expect(text).toContain(words);
    const read = readDeclaration('pets', text);
    expect(read.valid && read.pipeline.packing.format).toBe(format);
    expect(text.includes('$SM_CHANNEL_TRAINING')).toBe(
      format === 'none' && 'facts' in over && !('namesData' in over),
    );
  });

  it('fills the arguments of the script', () => {
    const read = readDeclaration('pets', declarationText(project()));
    expect(read.valid && read.pipeline.training).toMatchObject({
      arguments: [
        '--data-dir',
        '${channel:data}',
        '--checkpoint-dir',
        '${checkpoints}',
        '--output',
        '${model}/model.pt',
        // So that --set changes what the script sees.
        '${hyperparameters}',
      ],
      channels: { data: { s3: 'incoming/' } },
    });
  });
});

it('a script with a model channel begins from one', () => {
  const script =
    'import os\nstart = os.environ.get("SM_CHANNEL_MODEL")\ndata = os.environ["SM_CHANNEL_TRAINING"]\nout = os.environ["SM_MODEL_DIR"]\nout.write_bytes(b"")\n';
  const text = declarationText(project({ facts: readScript(script) }));
  expect(readDeclaration('pets', text)).toMatchObject({ valid: true });
  expect(text).toContain('  startFrom: current   #');
  expect(text).toContain('promote: always   #');
  expect(text).not.toContain('model: {');
  expect(text).not.toContain('seems to save nothing');
});

describe('a script that scores a model', () => {
  const channels = 'os.environ["SM_CHANNEL_MODEL"]\nos.environ["SM_CHANNEL_VALIDATION"]\n';
  const split = { by: 'folder' as const, train: ['train'], validation: ['val'] };
  const layout = { fields: { split, label: 'none' as const }, notes: [], remedies: [], classes: [] };
  const saves = readScript('import torch, os\ntorch.save(1, os.environ["SM_MODEL_DIR"])\n');

  it.each([
    [`${channels}tidewheel.score(key, loss=0.3)`, {}, '{ metric: loss, mode: min }'],
    [
      'parser.add_argument("--model-dir")\nprint(f"accuracy: {right}")',
      { arguments: ['--model-dir=${channel:model}'] },
      '{ metric: accuracy, mode: max }',
    ],
  ])('is declared: %j', (script, more, objective) => {
    const evaluation = readEvaluation('eval.py', script);
    const found = dataIn('images', IMAGES);
    const data = found && { ...found, layout };
    const text = declarationText(project({ facts: saves, data, evaluation }));
    expect(readDeclaration('pets', text)).toMatchObject({
      valid: true,
      pipeline: {
        evaluation: { entryPoint: 'eval.py', ...more, on: ['validation'] },
        promote: { whenBetterBy: 0 },
      },
    });
    expect(text).toContain(objective);
  });

  it('is named where no data is set apart', () => {
    const evaluation = readEvaluation('eval.py', channels);
    expect(toDo(project({ facts: saves, evaluation }))).toEqual([
      expect.stringMatching(/^eval\.py scores a model: declare packing\.split/),
    ]);
    expect(readEvaluation('eval.py', 'print(1)')).toBeUndefined();
  });

  it('lies beside the training script, or at the top', () => {
    const names = ['eval.py', 'src/evaluate.py', 'src/train.py'];
    expect(evaluationIn(names, 'src/train.py')).toBe('src/evaluate.py');
    expect(evaluationIn(names, 'other/train.py')).toBe('eval.py');
    expect(evaluationIn(['other/eval.py'], 'src/train.py')).toBeUndefined();
  });

  it('waits for a training script that leaves one', () => {
    const found = dataIn('images', IMAGES);
    const facts = readScript('import torch\ntorch.save(1, "model.pt")\n');
    const evaluation = readEvaluation('eval.py', channels);
    const left = project({ facts, data: found && { ...found, layout }, evaluation });
    expect(readDeclaration('pets', declarationText(left))).toMatchObject({ valid: true });
    expect(toDo(left).join()).toContain('have train.py save it below $SM_MODEL_DIR, declare');
  });
});
