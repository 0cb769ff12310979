/** Evidence of a job by its means, for tests: two minutes of equal points. */

import { instanceFacts, trainingPrice } from '@tidewheel/catalog/catalog.ts';
import type { EvidencePoint } from '@tidewheel/contract/evidence.ts';
import type { Evidence, PricedType } from '@tidewheel/doctor/diagnose.ts';

function priced(type: string): PricedType {
  const facts = instanceFacts(type);
  const price = trainingPrice(type, 'us-east-1');
  if (facts === undefined || price === undefined) throw new Error(`${type} is not in the catalog`);
  return { facts, usdPerSecond: price.hourlyUsd / 3600 };
}

export interface Means {
  readonly type?: string;
  readonly alternatives?: readonly string[];
  readonly stepSeconds?: number;
  readonly gapped?: boolean;
  readonly shares?: Partial<EvidencePoint['shares']>;
  readonly hostWork?: EvidencePoint['hostWork'];
  readonly arithmetic?: EvidencePoint['arithmetic'];
  readonly workers?: number;
  readonly workerBusy?: number;
  readonly pinBusy?: number;
  readonly restarts?: EvidencePoint['loader']['restarts'];
  readonly processes?: number;
  readonly cpu?: Partial<EvidencePoint['cpu']>;
  readonly faults?: number;
  readonly received?: number;
  readonly sent?: number;
  readonly gpuBusy?: number;
}

const loaderOf = (means: Means, workers: number): EvidencePoint['loader'] => ({
  workers,
  workerBusy: means.workerBusy ?? 0.5,
  decodeShare: null,
  batchSize: 64,
  pinBusy: means.pinBusy ?? null,
  restarts: means.restarts ?? null,
});

function pointsOf(host: number, means: Means): readonly EvidencePoint[] {
  const stepSeconds = means.stepSeconds ?? 0.2;
  const shares = { wait: 0, compute: 1, save: 0, exchange: 0, ...means.shares };
  const workers = means.workers ?? 4;
  const cores = priced(means.type ?? 'g5.2xlarge').facts.vcpu;
  const rest = stepSeconds * (1 - shares.wait);
  const p95 = means.gapped === true ? rest + workers * stepSeconds * shares.wait : stepSeconds * 1.02;
  return Array.from({ length: 12 }, (_, k) => ({
    at: new Date(1e12 + (k + 1) * 10_000).toISOString(),
    host,
    rank: host,
    processes: means.processes ?? 1,
    steps: 10 / stepSeconds,
    samples: null,
    stepSeconds: { median: means.gapped === true ? rest : stepSeconds, p95 },
    shares,
    hostWork: means.hostWork ?? null,
    arithmetic: means.arithmetic ?? null,
    rankSkewSeconds: null,
    loader: loaderOf(means, workers),
    cpu: {
      cores,
      main: 0.5,
      workers: 1,
      all: 2,
      runQueue: 2,
      threads: null,
      waitForCore: null,
      ...means.cpu,
    },
    memory: {
      usedBytes: means.faults === undefined ? 8e9 : 31e9,
      totalBytes: 32e9,
      majorFaultsPerSecond: means.faults ?? 0,
      pageCacheBytes: 1e9,
    },
    disk: { readBytesPerSecond: 0, writtenBytesPerSecond: 0 },
    network: { receivedBytesPerSecond: means.received ?? 0, sentBytesPerSecond: means.sent ?? 0 },
    gpu: { busy: means.gpuBusy ?? 0.9, memoryUsedBytes: 1e10, memoryTotalBytes: 2.4e10, powerWatts: null },
  }));
}

export const evidenceOf = (
  hosts: readonly Means[],
  phases: Partial<Evidence['phases']> = {},
  rest: Partial<Evidence> = {},
): Evidence => ({
  points: hosts.flatMap((means, host) => pointsOf(host, means)),
  phases: { download: 10, install: 0, scriptStart: 5, firstBatch: 1, firstStep: 1, ...phases },
  data: { bytes: 1e9, files: 10 },
  inputMode: 'File',
  instance: priced(hosts[0]?.type ?? 'g5.2xlarge'),
  alternatives: (hosts[0]?.alternatives ?? []).map(priced),
  steps: 10_000,
  ...rest,
});
