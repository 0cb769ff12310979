/** Workloads with a known cause. A healthy training is drawn first; then one part of it is made the limit. */

import { arithmeticRates } from '@tidewheel/catalog/speeds.ts';
import type { Cause } from '@tidewheel/doctor/verdict.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { priced } from './simulate.ts';
import type { Workload } from './workload.ts';

export interface Case {
  readonly seed: number;
  readonly cause: DrawnCause;
  readonly workload: Workload;
}

const HEALTHY = 'nothing-wrong';
/** The simulation starts no images, and resumes nothing. */
type DrawnCause = Exclude<Cause, 'image' | 'worker-restarts' | 'skips-data'>;

/** Healthy ones come as often as several sick ones, so that a false alarm counts. */
const ORDER: readonly DrawnCause[] = [
  'download',
  'small-files',
  'installation',
  HEALTHY,
  'too-few-workers',
  'too-many-workers',
  'preparation',
  HEALTHY,
  'periodic-gaps',
  'host-memory',
  'network',
  HEALTHY,
  'checkpoint-stall',
  'gradient-exchange',
  'slow-host',
  'accelerator-too-large',
  HEALTHY,
  'decoding',
  'transforms',
  'network-burst',
  'page-cache',
  HEALTHY,
  'batch-too-small',
  'scaled-out',
  HEALTHY,
  'work-in-loop',
  'pauses',
  'compute-bound-in-float32',
  'too-many-threads',
  HEALTHY,
  'hand-over',
];

const TYPES = ['g5.2xlarge', 'g5.4xlarge', 'g4dn.2xlarge', 'g6.4xlarge', 'p3.2xlarge'] as const;
const CPU_TYPES = ['c5.4xlarge', 'c5.9xlarge'];
const LARGER: Readonly<Record<(typeof TYPES)[number], readonly string[]>> = {
  'g5.2xlarge': ['g5.4xlarge', 'g5.8xlarge'],
  'g5.4xlarge': ['g5.8xlarge', 'g5.16xlarge'],
  'g4dn.2xlarge': ['g4dn.4xlarge', 'g4dn.8xlarge'],
  'g6.4xlarge': ['g6.8xlarge', 'g6.16xlarge'],
  'p3.2xlarge': ['g5.2xlarge'],
};

const GIBIBYTE = 2 ** 30;
const GIGABIT_BYTES = 125e6;

export function caseOf(seed: number): Case {
  const draw = seededUniform(`case ${seed}`);
  const between: Between = (low, high) => low + (high - low) * draw();
  const cause = ORDER[seed % ORDER.length] ?? HEALTHY;
  const drawn = TYPES[Math.floor(draw() * TYPES.length)] ?? 'g5.2xlarge';
  // No listed type has the accelerator of a p3.2xlarge and more memory.
  const type = cause === 'page-cache' && drawn === 'p3.2xlarge' ? 'g5.2xlarge' : drawn;
  const workload = sick(cause, healthy(seed, type, between), between);
  return { seed, cause, workload: cause === HEALTHY ? workload : withLesserTrouble(workload, between) };
}

/** A volume has its baseline; local NVMe has a rate that the catalog does not know. */
function diskOf(type: string, nvmeBytesPerSecond: number): number {
  const { nvmeGb, ebsBaselineMbps = 0 } = priced(type).facts;
  return nvmeGb > 0 ? nvmeBytesPerSecond : ebsBaselineMbps * 125e3;
}

type Between = (low: number, high: number) => number;

function healthy(seed: number, type: (typeof TYPES)[number], between: Between): Workload {
  const { vcpu, memoryGib } = priced(type).facts;
  const gpuSeconds = between(0.08, 0.4);
  const workers = Math.max(2, Math.round(between(0.4, 0.9) * (vcpu - 1)));
  const trained = between(300, 700);
  return {
    seed: String(seed),
    type,
    alternatives: [...LARGER[type], 'g4dn.xlarge', ...CPU_TYPES],
    steps: Math.round(trained / gpuSeconds),
    hosts: Array.from({ length: between(0, 1) < 0.6 ? 1 : 2 }, () => between(0.99, 1.01)),
    workers,
    batch: {
      cpuSeconds: gpuSeconds * workers * between(0.3, 0.7),
      bytes: between(1e6, 1e7),
      jitter: between(0.03, 0.25),
    },
    mainCpuSeconds: gpuSeconds * between(0.03, 0.12),
    gpuSeconds,
    loopSeconds: 0,
    pause: { seconds: 0, everySteps: 1_000_000 },
    lateWorker: 1,
    inOrder: true,
    handOver: { seconds: 0, ofBytes: 1 },
    threads: undefined,
    products: undefined,
    memory: { baseBytes: between(0.2, 0.5) * memoryGib * GIBIBYTE, workerBytes: 2e8, faultSeconds: 0 },
    gpuMemoryUsed: between(0.45, 0.95),
    decodeShare: null,
    diskBytesPerSecond: diskOf(type, between(5e8, 1.5e9)),
    burstBytes: 0,
    save: { seconds: trained * between(0.001, 0.003), everySteps: Math.round(trained / gpuSeconds / 6) },
    exchange: { bytes: between(1e6, 1e7), hidden: between(0.3, 0.7) },
    data: { bytes: between(5e8, 3e9), files: Math.round(between(4, 40)) },
    inputMode: 'File',
    installSeconds: between(0, 6),
    scriptSeconds: between(3, 12),
    helperCores: 0,
    fit: between(0.85, 1.15),
    preparable: between(0.2, 0.9),
  };
}

/** Two of three have a second trouble, smaller than the first: a slow installation, or saves that stop the steps. */
function withLesserTrouble(workload: Workload, between: Between): Workload {
  const [kind, seconds] = [between(0, 3), trainedSeconds(workload) * between(0.02, 0.1)];
  if (kind < 1) return workload;
  if (kind < 2) return { ...workload, installSeconds: workload.installSeconds + seconds };
  const saves = workload.steps / workload.save.everySteps;
  return { ...workload, save: { ...workload.save, seconds: workload.save.seconds + seconds / saves } };
}

/** Seconds of the training without its start. */
const trainedSeconds = ({ steps, gpuSeconds }: Workload): number => steps * gpuSeconds;
const cardOf = ({ type }: Workload): number => priced(type).facts.networkBaselineGbps * GIGABIT_BYTES;

type Sicken = (base: Workload, between: Between) => Workload;

const SICKEN: Readonly<Record<Exclude<DrawnCause, InputCause>, Sicken>> = {
  'nothing-wrong': (base) => base,
  download: (base, between) => {
    const bytes = trainedSeconds(base) * between(0.2, 1) * cardOf(base);
    return { ...base, data: { bytes, files: Math.ceil(bytes / 1e9) } };
  },
  'small-files': (base, between) => {
    const files = Math.round((trainedSeconds(base) * between(0.2, 1) * 16) / 0.03);
    return { ...base, data: { bytes: files * between(5e3, 5e4), files } };
  },
  installation: (base, between) => ({
    ...base,
    installSeconds: trainedSeconds(base) * between(0.2, 0.8),
  }),
  'checkpoint-stall': stalled,
  'work-in-loop': inLoop,
  'too-many-threads': crowded,
  'hand-over': handedOver,
  'compute-bound-in-float32': inFloat32,
  pauses: paused,
  'gradient-exchange': (base, between) => among('gradient-exchange', base, between),
  'slow-host': (base, between) => among('slow-host', base, between),
  'scaled-out': (base, between) => among('scaled-out', base, between),
  // A model with large tables and little arithmetic: its memory is full.
  'accelerator-too-large': (base, between) => idle(base, between(0.02, 0.15), between(0.5, 0.95)),
  'batch-too-small': (base, between) => idle(base, between(0.05, 0.35), between(0.02, 0.18)),
};

const isOfInput = (cause: DrawnCause): cause is InputCause => !Object.hasOwn(SICKEN, cause);

const sick = (cause: DrawnCause, base: Workload, between: Between): Workload =>
  isOfInput(cause) ? starved(cause, { ...base, hosts: [1] }, between) : SICKEN[cause](base, between);

function stalled(base: Workload, between: Between): Workload {
  const saves = Math.round(between(5, 30));
  const everySteps = Math.max(1, Math.floor(base.steps / saves));
  return { ...base, save: { seconds: (trainedSeconds(base) * between(0.2, 0.7)) / saves, everySteps } };
}

/** The script has no loader, or a loader and more work beside it. */
function inLoop(base: Workload, between: Between): Workload {
  const loopSeconds = base.gpuSeconds * between(0.4, 3);
  return { ...base, hosts: [1], loopSeconds };
}

function paused(base: Workload, between: Between): Workload {
  const pauses = Math.round(between(6, 30));
  const everySteps = Math.max(25, Math.floor(base.steps / pauses));
  const seconds = base.gpuSeconds * everySteps * between(0.25, 0.9);
  return { ...base, pause: { seconds, everySteps } };
}

/** One thread brings the batches, and takes longer than the rest of a step. */
function handedOver(base: Workload, between: Between): Workload {
  const factor = between(1.4, 3.5);
  const rest = base.gpuSeconds + base.mainCpuSeconds;
  return {
    ...base,
    hosts: [1],
    steps: Math.round(base.steps / factor),
    workers: Math.max(2, base.workers),
    batch: { ...base.batch, cpuSeconds: rest * 0.5 },
    handOver: { seconds: rest * factor, ofBytes: between(0.7, 1) },
  };
}

/** Ranks of one host that compute on its CPUs, each with as many threads as if it were alone or nearly so. */
function crowded(base: Workload, between: Between): Workload {
  const type = CPU_TYPES[Math.floor(between(0, CPU_TYPES.length))] ?? 'c5.4xlarge';
  const { vcpu } = priced(type).facts;
  const processes = 2 ** Math.round(between(1, 3));
  const perProcess = Math.ceil((vcpu * between(1.6, Math.min(4, processes))) / processes);
  const exponent = between(1.3, 4);
  const steps = Math.max(60, Math.round(base.steps / ((processes * perProcess) / vcpu) ** exponent));
  const threads = { processes, perProcess, exponent, second: between(0, 0.25) };
  return {
    ...base,
    type,
    alternatives: CPU_TYPES,
    hosts: [1],
    steps,
    workers: 2,
    batch: { ...base.batch, cpuSeconds: base.gpuSeconds * 0.2 },
    mainCpuSeconds: base.gpuSeconds * 0.02,
    diskBytesPerSecond: diskOf(type, 0),
    threads,
    save: { ...base.save, everySteps: Math.max(1, Math.round(steps / 6)) },
  };
}

function inFloat32(base: Workload, between: Between): Workload {
  const type = base.type.startsWith('g6') ? 'g6.4xlarge' : 'g5.2xlarge';
  const rate = arithmeticRates(priced(type).facts.accelerator ?? '')?.float32 ?? 0;
  const reached = { float32: between(0.6, 0.95), tensor: between(0.45, 0.8) };
  const operations = base.gpuSeconds * between(0.6, 0.95) * rate * reached.float32;
  return {
    ...base,
    type,
    alternatives: [...LARGER[type], 'g4dn.xlarge', ...CPU_TYPES],
    hosts: [1],
    workers: 7,
    batch: { ...base.batch, cpuSeconds: base.gpuSeconds * between(0.4, 1.6), bytes: 1e6 },
    diskBytesPerSecond: diskOf(type, 1e9),
    products: { operations, seen: between(0.7, 1), reached },
  };
}

function idle(base: Workload, work: number, gpuMemoryUsed: number): Workload {
  const main = base.gpuSeconds;
  return { ...base, hosts: [1], mainCpuSeconds: main, gpuSeconds: main * work, gpuMemoryUsed };
}

function among(
  cause: 'gradient-exchange' | 'slow-host' | 'scaled-out',
  base: Workload,
  between: Between,
): Workload {
  const hosts = Array.from({ length: Math.round(between(3, 4)) }, () => between(0.99, 1.01));
  if (cause === 'slow-host') return { ...base, hosts: [...hosts.slice(1), between(1.25, 2)] };
  const times = cause === 'scaled-out' ? between(3.5, 7) : between(0.25, 1.5);
  const wire = base.gpuSeconds * (base.exchange.hidden + times);
  return { ...base, hosts, exchange: { ...base.exchange, bytes: wire * cardOf(base) } };
}

type InputCause =
  | `too-${'few' | 'many'}-workers`
  | 'preparation'
  | 'decoding'
  | 'transforms'
  | 'periodic-gaps'
  | 'host-memory'
  | 'network'
  | 'network-burst'
  | 'page-cache';

/** The step waits for its batch, by a factor of 1.4 to 3.5, for one reason. */
function starved(cause: InputCause, base: Workload, between: Between): Workload {
  const { vcpu, memoryGib } = priced(base.type).facts;
  const factor = between(1.4, 3.5);
  const rest = base.gpuSeconds + base.mainCpuSeconds;
  const steps = Math.round(base.steps / factor);
  const costing = (cpuSeconds: number): Workload['batch'] => ({ ...base.batch, cpuSeconds });
  const whole = memoryGib * GIBIBYTE;
  switch (cause) {
    case 'too-few-workers': {
      const workers = Math.max(1, Math.floor((vcpu - 1) / factor / 1.4));
      return { ...base, steps, workers, batch: costing(rest * factor * workers) };
    }
    case 'preparation':
      return { ...base, steps, workers: vcpu - 1, batch: costing(rest * factor * (vcpu - 1)) };
    case 'decoding':
    case 'transforms': {
      const decodeShare = cause === 'decoding' ? between(0.6, 0.95) : between(0.05, 0.4);
      return { ...base, steps, workers: vcpu - 1, batch: costing(rest * factor * (vcpu - 1)), decodeShare };
    }
    case 'network-burst':
      return burst(base, { factor, rest, between });
    case 'page-cache': {
      const data = { bytes: between(1.4, 2.5) * whole, files: 200 };
      const missing =
        1 - (whole - base.memory.baseBytes - base.workers * base.memory.workerBytes) / data.bytes;
      const bytes = (rest * factor * base.diskBytesPerSecond) / missing;
      return { ...base, data, steps: Math.round(base.steps * 1.5), batch: { ...base.batch, bytes } };
    }
    case 'periodic-gaps': {
      const workers = Math.max(3, base.workers);
      const cpu = rest * workers * between(0.15, 0.3);
      return { ...base, steps, workers, batch: costing(cpu), lateWorker: (rest * factor * workers) / cpu };
    }
    case 'too-many-workers': {
      const workers = vcpu * Math.round(between(2, 4));
      const memory = { baseBytes: whole / 4, workerBytes: whole / workers, faultSeconds: 0 };
      const cpuSeconds = rest * between(0.3, 0.8);
      const faultSeconds = (rest * factor * workers - cpuSeconds) / 1.25;
      return { ...base, steps, workers, batch: costing(cpuSeconds), memory: { ...memory, faultSeconds } };
    }
    case 'host-memory': {
      const workers = Math.max(2, Math.round(vcpu / 2));
      const cpuSeconds = rest * workers * between(0.92, 0.98);
      const faultSeconds = (rest * (factor + 1) * workers - cpuSeconds) / 1.2;
      const memory = { baseBytes: whole * 1.19, workerBytes: (whole * 0.01) / workers, faultSeconds };
      return { ...base, steps, workers, batch: costing(cpuSeconds), memory };
    }
    case 'network': {
      const bytes = rest * factor * cardOf(base);
      const data = { bytes: bytes * steps * between(0.05, 0.25), files: 200 };
      return { ...base, steps, inputMode: 'FastFile', batch: { ...base.batch, bytes }, data };
    }
    default:
      return cause satisfies never;
  }
}

/** At its burst rate the network is fast enough; its baseline is not. */
function burst(
  base: Workload,
  { factor, rest, between }: { readonly factor: number; readonly rest: number; readonly between: Between },
): Workload {
  const { networkBaselineGbps, networkBurstGbps } = priced(base.type).facts;
  const most = (0.85 * networkBurstGbps) / networkBaselineGbps;
  const bytes = rest * Math.max(1.3, Math.min(factor, most)) * cardOf(base);
  const steps = Math.round(base.steps / Math.min(factor, most));
  const data = { bytes: bytes * steps * between(0.05, 0.2), files: 200 };
  const burstBytes = bytes * steps * between(0.3, 0.5);
  return { ...base, steps, inputMode: 'FastFile', batch: { ...base.batch, bytes }, data, burstBytes };
}
