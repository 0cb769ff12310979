/** Remedies that the source of a cause suggests, and that nothing measured forecasts: they are said without a gain. */
import type { Evidence } from './evidence.ts';
import type { Cause } from './verdict.ts';

const EARLIER = 'packing.prepare.image: resize and store once when packing, not in every epoch';
const TRANSFORMS_ON_ACCELERATOR =
  'do the transforms on the accelerator, where it has time to spare (torchvision.transforms.v2 on tensors, DALI; in the recipes ddp, vit and ray, prepare_on: accelerator)';
const DECODING_ON_ACCELERATOR =
  'do the decoding on the accelerator, where it has time to spare (torchvision.io.decode_jpeg, DALI)';
const PREFETCH = 'prefetch: DataLoader(…, prefetch_factor=4, pin_memory=True), dataset.prefetch(AUTOTUNE)';
const SHARDED = 'tuning.training.distribution: ShardedByS3Key';
const ALSO: Readonly<Partial<Record<Cause, readonly string[]>>> = {
  download: [`${SHARDED}, where each host needs its share alone`],
  'small-files': ['packing.shardMegabytes: larger shards'],
  'too-few-workers': [PREFETCH],
  'work-in-loop': [PREFETCH],
  pauses: ['a validation on part of the held-out data', 'tidewheel.save(…), which writes in a thread'],
  preparation: [EARLIER, TRANSFORMS_ON_ACCELERATOR],
  decoding: [EARLIER, DECODING_ON_ACCELERATOR],
  transforms: [EARLIER, TRANSFORMS_ON_ACCELERATOR],
  network: [PREFETCH, 'larger reads: shards of 128 MB or more (packing.shardMegabytes)'],
  'page-cache': ['smaller samples: packing.prepare.image', SHARDED],
  'gradient-exchange': [
    'in the recipes ddp, vit and lm, gradient_precision: bfloat16; with Horovod, compression=hvd.Compression.fp16',
    'exchange every k steps: model.no_sync() over k batches',
    'a larger node, whose accelerators do not exchange over the network',
  ],
  'accelerator-too-large': [
    'on a CPU type: OMP_NUM_THREADS by physical cores, most of which have two vCPUs',
    'npx --no-install tidewheel probe … --vary compute.instanceTypes=…: what a step costs on CPUs, measured',
  ],
  'too-many-threads': [
    "physical cores of its own for each process of a host: in the recipes ddp, vit, lm and deepfm, affinity: cores; else os.sched_setaffinity before the first step, or KMP_AFFINITY where no loader worker would inherit a thread's one core",
  ],
  'host-memory': [
    'packing.prepare.image.maxSide: half the side leaves a quarter of the pixels, and of the memory of a batch',
  ],
  'batch-too-small': [
    'where memory ends before the accelerator is busy, packing.prepare.image.maxSide: half the side leaves room for four times the batch',
    'torch.compile, or CUDA graphs: fewer launches a step',
  ],
  'compute-bound-in-float32': [
    "by a framework's own switch: bf16=True (Transformers), precision='bf16-mixed' (Lightning), keras.config.set_dtype_policy('mixed_bfloat16'); on V100 and T4 fp16=True, '16-mixed', 'mixed_float16', which scale the loss",
  ],
  'nothing-wrong': [
    '16-bit arithmetic, if the model computes in 32: torch.autocast(dtype=torch.bfloat16), on V100 and T4 torch.float16 with torch.amp.GradScaler',
  ],
};

/** What waiting for a file system looks like: nothing counts its files. */
const OF_READING: readonly Cause[] = ['network', 'page-cache', 'preparation', 'too-few-workers'];
const FEW_FILES =
  'few large files on FSx and EFS too, where each file costs a request of its own as on S3: pack the small ones of the channel';

const ofFileSystem = (cause: Cause, { declaration }: Evidence): readonly string[] =>
  OF_READING.includes(cause) &&
  Object.values(declaration?.training.channels ?? {}).some((channel) => !('s3' in channel))
    ? [FEW_FILES]
    : [];

/** Without those that are declared. */
export const furtherRemedies = (cause: Cause, evidence: Evidence): readonly string[] =>
  [...(ALSO[cause] ?? []), ...ofFileSystem(cause, evidence)].filter(
    (text) =>
      !(text.startsWith(SHARDED) && evidence.declaration?.training.distribution === 'ShardedByS3Key') &&
      !(text === EARLIER && evidence.declaration?.packing.prepare !== undefined),
  );
