/** The scripts that are tried. A package is pinned by its version and by the hash of its source archive. */
import type { Script } from './script.ts';

const IGNITE = {
  package: 'pytorch-ignite',
  version: '0.5.5',
  sha256: '2c14de75c939a3cc06d2e7de00b1e0a261917ef9bd874dac2e69d789dfa9cc64',
};
const NEUROMANCER = {
  package: 'neuromancer',
  version: '1.5.6',
  sha256: '2715b34eb7861f5abce1a8546f5a1b5af67f467aa13e5fed209a051a6dc541eb',
};
const SCHEDULEFREE = {
  package: 'schedulefree',
  version: '1.4.1',
  sha256: '69ef25601d1fc0d8dd00cb36f9af78833f88b7846f1bb6ddecc9f144f3e9f7cb',
};
const TORCH_OPTIMIZER = {
  package: 'torch-optimizer',
  version: '0.3.0',
  sha256: 'b2180629df9d6cd7a2aeabe71fa4a872bba938e8e275965092568cd9931b924c',
};

const TUTORIALS = 'https://docs.pytorch.org/tutorials/beginner';

const VISION = ['torchvision'];
const OF_IGNITE = [...VISION, 'pytorch-ignite==0.5.5', 'tqdm', 'tensorboardX'];

export const CATALOGUE: readonly Script[] = [
  {
    name: 'ignite-mnist',
    origin: { ...IGNITE, file: 'examples/mnist/mnist.py' },
    requirements: OF_IGNITE,
    arguments: ['--epochs=3', '--val_batch_size=250'],
    mnist: { folder: '.', count: 4000 },
    checkpoint: 'automatic',
  },
  {
    name: 'schedulefree-mnist',
    origin: { ...SCHEDULEFREE, file: 'examples/mnist/main.py' },
    requirements: [...VISION, 'schedulefree==1.4.1'],
    arguments: ['--epochs=3', '--no-cuda'],
    within: 'mnist',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'torch-optimizer-mnist',
    origin: { ...TORCH_OPTIMIZER, file: 'examples/mnist.py' },
    requirements: [...VISION, 'torch_optimizer==0.3.0', 'tensorboard'],
    within: 'examples',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'neuromancer-estimation',
    origin: { ...NEUROMANCER, file: 'examples/ODEs/Part_2_param_estim_ODE.py' },
    requirements: ['neuromancer==1.5.6', 'wandb'],
    arguments: ['-epochs', '10'],
    checkpoint: 'automatic',
  },
  {
    name: 'pytorch-quickstart',
    origin: {
      written: 'pytorch_quickstart.py',
      documentation: `${TUTORIALS}/basics/quickstart_tutorial.html`,
    },
    requirements: [],
    checkpoint: 'automatic',
  },
  {
    name: 'pytorch-checkpoint',
    origin: { written: 'pytorch_checkpoint.py', documentation: `${TUTORIALS}/saving_loading_models.html` },
    requirements: [],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the declaration's own placeholder.
    arguments: ['--checkpoint=${checkpoints}/checkpoint.pt'],
  },
];
