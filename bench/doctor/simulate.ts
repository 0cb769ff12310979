/** Plays a workload: hosts in step, each with a loader, cores, a network card and an accelerator. */

import { instanceFacts, trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { acceleratorSpeed, VCPU_SPEED } from '@tidewheel/catalog/speeds.ts';
import type { EvidencePoint } from '@tidewheel/contract/evidence.ts';
import type { Evidence, PricedType } from '@tidewheel/doctor/diagnose.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { Loader } from './loader.ts';
import { pointsOf, Recorder } from './recorder.ts';
import { Clock, Server } from './simulated-clock.ts';
import type { Workload } from './workload.ts';

export interface Played {
  readonly evidence: Evidence;
  readonly seconds: number;
  readonly dollars: number;
}

const GIBIBYTE = 2 ** 30;
const GIGABIT_BYTES = 125e6;
/** Files that are downloaded at once, and the seconds of a request. */
const DOWNLOADS = 16;
const REQUEST_SECONDS = 0.03;

export function priced(type: string): PricedType {
  const facts = instanceFacts(type);
  const price = trainingPrice(type, 'us-east-1');
  if (facts === undefined || price === undefined) throw new Error(`${type}: the catalog has no such type`);
  return { facts, usdPerSecond: price.hourlyUsd / 3600 };
}

interface Host {
  readonly host: number;
  readonly factor: number;
  readonly recorder: Recorder;
  readonly loader: Loader;
  readonly cores: Server;
}

class Training {
  readonly clock = new Clock();
  readonly hosts: readonly Host[];
  readonly #workload: Workload;
  readonly #cardBytesPerSecond: number;
  readonly #gaussian: () => number;
  #arrivals: (() => void)[] = [];

  constructor(workload: Workload) {
    this.#workload = workload;
    const { facts } = priced(workload.type);
    this.#cardBytesPerSecond = facts.networkBaselineGbps * GIGABIT_BYTES;
    const uniform = seededUniform(`play ${workload.seed}`);
    this.#gaussian = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    this.hosts = workload.hosts.map((factor, host) => {
      const recorder = new Recorder();
      const cores = new Server(this.clock, facts.vcpu + Math.round(workload.helperCores));
      const card = new Server(this.clock, 1);
      const disk = new Server(this.clock, 1);
      const { clock } = this;
      const means = { clock, cores, card, recorder, gaussian: this.#gaussian };
      const pressure = pressureOf(workload) > 1 ? workload.memory.faultSeconds * pressureOf(workload) : 0;
      const loader = new Loader(workload, {
        ...means,
        cardBytesPerSecond: this.#cardBytesPerSecond,
        burstBytesPerSecond: facts.networkBurstGbps * GIGABIT_BYTES,
        disk,
        handOver: new Server(this.clock, 1),
        missing: missingOf(workload),
        faultSeconds: pressure,
      });
      return { host, factor, recorder, loader, cores };
    });
  }

  run(): void {
    for (const host of this.hosts) {
      host.loader.start();
      this.#step(host, 0);
    }
    this.clock.run();
  }

  #step(host: Host, step: number): void {
    const { recorder, cores, factor } = host;
    const { steps, mainCpuSeconds, loopSeconds, gpuSeconds } = this.#workload;
    if (step >= steps) return;
    const { clock } = this;
    const asked = clock.now;
    host.loader.take(step, () => {
      recorder.add('wait', asked, clock.now);
      const begun = clock.now;
      const main = (mainCpuSeconds + loopSeconds) * factor;
      cores.request(
        main,
        main / 4,
        (a, b) => recorder.add('mainCpu', a, b),
        () => {
          recorder.add('runnable', begun, clock.now);
          // Nothing else is as long: the looks find it in its share of the time that this took.
          recorder.add(
            'hostWork',
            begun,
            clock.now,
            (clock.now - begun) * (main === 0 ? 0 : (loopSeconds * factor) / main),
          );
          const launched = clock.now;
          const gpu = gpuSeconds * slowedBy(this.#workload) * factor * (1 + 0.02 * this.#gaussian());
          clock.after(gpu, () => {
            recorder.add('gpu', launched, clock.now);
            recorder.add('mainCpu', launched, clock.now, (clock.now - launched) * coresHeld(this.#workload));
            recorder.add('compute', begun, clock.now);
            this.#exchange(host, () => this.#save(host, step));
          });
        },
      );
    });
  }

  /** All hosts wait for the last, then for what the accelerator's work did not hide. */
  #exchange({ recorder }: Host, then: () => void): void {
    if (this.hosts.length === 1) return then();
    const { clock } = this;
    const { exchange, gpuSeconds } = this.#workload;
    const arrived = clock.now;
    const wire = exchange.bytes / this.#cardBytesPerSecond;
    const exposed = Math.max(0, wire - exchange.hidden * gpuSeconds);
    this.#arrivals.push(() => {
      recorder.add('exchange', arrived, clock.now);
      recorder.add('sent', clock.now - Math.max(exposed, 1e-6), clock.now, exchange.bytes);
      then();
    });
    if (this.#arrivals.length < this.hosts.length) return undefined;
    const all = this.#arrivals;
    this.#arrivals = [];
    return clock.after(exposed, () => {
      for (const go of all) go();
    });
  }

  #save(host: Host, step: number): void {
    const { clock } = this;
    const { save, pause } = this.#workload;
    const saves = host.host === 0 && (step + 1) % save.everySteps === 0;
    const from = clock.now;
    const pauses = (step + 1) % pause.everySteps === 0 ? pause.seconds : 0;
    clock.after((saves ? save.seconds : 0) + pauses, () => {
      if (saves) host.recorder.add('save', from, from + save.seconds);
      if (pauses > 0) host.recorder.add('compute', clock.now - pauses, clock.now);
      host.recorder.stepEnds.push(clock.now);
      this.#step(host, step + 1);
    });
  }
}

/** Of the vCPUs, how many compute. */
function coresHeld({ threads, type }: Workload): number {
  return threads === undefined
    ? 0
    : Math.min(priced(type).facts.vcpu, threads.processes * threads.perProcess);
}

/** How much longer a step on CPUs takes than with a thread for each vCPU. */
function slowedBy({ threads, type }: Workload): number {
  if (threads === undefined) return 1;
  const { vcpu, threadsPerCore = 1 } = priced(type).facts;
  const { processes, perProcess, exponent, second } = threads;
  const [all, physical] = [processes * perProcess, vcpu / threadsPerCore];
  const speed = (count: number): number =>
    Math.min(count, physical) + second * Math.max(0, Math.min(count, vcpu) - physical);
  return all > vcpu ? (all / vcpu) ** exponent : speed(vcpu) / speed(all);
}

const usedBytes = ({ memory, workers }: Workload): number => memory.baseBytes + workers * memory.workerBytes;
const pressureOf = (workload: Workload): number =>
  usedBytes(workload) / (priced(workload.type).facts.memoryGib * GIBIBYTE);

/** Of the shards, what the memory that is left cannot hold from one epoch to the next. */
function missingOf(workload: Workload): number {
  const free = priced(workload.type).facts.memoryGib * GIBIBYTE - usedBytes(workload);
  return Math.max(0, 1 - Math.max(0, free) / workload.data.bytes);
}

const arithmeticOf = ({ products }: Workload): EvidencePoint['arithmetic'] =>
  products === undefined
    ? null
    : { float32: products.operations * products.seen, tf32: 0, bits16: 0, line: null };

/** A whole job: its start, then its steps. */
export function play(workload: Workload, helperUsdPerSecond = 0): Played {
  const instance = priced(workload.type);
  const training = new Training(workload);
  training.run();
  const { bytes, files } = workload.data;
  const card = instance.facts.networkBaselineGbps * GIGABIT_BYTES;
  const download =
    workload.inputMode === 'File' ? Math.max(bytes / card, (files * REQUEST_SECONDS) / DOWNLOADS) : 0;
  const phases = {
    download,
    install: workload.installSeconds,
    scriptStart: workload.scriptSeconds,
    firstBatch: 0,
    firstStep: 0,
  };
  const seconds = download + workload.installSeconds + workload.scriptSeconds + training.clock.now;
  const points = training.hosts.flatMap(({ recorder, host }) =>
    pointsOf(recorder, {
      host,
      cores: instance.facts.vcpu,
      workers: workload.workers,
      memoryBytes: instance.facts.memoryGib * GIBIBYTE,
      usedBytes: usedBytes(workload),
      gpu: instance.facts.accelerator !== undefined,
      gpuMemoryUsed: workload.gpuMemoryUsed,
      decodeShare: workload.decodeShare,
      pins: workload.handOver.seconds > 0,
      processes: workload.threads?.processes ?? 1,
      threads:
        workload.threads === undefined ? null : workload.threads.processes * workload.threads.perProcess,
      arithmetic: arithmeticOf(workload),
    }),
  );
  return {
    evidence: {
      points,
      phases,
      data: workload.data,
      inputMode: workload.inputMode,
      instance,
      alternatives: workload.alternatives.map(priced),
      steps: workload.steps,
    },
    seconds,
    dollars: seconds * workload.hosts.length * (instance.usdPerSecond + helperUsdPerSecond),
  };
}

function speedOf(type: string): number {
  const { facts } = priced(type);
  return facts.accelerator === undefined
    ? facts.vcpu * VCPU_SPEED
    : (acceleratorSpeed(facts.accelerator, facts.acceleratorMemoryMib) ?? 1);
}

/** How much faster the second type's accelerator is than the first's. */
export const speedRatio = (from: string, to: string): number => speedOf(to) / speedOf(from);
