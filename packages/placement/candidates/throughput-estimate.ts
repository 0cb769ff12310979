/**
 * The speed of each topology relative to the reference. It is measured where an attempt has trained. Elsewhere the
 * throughput model extrapolates from measurements or data sheets and states its uncertainty.
 */

import { type FactsOf, type InstanceFacts, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import type { HostReading } from '@tidewheel/doctor/verdict.ts';
import { assumed } from '../model/assumed.ts';
import type { PlacedAttempt, Progress } from '../records/attempts.ts';
import {
  describeReading,
  forecastStep,
  type HelperGroup,
  isSpeedKnown,
  secondsWithoutBurst,
  type TrainedTopology,
  type Workload,
  workloadOf,
} from './throughput.ts';
import type { GangTopology } from './topologies.ts';

/** The measured throughput of one attempt. */
export interface MeasuredThroughput extends TrainedTopology {
  readonly stepSeconds: number;
  /** Per step from now on, where the measured ones had a burst of network or disk that ends. */
  readonly laterStepSeconds?: number | undefined;
  /** The number of steps that the mean covers. */
  readonly steps: number;
  /** 0 to 1, means on the leading host; undefined where not measured. */
  readonly acceleratorUse?: number | undefined;
  readonly cpuUse?: number | undefined;
  /** Size of the newest checkpoint, from which the size of a gradient is estimated. */
  readonly checkpointBytes?: number | undefined;
  /** As the doctor noted it on the attempt. */
  readonly reading?: HostReading | undefined;
}

/** Seconds on this topology for a second on the reference. */
export interface RelativeThroughput {
  readonly factor: number;
  /** Standard deviation of its logarithm; 0 for the reference itself. */
  readonly uncertainty: number;
  readonly basis: 'reference' | 'measured' | 'extrapolated' | 'dataSheet' | 'unknown';
  /** How its memory, disk and network meet what a step reads; absent where that was not measured. */
  readonly reading?: string | undefined;
  /** What of the type no source says, and what stands in for it. */
  readonly unknown?: string | undefined;
  /** What a step asks of accelerators and hosts, where that was measured and the catalog knows the type. */
  readonly workload?: Workload | undefined;
}

export const REFERENCE_THROUGHPUT: RelativeThroughput = { factor: 1, uncertainty: 0, basis: 'reference' };

/** The throughput of each attempt that saved new work, oldest first. */
export const measuredThroughputs = (attempts: readonly PlacedAttempt[]): readonly MeasuredThroughput[] =>
  attempts.flatMap(({ placement, progressBefore, progressAfter: after, diagnosis }) => {
    if (after === undefined) return [];
    const steps = after.step - (progressBefore?.step ?? 0);
    const seconds = (after.trainingSeconds ?? 0) - (progressBefore?.trainingSeconds ?? 0);
    const { nodes, helpers } = placement.topology;
    const shape = { instanceType: placement.pool.instanceType, nodes, ...(helpers && { helpers }) };
    if (steps <= 0 || seconds <= 0) return [];
    return [{ ...shape, stepSeconds: seconds / steps, steps, ...useOf(after), reading: diagnosis?.reading }];
  });

const useOf = ({ usage, checkpointBytes }: Progress) => ({
  acceleratorUse: shareOf(usage?.gpuPercent),
  cpuUse: shareOf(usage?.cpuPercent),
  checkpointBytes,
});

const shareOf = (percent?: number): number | undefined => (percent === undefined ? undefined : percent / 100);

/** With the steps that follow a burst, for work that is longer than one. */
export const withoutBurst =
  (hardware: FactsOf) =>
  (each: MeasuredThroughput): MeasuredThroughput => {
    const facts = hardware(each.instanceType);
    const { reading, stepSeconds } = each;
    if (reading === undefined || facts === undefined) return each;
    return { ...each, laterStepSeconds: secondsWithoutBurst(reading, stepSeconds, facts) };
  };

const laterSeconds = ({ stepSeconds, laterStepSeconds = stepSeconds }: MeasuredThroughput): number =>
  laterStepSeconds;

export interface ThroughputModel {
  throughputOf(topology: GangTopology): RelativeThroughput;
  /** The load of a step on accelerators and hosts, where an attempt has measured both. */
  readonly workload?: Workload | undefined;
}

const PRIOR_STEP_SECONDS = 0.3;
/** Used where utilisation was not measured: the accelerator is the bottleneck and the host is half busy. */
const PRIOR_USE = { acceleratorUse: 1, cpuUse: 0.5 } as const;
/** A script that waits for something else uses nothing, and a step that needs nothing would take no time anywhere. */
const LEAST_USE = 0.01;
/** The least spread of a mean of many steps. */
const OF_A_MEAN = 0.02;

/**
 * @param reference what the work is stated for; its own measurements set the scale
 * @param helpers of the pipeline, beside every topology alike
 */
export function throughputModel(
  reference: TrainedTopology | undefined,
  measured: readonly MeasuredThroughput[],
  helpers: readonly HelperGroup[] = [],
  hardware: FactsOf = instanceFacts,
): ThroughputModel {
  // Helpers count too: the catalog may no longer know types that placement once added.
  const isKnown = (shape: TrainedTopology): boolean =>
    [shape, ...(shape.helpers ?? [])].every(({ instanceType }) => hardware(instanceType) !== undefined);
  if (reference === undefined || !isKnown(reference))
    return { throughputOf: () => ({ ...REFERENCE_THROUGHPUT, basis: 'unknown' }) };
  const known = measured.filter(isKnown);
  const helping: Helping = { hardware, helpers: helpers.filter(isKnown) };
  // Before any attempt, the uncertainty lies in going from here to other topologies.
  const prior = { ...reference, stepSeconds: PRIOR_STEP_SECONDS, steps: Number.MAX_SAFE_INTEGER };
  const sources = (known.length > 0 ? pooled(known) : [prior]).map((each) => sourceOf(each, helping));
  const own = combine(sources, reference, helping);
  const seen = sources.findLast(
    ({ measured: { cpuUse, acceleratorUse } }) => cpuUse !== undefined && acceleratorUse !== undefined,
  );
  const measuredLoad = seen && { workload: seen.workload };
  const basisOf = (topology: TrainedTopology): RelativeThroughput['basis'] => {
    if (known.length === 0) return 'dataSheet';
    return known.some((each) => sameTopology(each, topology)) ? 'measured' : 'extrapolated';
  };
  return {
    ...measuredLoad,
    throughputOf(topology) {
      const facts = hardware(topology.instanceType);
      const notes = facts && { ...notesOn(topology, facts, known), ...measuredLoad };
      if (sameTopology(topology, reference)) return { ...REFERENCE_THROUGHPUT, ...notes };
      if (facts === undefined) return { ...REFERENCE_THROUGHPUT, basis: 'unknown' };
      const { stepSeconds, uncertainty } = combine(sources, topology, helping);
      return { factor: stepSeconds / own.stepSeconds, uncertainty, basis: basisOf(topology), ...notes };
    },
  };
}

/** What stands in for what is not known of a type, and how it meets the reading. */
function notesOn(
  topology: TrainedTopology,
  facts: InstanceFacts,
  known: readonly MeasuredThroughput[],
): Pick<RelativeThroughput, 'reading' | 'unknown'> {
  const reading = known.findLast((each) => each.reading !== undefined)?.reading;
  const burst = known.findLast((each) => sameTopology(each, topology) && each.laterStepSeconds !== undefined);
  const afterBurst =
    burst === undefined
      ? ''
      : `, and was measured in a burst: a step takes ${laterSeconds(burst).toFixed(2)} s once it ends, not ${burst.stepSeconds.toFixed(2)} s`;
  return {
    ...(reading && { reading: `${describeReading(reading, facts)}${afterBurst}` }),
    ...(!isSpeedKnown(facts) && {
      unknown: `the speed of ${facts.accelerator} is not known, an A10G's is taken`,
    }),
  };
}

export const sameTopology = (a: TrainedTopology, b: TrainedTopology): boolean =>
  a.instanceType === b.instanceType && a.nodes === b.nodes && groupsOf(a) === groupsOf(b);

const groupsOf = ({ helpers = [] }: TrainedTopology): string =>
  helpers.map(({ instanceType, nodes }) => `${nodes} x ${instanceType}`).join();

/** One measurement a topology: the mean over all its steps, with the newest utilisation. */
function pooled(measured: readonly MeasuredThroughput[]): readonly MeasuredThroughput[] {
  const byShape = new Map<string, MeasuredThroughput>();
  for (const each of measured) {
    const key = `${each.instanceType} ${each.nodes} ${groupsOf(each)}`;
    const before = byShape.get(key);
    const steps = each.steps + (before?.steps ?? 0);
    const seconds = each.stepSeconds * each.steps + (before ? before.stepSeconds * before.steps : 0);
    byShape.set(key, { ...newestUses(before, each), steps, stepSeconds: seconds / steps });
  }
  return [...byShape.values()];
}

const newestUses = (
  before: MeasuredThroughput | undefined,
  each: MeasuredThroughput,
): MeasuredThroughput => ({
  ...each,
  acceleratorUse: each.acceleratorUse ?? before?.acceleratorUse,
  cpuUse: each.cpuUse ?? before?.cpuUse,
  checkpointBytes: each.checkpointBytes ?? before?.checkpointBytes,
  reading: each.reading ?? before?.reading,
  laterStepSeconds: each.laterStepSeconds ?? before?.laterStepSeconds,
});

/** Inputs that are the same for every topology. */
interface Helping {
  readonly helpers: readonly HelperGroup[];
  readonly hardware: FactsOf;
}

function sourceOf(measured: MeasuredThroughput, { helpers, hardware }: Helping) {
  const { acceleratorUse, cpuUse, checkpointBytes } = measured;
  const gradientBytes =
    checkpointBytes === undefined ? assumed.gradientBytes : checkpointBytes / assumed.checkpointGradients;
  const cpuOnly = hardware(measured.instanceType)?.acceleratorCount === 0;
  const beside = { ...measured, helpers: measured.helpers ?? helpers };
  // Without an accelerator the CPUs do all the work, whatever the mean over data loading says.
  const uses = cpuOnly
    ? { acceleratorUse: 0, cpuUse: 1 }
    : {
        acceleratorUse: Math.max(LEAST_USE, acceleratorUse ?? PRIOR_USE.acceleratorUse),
        cpuUse: Math.max(LEAST_USE, cpuUse ?? PRIOR_USE.cpuUse),
      };
  const workload = workloadOf({ ...beside, ...uses, gradientBytes }, hardware);
  return {
    measured,
    workload,
    /** The forecast for its own topology, so that the model's remaining error cancels out. */
    scale: laterSeconds(measured) / forecastStep(workload, beside, hardware).stepSeconds,
    uncertainty: Math.hypot(ownSpread(measured), cpuUse === undefined && !cpuOnly ? assumed.hostSpread : 0),
  };
}

const ownSpread = ({ steps }: MeasuredThroughput): number =>
  Math.max(OF_A_MEAN, assumed.stepSpread / Math.sqrt(steps));

/** The mean of every measurement's forecast, weighted by its certainty. */
function combine(
  sources: readonly ReturnType<typeof sourceOf>[],
  topology: TrainedTopology,
  { helpers, hardware }: Helping,
): { readonly stepSeconds: number; readonly uncertainty: number } {
  let weights = 0;
  let sum = 0;
  for (const { measured, workload, scale, uncertainty } of sources) {
    const own = sameTopology(measured, topology);
    const forecast = forecastStep(workload, { ...topology, helpers: topology.helpers ?? helpers }, hardware);
    const spread = own ? ownSpread(measured) : Math.hypot(uncertainty, forecast.uncertainty);
    const weight = 1 / spread ** 2;
    weights += weight;
    sum += weight * Math.log(own ? laterSeconds(measured) : forecast.stepSeconds * scale);
  }
  return { stepSeconds: Math.exp(sum / weights), uncertainty: 1 / Math.sqrt(weights) };
}
