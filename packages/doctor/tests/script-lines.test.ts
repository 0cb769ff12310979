/** A remedy in the script names the line where the script makes the call. */
import type { ScriptLines } from '@tidewheel/contract/evidence.ts';
import { expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';
import { type Change, remedyOf } from '../rules/verdict.ts';

const lines: ScriptLines = {
  loader: 'data/load.py:5 training',
  save: 'train.py:60 save',
  exchange: 'train.py:33, through accelerate',
};

it.each<readonly [Change['kind'], Change, string]>([
  ['workers', { kind: 'workers', workers: 6 }, 'data/load.py:5 training: DataLoader(…, num_workers=6)'],
  ['out-of-order', { kind: 'out-of-order' }, 'data/load.py:5 training: DataLoader(…, in_order=False)'],
  ['keep-workers', { kind: 'keep-workers' }, 'data/load.py:5 training: DataLoader('],
  ['fewer-bytes', { kind: 'fewer-bytes' }, 'data/load.py:5 training: samples of half the bytes'],
  ['batch-size', { kind: 'batch-size', factor: 4 }, 'data/load.py:5 training: batch size x 4'],
  ['save-in-background', { kind: 'save-in-background' }, 'train.py:60 save: torch.save('],
  ['compress-exchange', { kind: 'compress-exchange' }, 'train.py:33, through accelerate: model.register'],
])('names the line of %s', (_, change, text) => {
  expect(remedyOf(change, lines).text.startsWith(text)).toBe(true);
});

it('sets the precision of the exchange where FSDP shards', () => {
  const { text } = remedyOf({ kind: 'compress-exchange' }, { shard: 'train.py:21 main' });
  expect(text).toMatch(/^train\.py:21 main: fully_shard\(…, mp_policy=.+reduce_dtype=torch\.bfloat16/);
});

it('names the fit of Keras without a loader', () => {
  expect(remedyOf({ kind: 'workers', workers: 6 }, { fit: 'train.py:9' }).text).toMatch(
    /^train\.py:9: fit\(…\) of dataset\.map\(…, num_parallel_calls=6\)/,
  );
});

it.each<readonly [keyof ScriptLines, Change, string]>([
  [
    'pyDataset',
    { kind: 'workers', workers: 6 },
    'train.py:4: PyDataset(workers=6, use_multiprocessing=True)',
  ],
  ['map', { kind: 'workers', workers: 6 }, 'train.py:4: dataset.map(…, num_parallel_calls=6)'],
])('names the line of %s before that of fit', (call, change, text) => {
  expect(remedyOf(change, { fit: 'train.py:9', [call]: 'train.py:4' }).text.startsWith(text)).toBe(true);
});

it('names calls alone where no line is known', () => {
  expect(remedyOf({ kind: 'workers', workers: 6 }).text).toMatch(/^DataLoader\(…, num_workers=6\), or /);
});

it('comes from the evidence', () => {
  const starved = { shares: { wait: 0.5, compute: 0.5 }, workerBusy: 1, gpuBusy: 0.45, workers: 2 };
  const evidence = evidenceOf([{ ...starved, cpu: { workers: 2, all: 2.5 } }]);
  expect(diagnose({ ...evidence, lines })[0]?.remedy?.text).toBe(
    'data/load.py:5 training: DataLoader(…, num_workers=5)',
  );
});
