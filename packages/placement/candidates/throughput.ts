/**
 * The time of a training step on a topology. Accelerators, the hosts that prepare samples, disks and the network overlap,
 * so the slowest decides; the part of the gradient exchange that cannot overlap is added. A measurement on one topology
 * predicts others, with more uncertainty the less they have in common.
 */

import {
  catalogTypes,
  type FactsOf,
  type InstanceFacts,
  instanceFacts,
  trainingPrice,
} from '@tidewheel/catalog/catalog.ts';
import { acceleratorSpeed, isDiskRateAssumed, VCPU_SPEED } from '@tidewheel/catalog/speeds.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { HostReading } from '@tidewheel/doctor/verdict.ts';
import { assumed } from '../model/assumed.ts';
import { readingCost } from './reading-cost.ts';

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
export interface Workload {
  /** The type it was measured on; seconds are those of its accelerator. */
  readonly measuredOn: string;
  readonly acceleratorSeconds: number;
  readonly vcpuSeconds: number;
  readonly gradientBytes: number;
  /** Of each of the `readers` that it was measured on. */
  readonly reading?: HostReading | undefined;
  readonly readers: number;
}

interface StepForecast {
  readonly stepSeconds: number;
  readonly bottleneck: (typeof RESOURCES)[number];
  /** Standard deviation of the logarithm: 0.2 is about 20 % either way. Priors, narrower where less is extrapolated. */
  readonly uncertainty: number;
}

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
export function workloadOf(measured: MeasuredSpeed, hardware: FactsOf = instanceFacts): Workload {
  const facts = factsIn(hardware, measured.instanceType);
  const hostBound = measured.cpuUse >= assumed.hostSaturated && measured.cpuUse > measured.acceleratorUse;
  const hostShare = hostBound ? 1 : Math.min(1, measured.cpuUse / 0.95);
  return {
    measuredOn: measured.instanceType,
    acceleratorSeconds:
      measured.stepSeconds * measured.acceleratorUse * facts.acceleratorCount * measured.nodes,
    vcpuSeconds: measured.stepSeconds * hostShare * vcpusOf(measured, hardware),
    gradientBytes: measured.gradientBytes ?? 0,
    reading: measured.reading,
    readers: measured.nodes,
  };
}

export function forecastStep(
  workload: Workload,
  topology: TrainedTopology,
  hardware: FactsOf = instanceFacts,
): StepForecast {
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
  return inside + secondsToMove(around(nodes), facts);
}

/** Training traffic is steady and gets the baseline; burst credit lasts minutes. */
const secondsToMove = (bytes: number, { networkBaselineGbps: gbps, efa }: InstanceFacts): number =>
  (bytes * 8) / (gbps * 1e9 * (efa ? assumed.efaShare : assumed.tcpShare));

// Whether CPU helper nodes pay: the same samples for less money, by this model.

interface HelperQuestion {
  readonly workload: Workload;
  readonly instanceType: string;
  readonly nodes: number;
  readonly region: string;
  /** CPU types that may help; default: the c5 family, the one with listed SageMaker prices. */
  readonly candidates?: readonly string[] | undefined;
  readonly maximumNodes?: number | undefined;
  /** USD an hour of one instance; default: the catalog's. A type without a known price is no candidate. */
  readonly priceOf?: ((instanceType: string) => number | undefined) | undefined;
  /** Default: the snapshot's. */
  readonly hardware?: FactsOf | undefined;
}

interface HelperAdvice {
  readonly helpers: HelperGroup | undefined;
  readonly reason: string;
}

const MAXIMUM_HELPERS_PER_NODE = 4;

/** Undefined: a price is unknown, so costs cannot be compared. */
export function adviseHelpers(question: HelperQuestion): HelperAdvice | undefined {
  const { workload, instanceType, nodes, region } = question;
  const priceOf = question.priceOf ?? ((type: string) => trainingPrice(type, region)?.hourlyUsd);
  const price = priceOf(instanceType);
  if (price === undefined) return undefined;
  const without = forecastStep(workload, { instanceType, nodes }, question.hardware);
  if (without.bottleneck !== 'host')
    return {
      helpers: undefined,
      reason: `the ${without.bottleneck} is the bottleneck: helpers would wait for it`,
    };
  let best: HelperAdvice | undefined;
  let bestRatio = 1;
  let least = 1;
  for (const helpers of helperGroups(question)) {
    const helperPrice = priceOf(helpers.instanceType);
    if (helperPrice === undefined) continue;
    const forecast = forecastStep(workload, { instanceType, nodes, helpers: [helpers] }, question.hardware);
    const timeRatio = forecast.stepSeconds / without.stepSeconds;
    const costRatio = timeRatio * (1 + (helperPrice * helpers.nodes) / (price * nodes));
    const burden = costRatio + assumed.helperGain * (helpers.nodes - 1);
    if (costRatio >= 1 || burden >= least - 1e-9) continue;
    const reason = `hosts are the bottleneck: ${helpers.nodes} x ${helpers.instanceType} make a step ${percent(1 - timeRatio)} shorter and ${percent(1 - costRatio)} cheaper (+-${percent(forecast.uncertainty)})`;
    best = { helpers, reason };
    [bestRatio, least] = [costRatio, burden];
  }
  const isWorth = best !== undefined && bestRatio <= 1 - assumed.helperGain;
  return isWorth ? best : { helpers: undefined, reason: 'helpers would cost what they save' };
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

function helperGroups({
  candidates,
  nodes,
  maximumNodes,
  hardware = instanceFacts,
}: HelperQuestion): readonly HelperGroup[] {
  const types = candidates ?? HELPER_TYPES;
  return types
    .filter((type) => hardware(type)?.acceleratorCount === 0)
    .flatMap((type) =>
      Array.from({ length: Math.min(maximumNodes ?? 64, MAXIMUM_HELPERS_PER_NODE * nodes) }, (_, k) => ({
        instanceType: type,
        nodes: k + 1,
      })),
    );
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;
