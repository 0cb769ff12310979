/**
 * The time of a training step on a topology. Accelerators, the hosts that prepare samples, disks and the network overlap,
 * so the slowest decides; the part of the gradient exchange that cannot overlap is added. A measurement on one topology
 * predicts others, with more uncertainty the less they have in common.
 */

import { catalogTypes, type FactsOf, type InstanceFacts, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { acceleratorSpeed, diskRate, isDiskRateAssumed, VCPU_SPEED } from '@tidewheel/catalog/speeds.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { HostReading } from '@tidewheel/doctor/verdict.ts';
import { assumed } from '../model/assumed.ts';

export interface HelperGroup {
  readonly instanceType: string;
  readonly nodes: number;
}

export interface TrainedTopology {
  readonly instanceType: string;
  readonly nodes: number;
  /** CPU nodes that prepare samples beside it. */
  readonly helpers?: readonly HelperGroup[] | undefined;
}

/** What an attempt measured, as the doctor reads it. */
export interface MeasuredSpeed extends TrainedTopology {
  readonly stepSeconds: number;
  /** 0 to 1, means over all accelerators and all vCPUs, those of helpers too. */
  readonly acceleratorUse: number;
  readonly cpuUse: number;
  readonly gradientBytes?: number | undefined;
  /** Absent where nothing tells: then no disk, page cache or stream limits a step. */
  readonly reading?: HostReading | undefined;
}

/** Seconds that one step of the whole gang needs of each resource, on one unit of it. */
export type Workload = ReturnType<typeof workloadOf>;

const RESOURCES = ['accelerator', 'host', 'network', 'disk'] as const;

/** Of a normal distribution between its 5th and 95th percentile. */
export const NINE_OF_TEN = 1.645;

class UnknownTypeError extends Error {
  override readonly name = 'UnknownTypeError';
}

const factsIn = (hardware: FactsOf, type: string): InstanceFacts => {
  const facts = hardware(type);
  if (!facts)
    throw new UnknownTypeError(`the catalog does not know ${type}: name a type of packages/catalog`);
  return facts;
};

/** What the vCPUs of a gang are worth, its helpers' too. */
function vcpusOf({ instanceType, nodes, helpers = [] }: TrainedTopology, hardware: FactsOf): number {
  const facts = factsIn(hardware, instanceType);
  const ofNode = trainsOnCpus(facts) ? effectiveVcpus(facts.vcpu) : facts.vcpu;
  const ofHelpers = helpers.reduce(
    (sum, each) => sum + factsIn(hardware, each.instanceType).vcpu * each.nodes * assumed.helperWorth,
    0,
  );
  return ofNode * nodes + ofHelpers;
}

const trainsOnCpus = ({ acceleratorCount }: InstanceFacts): boolean => acceleratorCount === 0;

/** Amdahl's law: how many vCPUs a node is worth that trains on its CPUs. */
const effectiveVcpus = (vcpu: number): number => 1 / (assumed.serialShare + (1 - assumed.serialShare) / vcpu);

const scalingSpread = (from: InstanceFacts, to: InstanceFacts): number =>
  trainsOnCpus(from) && trainsOnCpus(to) ? assumed.hostSpread * Math.abs(Math.log2(to.vcpu / from.vcpu)) : 0;

/** What one step costs of each resource, from a measurement of any topology. */
export function workloadOf(measured: MeasuredSpeed, hardware: FactsOf = instanceFacts) {
  const facts = factsIn(hardware, measured.instanceType);
  const hostBound = measured.cpuUse >= assumed.hostSaturated && measured.cpuUse > measured.acceleratorUse;
  const hostShare = hostBound ? 1 : Math.min(1, measured.cpuUse / 0.95);
  return {
    /** Seconds are those of its accelerator. */
    measuredOn: measured.instanceType,
    acceleratorSeconds:
      measured.stepSeconds * measured.acceleratorUse * facts.acceleratorCount * measured.nodes,
    vcpuSeconds: measured.stepSeconds * hostShare * vcpusOf(measured, hardware),
    gradientBytes: measured.gradientBytes ?? 0,
    /** What each of the `readers` reads, as measured. */
    reading: measured.reading,
    readers: measured.nodes,
  };
}

export function forecastStep(
  workload: Workload,
  topology: TrainedTopology,
  hardware: FactsOf = instanceFacts,
) {
  const { instanceType, nodes, helpers = [] } = topology;
  const facts = factsIn(hardware, instanceType);
  const load = loadOn(workload, facts, hardware);
  const { diskSeconds, networkSeconds } = readingCost(workload.reading, workload.readers / nodes, facts);
  const seconds = {
    accelerator: load.acceleratorSeconds / Math.max(1, facts.acceleratorCount * nodes),
    host: load.vcpuSeconds / vcpusOf(topology, hardware),
    network: networkSeconds,
    disk: diskSeconds,
  };
  const slowest = Math.max(...Object.values(seconds));
  const bottleneck = RESOURCES.find((each) => seconds[each] === slowest) ?? 'accelerator';
  const stepSeconds =
    slowest + exchangeSeconds(workload.gradientBytes, facts, nodes) * (1 - assumed.hiddenExchange);
  // Standard deviation of the logarithm: 0.2 is about 20 % either way. Priors, narrower where less is extrapolated.
  const uncertainty = Math.hypot(
    helpers.length > 0 || nodes > 1 ? 0.15 : 0.05,
    load.uncertainty,
    bottleneck === 'disk' && isDiskRateAssumed(facts) ? assumed.diskSpread : 0,
    bottleneck === 'host' ? scalingSpread(factsIn(hardware, workload.measuredOn), facts) : 0,
  );
  return { stepSeconds, bottleneck, uncertainty };
}

/** The load of a step on this type's accelerator or, without one, on its vCPUs. */
function loadOn(
  { measuredOn, acceleratorSeconds, vcpuSeconds }: Workload,
  there: InstanceFacts,
  hardware: FactsOf,
) {
  const here = factsIn(hardware, measuredOn);
  const ratio = speedOf(here) / speedOf(there);
  const [fromCpus, toCpus] = [trainsOnCpus(here), trainsOnCpus(there)];
  if (fromCpus && toCpus) return { acceleratorSeconds: 0, vcpuSeconds, uncertainty: 0 };
  if (!fromCpus && !toCpus)
    return {
      acceleratorSeconds: acceleratorSeconds * ratio,
      vcpuSeconds,
      uncertainty: spreadBetween(here, there),
    };
  const uncertainty = assumed.otherSortSpread;
  // The split of CPU time between training and preparing is unknown: all of it moves to the accelerator.
  return fromCpus
    ? { acceleratorSeconds: vcpuSeconds * ratio, vcpuSeconds: 0, uncertainty }
    : { acceleratorSeconds: 0, vcpuSeconds: vcpuSeconds + acceleratorSeconds * ratio, uncertainty };
}

function spreadBetween(here: InstanceFacts, there: InstanceFacts): number {
  if (here.accelerator === there.accelerator && here.acceleratorMemoryMib === there.acceleratorMemoryMib)
    return 0;
  const isOneSort = (here.accelerator === 'Trainium') === (there.accelerator === 'Trainium');
  return isOneSort && isSpeedKnown(there) && isSpeedKnown(here)
    ? assumed.otherKindSpread
    : assumed.otherSortSpread;
}

export const isSpeedKnown = ({ accelerator, acceleratorMemoryMib }: InstanceFacts): boolean =>
  accelerator === undefined || acceleratorSpeed(accelerator, acceleratorMemoryMib) !== undefined;

/** An unknown kind counts as an A10G, and the table says so. */
const speedOf = ({ accelerator, acceleratorMemoryMib }: InstanceFacts): number =>
  accelerator === undefined
    ? VCPU_SPEED
    : (acceleratorSpeed(accelerator, acceleratorMemoryMib) ?? acceleratorSpeed('A10G', undefined) ?? 1);

/** A ring moves each gradient nearly twice: over the links inside each node, then over every node's network. */
function exchangeSeconds(bytes: number, facts: InstanceFacts, nodes: number): number {
  const around = (count: number): number => (count < 2 ? 0 : (2 * bytes * (count - 1)) / count);
  const fast = /nvlink|nvswitch|neuronlink|torus/i.test(facts.interconnect ?? '');
  const inside = around(facts.acceleratorCount) / (fast ? assumed.nvlinkBytes : assumed.pcieBytes);
  // Training traffic is steady and gets the baseline; burst credit lasts minutes.
  const bitsASecond = facts.networkBaselineGbps * 1e9 * (facts.efa ? assumed.efaShare : assumed.tcpShare);
  return inside + (around(nodes) * 8) / bitsASecond;
}

// The seconds that a type needs to read the data of a step: what its memory does not hold comes from its disk or network.

const GIBIBYTE = 2 ** 30;
const GIGABIT_BYTES = 125e6;

/** @param share of the measured host's bytes that one host there reads in a step */
export function readingCost(reading: HostReading | undefined, share: number, facts: InstanceFacts) {
  if (reading === undefined) return { diskSeconds: 0, networkSeconds: 0 };
  const bytes = reading.bytesPerStep * share;
  return reading.inputMode === 'File'
    ? { diskSeconds: (missing(reading, facts) * bytes) / diskRate(facts), networkSeconds: 0 }
    : { diskSeconds: 0, networkSeconds: bytes / streamRate(facts) };
}

/** The part of the data that has left the page cache when the next epoch asks for it. */
const missing = ({ dataBytes, processBytes }: HostReading, { memoryGib }: InstanceFacts): number =>
  Math.max(0, 1 - Math.max(0, memoryGib * GIBIBYTE - processBytes) / Math.max(1, dataBytes));

/** Bytes a second at the baseline: AWS gives a burst by best effort, for minutes. */
const streamRate = ({ networkBaselineGbps }: InstanceFacts): number => networkBaselineGbps * GIGABIT_BYTES;

/** What of a type's memory, disk and network meets the reading, for the table of a placement. */
export function describeReading(reading: HostReading, facts: InstanceFacts): string {
  if (reading.inputMode === 'FastFile')
    return `streams its data at a baseline of ${megabytes(streamRate(facts))} a second`;
  const share = missing(reading, facts);
  if (share === 0) return `its memory holds the ${gigabytes(reading.dataBytes)} of data`;
  const rest = `${Math.ceil(share * 100)} % of the data, which its memory does not hold`;
  const disk = facts.nvmeGb > 0 ? 'its NVMe' : 'EBS';
  const assumed = isDiskRateAssumed(facts) ? 'an assumed ' : '';
  return `${disk} reads ${rest}, at ${assumed}${megabytes(diskRate(facts))} a second`;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;

/** Beyond the baseline by more than the jitter of a link. */
const BURST = 1.1;

/**
 * Seconds of the same step once the burst has ended that it was measured in: what network or EBS read then was more than
 * their baseline, which AWS gives for minutes.
 * @returns undefined where the step needs no burst
 */
export function secondsWithoutBurst(
  reading: HostReading,
  stepSeconds: number,
  facts: InstanceFacts,
): number | undefined {
  const { diskSeconds, networkSeconds } = readingCost(reading, 1, facts);
  const atBaseline = Math.max(isDiskRateAssumed(facts) ? 0 : diskSeconds, networkSeconds);
  return atBaseline > BURST * stepSeconds ? atBaseline : undefined;
}

// Whether CPU helper nodes pay: the same samples for less money, by this model.

interface HelperQuestion {
  readonly workload: Workload;
  readonly instanceType: string;
  readonly nodes: number;
  readonly may: Pick<NonNullable<Pipeline['compute']['mayAddHelpers']>, 'instanceTypes' | 'maximumNodes'>;
  /** USD an hour of one instance. A type without a known price is no candidate. */
  readonly priceOf: (instanceType: string) => number | undefined;
  readonly hardware: FactsOf;
}

const MAXIMUM_HELPERS_PER_NODE = 4;

/** @returns undefined where none would pay, or costs cannot be compared */
export const helpersThatPay = (question: HelperQuestion): HelperGroup | undefined =>
  gainOf(question)?.helpers;

/** Says what the helpers that pay gain, if any do. */
export function adviseHelpers(question: HelperQuestion): string | undefined {
  const gain = gainOf(question);
  if (gain === undefined) return undefined;
  const { helpers, timeRatio, costRatio, uncertainty } = gain;
  return `hosts are the bottleneck: ${helpers.nodes} x ${helpers.instanceType} make a step ${percent(1 - timeRatio)} shorter and ${percent(1 - costRatio)} cheaper (+-${percent(uncertainty)})`;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

interface HelperGain extends Readonly<Record<'timeRatio' | 'costRatio' | 'uncertainty', number>> {
  readonly helpers: HelperGroup;
}

function gainOf(question: HelperQuestion): HelperGain | undefined {
  const { workload, instanceType, nodes, may, priceOf, hardware } = question;
  const price = priceOf(instanceType);
  const without = forecastStep(workload, { instanceType, nodes }, hardware);
  // Helpers would wait for any other bottleneck.
  if (price === undefined || without.bottleneck !== 'host') return undefined;
  let best: HelperGain | undefined;
  let least = 1;
  const most = Math.min(may.maximumNodes, MAXIMUM_HELPERS_PER_NODE * nodes);
  for (const type of may.instanceTypes ?? HELPER_TYPES) {
    const helperPrice = priceOf(type);
    if (helperPrice === undefined || hardware(type)?.acceleratorCount !== 0) continue;
    for (let count = 1; count <= most; count += 1) {
      const helpers = { instanceType: type, nodes: count };
      const forecast = forecastStep(workload, { instanceType, nodes, helpers: [helpers] }, hardware);
      const timeRatio = forecast.stepSeconds / without.stepSeconds;
      const costRatio = timeRatio * (1 + (helperPrice * count) / (price * nodes));
      const burden = costRatio + assumed.helperGain * (count - 1);
      if (burden >= least - 1e-9) continue;
      best = { helpers, timeRatio, costRatio, uncertainty: forecast.uncertainty };
      least = burden;
    }
  }
  return best !== undefined && best.costRatio <= 1 - assumed.helperGain ? best : undefined;
}

/** The c5 family has listed SageMaker prices. */
const HELPER_TYPES: readonly string[] = catalogTypes().filter((type) => type.startsWith('c5.'));

/** Those of the named groups, and those that may be added. */
export const helperTypesOf = ({
  helpers = [],
  mayAddHelpers: may,
}: Pipeline['compute']): readonly string[] => [
  ...helpers.map(({ instanceType }) => instanceType),
  ...(may === undefined ? [] : (may.instanceTypes ?? HELPER_TYPES)),
];
