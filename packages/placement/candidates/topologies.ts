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
import type { Topology } from '../records/placement-records.ts';

/** Its helpers are those that placement adds. */
export interface GangTopology extends Topology {
  readonly instanceType: string;
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
  const all = proposals(question.compute, question.hardware).map(({ topology, reason }) => ({
    topology,
    reason: reason ?? whyRuledOut(topology, question),
  }));
  return {
    topologies: all.flatMap(({ topology, reason }) => (reason === undefined ? [topology] : [])),
    ruledOut: all.flatMap(({ topology, reason }) => (reason === undefined ? [] : [{ topology, reason }])),
  };
}

/** Every type that may be used, by number of nodes: one market question for each gang size. */
export function gangsOf(
  compute: Pipeline['compute'],
  hardware?: FactsOf,
): readonly { readonly nodes: number; readonly instanceTypes: readonly string[] }[] {
  const open = proposals(compute, hardware).filter(({ reason }) => reason === undefined);
  return [...Map.groupBy(open, ({ topology }) => topology.nodes)].map(([nodes, gangs]) => ({
    nodes,
    instanceTypes: [...new Set(gangs.map(({ topology }) => topology.instanceType))],
  }));
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
    if (!isOfSort(facts, needs)) return [];
    const [lack, counts] = [lackOf(facts, needs), nodesOf(facts, needs)];
    if (lack === undefined) return counts.map((count) => ({ topology: gang(instanceType, count) }));
    // Almost every CPU size is too small or too large for a given need; such sizes are no candidates.
    return facts.acceleratorCount === 0
      ? []
      : [{ topology: gang(instanceType, counts[0] ?? 1), reason: lack }];
  });
}

/** A type of the wrong sort is not shown as a candidate that lost. */
function isOfSort(
  { acceleratorCount, accelerator }: InstanceFacts,
  { accelerators, kinds, cpuInstead }: Needs,
): boolean {
  if (acceleratorCount === 0) return accelerators === 0 || cpuInstead === true;
  return accelerators > 0 && (kinds?.some((kind) => kind === accelerator) ?? accelerator !== 'Trainium');
}

/** The numbers of nodes that give the needed accelerators; for CPU nodes 1, 2, 4, ... */
function nodesOf(facts: InstanceFacts, { accelerators, maximumNodes }: Needs): readonly number[] {
  if (facts.acceleratorCount > 0) return [Math.max(1, Math.ceil(accelerators / facts.acceleratorCount))];
  const powers = Array.from({ length: Math.floor(Math.log2(maximumNodes)) + 1 }, (_, k) => 2 ** k);
  return powers.filter((count) => count <= maximumNodes);
}

/** AWS states the memory that the driver leaves: 22,888 MiB of an A10G's 24 GB. */
const USABLE_SHARE = 0.93;

/** What a type has too little of: the first reason there is. */
function lackOf(facts: InstanceFacts, needs: Needs): string | undefined {
  const { accelerator = 'accelerator', acceleratorCount: count, acceleratorMemoryMib: mib, ...host } = facts;
  const { accelerators, maximumNodes, acceleratorMemoryGigabytes: gigabytes = 0 } = needs;
  const { acceleratorsPerNode: least = 1, memoryGigabytes = 0, vcpus = 0 } = needs;
  const each = mib === undefined ? undefined : mib / 1_024;
  const nodes = accelerators / count;
  const lacks: readonly (readonly [boolean, string])[] = [
    [
      gigabytes > 0 && each === undefined,
      `how much memory its ${accelerator} has is not known, and compute.needs asks for ${gigabytes} GB`,
    ],
    [
      each !== undefined && each < gigabytes * USABLE_SHARE,
      `its ${accelerator} has ${each?.toFixed(0)} GB, compute.needs asks for ${gigabytes}`,
    ],
    [count < least, `it has ${count} accelerators in a node, compute.needs asks for ${least}`],
    [accelerators % count !== 0, `${accelerators} accelerators cannot be made of nodes with ${count}`],
    [nodes > maximumNodes, `it takes ${nodes} nodes, compute.needs.maximumNodes is ${maximumNodes}`],
  ];
  const hostLacks: typeof lacks = [
    [
      host.memoryGib < memoryGigabytes,
      `a node has ${host.memoryGib} GB of memory, tuning.compute.needs asks for ${memoryGigabytes}`,
    ],
    [host.vcpu < vcpus, `a node has ${host.vcpu} vCPUs, tuning.compute.needs asks for ${vcpus}`],
  ];
  return [...(count > 0 ? lacks : []), ...hostLacks].find(([isLacking]) => isLacking)?.[1];
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
  const traits = strategy && strategyTraits[strategy];
  if (traits?.trainingHosts === 'one' && nodes > 1) return `training.strategy ${strategy} runs on one node`;
  return traits?.runsOnTrainium === false && trainingType(instanceType)?.device === 'neuron'
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
