/** Why a step waits for its batch. A batch costs its worker wall time, CPU time and bytes; each has a limit of its own. */

import {
  type BatchCost,
  coresForWorkers,
  costOf,
  gainBesideOthers,
  heldByOthers,
  waitFacts,
  workersBorne,
} from './batch-cost.ts';
import type { Evidence, PricedType } from './evidence.ts';
import type { DoctorFinding } from './gain.ts';
import type { HostMeasures, Measures } from './measures.ts';
import { networkFinding } from './network-limit.ts';
import { pageCacheFinding } from './page-cache.ts';
import { preparationFinding } from './preparation.ts';

/** A limit counts as reached from this share of it on: the last tenth is lost between two batches. */
const REACHED = 0.9;
const IDLE_WORKERS = 0.8;
const FAULTS_PER_SECOND = 50;
const FULL_MEMORY = 0.9;
const WORKERS_ERROR = 0.15;
/** Steps wait for loader processes to start again, and for little else. */
const MOSTLY = 0.5;
const LEAST_RESTART = 0.05;

/** Of all causes of waiting, the one that the evidence carries: they exclude each other. */
export function inputFinding(evidence: Evidence, measures: Measures): DoctorFinding | undefined {
  const { pace } = measures;
  if (pace.wait <= 0) return undefined;
  const cost = costOf(pace);
  if (pace.restart > MOSTLY * pace.wait && pace.restart > LEAST_RESTART * pace.stepSeconds)
    return restartFinding(pace, cost);
  if (pace.majorFaultsPerSecond > FAULTS_PER_SECOND && pace.memoryUsed > FULL_MEMORY)
    return memoryFinding(evidence, pace, cost);
  const feed =
    evidence.inputMode === 'File'
      ? pageCacheFinding(evidence, measures, cost)
      : networkFinding(evidence, measures, cost);
  if (feed !== undefined) return feed;
  if (pace.workers > 1 && pace.workerBusy < IDLE_WORKERS)
    return isUneven(pace) ? gapsFinding(pace, cost) : handOverFinding(pace, cost);
  // More workers would not get more of the cores.
  if (cost.cpuSeconds > REACHED * coresForWorkers(pace.cores) * pace.stepSeconds)
    return preparationFinding(evidence, pace, cost);
  return workersFinding(measures, cost);
}

function memoryFinding(
  { alternatives, instance }: Evidence,
  pace: HostMeasures,
  cost: BatchCost,
): DoctorFinding {
  const enough = Math.ceil((1.1 * cost.cpuSeconds) / cost.rest);
  const facts = {
    ...waitFacts(pace),
    majorFaultsPerSecond: pace.majorFaultsPerSecond,
    memoryUsed: pace.memoryUsed,
  };
  const fed = (workers: number): number => Math.max(cost.rest, cost.cpuSeconds / workers);
  if (enough < pace.workers)
    return {
      cause: 'too-many-workers',
      evidence: facts,
      change: { kind: 'workers', workers: enough },
      stepSeconds: fed(enough),
      modelError: 0.2,
      unknown: ['the memory of one worker: fewer may be needed still'],
      next: 'the accelerator',
    };
  const larger = cheapest(
    alternatives.filter(
      ({ facts }) =>
        facts.memoryGib > instance.facts.memoryGib && facts.accelerator === instance.facts.accelerator,
    ),
  );
  return {
    cause: 'host-memory',
    evidence: facts,
    change: larger
      ? { kind: 'instance-type', type: larger.facts.type }
      : { kind: 'workers', workers: Math.max(1, pace.workers - 1) },
    stepSeconds: larger ? fed(pace.workers) : pace.stepSeconds,
    ...(larger ? { usdPerSecond: larger.usdPerSecond } : {}),
    modelError: 0.2,
    unknown: ['how much memory would be enough'],
  };
}

/** A late worker stops one step in so many; what all batches pass one by one stops each a little. */
const isUneven = ({ p95Seconds, medianSeconds, stepSeconds, wait }: HostMeasures): boolean =>
  Math.max(p95Seconds - stepSeconds, stepSeconds - medianSeconds) > wait / 2;

/** Workers that live on still make the first batch of an epoch while a step waits. */
function restartFinding(pace: HostMeasures, cost: BatchCost): DoctorFinding {
  const firstBatches = Math.min(pace.restart, pace.restarts * cost.wallSeconds);
  return {
    cause: 'worker-restarts',
    evidence: {
      ...waitFacts(pace),
      restartShare: pace.restart / pace.stepSeconds,
      stepsPerStart: 1 / Math.max(pace.restarts, 1e-9),
    },
    change: { kind: 'keep-workers' },
    stepSeconds: pace.stepSeconds - (pace.restart - firstBatches),
    modelError: 0.3,
    unknown: [
      'the memory of workers that live on beside those of a validation',
      'workers that live on draw other random transforms: results differ',
    ],
  };
}

function handOverFinding(pace: HostMeasures, cost: BatchCost): DoctorFinding {
  return {
    cause: 'hand-over',
    evidence: {
      ...waitFacts(pace),
      ...(pace.pinBusy === undefined ? {} : { pinBusy: pace.pinBusy }),
    },
    change: { kind: 'fewer-bytes' },
    // It takes as long as a step, since steps wait for it.
    stepSeconds: Math.max(cost.rest, pace.stepSeconds / 2),
    modelError: 0.3,
    unknown: ['what of it does not grow with the bytes', 'whether the samples bear fewer bits or pixels'],
    next: 'the accelerator',
  };
}

function gapsFinding(pace: HostMeasures, cost: BatchCost): DoctorFinding {
  return {
    cause: 'periodic-gaps',
    evidence: waitFacts(pace),
    change: { kind: 'out-of-order' },
    stepSeconds: Math.max(cost.rest, cost.wallSeconds / Math.max(1, pace.workers)),
    modelError: 0.2,
    unknown: ['which worker is late, and why', 'the order of batches changes: results differ'],
    next: 'the accelerator',
  };
}

function workersFinding({ pace, networkBytesPerSecond }: Measures, cost: BatchCost): DoctorFinding {
  const most = coresForWorkers(pace.cores);
  const wanted = Math.ceil((1.15 * cost.wallSeconds) / cost.rest);
  const workers = Math.max(pace.workers + 1, Math.min(wanted, workersBorne(pace.cores, cost)));
  const limits = [
    ['loader workers', cost.wallSeconds / workers],
    ['the CPUs of the host', cost.cpuSeconds / most],
    ['the network', cost.bytes / networkBytesPerSecond],
    ['the accelerator', cost.rest],
  ] as const;
  const [next, alone] = limits.reduce((a, b) => (b[1] >= a[1] ? b : a));
  const common = { cause: 'too-few-workers', change: { kind: 'workers', workers }, next } as const;
  const unknown = ['the memory of each further worker'];
  const held = heldByOthers(pace, cost, alone);
  if (held === 0)
    return { ...common, evidence: waitFacts(pace), stepSeconds: alone, modelError: WORKERS_ERROR, unknown };
  const { expected, modelError } = gainBesideOthers(held);
  return {
    ...common,
    evidence: { ...waitFacts(pace), otherCores: pace.otherCores, runQueue: pace.runQueue },
    stepSeconds: pace.stepSeconds - (pace.stepSeconds - alone) * expected,
    modelError: Math.max(WORKERS_ERROR, modelError),
    unknown: [...unknown, 'how much of the CPU other programs leave to the workers'],
  };
}

const cheapest = (types: readonly PricedType[]): PricedType | undefined =>
  types.toSorted((a, b) => a.usdPerSecond - b.usdPerSecond)[0];
