/** The scripts that are tried. */
import {
  AVALANCHE,
  BACKPACK,
  BAYESIAN_TORCH,
  CLEANRL,
  CURVLINOPS,
  DEEPXDE,
  IGNITE,
  NEUROMANCER,
  OPACUS,
  POUTYNE,
  PYKEEN,
  SCHEDULEFREE,
  SPIKINGJELLY,
  TORCH_OPTIMIZER,
} from './releases.ts';
import type { Script } from './script.ts';
import { WRITTEN } from './written-scripts.ts';

const VISION = ['torchvision'];
const BESIDE_IGNITE = [...VISION, 'tqdm', 'tensorboardX'];
const GYM = ['gymnasium==1.2.0', 'pygame'];
const WITH_PLOTS = [...VISION, 'matplotlib'];
const WITH_PYTORCH = { DDE_BACKEND: 'pytorch' };

/** It declares no Python after 3.10, but its scripts stand alone. */
const cleanrl = (name: string, args: NonNullable<Script['arguments']>): Script => ({
  name: `cleanrl-${name}`,
  origin: { ...CLEANRL, file: `cleanrl/${name}.py`, isInstalled: false },
  requirements: ['gymnasium==0.29.1', 'gym==0.23.1', 'stable-baselines3==2.6.0', 'tensorboard', 'pygame'],
  arguments: args,
  checkpoint: 'automatic',
});

/** It looks for its data below the home folder. */
const avalanche = (name: string, file: string, count: number): Script => ({
  name: `avalanche-${name}`,
  origin: { ...AVALANCHE, file: `examples/${file}` },
  requirements: ['matplotlib'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the declaration's own placeholder.
  environment: { HOME: '${source}/home' },
  mnist: { folder: 'home/.avalanche/data/mnist', count },
  checkpoint: 'automatic',
});

export const CATALOGUE: readonly Script[] = [
  {
    name: 'ignite-mnist',
    origin: { ...IGNITE, file: 'examples/mnist/mnist.py' },
    requirements: BESIDE_IGNITE,
    arguments: ['--epochs=3', '--val_batch_size=250'],
    mnist: { folder: '.', count: 4000 },
    checkpoint: 'automatic',
  },
  {
    name: 'schedulefree-mnist',
    origin: { ...SCHEDULEFREE, file: 'examples/mnist/main.py' },
    requirements: VISION,
    arguments: ['--epochs=30', '--no-cuda'],
    within: 'mnist',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'torch-optimizer-mnist',
    origin: { ...TORCH_OPTIMIZER, file: 'examples/mnist.py' },
    requirements: [...VISION, 'tensorboard'],
    within: 'examples',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'neuromancer-estimation',
    origin: { ...NEUROMANCER, file: 'examples/ODEs/Part_2_param_estim_ODE.py' },
    requirements: ['wandb'],
    arguments: ['-epochs', '10'],
    checkpoint: 'automatic',
  },
  {
    name: 'neuromancer-regression',
    origin: { ...NEUROMANCER, file: 'examples/tutorials/part_1_linear_regression.py' },
    requirements: ['wandb'],
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-mnist-tqdm',
    origin: { ...IGNITE, file: 'examples/mnist/mnist_with_tqdm_logger.py' },
    requirements: BESIDE_IGNITE,
    arguments: ['--epochs=2', '--val_batch_size=250'],
    mnist: { folder: '.', count: 4000 },
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-mnist-resume',
    origin: { ...IGNITE, file: 'examples/mnist/mnist_save_resume_engine.py' },
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
    origin: { ...IGNITE, file: 'examples/reinforcement_learning/reinforce.py' },
    requirements: GYM,
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-actor-critic',
    origin: { ...IGNITE, file: 'examples/reinforcement_learning/actor_critic.py' },
    requirements: GYM,
    checkpoint: 'automatic',
  },
  {
    name: 'ignite-dcgan',
    origin: { ...IGNITE, file: 'examples/gan/dcgan.py' },
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
    origin: { ...OPACUS, file: 'examples/mnist.py' },
    requirements: [...VISION, 'tqdm'],
    arguments: ['--device=cpu', '--epochs=3', '--data-root=mnist'],
    mnist: { folder: 'mnist', count: 2000 },
    checkpoint: 'automatic',
  },
  {
    name: 'opacus-dcgan',
    origin: { ...OPACUS, file: 'examples/dcgan.py' },
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
    origin: { ...PYKEEN, file: 'docs/source/examples/checkpoints/ex_01.py' },
    checkpoint: 'automatic',
  },
  {
    name: 'deepxde-function',
    origin: { ...DEEPXDE, file: 'examples/function/func.py' },
    environment: WITH_PYTORCH,
    checkpoint: 'automatic',
  },
  {
    name: 'deepxde-poisson',
    origin: { ...DEEPXDE, file: 'examples/pinn_forward/Poisson_Robin_1d.py' },
    environment: WITH_PYTORCH,
    checkpoint: 'automatic',
  },
  {
    name: 'backpack-cg-newton',
    origin: { ...BACKPACK, file: 'docs_src/examples/use_cases/example_cg_newton.py' },
    requirements: WITH_PLOTS,
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'backpack-diagonal-newton',
    origin: { ...BACKPACK, file: 'docs_src/examples/use_cases/example_diag_ggn_optimizer.py' },
    requirements: WITH_PLOTS,
    mnist: { folder: 'data', count: 8000 },
    checkpoint: 'automatic',
  },
  {
    name: 'backpack-privacy',
    origin: { ...BACKPACK, file: 'docs_src/examples/use_cases/example_differential_privacy.py' },
    requirements: WITH_PLOTS,
    mnist: { folder: 'data', count: 8000 },
    checkpoint: 'automatic',
  },
  {
    name: 'spikingjelly-lif',
    origin: { ...SPIKINGJELLY, file: 'spikingjelly/activation_based/examples/lif_fc_mnist.py' },
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
    origin: { ...SPIKINGJELLY, file: 'spikingjelly/activation_based/examples/lif_fc_mnist.py' },
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
    origin: { ...POUTYNE, file: 'slides/src/code/long_pytorch_training_code.py' },
    requirements: WITH_PLOTS,
    checkpoint: 'automatic',
  },
  {
    name: 'poutyne-classification',
    origin: { ...POUTYNE, file: 'examples/basic_random_classification.py' },
    requirements: WITH_PLOTS,
    checkpoint: 'automatic',
  },
  cleanrl('dqn', ['--total-timesteps=2500', '--learning-starts=500', '--buffer-size=1000']),
  cleanrl('ppo', ['--total-timesteps=4000', '--num-envs=2', '--num-steps=64']),
  {
    name: 'bayesian-torch-mnist',
    origin: { ...BAYESIAN_TORCH, file: 'bayesian_torch/examples/main_bayesian_mnist.py' },
    requirements: [...VISION, 'tensorboard'],
    arguments: ['--mode=train', '--epochs=6', '--no-cuda'],
    within: 'examples',
    mnist: { folder: 'data', count: 640 },
    checkpoint: 'automatic',
  },
  {
    name: 'curvlinops-merging',
    origin: { ...CURVLINOPS, file: 'docs/examples/basic_usage/example_model_merging.py' },
    requirements: ['matplotlib'],
    checkpoint: 'automatic',
  },
  ...WRITTEN,
];
