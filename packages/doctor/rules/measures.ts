/** Means over an attempt's points: where the seconds of a step go on each host. */
import type { Arithmetic, EvidencePoint } from '@tidewheel/contract/evidence.ts';
import type { Evidence } from './evidence.ts';

export interface HostMeasures {
  readonly host: number;
  readonly stepSeconds: number;
  /** In the points that count. */
  readonly steps: number;
  readonly medianSeconds: number;
  readonly p95Seconds: number;
  /** Seconds of a step. */
  readonly wait: number;
  /** What is no host work. */
  readonly compute: number;
  /** Reading, decoding and waiting of the training process itself, and the script's line that does most of it. */
  readonly hostWork: number;
  readonly hostLine: string | undefined;
  /** Of the newest step that was observed. */
  readonly arithmetic: Arithmetic | undefined;
  readonly save: number;
  readonly exchange: number;
  readonly workers: number;
  readonly workerBusy: number;
  /** Of the thread that pins batches; undefined without one. */
  readonly pinBusy: number | undefined;
  /** Seconds of a step until loader processes that were started again had given a batch, and how many such starts. */
  readonly restart: number;
  readonly restarts: number;
  readonly processes: number;
  /** With which all processes compute; undefined where nothing tells. */
  readonly threads: number | undefined;
  readonly cores: number;
  readonly mainCores: number;
  readonly workerCores: number;
  readonly allCores: number;
  /** In use by programs that are no part of the training. */
  readonly otherCores: number;
  /** Threads of the host that run or could. */
  readonly runQueue: number;
  /** Share of the time in which a thread of the training could run and had no core; undefined where nothing tells. */
  readonly waitForCore: number | undefined;
  readonly memoryUsed: number;
  readonly majorFaultsPerSecond: number;
  readonly receivedBytesPerSecond: number;
  readonly sentBytesPerSecond: number;
  readonly gpuBusy: number | undefined;
  /** Share of the accelerator's memory in use; undefined where nothing tells. */
  readonly gpuMemoryUsed: number | undefined;
  readonly diskBytesPerSecond: number;
  /** Of the workers' CPU time; undefined where nothing tells. */
  readonly decodeShare: number | undefined;
  /** The first and the last third of the measured time. */
  readonly early: Third;
  readonly late: Third;
  /** Standard error of the mean step, as a share of it. */
  readonly error: number;
}

interface Third {
  readonly stepSeconds: number;
  readonly receivedBytesPerSecond: number;
}

export interface Measures {
  readonly hosts: readonly HostMeasures[];
  /** The host that the others wait for. */
  readonly pace: HostMeasures;
  /** What a second of all hosts costs. */
  readonly usdPerSecond: number;
  /** Seconds of the whole job, its start included. */
  readonly jobSeconds: number;
  /** Bytes a second of the type's baseline. */
  readonly networkBytesPerSecond: number;
}

export const GIGABIT_BYTES = 125e6;
/** The first and the last ten seconds begin or end in the middle of something. */
const EDGE = 1;
const LEAST_POINTS = 3;

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length);

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

const own = ({ wait, compute, hostWork, save }: HostMeasures): number => wait + compute + hostWork + save;

/** undefined: too few steps to say anything. */
export function measuresOf(evidence: Evidence): Measures | undefined {
  const { points, phases, instance, steps } = evidence;
  const numbers = [...new Set(points.map(({ host }) => host))].sort((a, b) => a - b);
  const hosts = numbers.map((host) => hostMeasures(points.filter((each) => each.host === host)));
  const known = hosts.filter((each) => each !== undefined);
  const [pace] = known.toSorted((a, b) => own(b) - own(a));
  if (pace === undefined) return undefined;
  const startSeconds = Object.values<number | undefined>({ ...phases }).reduce<number>(
    (sum, each = 0) => sum + each,
    0,
  );
  return {
    hosts: known,
    pace,
    usdPerSecond: instance.usdPerSecond * known.length,
    jobSeconds: startSeconds + steps * pace.stepSeconds,
    networkBytesPerSecond: instance.facts.networkBaselineGbps * GIGABIT_BYTES,
  };
}

function hostMeasures(all: readonly EvidencePoint[]): HostMeasures | undefined {
  const ordered = sinceFirstStep(all.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)));
  const points = ordered.slice(EDGE, -EDGE);
  const [before, last] = [ordered[0], points.at(-1)];
  if (before === undefined || last === undefined || points.length < LEAST_POINTS) return undefined;
  const seconds = (Date.parse(last.at) - Date.parse(before.at)) / 1000;
  const steps = points.reduce((sum, each) => sum + each.steps, 0);
  if (steps === 0 || seconds <= 0) return undefined;
  const stepSeconds = seconds / steps;
  const of = (value: (point: EvidencePoint) => number): number => mean(points.map(value));
  const inEach = points.map((each) => each.steps);
  const spread = Math.sqrt(mean(inEach.map((each) => (each - mean(inEach)) ** 2)));
  const third = Math.max(1, Math.floor(points.length / 3));
  const decoding = points.map(({ loader }) => loader.decodeShare).filter((each) => each !== null);
  // A pause may be longer than a point.
  const stepped = points.filter((each) => each.steps > 0);
  const gpus = points.flatMap(({ gpu }) => (gpu === null ? [] : [gpu.busy]));
  return {
    host: last.host,
    stepSeconds,
    steps,
    medianSeconds: median(stepped.map((each) => each.stepSeconds.median)),
    p95Seconds: median(stepped.map((each) => each.stepSeconds.p95)),
    wait: of(({ shares }) => shares.wait) * stepSeconds,
    compute: of(({ shares, hostWork }) => Math.max(0, shares.compute - shareOf(hostWork))) * stepSeconds,
    hostWork: of(({ shares, hostWork }) => Math.min(shares.compute, shareOf(hostWork))) * stepSeconds,
    hostLine: newest(points, ({ hostWork }) => hostWork?.line),
    arithmetic: newest(points, ({ arithmetic }) => arithmetic),
    save: of(({ shares }) => shares.save) * stepSeconds,
    exchange: of(({ shares }) => shares.exchange) * stepSeconds,
    workers: last.loader.workers,
    workerBusy: of(({ loader }) => loader.workerBusy ?? 1),
    pinBusy: last.loader.pinBusy === null ? undefined : of(({ loader }) => loader.pinBusy ?? 0),
    restart: of(({ loader }) => loader.restarts?.share ?? 0) * stepSeconds,
    restarts: points.reduce((sum, { loader }) => sum + (loader.restarts?.count ?? 0), 0) / steps,
    processes: last.processes,
    threads: last.cpu.threads ?? undefined,
    cores: last.cpu.cores,
    mainCores: of(({ cpu }) => cpu.main),
    workerCores: of(({ cpu }) => cpu.workers),
    allCores: of(({ cpu }) => cpu.all),
    otherCores: of(({ cpu }) => Math.max(0, cpu.all - cpu.main - cpu.workers)),
    runQueue: of(({ cpu }) => cpu.runQueue),
    waitForCore: last.cpu.waitForCore === null ? undefined : of(({ cpu }) => cpu.waitForCore ?? 0),
    memoryUsed: of(({ memory }) => memory.usedBytes / memory.totalBytes),
    majorFaultsPerSecond: of(({ memory }) => memory.majorFaultsPerSecond),
    receivedBytesPerSecond: of(({ network }) => network.receivedBytesPerSecond),
    sentBytesPerSecond: of(({ network }) => network.sentBytesPerSecond),
    gpuBusy: gpus.length === 0 ? undefined : mean(gpus),
    gpuMemoryUsed: gpuMemory(last),
    diskBytesPerSecond: of(({ disk }) => disk.readBytesPerSecond),
    decodeShare: decoding.length === 0 ? undefined : mean(decoding),
    early: thirdOf(points.slice(0, third)),
    late: thirdOf(points.slice(-third)),
    error: spread / Math.max(1, mean(inEach)) / Math.sqrt(points.length),
  };
}

/** The wait for the first batch is the start's: no step waits as long again. One point of it is the edge anyway. */
function sinceFirstStep(ordered: readonly EvidencePoint[]): readonly EvidencePoint[] {
  const first = ordered.findIndex(({ steps }) => steps > 0);
  return first > EDGE ? ordered.slice(first) : ordered;
}

const newest = <Value>(
  points: readonly EvidencePoint[],
  of: (point: EvidencePoint) => Value | null | undefined,
): Value | undefined => points.map(of).findLast((each) => each !== null && each !== undefined) ?? undefined;

const shareOf = (hostWork: EvidencePoint['hostWork']): number => hostWork?.share ?? 0;

export const POINT_SECONDS = 10;

const thirdOf = (points: readonly EvidencePoint[]): Third => ({
  stepSeconds: POINT_SECONDS / Math.max(1e-9, mean(points.map(({ steps }) => steps))),
  receivedBytesPerSecond: mean(points.map(({ network }) => network.receivedBytesPerSecond)),
});

const gpuMemory = ({ gpu }: EvidencePoint): number | undefined =>
  gpu === null || gpu.memoryTotalBytes === 0 ? undefined : gpu.memoryUsedBytes / gpu.memoryTotalBytes;
