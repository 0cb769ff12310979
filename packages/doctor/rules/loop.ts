/** What the training process does itself between its steps: reading without a loader, and rare long pauses. */
import {
  type BatchCost,
  coresForWorkers,
  costOf,
  gainBesideOthers,
  heldByOthers,
  isBesideOthers,
  workersBorne,
} from './batch-cost.ts';
import type { DoctorFinding } from './gain.ts';
import type { HostMeasures, Measures } from './measures.ts';

/** Per step. A few hundred samples give each share to within a few percent. */
const LEAST_SHARE = 0.1;
/** The mean of all steps is not above that of 95 % of them, unless few of them hold much of the time. */
const RARE = 1.05;

/** At most one: pauses are host work as well, where they write files. */
export function loopFindings({ pace }: Measures): readonly DoctorFinding[] {
  const paused = pausedSeconds(pace);
  const { hostWork, stepSeconds } = pace;
  if (paused > LEAST_SHARE * stepSeconds && paused > hostWork / 2) return [pauseFinding(pace, paused)];
  return hostWork > LEAST_SHARE * stepSeconds ? [workFinding(pace)] : [];
}

/** Seconds of a step that no usual step has, and that no hook accounts for. */
function pausedSeconds(pace: HostMeasures): number {
  const own = pace.compute + pace.hostWork;
  const paused = own > RARE * pace.p95Seconds ? own - pace.medianSeconds : 0;
  return paused > withoutCore(pace) ? paused : 0;
}

/**
 * Seconds of a step in which other programs held the cores that its threads wanted: some steps take far longer by that
 * alone. All of the step, where nothing tells.
 */
const withoutCore = (pace: HostMeasures): number =>
  isBesideOthers(pace) ? (pace.waitForCore ?? 1) * pace.stepSeconds : 0;

function pauseFinding(pace: HostMeasures, paused: number): DoctorFinding {
  return {
    cause: 'pauses',
    evidence: {
      stepSeconds: pace.stepSeconds,
      medianSeconds: pace.medianSeconds,
      p95Seconds: pace.p95Seconds,
      pausedShare: paused / pace.stepSeconds,
    },
    // The line is that of most host work, which may be elsewhere.
    change: { kind: 'pause-less', line: pace.hostWork > paused / 2 ? pace.hostLine : undefined },
    stepSeconds: pace.stepSeconds - paused / 2,
    modelError: 0.2,
    unknown: ['whether it may be done less often, or in another process'],
  };
}

function workFinding(pace: HostMeasures): DoctorFinding {
  const { hostWork, stepSeconds, cores } = pace;
  const rest = stepSeconds - hostWork;
  // Of the process's CPU time the rest has a part: this is the most that the work takes.
  const cpuSeconds = Math.min(hostWork, pace.mainCores * stepSeconds);
  const wanted = Math.max(1, Math.ceil((1.15 * hostWork) / Math.max(rest, 1e-9)));
  const workers = Math.min(wanted, workersBorne(cores, { wallSeconds: hostWork, cpuSeconds }));
  const alone = Math.max(rest, hostWork / workers, cpuSeconds / coresForWorkers(cores));
  const cost: BatchCost = { ...costOf(pace), cpuSeconds };
  const { expected, modelError } = gainBesideOthers(heldByOthers(pace, cost, alone));
  return {
    cause: 'work-in-loop',
    evidence: { hostWorkShare: hostWork / stepSeconds, hostWorkSeconds: hostWork, cores },
    change: { kind: 'load-in-workers', workers, line: pace.hostLine },
    stepSeconds: stepSeconds - (stepSeconds - alone) * expected,
    modelError: Math.max(0.2, modelError),
    unknown: [
      'how much of it must stay in the loop, since it needs the last step',
      'where it waits for a thread, the work of that thread: it is longer than the wait',
      'the memory of each worker',
    ],
    next: hostWork / workers > rest ? 'loader workers' : 'the accelerator',
  };
}
