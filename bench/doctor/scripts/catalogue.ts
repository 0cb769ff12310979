/** Scripts after the documentation of others, each with what holds it back and how it takes a remedy. */

import type { Change } from '../../../functions/core/doctor/verdict.ts';
import type { Case, Remedied } from './case.ts';

const HUGGING_FACE = ['transformers==5.23.0', 'accelerate==1.15.0', 'datasets==5.2.0'];

const byWorkers = (change: Change): Remedied | undefined =>
  change.kind === 'workers' || change.kind === 'load-in-workers'
    ? { arguments: ['--workers', String(change.workers)] }
    : undefined;

export const WRITTEN: readonly Case[] = [
  {
    name: 'custom-dataset',
    source: { written: 'custom_dataset.py' },
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  { name: 'plain-loop', source: { written: 'plain_loop.py' }, right: ['work-in-loop'], remedied: byWorkers },
  { name: 'memmap-windows', source: { written: 'memmap_windows.py' }, right: ['nothing-wrong'] },
  {
    name: 'pandas-lookups',
    source: { written: 'pandas_lookups.py' },
    requirements: ['pandas==3.1.1'],
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  {
    name: 'thread-transforms',
    source: { written: 'thread_transforms.py' },
    right: ['work-in-loop'],
    remedied: byWorkers,
  },
  {
    name: 'validation',
    source: { written: 'validation.py' },
    right: ['pauses'],
    remedied: ({ kind }) => (kind === 'pause-less' ? { arguments: ['--eval-steps', '100'] } : undefined),
  },
  {
    name: 'torch-save',
    source: { written: 'checkpoints.py' },
    right: ['checkpoint-stall'],
    remedied: ({ kind }) => (kind === 'save-in-background' ? { arguments: ['--background'] } : undefined),
  },
  {
    name: 'numpy-save',
    source: { written: 'checkpoints.py' },
    arguments: ['--writer', 'numpy'],
    right: ['pauses'],
    remedied: ({ kind }) => (kind === 'pause-less' ? { arguments: ['--save-steps', '80'] } : undefined),
  },
  {
    name: 'hugging-face-trainer',
    source: { written: 'hugging_face_trainer.py' },
    requirements: HUGGING_FACE,
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  {
    name: 'hugging-face-streaming',
    source: { written: 'hugging_face_streaming.py' },
    requirements: HUGGING_FACE,
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  {
    name: 'lightning-collate',
    source: { written: 'lightning_collate.py' },
    requirements: ['lightning==2.6.6'],
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  {
    name: 'keras-tfdata',
    source: { written: 'keras_tfdata.py' },
    requirements: ['tensorflow-cpu==2.21.0'],
    right: ['too-few-workers', 'preparation'],
    remedied: ({ kind }) => (kind === 'workers' ? { arguments: ['--parallel'] } : undefined),
  },
  {
    name: 'webdataset-decoder',
    source: { written: 'webdataset_decoder.py' },
    requirements: ['webdataset==1.0.2'],
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  { name: 'memmap-gather', source: { written: 'memmap_gather.py' }, right: ['work-in-loop'] },
  { name: 'logged-steps', source: { written: 'logged_steps.py' }, right: ['nothing-wrong'] },
  {
    name: 'skipped-steps',
    source: { written: 'logged_steps.py' },
    arguments: ['--skip'],
    right: ['nothing-wrong'],
  },
];
