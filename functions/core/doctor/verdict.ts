/** What the doctor says: a cause, its evidence, a remedy, its gain, and what cannot be known. */
import type { ScriptLines } from './evidence.ts';

export type Cause =
  | 'download'
  | 'small-files'
  | 'installation'
  | 'image'
  | 'too-few-workers'
  | 'too-many-workers'
  | 'preparation'
  | 'decoding'
  | 'transforms'
  | 'periodic-gaps'
  | 'worker-restarts'
  | 'hand-over'
  | 'host-memory'
  | 'network'
  | 'network-burst'
  | 'page-cache'
  | 'work-in-loop'
  | 'pauses'
  | 'checkpoint-stall'
  | 'gradient-exchange'
  | 'too-many-threads'
  | 'slow-host'
  | 'accelerator-too-large'
  | 'batch-too-small'
  | 'scaled-out'
  | 'compute-bound-in-float32'
  | 'nothing-wrong';

/** A field of the declaration. */
type DeclaredChange =
  | { readonly kind: 'input-mode'; readonly inputMode: 'File' | 'FastFile' }
  | { readonly kind: 'pack' }
  | { readonly kind: 'image' }
  | { readonly kind: 'instance-type'; readonly type: string }
  | { readonly kind: 'helpers'; readonly type: string; readonly nodes: number }
  | { readonly kind: 'nodes'; readonly nodes: number }
  | { readonly kind: 'threads'; readonly threads: number }
  | { readonly kind: 'prepare-when-packing' }
  | { readonly kind: 'smaller-image' }
  | { readonly kind: 'file-system'; readonly gigabytes: number };

/** A line of the script. */
type ScriptChange =
  | { readonly kind: 'workers'; readonly workers: number }
  | { readonly kind: 'out-of-order' }
  | { readonly kind: 'keep-workers' }
  | { readonly kind: 'fewer-bytes' }
  | { readonly kind: 'load-in-workers'; readonly workers: number; readonly line: string | undefined }
  | { readonly kind: 'pause-less'; readonly line: string | undefined }
  | { readonly kind: 'save-in-background' }
  | { readonly kind: 'compress-exchange' }
  | { readonly kind: 'batch-size'; readonly factor: number }
  | { readonly kind: 'bf16'; readonly line: string | undefined }
  | { readonly kind: 'tf32' };

/** What a remedy changes; `text` says it in words. */
export type Change = DeclaredChange | ScriptChange | { readonly kind: 'replace-host'; readonly host: number };

export interface Remedy {
  readonly change: Change;
  readonly where: 'declaration' | 'script' | 'run';
  readonly text: string;
}

export interface Interval {
  readonly low: number;
  readonly expected: number;
  readonly high: number;
}

export interface Gain {
  readonly seconds: Interval;
  readonly dollars: Interval;
}

/** Another remedy of the same cause. */
export interface OtherRemedy {
  readonly remedy: Remedy;
  readonly gain: Gain;
  readonly unknown: readonly string[];
}

export interface Verdict {
  readonly cause: Cause;
  readonly evidence: Readonly<Record<string, number>>;
  readonly remedy: Remedy | undefined;
  /** Over the whole job. */
  readonly gain: Gain;
  /** The most worthwhile first. */
  readonly others?: readonly OtherRemedy[] | undefined;
  /** What else is done about such a cause, where no measurement forecasts it. */
  readonly also: readonly string[];
  readonly unknown: readonly string[];
  /** What limits the steps once the remedy is taken. */
  readonly next: string | undefined;
}

/**
 * A remedy in words: the field of the declaration, or the line of the script.
 * @param lines where the script makes the calls that remedies change
 */
export function remedyOf(change: Change, lines: ScriptLines = {}): Remedy {
  if (change.kind === 'replace-host')
    return {
      change,
      where: 'run',
      text: `replace host ${change.host}: npx tidewheel stop, which saves, and npx tidewheel retry, which goes on from there on other hosts`,
    };
  return isDeclared(change)
    ? { change, where: 'declaration', text: declaredText(change) }
    : { change, where: 'script', text: scriptText(change, lines) };
}

const SCRIPTED: ReadonlySet<string> = new Set<ScriptChange['kind']>([
  'workers',
  'out-of-order',
  'keep-workers',
  'fewer-bytes',
  'load-in-workers',
  'pause-less',
  'save-in-background',
  'compress-exchange',
  'batch-size',
  'bf16',
  'tf32',
]);

const isDeclared = (change: DeclaredChange | ScriptChange): change is DeclaredChange =>
  !SCRIPTED.has(change.kind);

function declaredText(change: DeclaredChange): string {
  switch (change.kind) {
    case 'input-mode':
      return `training.inputMode: ${change.inputMode}`;
    case 'pack':
      return 'packing.format: webdataset, so that few large shards are read instead of many files';
    case 'image':
      return 'training.image: an image that has the packages of requirements.txt';
    case 'instance-type':
      return `compute.instanceTypes: ${change.type}`;
    case 'helpers':
      return `compute.helpers: ${change.nodes} x ${change.type} (strategy ray or data-service)`;
    case 'nodes':
      return `compute.nodes: ${change.nodes}`;
    case 'threads':
      return `training.environment: { OMP_NUM_THREADS: "${change.threads}" }, or torch.set_num_threads(${change.threads}) where the script sets them itself`;
    case 'prepare-when-packing':
      return 'packing.prepare.image: prepare once when packing, not in every epoch';
    case 'smaller-image':
      return 'training.image: a smaller image, in a registry of the same region';
    case 'file-system':
      return `training.channels: { data: { fsxLustre: fs-…, directory: /<mount name>/, storageGigabytes: ${change.gigabytes} } }, a file system linked to the shards`;
    default:
      return change satisfies never;
  }
}

/** Changes without a number. */
const PLAIN = {
  'out-of-order': 'DataLoader(…, in_order=False)',
  'keep-workers': 'DataLoader(…, persistent_workers=True)',
  'fewer-bytes':
    'samples of half the bytes from the Dataset (uint8 in place of floats, 16-bit floats, smaller images), converted on the accelerator',
  'save-in-background': 'torch.save(…): copy the state to host memory, and write it in a thread',
} as const;

type PlainChange = Extract<ScriptChange, { readonly kind: keyof typeof PLAIN }>;
const isPlain = (change: ScriptChange): change is PlainChange => Object.hasOwn(PLAIN, change.kind);

function scriptText(change: ScriptChange, lines: ScriptLines): string {
  if (isPlain(change)) return `${before(lines[CALL_OF[change.kind]])}${PLAIN[change.kind]}`;
  switch (change.kind) {
    case 'workers':
      return workersText(change.workers, lines);
    case 'load-in-workers':
      return `${change.line ?? 'reading in the loop'}: move it into a Dataset behind DataLoader(…, num_workers=${change.workers})`;
    case 'pause-less':
      return `what stops the steps now and then (validation, logging, saving${change.line === undefined ? '' : `; ${change.line}`}): half as often`;
    case 'compress-exchange':
      return compressText(lines);
    case 'bf16':
    case 'tf32':
      return precisionText(change);
    case 'batch-size':
      return batchSizeText(change.factor, lines);
    default:
      return change satisfies never;
  }
}

/** The call of the script that a change without a number belongs to. */
const CALL_OF = {
  'out-of-order': 'loader',
  'keep-workers': 'loader',
  'fewer-bytes': 'loader',
  'save-in-background': 'save',
} as const satisfies Record<keyof typeof PLAIN, keyof ScriptLines>;

const before = (line: string | undefined): string => (line === undefined ? '' : `${line}: `);

const batchSizeText = (factor: number, { loader, pyDataset, fit }: ScriptLines): string =>
  `${before(loader ?? pyDataset ?? fit)}batch size x ${factor}, with the learning rate that goes with it`;

/** Without a line, nothing tells which of the loaders it is. */
function workersText(workers: number, { loader, fit, pyDataset, map }: ScriptLines): string {
  const torch = `DataLoader(…, num_workers=${workers})`;
  if (loader !== undefined) return before(loader) + torch;
  if (pyDataset !== undefined) return `${pyDataset}: PyDataset(workers=${workers}, use_multiprocessing=True)`;
  if (map !== undefined) return `${map}: dataset.map(…, num_parallel_calls=${workers})`;
  const others = `dataset.map(…, num_parallel_calls=${workers}), or PyDataset(workers=${workers}, use_multiprocessing=True)`;
  return fit === undefined ? `${torch}, or ${others}` : `${fit}: fit(…) of ${others}`;
}

/** FSDP has no such hook of DDP: there, the precision of the exchange is a setting. */
const compressText = ({ exchange, shard }: ScriptLines): string =>
  exchange === undefined && shard !== undefined
    ? `${before(shard)}fully_shard(…, mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.bfloat16)), or FullyShardedDataParallel(…, mixed_precision=MixedPrecision(reduce_dtype=torch.bfloat16))`
    : `${before(exchange)}model.register_comm_hook(None, default_hooks.fp16_compress_hook)`;

const precisionText = (change: Extract<ScriptChange, { readonly kind: 'bf16' | 'tf32' }>): string =>
  change.kind === 'tf32'
    ? "torch.set_float32_matmul_precision('high') at the start: float32 multiplies as TF32"
    : `with torch.autocast('cuda', dtype=torch.bfloat16): around the forward pass${atLine(change.line)}`;

const atLine = (line: string | undefined): string => (line === undefined ? '' : `, ${line}`);
