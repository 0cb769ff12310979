/**
 * SageMaker Debugger's profiler rules with the defaults that their configuration publishes
 * (github.com/awslabs/sagemaker-debugger-rulesconfig), on samples of half a second. `patience` is left out where a job
 * has fewer samples than 1,000, which favours the rules.
 */
import type { Cause } from '../../functions/core/doctor/verdict.ts';
import { BIN_SECONDS, type Kind, type Recorder } from './recorder.ts';
import type { Played } from './simulate.ts';

export const RULES = [
  'CPUBottleneck',
  'IOBottleneck',
  'LowGPUUtilization',
  'BatchSize',
  'StepOutlier',
  'LoadBalancing',
  'MaxInitializationTime',
] as const;
export type Rule = (typeof RULES)[number];

/** What each rule speaks of. LowGPUUtilization names no cause. */
export const SPEAKS_OF: Readonly<Record<Rule, readonly Cause[]>> = {
  CPUBottleneck: [
    'too-few-workers',
    'preparation',
    'decoding',
    'transforms',
    'periodic-gaps',
    'hand-over',
    'too-many-threads',
    'work-in-loop',
  ],
  IOBottleneck: ['network', 'network-burst', 'page-cache', 'host-memory', 'too-many-workers'],
  LowGPUUtilization: [],
  BatchSize: ['accelerator-too-large', 'batch-too-small'],
  StepOutlier: ['checkpoint-stall', 'periodic-gaps', 'pauses'],
  LoadBalancing: ['slow-host'],
  MaxInitializationTime: ['download', 'small-files', 'installation'],
};

const WINDOW = 500;
const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;

interface Samples {
  readonly gpu: readonly number[];
  readonly cpu: readonly number[];
  readonly ioWait: readonly number[];
}

function samplesOf(recorder: Recorder, cores: number): Samples {
  const count = Math.floor((recorder.stepEnds.at(-1) ?? 0) / BIN_SECONDS);
  const percent = (kind: Kind, bin: number): number => (100 * recorder.sum(kind, bin, 1)) / BIN_SECONDS;
  const each = (value: (bin: number) => number) => Array.from({ length: count }, (_, bin) => value(bin));
  return {
    gpu: each((bin) => percent('gpu', bin)),
    cpu: each((bin) => (percent('mainCpu', bin) + percent('workerCpu', bin)) / cores),
    // A core counts as waiting where it has no process that could run.
    ioWait: each((bin) => Math.min(100, percent('blocked', bin) / cores)),
  };
}

/** Of the samples with a low accelerator, how many have the other condition, in percent. */
function bottleneck({ gpu }: Samples, high: readonly number[], threshold: number): number {
  const met = gpu.filter((busy, k) => busy < 10 && (high[k] ?? 0) > threshold).length;
  return (100 * met) / Math.max(1, gpu.length);
}

function stepOutliers(recorder: Recorder): number {
  const durations = recorder.stepEnds.map((end, step) => end - (recorder.stepEnds[step - 1] ?? 0));
  const mean = durations.reduce((sum, each) => sum + each, 0) / durations.length;
  const deviation = Math.sqrt(
    durations.reduce((sum, each) => sum + (each - mean) ** 2, 0) / durations.length,
  );
  return durations.filter((each) => each > mean + 3 * deviation).length;
}

const histogram = (values: readonly number[]): readonly number[] =>
  Array.from(
    { length: 10 },
    (_, k) => values.filter((each) => Math.min(9, Math.floor(each / 10)) === k).length / values.length,
  );

/** Distance of two histograms of ten bins, each of sum 1: 0 to 1. */
function histogramDistance(a: readonly number[], b: readonly number[]): number {
  const [one, other] = [histogram(a), histogram(b)];
  return one.reduce((sum, each, k) => sum + Math.abs(each - (other[k] ?? 0)), 0) / 2;
}

export function rulesThatFire({ evidence, recorders }: Played): readonly Rule[] {
  const { facts } = evidence.instance;
  const hosts = recorders.map((each) => samplesOf(each, facts.vcpu));
  const last = hosts.map(({ gpu, cpu }) => ({ gpu: gpu.slice(-WINDOW), cpu: cpu.slice(-WINDOW) }));
  const [first] = hosts;
  const startSeconds = Object.values(evidence.phases).reduce((sum: number, each: number) => sum + each, 0);
  const fires: Readonly<Record<Rule, boolean>> = {
    CPUBottleneck: hosts.some((each) => bottleneck(each, each.cpu, 90) > 50),
    IOBottleneck: hosts.some((each) => bottleneck(each, each.ioWait, 50) > 50),
    LowGPUUtilization: last.some(({ gpu }) => quantile(gpu, 0.95) < 70 || quantile(gpu, 0.05) < 10),
    // The memory of the accelerator is not simulated: low is assumed, which favours the rule.
    BatchSize: last.some(({ gpu, cpu }) => quantile(gpu, 0.95) < 70 && quantile(cpu, 0.95) < 70),
    StepOutlier: recorders.some((each) => stepOutliers(each) > 10),
    LoadBalancing: hosts.some(({ gpu }) => first !== undefined && histogramDistance(first.gpu, gpu) > 0.5),
    MaxInitializationTime: startSeconds > 20 * 60,
  };
  return RULES.filter((rule) => fires[rule]);
}
