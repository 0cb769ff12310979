/** What File mode would bring: no network in the steps, but a disk where the page cache cannot hold the data. */
import { diskRate } from '@tidewheel/catalog/speeds.ts';
import { type BatchCost, coresForWorkers } from './batch-cost.ts';
import type { Evidence } from './evidence.ts';
import type { HostMeasures, Measures } from './measures.ts';

export const GIBIBYTE = 2 ** 30;
export const hostDiskRate = ({ instance: { facts } }: Evidence): number => diskRate(facts);

/** Memory of a host that its processes leave to the page cache. */
export const freeMemoryBytes = ({ instance }: Evidence, { memoryUsed }: HostMeasures): number =>
  Math.max(0, 1 - memoryUsed) * instance.facts.memoryGib * GIBIBYTE;

/** The share of the data that has left the page cache when the next epoch asks for it. */
export const missingShare = (evidence: Evidence, pace: HostMeasures): number =>
  Math.max(0, 1 - freeMemoryBytes(evidence, pace) / Math.max(1, evidence.data.bytes));

export const byCpu = ({ workers, cores }: HostMeasures, { cpuSeconds }: BatchCost): number =>
  cpuSeconds / Math.min(Math.max(1, workers), coresForWorkers(cores));

/** Seconds of a step whose batch comes from the local disk. */
export const fileStepSeconds = (evidence: Evidence, { pace }: Measures, cost: BatchCost): number =>
  Math.max(
    cost.rest,
    byCpu(pace, cost),
    (missingShare(evidence, pace) * cost.bytes) / hostDiskRate(evidence),
  );
