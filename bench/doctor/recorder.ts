/** What simulated events add up to, by half seconds: the agent's points come of them. */
import type { EvidencePoint } from '@tidewheel/contract/evidence.ts';

const BIN_SECONDS = 0.5;
const POINT_SECONDS = 10;
const GPU_BYTES = 24e9;

const KINDS = [
  'wait',
  'compute',
  'save',
  'exchange',
  'gpu',
  'mainCpu',
  'hostWork',
  'workerCpu',
  'workerBusy',
  'pin',
  'runnable',
  'received',
  'read',
  'sent',
  'faults',
] as const;
type Kind = (typeof KINDS)[number];

export class Recorder {
  readonly #bins = new Map<Kind, number[]>(KINDS.map((kind) => [kind, []]));
  readonly stepEnds: number[] = [];

  /** Spreads `amount` evenly over the time; by default, its seconds. */
  add(kind: Kind, from: number, to: number, amount = to - from): void {
    const bins = this.#bins.get(kind) ?? [];
    const length = Math.max(to - from, 1e-9);
    for (let bin = Math.floor(from / BIN_SECONDS); bin * BIN_SECONDS < to; bin += 1) {
      const inside = Math.min(to, (bin + 1) * BIN_SECONDS) - Math.max(from, bin * BIN_SECONDS);
      bins[bin] = (bins[bin] ?? 0) + (amount * inside) / length;
    }
  }

  /** Sum of a kind over a span of bins. */
  sum(kind: Kind, fromBin: number, bins: number): number {
    const all = this.#bins.get(kind) ?? [];
    let sum = 0;
    for (let bin = fromBin; bin < fromBin + bins; bin += 1) sum += all[bin] ?? 0;
    return sum;
  }
}

export interface HostShape {
  readonly host: number;
  readonly cores: number;
  readonly workers: number;
  readonly memoryBytes: number;
  readonly usedBytes: number;
  readonly gpu: boolean;
  /** Share of its memory. */
  readonly gpuMemoryUsed: number;
  readonly decodeShare: number | null;
  readonly pins: boolean;
  readonly processes: number;
  readonly threads: number | null;
  readonly arithmetic: EvidencePoint['arithmetic'];
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;

export function pointsOf(recorder: Recorder, shape: HostShape): readonly EvidencePoint[] {
  const end = recorder.stepEnds.at(-1) ?? 0;
  const count = Math.floor(end / POINT_SECONDS);
  return Array.from({ length: count }, (_, k) => pointAt(recorder, shape, k));
}

function pointAt(recorder: Recorder, shape: HostShape, k: number): EvidencePoint {
  const bins = POINT_SECONDS / BIN_SECONDS;
  const perSecond = (kind: Kind): number => recorder.sum(kind, k * bins, bins) / POINT_SECONDS;
  const [from, to] = [k * POINT_SECONDS, (k + 1) * POINT_SECONDS];
  const durations = recorder.stepEnds.flatMap((end, step) =>
    end > from && end <= to ? [end - (recorder.stepEnds[step - 1] ?? 0)] : [],
  );
  const [main, workers] = [perSecond('mainCpu'), perSecond('workerCpu')];
  return {
    at: new Date(Date.UTC(2026, 0, 1) + to * 1000).toISOString(),
    host: shape.host,
    rank: shape.host,
    processes: shape.processes,
    steps: durations.length,
    samples: null,
    stepSeconds: { median: quantile(durations, 0.5), p95: quantile(durations, 0.95) },
    shares: {
      wait: perSecond('wait'),
      compute: perSecond('compute'),
      save: perSecond('save'),
      exchange: perSecond('exchange'),
    },
    hostWork: { share: perSecond('hostWork'), line: null },
    arithmetic: shape.arithmetic,
    rankSkewSeconds: null,
    loader: {
      workers: shape.workers,
      workerBusy: perSecond('workerBusy') / Math.max(1, shape.workers),
      decodeShare: shape.decodeShare,
      batchSize: null,
      pinBusy: shape.pins ? perSecond('pin') : null,
      restarts: null,
    },
    cpu: {
      cores: shape.cores,
      main,
      workers,
      all: main + workers,
      runQueue: perSecond('runnable'),
      threads: shape.threads,
      waitForCore: null,
    },
    memory: {
      usedBytes: Math.min(shape.usedBytes, shape.memoryBytes),
      totalBytes: shape.memoryBytes,
      majorFaultsPerSecond: perSecond('faults'),
      pageCacheBytes: Math.max(0, shape.memoryBytes - shape.usedBytes),
    },
    disk: { readBytesPerSecond: perSecond('read'), writtenBytesPerSecond: 0 },
    network: { receivedBytesPerSecond: perSecond('received'), sentBytesPerSecond: perSecond('sent') },
    gpu: shape.gpu
      ? {
          busy: perSecond('gpu'),
          memoryUsedBytes: shape.gpuMemoryUsed * GPU_BYTES,
          memoryTotalBytes: GPU_BYTES,
          powerWatts: null,
        }
      : null,
  };
}
