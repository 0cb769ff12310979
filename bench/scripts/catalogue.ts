/** The scripts that are tried; packages are pinned by version and by the hash of the source archive. */
import type { Script } from './own-script.ts';

const AVALANCHE =
  'avalanche-lib==0.6.0 --hash=sha256:8d0886e76dbc2a769aa581aa879c711fcf7fa069291bb9986dffdd5d07f91d4a';
const BACKPACK =
  'backpack-for-pytorch==1.7.1 --hash=sha256:edfe332e4b06a69073a6d857c5fd08d286c020be4d411f5c50a729f26f62a30d';
const BAYESIAN_TORCH =
  'bayesian-torch==0.5.0 --hash=sha256:d7f9f8e46cdd274a669cd832c297b61a864d1d4bebc749b1dae5a13e5a7741d5';
const CLEANRL =
  'cleanrl==1.2.0 --hash=sha256:22c43c71f06da02ade7bb2e90c4820548696d3816d15f4cf0dcb266cf7671f72';
const CURVLINOPS =
  'curvlinops-for-pytorch==3.0.1 --hash=sha256:916dd1f1a145d2fed062fcbbcc860561164bbe28b3e02174f8c7d78a006f54a7';
const DEEPXDE =
  'deepxde==1.15.0 --hash=sha256:2c0e8ad01b612b9c03d53786ed49010cec39453699a5e0f802d7a021d98441d4';
const IGNITE =
  'pytorch-ignite==0.5.5 --hash=sha256:2c14de75c939a3cc06d2e7de00b1e0a261917ef9bd874dac2e69d789dfa9cc64';
const NEUROMANCER =
  'neuromancer==1.5.6 --hash=sha256:2715b34eb7861f5abce1a8546f5a1b5af67f467aa13e5fed209a051a6dc541eb';
const OPACUS = 'opacus==1.6.0 --hash=sha256:20d77252c1e8528cd5826fbaba345cd39ed5c3edb841707eafb6403fe276140a';
const POUTYNE =
  'poutyne==1.19.0 --hash=sha256:6046a236a5b181ec89979606fb94abe3d420a55109c8b9b678868efbc43e1b37';
const PYKEEN =
  'pykeen==1.11.1 --hash=sha256:702cb807c354a0d2fce0f0593db46e1fe15fba2a37e92bbb18cd1b9d0a85fe13';
const SCHEDULEFREE =
  'schedulefree==1.4.1 --hash=sha256:69ef25601d1fc0d8dd00cb36f9af78833f88b7846f1bb6ddecc9f144f3e9f7cb';
const SPIKINGJELLY =
  'spikingjelly==2.0.0 --hash=sha256:f9b9940c3675f9e7bf10484d37ecb27367aba8379233dc8c6e4d590fafac62ae';
const TORCH_OPTIMIZER =
  'torch-optimizer==0.3.0 --hash=sha256:b2180629df9d6cd7a2aeabe71fa4a872bba938e8e275965092568cd9931b924c';

const VISION = ['torchvision'];
const BESIDE_IGNITE = [...VISION, 'tqdm', 'tensorboardX'];
const GYM = ['gymnasium==1.2.0', 'pygame'];
const WITH_PLOTS = [...VISION, 'matplotlib'];
const WITH_PYTORCH = { DDE_BACKEND: 'pytorch' };

/** It declares no Python after 3.10, but its scripts stand alone. */
const cleanrl = (name: string, args: NonNullable<Script['arguments']>): Script => ({
  name: `cleanrl-${name}`,
  origin: { release: CLEANRL, file: `cleanrl/${name}.py`, isInstalled: false },
  requirements: ['gymnasium==0.29.1', 'gym==0.23.1', 'stable-baselines3==2.6.0', 'tensorboard', 'pygame'],
  arguments: args,
  checkpoint: 'automatic',
});

/** It looks for its data below the home folder. */
const avalanche = (name: string, file: string, count: number): Script => ({
  name: `avalanche-${name}`,
  origin: { release: AVALANCHE, file: `examples/${file}` },
  requirements: ['matplotlib'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the declaration's own placeholder.
  environment: { HOME: '${source}/home' },
  mnist: { folder: 'home/.avalanche/data/mnist', count },
  checkpoint: 'automatic',
});

const TREES = ['xgboost==3.2.0', 'lightgbm==4.7.0', 'scikit-learn==1.9.1'];

/**
 * Ours, after a framework's documentation: those that no other test kills (Trainer, Lightning and Keras are in
 * `training/tests/agent/unmodified`).
 */
const WRITTEN: readonly Script[] = [
  {
    name: 'xgboost-continuation',
    origin: {
      written: 'xgboost_continuation.py',
      documentation: 'https://xgboost.readthedocs.io/en/stable/python/callbacks.html',
    },
    requirements: TREES,
    arguments: ['--checkpoints=${checkpoints}', '--resume=${checkpoints}/model_*.ubj?'],
    result: 'model/model.ubj',
  },
  {
    name: 'lightgbm-continuation',
    origin: {
      written: 'lightgbm_continuation.py',
      documentation: 'https://lightgbm.readthedocs.io/en/stable/Python-Intro.html',
    },
    requirements: TREES,
    arguments: ['--snapshot=${checkpoints}/model.txt'],
    result: 'model/trees.txt',
  },
  {
    name: 'sklearn-partial-fit',
    origin: {
      written: 'sklearn_partial_fit.py',
      documentation: 'https://scikit-learn.org/stable/computing/scaling_strategies.html',
    },
    requirements: TREES,
    arguments: ['--out=${checkpoints}', '--from=${checkpoints}/model-*.joblib?'],
    result: 'model/model.npz',
  },
  {
    name: 'accelerate-state',
    origin: {
      written: 'accelerate_state.py',
      documentation: 'https://huggingface.co/docs/accelerate/usage_guides/checkpoint',
    },
    requirements: ['accelerate==1.15.0'],
    arguments: ['--project_dir=${checkpoints}', '--resume_from_checkpoint=${checkpoints}/epoch_*?'],
  },
];

export const CATALOGUE: readonly Script[] = [
  {
    name: 'ignite-mnist',
    origin: { release: IGNITE, file: 'examples/mnist/mnist.py' },
    requirements: BESIDE_IGNITE,
    arguments: ['--epochs=3', '--val_batch_size=250'],
    mnist: { folder: '.', count: 4000 },
    checkpoint: 'automatic',
  },
  {
    name: 'schedulefree-mnist',
    origin: { release: SCHEDULEFREE, file: 'examples/mnist/main.py' },
    requirements: VISION,
    arguments: ['--epochs=30', '--no-cuda'],
    within: 'mnist',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'torch-optimizer-mnist',
    origin: { release: TORCH_OPTIMIZER, file: 'examples/mnist.py' },
    requirements: [...VISION, 'tensorboard'],
    within: 'examples',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'neuromancer-estimation',
    origin: { release: NEUROMANCER, file: 'examples/ODEs/Part_2_param_estim_ODE.py' },
    requirements: ['wandb'],
    arguments: ['-epochs', '10'],
    checkpoint: 'automatic',
  },
  {
    name: 'neuromancer-regression',
    origin: { release: NEUROMANCER, file: 'examples/tutorials/part_1_linear_regression.py' },
    requirements: ['wandb'],
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-mnist-tqdm',
    origin: { release: IGNITE, file: 'examples/mnist/mnist_with_tqdm_logger.py' },
    requirements: BESIDE_IGNITE,
    arguments: ['--epochs=2', '--val_batch_size=250'],
    mnist: { folder: '.', count: 4000 },
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-mnist-resume',
    origin: { release: IGNITE, file: 'examples/mnist/mnist_save_resume_engine.py' },
    requirements: BESIDE_IGNITE,
    arguments: [
      '--deterministic',
      '--epochs=6',
      '--log_dir=${checkpoints}',
      '--resume_from=${checkpoints}/checkpoint_*.pt?',
    ],
    // It loads more than tensors, which torch.load has refused since 2.6.
    environment: { TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD: '1' },
    mnist: { folder: '.', count: 2000 },
  },
  {
    name: 'ignite-reinforce',
    origin: { release: IGNITE, file: 'examples/reinforcement_learning/reinforce.py' },
    requirements: GYM,
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-actor-critic',
    origin: { release: IGNITE, file: 'examples/reinforcement_learning/actor_critic.py' },
    requirements: GYM,
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-dcgan',
    origin: { release: IGNITE, file: 'examples/gan/dcgan.py' },
    requirements: [...BESIDE_IGNITE, 'matplotlib', 'pandas', 'numpy'],
    arguments: [
      '--dataset=fake',
      '--dataroot=.',
      '--output-dir=out',
      '--epochs=8',
      '--batch-size=2',
      '--seed=1',
      '--no-cuda',
      '--g-filters=8',
      '--d-filters=8',
      '--workers=0',
    ],
    checkpoint: 'automatic',
  },
  {
    name: 'opacus-mnist',
    origin: { release: OPACUS, file: 'examples/mnist.py' },
    requirements: [...VISION, 'tqdm'],
    arguments: ['--device=cpu', '--epochs=3', '--data-root=mnist'],
    mnist: { folder: 'mnist', count: 2000 },
    checkpoint: 'automatic',
  },
  {
    name: 'opacus-dcgan',
    origin: { release: OPACUS, file: 'examples/dcgan.py' },
    requirements: [...VISION, 'tqdm'],
    arguments: [
      '--device=cpu',
      '--data-root=mnist',
      '--workers=0',
      '--batch-size=8',
      '--ngf=8',
      '--ndf=8',
      '--epochs=6',
      // With its gradients for each sample it ends at once under a PyTorch of today.
      '--disable-dp',
    ],
    mnist: { folder: 'mnist', count: 2000 },
    checkpoint: 'automatic',
  },
  {
    name: 'pykeen-checkpoints',
    origin: { release: PYKEEN, file: 'docs/source/examples/checkpoints/ex_01.py' },
    checkpoint: 'automatic',
  },
  {
    name: 'deepxde-function',
    origin: { release: DEEPXDE, file: 'examples/function/func.py' },
    environment: WITH_PYTORCH,
    checkpoint: 'automatic',
  },
  {
    name: 'deepxde-poisson',
    origin: { release: DEEPXDE, file: 'examples/pinn_forward/Poisson_Robin_1d.py' },
    environment: WITH_PYTORCH,
    checkpoint: 'automatic',
  },
  {
    name: 'backpack-cg-newton',
    origin: { release: BACKPACK, file: 'docs_src/examples/use_cases/example_cg_newton.py' },
    requirements: WITH_PLOTS,
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'backpack-diagonal-newton',
    origin: { release: BACKPACK, file: 'docs_src/examples/use_cases/example_diag_ggn_optimizer.py' },
    requirements: WITH_PLOTS,
    mnist: { folder: 'data', count: 8000 },
    checkpoint: 'automatic',
  },
  {
    name: 'backpack-privacy',
    origin: { release: BACKPACK, file: 'docs_src/examples/use_cases/example_differential_privacy.py' },
    requirements: WITH_PLOTS,
    mnist: { folder: 'data', count: 8000 },
    checkpoint: 'automatic',
  },
  {
    name: 'spikingjelly-lif',
    origin: { release: SPIKINGJELLY, file: 'spikingjelly/activation_based/examples/lif_fc_mnist.py' },
    requirements: [...VISION, 'tensorboard'],
    arguments: [
      '-device=cpu',
      '-T=8',
      '-epochs=8',
      '-j=0',
      '-data-dir=mnist',
      '-opt=adam',
      '-out-dir=${checkpoints}',
      '-resume=${checkpoints}/*/checkpoint_latest.pth?',
    ],
    mnist: { folder: 'mnist', count: 4000 },
  },
  {
    name: 'spikingjelly-lif-automatic',
    origin: { release: SPIKINGJELLY, file: 'spikingjelly/activation_based/examples/lif_fc_mnist.py' },
    requirements: [...VISION, 'tensorboard'],
    arguments: ['-device=cpu', '-T=8', '-epochs=8', '-j=0', '-data-dir=mnist', '-opt=adam', '-out-dir=out'],
    mnist: { folder: 'mnist', count: 4000 },
    checkpoint: 'automatic',
  },
  avalanche('naive', 'naive.py', 40_000),
  avalanche('all', 'all_mnist.py', 20_000),
  avalanche('generative', 'generative_replay_MNIST_generator.py', 20_000),
  {
    name: 'poutyne-loop',
    origin: { release: POUTYNE, file: 'slides/src/code/long_pytorch_training_code.py' },
    requirements: WITH_PLOTS,
    checkpoint: 'automatic',
  },
  {
    name: 'poutyne-classification',
    origin: { release: POUTYNE, file: 'examples/basic_random_classification.py' },
    requirements: WITH_PLOTS,
    checkpoint: 'automatic',
  },
  cleanrl('dqn', ['--total-timesteps=2500', '--learning-starts=500', '--buffer-size=1000']),
  cleanrl('ppo', ['--total-timesteps=4000', '--num-envs=2', '--num-steps=64']),
  {
    name: 'bayesian-torch-mnist',
    origin: { release: BAYESIAN_TORCH, file: 'bayesian_torch/examples/main_bayesian_mnist.py' },
    requirements: [...VISION, 'tensorboard'],
    arguments: ['--mode=train', '--epochs=6', '--no-cuda'],
    within: 'examples',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'curvlinops-merging',
    origin: { release: CURVLINOPS, file: 'docs/examples/basic_usage/example_model_merging.py' },
    requirements: ['matplotlib'],
    checkpoint: 'automatic',
  },
  ...WRITTEN,
];
