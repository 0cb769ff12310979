/** A workload with a remedy taken. What a remedy is worth comes from the workload, not from the forecast. */

import { arithmeticRates } from '@tidewheel/catalog/speeds.ts';
import type { Change } from '@tidewheel/doctor/verdict.ts';
import { type Played, play, priced, speedRatio } from './simulate.ts';
import type { Workload } from './workload.ts';

const SHARD_BYTES = 256e6;
/** What a helper's core is worth differs from network to network. */
const HELPER_WORTH = 0.85;
/** The copy to host memory, as a share of a save that blocks. */
const COPY = 0.05;

export function playWith(workload: Workload, change: Change): Played {
  if (change.kind !== 'helpers') return play(changed(workload, change));
  const { facts, usdPerSecond } = priced(change.type);
  const cores = HELPER_WORTH * change.nodes * facts.vcpu;
  const helped = { ...workload, helperCores: cores, workers: workload.workers + Math.round(cores) };
  return play(helped, change.nodes * usdPerSecond);
}

const OF_STEPS = [
  'save-in-background',
  'compress-exchange',
  'batch-size',
  'nodes',
  'replace-host',
  'load-in-workers',
  'pause-less',
  'bf16',
  'fp16',
  'tf32',
] as const;
type OfSteps = Extract<Change, { kind: (typeof OF_STEPS)[number] }>;
const isOfSteps = (change: Change): change is OfSteps => OF_STEPS.some((kind) => kind === change.kind);

const NOT_SIMULATED = ['smaller-image', 'file-system', 'keep-workers', 'volume', 'resume-data'] as const;
type NotSimulated = Extract<Change, { kind: (typeof NOT_SIMULATED)[number] }>;
const isNotSimulated = (change: Change): change is NotSimulated =>
  NOT_SIMULATED.some((kind) => kind === change.kind);

function changed(workload: Workload, change: Exclude<Change, { kind: 'helpers' }>): Workload {
  if (isNotSimulated(change)) throw new Error(`the simulation has no ${change.kind}`);
  if (isOfSteps(change)) return changedSteps(workload, change);
  switch (change.kind) {
    case 'input-mode':
      return { ...workload, inputMode: change.inputMode };
    case 'pack':
      return {
        ...workload,
        data: { ...workload.data, files: Math.ceil(workload.data.bytes / SHARD_BYTES) },
      };
    case 'image':
      return { ...workload, installSeconds: 0 };
    case 'workers':
      return { ...workload, workers: change.workers };
    case 'out-of-order':
      return { ...workload, inOrder: false };
    case 'fewer-bytes': {
      const { seconds, ofBytes } = workload.handOver;
      return { ...workload, handOver: { ofBytes, seconds: seconds * (1 - ofBytes / 2) } };
    }
    case 'threads':
      return withThreads(workload, change.threads);
    case 'instance-type':
      return onType(workload, change.type);
    case 'prepare-when-packing':
      return {
        ...workload,
        batch: { ...workload.batch, cpuSeconds: workload.batch.cpuSeconds * (1 - workload.preparable) },
      };
    default:
      return change satisfies never;
  }
}

function changedSteps(workload: Workload, change: OfSteps): Workload {
  switch (change.kind) {
    case 'save-in-background':
      return { ...workload, save: { ...workload.save, seconds: workload.save.seconds * COPY } };
    case 'compress-exchange':
      return { ...workload, exchange: { ...workload.exchange, bytes: workload.exchange.bytes / 2 } };
    case 'load-in-workers':
      // A loader of as many workers does it beside what it did before.
      return {
        ...workload,
        loopSeconds: 0,
        workers: Math.max(change.workers, workload.workers),
        batch: { ...workload.batch, cpuSeconds: workload.batch.cpuSeconds + workload.loopSeconds },
      };
    case 'pause-less':
      return { ...workload, pause: { ...workload.pause, everySteps: 2 * workload.pause.everySteps } };
    case 'bf16':
    case 'fp16':
    case 'tf32':
      return withPrecision(workload, change.kind === 'tf32' ? 'tf32' : 'bits16');
    case 'batch-size':
      return withBatch(workload, change.factor);
    case 'nodes':
      return {
        ...workload,
        hosts: workload.hosts.slice(0, change.nodes),
        steps: workload.steps * workload.hosts.length,
      };
    case 'replace-host':
      return {
        ...workload,
        hosts: workload.hosts.map((factor, host) => (host === change.host ? 1 : factor)),
      };
    default:
      return change satisfies never;
  }
}

const withThreads = (workload: Workload, perProcess: number): Workload => ({
  ...workload,
  ...(workload.threads && { threads: { ...workload.threads, perProcess } }),
});

function withPrecision(workload: Workload, kind: 'bits16' | 'tf32'): Workload {
  const { products, gpuSeconds, type } = workload;
  const rates = arithmeticRates(priced(type).facts.accelerator ?? '');
  if (products === undefined || rates === undefined) throw new Error('it computes no products in float32');
  const { operations, reached } = products;
  const before = operations / (rates.float32 * reached.float32);
  const after = operations / ((rates[kind] ?? rates.float32) * reached.tensor);
  return { ...workload, products: undefined, gpuSeconds: gpuSeconds - before + after };
}

/** The same work on another type: its workers follow its cores where they followed them before. */
function onType(workload: Workload, type: string): Workload {
  const [before, after] = [priced(workload.type).facts, priced(type).facts];
  const follows = workload.workers >= before.vcpu - 1;
  const same = before.accelerator === after.accelerator;
  const ratio = speedRatio(workload.type, type) * workload.fit;
  return {
    ...workload,
    type,
    workers: follows ? Math.max(1, after.vcpu - 1) : workload.workers,
    gpuSeconds: same ? workload.gpuSeconds : workload.gpuSeconds / ratio,
  };
}

/** The same samples in fewer steps; what the main process does is the same for each step. */
function withBatch(workload: Workload, factor: number): Workload {
  const { batch, steps, save } = workload;
  return {
    ...workload,
    steps: Math.max(1, Math.round(steps / factor)),
    save: { ...save, everySteps: Math.max(1, Math.round(save.everySteps / factor)) },
    batch: { ...batch, cpuSeconds: batch.cpuSeconds * factor, bytes: batch.bytes * factor },
    gpuSeconds: workload.gpuSeconds * factor,
    gpuMemoryUsed: Math.min(1, workload.gpuMemoryUsed * factor),
  };
}
