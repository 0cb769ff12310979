/** What holds a step back once its batch is there: saves, exchange, one slow host, an accelerator with little to do, threads. */
import type { InstanceFacts } from '@tidewheel/catalog/catalog.ts';
import { acceleratorSpeed, VCPU_SPEED } from '@tidewheel/catalog/speeds.ts';
import { coresForWorkers, costOf } from './batch-cost.ts';
import type { Evidence } from './evidence.ts';
import type { DoctorFinding } from './gain.ts';
import { type HostMeasures, type Measures, median } from './measures.ts';

/** Hosts of one type differ by less. */
const SLOW_HOST = 1.1;
/** Of the seconds that the training process computes, the accelerator works in fewer than these. */
const IDLE_ACCELERATOR = 0.5;

export function scriptFindings(evidence: Evidence, measures: Measures): readonly DoctorFinding[] {
  return [
    saveFinding(measures),
    slowHostFinding(measures),
    exchangeFinding(evidence, measures),
    acceleratorFinding(evidence, measures),
    threadsFinding(evidence, measures),
  ].filter((each) => each !== undefined);
}

function saveFinding({ hosts, pace }: Measures): DoctorFinding | undefined {
  const saving = Math.max(...hosts.map(({ save }) => save));
  if (saving <= 0) return undefined;
  return {
    cause: 'checkpoint-stall',
    evidence: { saveShare: saving / pace.stepSeconds, saveSecondsPerStep: saving },
    change: { kind: 'save-in-background' },
    stepSeconds: pace.stepSeconds - saving,
    modelError: 0.15,
    unknown: ['how long the copy to host memory takes, and whether host memory holds it'],
  };
}

function slowHostFinding({ hosts, pace }: Measures): DoctorFinding | undefined {
  const [slowest, ...others] = hosts.toSorted((a, b) => b.compute - a.compute);
  if (slowest === undefined || others.length === 0) return undefined;
  const usual = median(others.map(({ compute }) => compute));
  if (slowest.compute < SLOW_HOST * usual) return undefined;
  return {
    cause: 'slow-host',
    evidence: { host: slowest.host, computeSeconds: slowest.compute, othersComputeSeconds: usual },
    change: { kind: 'replace-host', host: slowest.host },
    stepSeconds: pace.stepSeconds - (slowest.compute - Math.max(...others.map(({ compute }) => compute))),
    modelError: 0.15,
    unknown: ['why it is slow', 'whether its successor is as fast as the others'],
  };
}

/** The host that comes last waits for no other: what it spends in the exchange is the exchange. */
function exchangeFinding(
  { instance }: Evidence,
  { hosts, pace, networkBytesPerSecond }: Measures,
): DoctorFinding | undefined {
  const exposed = Math.min(...hosts.map(({ exchange }) => exchange));
  if (hosts.length < 2 || exposed <= 0) return undefined;
  const onWire = (pace.sentBytesPerSecond * pace.stepSeconds) / networkBytesPerSecond;
  const whole = Math.max(exposed, onWire);
  const left = Math.max(0, whole / 2 - (whole - exposed));
  const facts = {
    exchangeShare: exposed / pace.stepSeconds,
    exposedSeconds: exposed,
    wireSeconds: onWire,
    hosts: hosts.length,
  };
  // Even halved, the exchange would take longer than the work between two of them.
  if (left > pace.compute)
    return {
      cause: 'scaled-out',
      evidence: { ...facts, ...(pace.gpuBusy === undefined ? {} : { gpuBusy: pace.gpuBusy }) },
      change: { kind: 'nodes', nodes: 1 },
      stepSeconds: pace.stepSeconds - exposed,
      steps: hosts.length,
      hosts: 1,
      usdPerSecond: instance.usdPerSecond,
      modelError: 0.15,
      unknown: ['whether the batch of all hosts fits one of them', 'how the longer time is to be weighed'],
      next: 'the accelerator',
    };
  return {
    cause: 'gradient-exchange',
    evidence: facts,
    change: { kind: 'compress-exchange' },
    stepSeconds: pace.stepSeconds - exposed + left,
    modelError: 0.2,
    unknown: [
      'the latency in the exchange, which compression leaves',
      'what 16-bit gradients do to the loss',
    ],
  };
}

const speedOf = ({ accelerator, acceleratorMemoryMib, vcpu }: InstanceFacts): number | undefined =>
  accelerator === undefined ? vcpu * VCPU_SPEED : acceleratorSpeed(accelerator, acceleratorMemoryMib);

function acceleratorFinding(
  { instance, alternatives }: Evidence,
  { pace }: Measures,
): DoctorFinding | undefined {
  const busy = busyWhileComputing(pace);
  const speed = speedOf(instance.facts);
  if (busy === undefined || busy >= IDLE_ACCELERATOR || speed === undefined) return undefined;
  const work = (pace.gpuBusy ?? 0) * pace.stepSeconds;
  const factor = batchFactor(pace);
  if (factor > 1) return batchFinding(pace, { factor, busy, work });
  const stepOn = (facts: InstanceFacts): number => {
    const other = speedOf(facts);
    if (other === undefined) return Number.POSITIVE_INFINITY;
    const byCpu = (pace.workerCores * pace.stepSeconds) / coresForWorkers(facts.vcpu);
    return Math.max(byCpu, pace.stepSeconds - work + (work * speed) / other);
  };
  const [best] = alternatives.toSorted(
    (a, b) => stepOn(a.facts) * a.usdPerSecond - stepOn(b.facts) * b.usdPerSecond,
  );
  if (best === undefined) return undefined;
  return {
    cause: 'accelerator-too-large',
    evidence: { gpuBusy: pace.gpuBusy ?? 0, busyWhileComputing: busy, workSecondsPerStep: work },
    change: { kind: 'instance-type', type: best.facts.type },
    stepSeconds: stepOn(best.facts),
    usdPerSecond: best.usdPerSecond,
    modelError: 0.3,
    unknown: [
      'whether a larger batch would fill this accelerator',
      'the speed of this model on the other one',
    ],
  };
}

const busyWhileComputing = ({ gpuBusy, compute, stepSeconds }: HostMeasures): number | undefined =>
  gpuBusy === undefined || compute <= 0 ? undefined : gpuBusy / (compute / stepSeconds);

/** Of the accelerator's memory, what a larger batch may fill. */
const FILLED = 0.8;
const LARGEST_FACTOR = 32;

/** The largest power of two that the accelerator's memory bears; 1 where nothing tells it. */
function batchFactor({ gpuMemoryUsed }: HostMeasures): number {
  if (gpuMemoryUsed === undefined || gpuMemoryUsed <= 0) return 1;
  return Math.min(LARGEST_FACTOR, 2 ** Math.floor(Math.log2(Math.max(1, FILLED / gpuMemoryUsed))));
}

function batchFinding(
  pace: HostMeasures,
  { factor, busy, work }: { readonly factor: number; readonly busy: number; readonly work: number },
): DoctorFinding {
  const cost = costOf(pace);
  const stepSeconds = Math.max(
    cost.rest + (factor - 1) * work,
    (factor * cost.wallSeconds) / Math.max(1, pace.workers),
    (factor * cost.cpuSeconds) / coresForWorkers(pace.cores),
  );
  return {
    cause: 'batch-too-small',
    evidence: {
      gpuBusy: pace.gpuBusy ?? 0,
      busyWhileComputing: busy,
      workSecondsPerStep: work,
      gpuMemoryUsed: pace.gpuMemoryUsed ?? 0,
    },
    change: { kind: 'batch-size', factor },
    stepSeconds,
    steps: 1 / factor,
    modelError: 0.3,
    unknown: [
      'what the larger batch does to the loss, and which learning rate goes with it',
      'what of the memory grows with the batch: all of it is assumed to',
    ],
    next: stepSeconds > cost.rest + (factor - 1) * work ? 'loader workers' : 'the accelerator',
  };
}

/** Below this many threads for each core, less was lost than runs differ. */
const LEAST_OVER = 1.25;
/** Least share of the remaining cores that computing processes keep busy. Waiting processes hold none. */
const LEAST_BUSY = 0.5;
/** Of the computing time, what was lost at least with twice as many threads as cores or more, and at most. */
const LOST = { least: 0.6, most: 1 } as const;

/**
 * Threads of processes that compute on CPUs. Those of one process meet at the end of each operation and wait for each
 * other awake; where others hold the cores, all of them wait for the one that has none. One process alone with more
 * threads than cores waits asleep, and loses little (docs/research/log.md, 2026-11-26).
 */
function threadsFinding({ instance }: Evidence, { pace }: Measures): DoctorFinding | undefined {
  const { processes, threads, cores } = pace;
  if (pace.gpuBusy !== undefined || threads === undefined || threads <= processes) return undefined;
  const left = coresLeft(pace);
  if (pace.mainCores * pace.stepSeconds < LEAST_BUSY * left * pace.compute) return undefined;
  const over = (processes * Math.min(threads / processes, cores)) / left;
  if (over < LEAST_OVER) return undefined;
  const physical = cores / (instance.facts.threadsPerCore ?? 1);
  const wanted = Math.max(1, Math.floor(Math.min(physical, left) / processes));
  const low = LOST.least * Math.min(1, over - 1);
  const expected = (low + LOST.most) / 2;
  return {
    cause: 'too-many-threads',
    evidence: {
      processes,
      threads,
      cores,
      physicalCores: physical,
      coresLeft: left,
      threadsPerCoreLeft: over,
    },
    change: { kind: 'threads', threads: wanted },
    stepSeconds: pace.stepSeconds - expected * pace.compute,
    modelError: (LOST.most - expected) / expected,
    unknown: [
      "how often the model's operations meet: small ones lose nearly all of their time, and long ones half of it",
      'results differ in their last bits: sums over another number of threads round differently',
    ],
    next: 'computing',
  };
}

/** What loader workers and other programs do not hold. */
const coresLeft = ({ cores, workerCores, otherCores }: HostMeasures): number =>
  Math.max(1, cores - workerCores - otherCores);
