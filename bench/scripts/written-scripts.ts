/** The scripts of `written/`: ours, after a framework's documentation. */
import type { Script } from './script.ts';

const TUTORIALS = 'https://docs.pytorch.org/tutorials/beginner';

const TREES = ['xgboost==3.2.0', 'lightgbm==4.7.0', 'scikit-learn==1.9.1'];
const HUGGING_FACE = ['transformers==5.23.0', 'accelerate==1.15.0'];

export const WRITTEN: readonly Script[] = [
  {
    name: 'pytorch-quickstart',
    origin: {
      written: 'pytorch_quickstart.py',
      documentation: `${TUTORIALS}/basics/quickstart_tutorial.html`,
    },
    checkpoint: 'automatic',
  },
  {
    name: 'pytorch-checkpoint',
    origin: { written: 'pytorch_checkpoint.py', documentation: `${TUTORIALS}/saving_loading_models.html` },
    arguments: ['--checkpoint=${checkpoints}/checkpoint.pt'],
  },
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
    name: 'lightning-fit',
    origin: {
      written: 'lightning_fit.py',
      documentation: 'https://lightning.ai/docs/pytorch/stable/common/checkpointing_basic.html',
    },
    requirements: ['lightning==2.6.6'],
    arguments: ['--dir=${checkpoints}', '--epochs=60'],
  },
  {
    name: 'transformers-trainer',
    origin: {
      written: 'transformers_trainer.py',
      documentation: 'https://huggingface.co/docs/transformers/trainer',
    },
    requirements: HUGGING_FACE,
    arguments: ['--output_dir=${checkpoints}'],
  },
  {
    name: 'trl-sft',
    origin: {
      written: 'trl_sft.py',
      documentation: 'https://huggingface.co/docs/trl/sft_trainer',
    },
    requirements: [...HUGGING_FACE, 'trl==1.16.0', 'datasets==5.2.0'],
    arguments: ['--output_dir=${checkpoints}'],
  },
  {
    name: 'accelerate-state',
    origin: {
      written: 'accelerate_state.py',
      documentation: 'https://huggingface.co/docs/accelerate/usage_guides/checkpoint',
    },
    requirements: HUGGING_FACE,
    arguments: ['--project_dir=${checkpoints}', '--resume_from_checkpoint=${checkpoints}/epoch_*?'],
  },
  {
    name: 'keras-backup',
    origin: {
      written: 'keras_backup.py',
      documentation: 'https://keras.io/api/callbacks/backup_and_restore/',
    },
    requirements: ['keras==3.15.1'],
    environment: { KERAS_BACKEND: 'torch' },
    arguments: ['--backup=${checkpoints}'],
    result: 'model/model.npz',
  },
];
