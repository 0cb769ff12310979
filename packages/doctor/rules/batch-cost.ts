/** What a batch costs its worker, and how its absence shows. */
import type { HostMeasures } from './measures.ts';

/** What one batch costs a worker. */
export interface BatchCost {
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly bytes: number;
  /** Seconds of a step that no loader shortens. */
  readonly rest: number;
}

/** One core stays with the training process. */
export const coresForWorkers = (cores: number): number => Math.max(1, cores - 1);

/** A worker that waits for a disk or a network needs no core meanwhile. */
export function workersBorne(
  cores: number,
  { wallSeconds, cpuSeconds }: Pick<BatchCost, 'wallSeconds' | 'cpuSeconds'>,
): number {
  const most = coresForWorkers(cores);
  const blocked = Math.max(0, wallSeconds - cpuSeconds) / Math.max(wallSeconds, 1e-9);
  return Math.max(most, Math.floor(most / Math.max(0.25, 1 - blocked)));
}

export function costOf(pace: HostMeasures): BatchCost {
  const inMain = pace.workers === 0;
  return {
    wallSeconds: inMain ? pace.wait : pace.workers * pace.workerBusy * pace.stepSeconds,
    cpuSeconds: inMain ? pace.wait : pace.workerCores * pace.stepSeconds,
    bytes: pace.receivedBytesPerSecond * pace.stepSeconds,
    rest: pace.stepSeconds - pace.wait,
  };
}

/** Less than this share of the cores is what a system and the agent use. */
const OTHERS_AT_WORK = 0.1;

/**
 * The part of the cores that more workers would have to get from other programs, from 0 to 1. They may get all of it or
 * nothing: that is the scheduler's choice. While more threads could run than there are cores, an idle moment is over
 * before a worker has it.
 */
export function heldByOthers(pace: HostMeasures, { cpuSeconds }: BatchCost, stepSeconds: number): number {
  const { cores, allCores, workerCores, runQueue } = pace;
  if (!isBesideOthers(pace)) return 0;
  const more = cpuSeconds / stepSeconds - workerCores;
  const idle = runQueue > cores ? 0 : Math.max(0, cores - allCores);
  return more <= 0 ? 0 : Math.max(0, 1 - idle / more);
}

/** Other programs of the machine want cores as well. */
export const isBesideOthers = (pace: HostMeasures): boolean =>
  pace.otherCores >= OTHERS_AT_WORK * pace.cores || pace.runQueue > pace.cores + ownThreads(pace);

/**
 * As many of a host's threads could run as are its own, where nothing else does. Others that wait for cores show in a
 * longer queue alone.
 */
const ownThreads = ({ processes, threads, workers, cores }: HostMeasures): number =>
  workers + processes * (threads ?? cores);

/**
 * At the low end a worker takes its CPU time from the training: up to a fifth of the gain, in the scripts of
 * docs/research/log.md.
 */
const LOST_TO_OTHERS = 0.6;

/** Of a gain, the share to expect, and how far that may be off, as a share of it. */
export function gainBesideOthers(held: number): Readonly<Record<'expected' | 'modelError', number>> {
  const expected = 1 - LOST_TO_OTHERS * held;
  return { expected, modelError: (LOST_TO_OTHERS * held) / expected };
}

export const waitFacts = (pace: HostMeasures) => ({
  waitShare: pace.wait / pace.stepSeconds,
  workers: pace.workers,
  workerBusy: pace.workerBusy,
  cores: pace.cores,
  coresUsed: pace.allCores,
  ...(pace.gpuBusy === undefined ? {} : { gpuBusy: pace.gpuBusy }),
  ...gapFacts(pace),
});

/** Workers that run in step deliver together: the step after the last of them waits for all. */
function gapFacts({
  workers,
  wait,
  medianSeconds,
  p95Seconds,
}: HostMeasures): Readonly<Record<string, number>> {
  const gap = p95Seconds - medianSeconds;
  const expected = workers * wait;
  const everyNth = workers > 1 && workers < 20 && Math.abs(gap - expected) < 0.3 * expected;
  return everyNth ? { gapEverySteps: workers, gapSeconds: gap } : {};
}
