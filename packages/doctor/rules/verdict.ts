/** What the doctor says: a cause, its evidence, a remedy, its gain, and what cannot be known. */
import type { ScriptLines } from '@tidewheel/contract/evidence.ts';
import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';

const CAUSES = [
  'download',
  'small-files',
  'installation',
  'image',
  'too-few-workers',
  'too-many-workers',
  'preparation',
  'decoding',
  'transforms',
  'periodic-gaps',
  'worker-restarts',
  'skips-data',
  'hand-over',
  'host-memory',
  'network',
  'network-burst',
  'page-cache',
  'work-in-loop',
  'pauses',
  'checkpoint-stall',
  'gradient-exchange',
  'too-many-threads',
  'slow-host',
  'accelerator-too-large',
  'batch-too-small',
  'scaled-out',
  'compute-bound-in-float32',
  'nothing-wrong',
] as const;
export type Cause = (typeof CAUSES)[number];

const change = <Kind extends string, Fields extends z.ZodRawShape>(kind: Kind, fields: Fields) =>
  z.object({ kind: z.literal(kind), ...fields });
const count = z.number();
const line = z.string().optional();

/** A field of the declaration. */
const declaredChange = z.discriminatedUnion('kind', [
  change('input-mode', { inputMode: z.enum(['File', 'FastFile']) }),
  change('pack', {}),
  change('image', {}),
  change('instance-type', { type: z.string() }),
  change('helpers', { type: z.string(), nodes: count }),
  change('nodes', { nodes: count }),
  change('threads', { threads: count }),
  change('prepare-when-packing', {}),
  change('smaller-image', {}),
  change('file-system', { gigabytes: count }),
  change('volume', { gigabytes: count }),
]);
type DeclaredChange = z.output<typeof declaredChange>;

/** A line of the script. */
const scriptChange = z.discriminatedUnion('kind', [
  change('workers', { workers: count }),
  change('out-of-order', {}),
  change('keep-workers', {}),
  change('resume-data', { format: line }),
  change('fewer-bytes', {}),
  change('load-in-workers', { workers: count, line }),
  change('pause-less', { line }),
  change('save-in-background', {}),
  change('compress-exchange', {}),
  change('batch-size', { factor: count }),
  change('bf16', { line }),
  change('fp16', { line }),
  change('tf32', {}),
]);
type ScriptChange = z.output<typeof scriptChange>;

/** What a remedy changes; `text` says it in words. */
export const changeSchema = z.discriminatedUnion('kind', [
  declaredChange,
  scriptChange,
  change('replace-host', { host: count }),
]);
export type Change = z.output<typeof changeSchema>;

const remedySchema = z.object({
  change: changeSchema,
  where: z.enum(['declaration', 'script', 'run']),
  text: z.string(),
});
export type Remedy = z.output<typeof remedySchema>;

const interval = z.object({ low: z.number(), expected: z.number(), high: z.number() });
export type GainInterval = z.output<typeof interval>;

const gain = z.object({ seconds: interval, dollars: interval }).describe('Over the whole job.');
export type Gain = z.output<typeof gain>;

const otherRemedy = z.object({ remedy: remedySchema, gain, unknown: list(z.string()) });

export const verdictSchema = z.object({
  cause: z.enum(CAUSES),
  evidence: z.record(z.string(), z.number()).readonly(),
  remedy: remedySchema.optional(),
  gain,
  others: list(otherRemedy)
    .optional()
    .describe('Further remedies of the same cause, the most worthwhile first.'),
  also: list(z.string()).describe('Further remedies, without a forecast.'),
  unknown: list(z.string()),
  next: z.string().optional().describe('What limits the steps after the remedy.'),
});
export type Verdict = z.output<typeof verdictSchema>;

const shownRemedy = remedySchema.extend({ change: z.looseObject({ kind: z.string() }) });

/** As reports and answers show it: causes and kinds of changes may be those of another release. */
export const shownVerdictSchema = verdictSchema.extend({
  cause: z.string(),
  remedy: shownRemedy.optional(),
  others: list(otherRemedy.extend({ remedy: shownRemedy }))
    .optional()
    .describe('Further remedies of the same cause, the most worthwhile first.'),
});

/**
 * A remedy in words: the field of the declaration, or the line of the script.
 * @param lines where the script makes the calls that remedies change
 */
export function remedyOf(change: Change, lines: ScriptLines = {}): Remedy {
  if (change.kind === 'replace-host')
    return {
      change,
      where: 'run',
      text: `replace host ${change.host}: npx --no-install tidewheel stop, which saves, and npx --no-install tidewheel retry, which goes on from there on other hosts`,
    };
  return isDeclared(change)
    ? { change, where: 'declaration', text: declaredText(change) }
    : { change, where: 'script', text: scriptText(change, lines) };
}

const isDeclared = (change: DeclaredChange | ScriptChange): change is DeclaredChange =>
  declaredChange.options.some(({ shape }) => shape.kind.value === change.kind);

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
    case 'volume':
      return `compute.volumeGigabytes: ${change.gigabytes}`;
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
      return loadText(change);
    case 'pause-less':
      return `what stops the steps now and then (validation, logging, saving${change.line === undefined ? '' : `; ${change.line}`}): half as often`;
    case 'compress-exchange':
      return compressText(lines);
    case 'bf16':
    case 'fp16':
    case 'tf32':
      return precisionText(change);
    case 'resume-data':
      return resumeDataText(change.format);
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

const STATEFUL =
  'StatefulDataLoader of torchdata, whose state_dict() is saved with the checkpoint and loaded when the script resumes';

const SEEKS = 'a dataset with indices, whose sampler begins at the next sample';

/** By what wrote the checkpoint. */
function resumeDataText(format = ''): string {
  if (format.includes('Hugging Face'))
    return `TrainingArguments(ignore_data_skip=True), which takes the data of the epoch from its beginning; or ${SEEKS}`;
  if (format.includes('Accelerate'))
    return 'DataLoaderConfiguration(use_stateful_dataloader=True); or accelerator.skip_first_batches(loader, n) over a dataset with indices, which reads nothing of what it skips';
  return `${STATEFUL}; or ${SEEKS}`;
}

const loadText = ({ line, workers }: Extract<ScriptChange, { readonly kind: 'load-in-workers' }>): string =>
  line === undefined
    ? `what the framework reads in the loop: in ${workers} workers, by its own parameter (num_workers, workers)`
    : `${line}: move it into a Dataset behind DataLoader(…, num_workers=${workers})`;

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

function precisionText(change: Extract<ScriptChange, { readonly kind: 'bf16' | 'fp16' | 'tf32' }>): string {
  if (change.kind === 'tf32')
    return "torch.set_float32_matmul_precision('high') at the start: float32 multiplies as TF32";
  const autocast = (type: string): string =>
    `with torch.autocast('cuda', dtype=torch.${type}): around the forward pass${atLine(change.line)}`;
  return change.kind === 'bf16'
    ? autocast('bfloat16')
    : `${autocast('float16')}, with torch.amp.GradScaler and its state_dict() in the checkpoint: this accelerator has neither bfloat16 nor TF32`;
}

const atLine = (line: string | undefined): string => (line === undefined ? '' : `, ${line}`);
