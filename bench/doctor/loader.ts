/** A data loader of one host: workers that fetch and prepare batches ahead, and hand them over in order or as they come. */

import type { Recorder } from './recorder.ts';
import type { Clock, Server } from './simulated-clock.ts';
import type { Workload } from './workload.ts';

/** As PyTorch's prefetch_factor. */
const AHEAD = 2;
const SLICES = 8;
/** Seconds that a fault waits for the disk. */
const FAULT_SECONDS = 0.004;

export interface LoaderMeans {
  readonly clock: Clock;
  readonly cores: Server;
  readonly card: Server;
  readonly cardBytesPerSecond: number;
  readonly burstBytesPerSecond: number;
  readonly disk: Server;
  readonly handOver: Server;
  /** Share of the data that the page cache does not hold. */
  readonly missing: number;
  readonly recorder: Recorder;
  /** Seconds that each batch waits for memory. */
  readonly faultSeconds: number;
  readonly gaussian: () => number;
}

export class Loader {
  readonly #ready = new Set<number>();
  readonly #waiting: number[][];
  readonly #busy: boolean[];
  #assigned = 0;
  #arrived = 0;
  #wanted: { readonly step: number; readonly go: () => void } | undefined;
  #burstBytes: number;
  readonly #workload: Workload;
  readonly #means: LoaderMeans;

  constructor(workload: Workload, means: LoaderMeans) {
    this.#workload = workload;
    this.#means = means;
    this.#burstBytes = workload.burstBytes;
    this.#waiting = Array.from({ length: workload.workers }, () => []);
    this.#busy = Array.from({ length: workload.workers }, () => false);
  }

  start(): void {
    for (let k = 0; k < AHEAD * this.#workload.workers; k += 1) this.#assign(k % this.#workload.workers);
  }

  /** Calls `go` once the batch of this step is there. */
  take(step: number, go: () => void): void {
    this.#wanted = { step, go };
    this.#hand();
  }

  #assign(worker: number): void {
    if (this.#assigned >= this.#workload.steps) return;
    this.#waiting[worker]?.push(this.#assigned);
    this.#assigned += 1;
    this.#work(worker);
  }

  #hand(): void {
    const { inOrder, workers } = this.#workload;
    const wanted = this.#wanted;
    if (wanted === undefined) return;
    if (inOrder ? !this.#ready.has(wanted.step) : this.#arrived <= wanted.step) return;
    this.#wanted = undefined;
    this.#ready.delete(wanted.step);
    this.#assign(inOrder ? wanted.step % workers : this.#leastLoaded());
    wanted.go();
  }

  #leastLoaded(): number {
    const load = this.#waiting.map((each, worker) => each.length + (this.#busy[worker] === true ? 1 : 0));
    return load.indexOf(Math.min(...load));
  }

  #work(worker: number): void {
    const { clock, recorder, faultSeconds, cores } = this.#means;
    if (this.#busy[worker] === true) return;
    const batch = this.#waiting[worker]?.shift();
    if (batch === undefined) return;
    this.#busy[worker] = true;
    const from = clock.now;
    const { batch: cost, lateWorker } = this.#workload;
    const late = worker === 0 ? lateWorker : 1;
    const cpu = cost.cpuSeconds * late * Math.max(0.2, 1 + cost.jitter * this.#means.gaussian());
    this.#fetch(() => {
      const prepared = (): void => {
        recorder.add('workerBusy', from, clock.now);
        this.#busy[worker] = false;
        this.#bring(batch);
        this.#work(worker);
      };
      const fetched = clock.now;
      clock.after(faultSeconds, () => {
        recorder.add('faults', fetched, clock.now, faultSeconds / FAULT_SECONDS);
        const queued = clock.now;
        cores.request(
          cpu,
          cpu / SLICES,
          (a, b) => recorder.add('workerCpu', a, b),
          () => {
            recorder.add('runnable', queued, clock.now);
            prepared();
          },
        );
      });
    });
  }

  /** One thread of the training process brings all batches. */
  #bring(batch: number): void {
    const { handOver, recorder } = this.#means;
    const arrive = (): void => {
      this.#ready.add(batch);
      this.#arrived += 1;
      this.#hand();
    };
    const { seconds } = this.#workload.handOver;
    if (seconds === 0) return arrive();
    const working = (a: number, b: number): void => {
      recorder.add('pin', a, b);
      recorder.add('mainCpu', a, b);
    };
    return handOver.request(seconds, seconds, working, arrive);
  }

  #networkRate(bytes: number): number {
    const { cardBytesPerSecond, burstBytesPerSecond } = this.#means;
    if (this.#burstBytes <= 0) return cardBytesPerSecond;
    this.#burstBytes -= bytes;
    return burstBytesPerSecond;
  }

  #fetch(then: () => void): void {
    const { card, disk, recorder, missing } = this.#means;
    const { inputMode, batch, diskBytesPerSecond } = this.#workload;
    const isFile = inputMode === 'File';
    const bytes = isFile ? batch.bytes * missing : batch.bytes;
    if (bytes === 0) return then();
    const rate = isFile ? diskBytesPerSecond : this.#networkRate(bytes);
    const seconds = bytes / rate;
    const arrived = (a: number, b: number): void =>
      recorder.add(isFile ? 'read' : 'received', a, b, (b - a) * rate);
    return (isFile ? disk : card).request(seconds, seconds / SLICES, arrived, then);
  }
}
