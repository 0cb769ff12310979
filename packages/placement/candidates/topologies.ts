/**
 * The topologies that a pipeline allows: its declared types and nodes, or all that meet its needs. Those that the
 * launcher or the strategy would not accept are ruled out with a reason before placement reads any price.
 */

import { catalogTypes, type FactsOf, type InstanceFacts, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import { trainingType } from '@tidewheel/declaration/instance-types.ts';
import {
  DEFAULT_LAUNCHER,
  type LauncherName,
  launchersOf,
  type Strategy,
  strategyTraits,
} from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { LikelyReaders } from '@tidewheel/packing/plan.ts';
import type { HelperNodes, Topology } from '../records/placement-records.ts';

export interface GangTopology {
  readonly instanceType: string;
  readonly nodes: number;
  readonly acceleratorsPerNode: number;
  /** Of CPU nodes, where placement adds them. */
  readonly helpers?: readonly HelperNodes[] | undefined;
}

export interface TopologyQuestion {
  readonly compute: Pipeline['compute'];
  /** Without it, strategy and image rule nothing out. */
  readonly training?: Pipeline['training'] | undefined;
  /** AWS's name of it. */
  readonly region: string;
  /** Whether the region differs from the data's own. */
  readonly isElsewhere?: boolean | undefined;
  /** Absent: asked about the topology, whichever way it is bought. */
  readonly purchaseOption?: 'spot' | 'on-demand' | undefined;
  /** Default: the first that the pipeline allows. */
  readonly launcher?: LauncherName | undefined;
  /** The topology that wrote the newest checkpoint; undefined before the first. */
  readonly savedOn?: GangTopology | undefined;
  /** Default: the snapshot's. */
  readonly hardware?: FactsOf | undefined;
}

type Needs = NonNullable<Pipeline['compute']['needs']>;

export function topologiesOf(question: TopologyQuestion) {
  const topologies: GangTopology[] = [];
  const ruledOut: { readonly topology: GangTopology; readonly reason: string }[] = [];
  for (const { topology, reason } of proposals(question.compute, question.hardware)) {
    const why = reason ?? whyRuledOut(topology, question);
    if (why === undefined) topologies.push(topology);
    else ruledOut.push({ topology, reason: why });
  }
  return { topologies, ruledOut };
}

/** Every type that may be used, by number of nodes: one market question for each gang size. */
export function gangsOf(
  compute: Pipeline['compute'],
  hardware?: FactsOf,
): readonly { readonly nodes: number; readonly instanceTypes: readonly string[] }[] {
  const byNodes = new Map<number, string[]>();
  for (const { topology, reason } of proposals(compute, hardware)) {
    if (reason !== undefined) continue;
    const types = byNodes.get(topology.nodes) ?? [];
    if (!types.includes(topology.instanceType)) types.push(topology.instanceType);
    byNodes.set(topology.nodes, types);
  }
  return [...byNodes].map(([nodes, instanceTypes]) => ({ nodes, instanceTypes }));
}

/** Every type of every gang. */
export const typesOf = (compute: Pipeline['compute'], hardware?: FactsOf): readonly string[] => [
  ...new Set(gangsOf(compute, hardware).flatMap(({ instanceTypes }) => instanceTypes)),
];

interface Proposal {
  readonly topology: GangTopology;
  readonly reason?: string;
}

function proposals(
  { needs, instanceTypes, nodes }: Pipeline['compute'],
  hardware: FactsOf = instanceFacts,
): readonly Proposal[] {
  const gang = (instanceType: string, count: number): GangTopology => ({
    instanceType,
    nodes: count,
    acceleratorsPerNode: hardware(instanceType)?.acceleratorCount ?? 0,
  });
  if (needs === undefined)
    return [...new Set(instanceTypes)].map((instanceType) => ({ topology: gang(instanceType, nodes) }));
  const types = [...new Set(instanceTypes ?? catalogTypes())];
  return types.flatMap((instanceType): readonly Proposal[] => {
    const facts = hardware(instanceType);
    if (facts === undefined)
      return [{ topology: gang(instanceType, 1), reason: `the catalog does not know ${instanceType}` }];
    const lacking = facts.acceleratorCount > 0 ? lackOfAccelerators(facts, needs) : lackOfCpus(facts, needs);
    // A type of the wrong sort is not shown as a candidate that lost.
    if (lacking === NO_CANDIDATE) return [];
    const topology = gang(instanceType, nodesOf(facts, needs)[0] ?? 1);
    if (lacking !== undefined) return [{ topology, reason: lacking }];
    return nodesOf(facts, needs).map((count) => ({ topology: gang(instanceType, count) }));
  });
}

const NO_CANDIDATE = Symbol('no candidate');
type Lack = string | typeof NO_CANDIDATE | undefined;

/** The numbers of nodes that give the needed accelerators; for CPU nodes 1, 2, 4, ... */
function nodesOf(facts: InstanceFacts, { accelerators, maximumNodes }: Needs): readonly number[] {
  if (facts.acceleratorCount > 0) return [Math.max(1, Math.ceil(accelerators / facts.acceleratorCount))];
  const powers = Array.from({ length: Math.floor(Math.log2(maximumNodes)) + 1 }, (_, k) => 2 ** k);
  return powers.filter((count) => count <= maximumNodes);
}

/** AWS states the memory that the driver leaves: 22,888 MiB of an A10G's 24 GB. */
const USABLE_SHARE = 0.93;

function lackOfMemory(
  { acceleratorMemoryMib, accelerator = 'accelerator' }: InstanceFacts,
  gigabytes = 0,
): string | undefined {
  if (gigabytes === 0) return undefined;
  if (acceleratorMemoryMib === undefined)
    return `how much memory its ${accelerator} has is not known, and compute.needs asks for ${gigabytes} GB`;
  const each = acceleratorMemoryMib / 1_024;
  return each < gigabytes * USABLE_SHARE
    ? `its ${accelerator} has ${each.toFixed(0)} GB, compute.needs asks for ${gigabytes}`
    : undefined;
}

function lackOfAccelerators(facts: InstanceFacts, needs: Needs): Lack {
  const { accelerators, kinds, acceleratorsPerNode: least = 1 } = needs;
  const { acceleratorCount: count, accelerator = 'accelerator' } = facts;
  if (accelerators === 0) return NO_CANDIDATE;
  if (kinds ? !kinds.some((kind) => kind === accelerator) : accelerator === 'Trainium') return NO_CANDIDATE;
  const small = lackOfMemory(facts, needs.acceleratorMemoryGigabytes);
  if (small !== undefined) return small;
  if (count < least) return `it has ${count} accelerators in a node, compute.needs asks for ${least}`;
  if (accelerators % count !== 0) return `${accelerators} accelerators cannot be made of nodes with ${count}`;
  return accelerators / count > needs.maximumNodes
    ? `it takes ${accelerators / count} nodes, compute.needs.maximumNodes is ${needs.maximumNodes}`
    : lackOfHost(facts, needs);
}

function lackOfCpus(facts: InstanceFacts, needs: Needs): Lack {
  if (needs.accelerators > 0 && !needs.cpuInstead) return NO_CANDIDATE;
  // Almost every CPU size is too small or too large for a given need; such sizes are no candidates.
  return lackOfHost(facts, needs) === undefined ? undefined : NO_CANDIDATE;
}

function lackOfHost({ memoryGib, vcpu }: InstanceFacts, needs: Needs): string | undefined {
  if (memoryGib < (needs.memoryGigabytes ?? 0))
    return `a node has ${memoryGib} GB of memory, tuning.compute.needs asks for ${needs.memoryGigabytes}`;
  if (vcpu < (needs.vcpus ?? 0))
    return `a node has ${vcpu} vCPUs, tuning.compute.needs asks for ${needs.vcpus}`;
  return undefined;
}

/** Why the launcher, the strategy or the checkpoint would not accept a topology. */
function whyRuledOut(topology: GangTopology, question: TopologyQuestion): string | undefined {
  const infeasible = infeasibleOn(topology, question);
  // From here on, types and nodes that the pipeline declares are accepted as they are.
  if (infeasible !== undefined || question.compute.needs === undefined) return infeasible;
  return againstStrategy(topology, question.training?.strategy) ?? againstCheckpoint(topology, question);
}

/** Why the launcher cannot start it. */
export function infeasibleOn(topology: GangTopology, question: TopologyQuestion): string | undefined {
  const { compute, isElsewhere = false, launcher = launchersOf(compute)[0] ?? DEFAULT_LAUNCHER } = question;
  return launcherFacts[launcher].infeasible({ ...question, topology, isElsewhere });
}

function againstStrategy({ instanceType, nodes }: GangTopology, strategy?: Strategy): string | undefined {
  if (strategy === undefined) return undefined;
  const traits = strategyTraits[strategy];
  if (traits.trainingHosts === 'one' && nodes > 1) return `training.strategy ${strategy} runs on one node`;
  return trainingType(instanceType)?.device === 'neuron' && !traits.runsOnTrainium
    ? `Trainium is launched by torchrun: training.strategy ${strategy} does not run there`
    : undefined;
}

function againstCheckpoint(
  topology: GangTopology,
  { compute, savedOn }: TopologyQuestion,
): string | undefined {
  if (savedOn === undefined || compute.needs?.resumeOnOtherTopology || sameShape(savedOn, topology))
    return undefined;
  return `the checkpoint is of ${savedOn.nodes} x ${savedOn.acceleratorsPerNode} accelerators and may not be resumed by another number (tuning.compute.needs.resumeOnOtherTopology)`;
}

/** Equal numbers of hosts and of processes on each, for which a checkpoint or batch may have been split. */
export const sameShape = (a: Topology, b: Topology): boolean =>
  a.nodes === b.nodes && a.acceleratorsPerNode === b.acceleratorsPerNode;

// The likely readers of the shards packed now: the processes of every topology that the declaration allows.

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

/** How much larger than the largest number a common multiple may be. */
const MOST_MULTIPLE = 4;

/**
 * Pure, from the release's own catalog, so that every planner of a run computes the same. A type that the catalog does
 * not know counts as one process.
 */
export function likelyReaders({ training, compute }: Pick<Pipeline, 'training' | 'compute'>): LikelyReaders {
  const hasProcesses = strategyTraits[training.strategy].processes === 'perAccelerator';
  const declared = hasProcesses ? training.processesPerHost : undefined;
  const worlds = gangsOf(compute).flatMap(({ nodes, instanceTypes }) =>
    instanceTypes.map(
      (type) => nodes * (declared ?? Math.max(1, instanceFacts(type)?.acceleratorCount ?? 0)),
    ),
  );
  const largest = Math.max(1, ...worlds);
  const common = worlds.reduce((multiple, world) => (multiple / greatestDivisor(multiple, world)) * world, 1);
  // In a job with helpers, the helpers read.
  const helpers = (compute.helpers ?? []).reduce((sum, { nodes }) => sum + nodes, 0);
  return {
    processes: Math.max(largest, helpers),
    multipleOf: common <= largest * MOST_MULTIPLE ? common : largest,
  };
}
