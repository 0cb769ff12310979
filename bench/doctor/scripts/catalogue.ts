/** Scripts after the documentation of others, each with what holds it back and how it takes a remedy. */
import type { Cause, Change } from '../../../functions/core/doctor/verdict.ts';

export interface Case {
  readonly name: string;
  /** In `written/`. */
  readonly file: string;
  readonly arguments?: readonly string[];
  /** What pip installs over the project's own packages. */
  readonly requirements?: readonly string[];
  /** Whichever of these a person would name. */
  readonly right: readonly Cause[];
  /** The arguments that take the remedy; undefined: the script has no such setting. */
  readonly remedied?: (change: Change) => readonly string[] | undefined;
}

const HUGGING_FACE = ['transformers==5.23.0', 'accelerate==1.15.0', 'datasets==5.2.0'];

const byWorkers = (change: Change): readonly string[] | undefined =>
  change.kind === 'workers' || change.kind === 'load-in-workers'
    ? ['--workers', String(change.workers)]
    : undefined;

export const CASES: readonly Case[] = [
  { name: 'custom-dataset', file: 'custom_dataset.py', right: ['too-few-workers'], remedied: byWorkers },
  { name: 'plain-loop', file: 'plain_loop.py', right: ['work-in-loop'], remedied: byWorkers },
  { name: 'memmap-windows', file: 'memmap_windows.py', right: ['nothing-wrong'] },
  {
    name: 'pandas-lookups',
    file: 'pandas_lookups.py',
    requirements: ['pandas==3.1.1'],
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  { name: 'thread-transforms', file: 'thread_transforms.py', right: ['work-in-loop'], remedied: byWorkers },
  {
    name: 'validation',
    file: 'validation.py',
    right: ['pauses'],
    remedied: ({ kind }) => (kind === 'pause-less' ? ['--eval-steps', '100'] : undefined),
  },
  {
    name: 'torch-save',
    file: 'checkpoints.py',
    right: ['checkpoint-stall'],
    remedied: ({ kind }) => (kind === 'save-in-background' ? ['--background'] : undefined),
  },
  {
    name: 'numpy-save',
    file: 'checkpoints.py',
    arguments: ['--writer', 'numpy'],
    right: ['pauses'],
    remedied: ({ kind }) => (kind === 'pause-less' ? ['--save-steps', '80'] : undefined),
  },
  {
    name: 'hugging-face-trainer',
    file: 'hugging_face_trainer.py',
    requirements: HUGGING_FACE,
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  {
    name: 'hugging-face-streaming',
    file: 'hugging_face_streaming.py',
    requirements: HUGGING_FACE,
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  {
    name: 'lightning-collate',
    file: 'lightning_collate.py',
    requirements: ['lightning==2.6.6'],
    right: ['too-few-workers'],
    remedied: byWorkers,
  },
  {
    name: 'keras-tfdata',
    file: 'keras_tfdata.py',
    requirements: ['tensorflow-cpu==2.21.0'],
    right: ['too-few-workers', 'preparation'],
    remedied: ({ kind }) => (kind === 'workers' ? ['--parallel'] : undefined),
  },
];
