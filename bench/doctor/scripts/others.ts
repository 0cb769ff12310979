/** Scripts that others have published, unchanged, and the argument or line of each that takes a remedy. */
import type { Change } from '../../../functions/core/doctor/verdict.ts';
import { IGNITE, SPIKINGJELLY } from '../../scripts/releases.ts';
import type { Release, Script } from '../../scripts/script.ts';
import type { Case, Remedied } from './case.ts';

const NANOGPT = {
  repository: 'https://github.com/karpathy/nanoGPT',
  commit: '3adf61e154c3fe3fca428ad6bc3818b27a3b8291',
};
const PYTORCH_EXAMPLES = {
  repository: 'https://github.com/pytorch/examples',
  commit: '77f55b912142e11fcfdf5b530231fb9c52f181e8',
};
const KERAS_2: Release = {
  package: 'Keras',
  version: '2.3.1',
  sha256: '321d43772006a25a1d58eea17401ef2a34d388b588c9f7646c34796151ebc8cc',
};
const PYTORCH_FORECASTING: Release = {
  package: 'pytorch-forecasting',
  version: '1.8.0',
  sha256: 'f7de2af2fb7ce0c4ef73287666b8b79391485ff55883c974b6267b505adf0422',
};
const TRL: Release = {
  package: 'trl',
  version: '1.16.0',
  sha256: '999bd4a85b08870b7bfa387e1efa5177d2a4b88fe82b2526a057ac5d3cc600cd',
};

const VISION = ['torchvision'];

const workersOf = (change: Change): number | undefined =>
  change.kind === 'workers' || change.kind === 'load-in-workers' ? change.workers : undefined;

const byArgument =
  (name: string) =>
  (change: Change): Remedied | undefined => {
    const workers = workersOf(change);
    return workers === undefined ? undefined : { arguments: [`${name}${workers}`] };
  };

const byLine =
  (before: string, after: (workers: number) => string) =>
  (change: Change): Remedied | undefined => {
    const workers = workersOf(change);
    return workers === undefined ? undefined : { line: [before, after(workers)] };
  };

const NBEATS_LOADER = 'train=True, batch_size=batch_size, num_workers=2';

function nbeatsRemedied(change: Change): Remedied | undefined {
  if (change.kind === 'keep-workers')
    return { line: [NBEATS_LOADER, `${NBEATS_LOADER}, persistent_workers=True`] };
  if (change.kind === 'out-of-order') return { line: [NBEATS_LOADER, `${NBEATS_LOADER}, in_order=False`] };
  return byLine(NBEATS_LOADER, (workers) => NBEATS_LOADER.replace(/2$/, String(workers)))(change);
}

const other = (script: Script, remedied?: Case['remedied']): Case => ({
  name: script.name,
  source: { script },
  ...(remedied && { remedied }),
});

export const OTHERS: readonly Case[] = [
  other({
    name: 'nanogpt',
    origin: { ...NANOGPT, file: 'train.py' },
    arguments: [
      // As its README has it for a CPU, and without an end.
      'config/train_shakespeare_char.py',
      '--device=cpu',
      '--compile=False',
      '--eval_iters=20',
      '--log_interval=10',
      '--block_size=64',
      '--batch_size=12',
      '--n_layer=4',
      '--n_head=4',
      '--n_embd=128',
      '--max_iters=1000000',
      '--dropout=0.0',
    ],
    reads: { kind: 'characters', folder: 'data/shakespeare_char' },
  }),
  other(
    {
      name: 'pytorch-mnist',
      origin: { ...PYTORCH_EXAMPLES, file: 'mnist/main.py' },
      requirements: VISION,
      arguments: ['--epochs=1000'],
      within: 'mnist',
      mnist: { folder: 'data', count: 60_000 },
    },
    byLine(
      "train_kwargs = {'batch_size': args.batch_size}",
      (workers) => `train_kwargs = {'batch_size': args.batch_size, 'num_workers': ${workers}}`,
    ),
  ),
  other(
    {
      name: 'pytorch-imagenet',
      origin: { ...PYTORCH_EXAMPLES, file: 'imagenet/main.py' },
      requirements: VISION,
      arguments: ['--dummy', '--no-accel', '--arch=squeezenet1_1', '--batch-size=16', '--workers=1'],
    },
    byArgument('--workers='),
  ),
  other({
    name: 'pytorch-language-model',
    origin: { ...PYTORCH_EXAMPLES, file: 'word_language_model/main.py' },
    arguments: ['--use-optimizer', '--epochs=1000'],
  }),
  other(
    {
      name: 'ignite-mnist',
      origin: { ...IGNITE, file: 'examples/mnist/mnist.py' },
      requirements: [...VISION, 'tqdm', 'tensorboardX'],
      arguments: ['--epochs=1000'],
      mnist: { folder: '.', count: 60_000 },
    },
    byLine(
      'batch_size=train_batch_size, shuffle=True',
      (workers) => `batch_size=train_batch_size, shuffle=True, num_workers=${workers}`,
    ),
  ),
  other(
    {
      name: 'spikingjelly-lif',
      origin: { ...SPIKINGJELLY, file: 'spikingjelly/activation_based/examples/lif_fc_mnist.py' },
      requirements: [...VISION, 'tensorboard'],
      arguments: [
        '-device=cpu',
        '-T=8',
        '-epochs=1000',
        '-j=0',
        '-data-dir=mnist',
        '-opt=adam',
        '-out-dir=out',
      ],
      mnist: { folder: 'mnist', count: 60_000 },
    },
    byArgument('-j='),
  ),
  {
    ...other(
      { name: 'lightning-nbeats', origin: { ...PYTORCH_FORECASTING, file: 'examples/nbeats.py' } },
      nbeatsRemedied,
    ),
    // Else it ends before two minutes of steps on quiet cores.
    lasting: [
      ['max_epochs=100,', 'max_epochs=100_000,'],
      ['patience=10,', 'patience=100_000,'],
    ],
  },
  other(
    {
      name: 'hugging-face-sft',
      origin: { ...TRL, file: 'trl/scripts/sft.py' },
      requirements: ['transformers==5.23.0', 'accelerate==1.15.0', 'datasets==5.2.0'],
      arguments: [
        '--model_name_or_path=reads/model',
        '--dataset_name=reads/texts',
        '--output_dir=out',
        '--num_train_epochs=1000',
        '--save_strategy=no',
        '--report_to=none',
        '--use_cpu=true',
      ],
      reads: { kind: 'texts', folder: 'reads' },
    },
    byArgument('--dataloader_num_workers='),
  ),
  other({
    name: 'keras-seq2seq',
    origin: { ...KERAS_2, file: 'examples/lstm_seq2seq.py', isInstalled: false },
    requirements: ['tensorflow-cpu==2.21.0'],
    reads: { kind: 'pairs', folder: 'fra-eng' },
  }),
];
