/**
 * How long a training step takes on a topology: accelerators, hosts that prepare samples, and the network overlap, so
 * the slowest of them sets the pace; the exchange of gradients is added where it cannot hide. Measured on one topology,
 * it predicts others with the same accelerator. Where nothing was measured nothing is predicted.
 */
import { type InstanceFacts, instanceFacts } from '../catalog/catalog.ts';

/** What an attempt measured, as the doctor reads it. */
export interface Measured {
  readonly instanceType: string;
  readonly nodes: number;
  readonly stepSeconds: number;
  /** 0 to 1, means over all accelerators and all vCPUs. */
  readonly acceleratorUse: number;
  readonly cpuUse: number;
  /** What each node's samples of a step weigh, prepared; undefined leaves the network out. */
  readonly preparedBytesPerStep?: number | undefined;
  readonly gradientBytes?: number | undefined;
}

export interface HelperGroup {
  readonly instanceType: string;
  readonly nodes: number;
}

export interface TopologyChoice {
  readonly instanceType: string;
  readonly nodes: number;
  readonly helpers?: HelperGroup | undefined;
}

/** Seconds that one step of the whole gang needs of each resource, on one unit of it. */
export interface Workload {
  readonly accelerator: string | undefined;
  readonly acceleratorSeconds: number;
  readonly vcpuSeconds: number;
  readonly preparedBytes: number;
  readonly gradientBytes: number;
}

export interface StepForecast {
  readonly stepSeconds: number;
  readonly bottleneck: 'accelerator' | 'host' | 'network';
  /** One standard deviation as a share; a prior, narrower where less is extrapolated. */
  readonly uncertainty: number;
}

export class UnknownTypeError extends Error {
  override readonly name = 'UnknownTypeError';
}

/** A vCPU of a helper is worth this much of a local one: samples are sent over the network. A stated prior. */
const HELPER_WORTH = 0.8;
/** A host this busy is at its limit: the step waits for it, whatever is missing to 100 %. */
const HOST_SATURATED = 0.85;
/** Attainable shares of nominal bandwidth, without and with EFA. Stated priors. */
const TCP_SHARE = 0.6;
const EFA_SHARE = 0.8;
/** Of a gradient exchange, this share hides behind the backward pass. A stated prior. */
const HIDDEN_EXCHANGE = 0.5;

const factsOf = (type: string): InstanceFacts => {
  const facts = instanceFacts(type);
  if (!facts)
    throw new UnknownTypeError(`the catalog does not know ${type}: name a type of functions/core/catalog`);
  return facts;
};

/** What one step costs of each resource, from a measurement of any topology without helpers. */
export function workloadOf(measured: Measured): Workload {
  const facts = factsOf(measured.instanceType);
  const hostBound = measured.cpuUse >= HOST_SATURATED && measured.cpuUse > measured.acceleratorUse;
  const hostShare = hostBound ? 1 : Math.min(1, measured.cpuUse / 0.95);
  return {
    accelerator: facts.accelerator,
    acceleratorSeconds:
      measured.stepSeconds * measured.acceleratorUse * facts.acceleratorCount * measured.nodes,
    vcpuSeconds: measured.stepSeconds * hostShare * facts.vcpu * measured.nodes,
    preparedBytes: (measured.preparedBytesPerStep ?? 0) * measured.nodes,
    gradientBytes: measured.gradientBytes ?? 0,
  };
}

export function forecastStep(
  workload: Workload,
  { instanceType, nodes, helpers }: TopologyChoice,
): StepForecast {
  const facts = factsOf(instanceType);
  const helperVcpu = helpers ? factsOf(helpers.instanceType).vcpu * helpers.nodes * HELPER_WORTH : 0;
  const vcpu = facts.vcpu * nodes + helperVcpu;
  const remoteShare = helperVcpu / vcpu;
  const resources = {
    accelerator: workload.acceleratorSeconds / Math.max(1, facts.acceleratorCount * nodes),
    host: workload.vcpuSeconds / vcpu,
    network: secondsToMove((workload.preparedBytes / nodes) * remoteShare, facts, { steady: true }),
  };
  const slowest = Math.max(resources.accelerator, resources.host, resources.network);
  const bottleneck =
    slowest === resources.accelerator ? 'accelerator' : slowest === resources.host ? 'host' : 'network';
  const stepSeconds = slowest + exchangeSeconds(workload.gradientBytes, facts, nodes) * (1 - HIDDEN_EXCHANGE);
  return { stepSeconds, bottleneck, uncertainty: helpers || nodes > 1 ? 0.15 : 0.05 };
}

/** A ring over the nodes moves each gradient nearly twice over every node's network; inside a node it is left out. */
function exchangeSeconds(bytes: number, facts: InstanceFacts, nodes: number): number {
  return nodes < 2 ? 0 : secondsToMove((2 * bytes * (nodes - 1)) / nodes, facts, { steady: true });
}

/** A steady stream gets the baseline; what a burst allows is gone after minutes. */
function secondsToMove(
  bytes: number,
  facts: InstanceFacts,
  { steady }: { readonly steady: boolean },
): number {
  const gbps = steady ? facts.networkBaselineGbps : facts.networkBurstGbps;
  return gbps <= 0 ? 0 : (bytes * 8) / (gbps * 1e9 * (facts.efa ? EFA_SHARE : TCP_SHARE));
}
