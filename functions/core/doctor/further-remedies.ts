/** Remedies that the source of a cause suggests, and that nothing measured forecasts: they are said without a gain. */
import type { Cause } from './verdict.ts';

const EARLIER = 'packing.prepare.image: resize and store once when packing, not in every epoch';
const ON_ACCELERATOR = (what: string): string =>
  `do the ${what} on the accelerator, where it has time to spare (torchvision.transforms.v2 on tensors, DALI)`;
const PREFETCH = 'prefetch: DataLoader(…, prefetch_factor=4, pin_memory=True), dataset.prefetch(AUTOTUNE)';
export const ALSO: Readonly<Partial<Record<Cause, readonly string[]>>> = {
  download: ['training.distribution: ShardedByS3Key, where each host needs its share alone'],
  'small-files': ['packing.shardMegabytes: larger shards'],
  'too-few-workers': [PREFETCH],
  'work-in-loop': [PREFETCH],
  pauses: ['a validation on part of the held-out data', 'tidewheel.save(…), which writes in a thread'],
  preparation: [EARLIER, ON_ACCELERATOR('transforms')],
  decoding: [EARLIER, ON_ACCELERATOR('decoding')],
  transforms: [EARLIER, ON_ACCELERATOR('transforms')],
  network: [PREFETCH, 'larger reads: shards of 128 MB or more (packing.shardMegabytes)'],
  'page-cache': ['smaller samples: packing.prepare.image', 'training.distribution: ShardedByS3Key'],
  'gradient-exchange': [
    'exchange every k steps: model.no_sync() over k batches',
    'a larger node, whose accelerators do not exchange over the network',
  ],
  'accelerator-too-large': [
    'threads of the CPU: OMP_NUM_THREADS and KMP_AFFINITY by physical cores, two vCPUs each',
  ],
  'batch-too-small': ['torch.compile, or CUDA graphs: fewer launches a step'],
  'compute-bound-in-float32': [
    "by a framework's own switch: bf16=True (Transformers), precision='bf16-mixed' (Lightning), keras.config.set_dtype_policy('mixed_bfloat16')",
  ],
  'nothing-wrong': ['16-bit arithmetic, if the model computes in 32: torch.autocast(dtype=torch.bfloat16)'],
};
