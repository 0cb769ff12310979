/** The counterfactual of one machine: the cheapest single On-Demand node that could have done a run's useful work. */

import {
  catalogTypes,
  type InstanceFacts,
  instanceFacts,
  trainingPrice,
} from '@tidewheel/catalog/catalog.ts';
import { usd } from '@tidewheel/kit/fields.ts';
import { fileSystemsUsd, type Placement } from '@tidewheel/placement/records.ts';
import * as z from 'zod';

export const singleNodeSchema = z.object({
  instanceType: z.string(),
  /** 0 where CPUs train. */
  accelerators: z.number().int(),
  hours: z.number(),
  usd,
});
type SingleNode = z.output<typeof singleNodeSchema>;

/** The useful work of one attempt. */
export interface UsefulWork {
  readonly placement: Placement;
  /** Training without what was lost. */
  readonly seconds: number;
}

/**
 * A node counts with at least as many accelerators of the same kind (or, without any, as many vCPUs) as all nodes of an
 * attempt together. Its work is assumed to take as long in proportion to their number: an exchange without a network may
 * be faster, which is not credited. Prices are to each other as SageMaker's On-Demand list has them.
 * @returns undefined where each attempt had one node, no type could have done all attempts, or a price is not known
 */
export function bestSingleNode(work: readonly UsefulWork[]): SingleNode | undefined {
  const done = work.filter(({ seconds }) => seconds > 0);
  if (done.every(({ placement }) => placement.topology.nodes === 1)) return undefined;
  return catalogTypes()
    .flatMap((type) => singleNode(type, done) ?? [])
    .reduce<SingleNode | undefined>((best, each) => (best && best.usd <= each.usd ? best : each), undefined);
}

function singleNode(instanceType: string, work: readonly UsefulWork[]): SingleNode | undefined {
  const facts = instanceFacts(instanceType);
  if (facts === undefined) return undefined;
  const whole = { instanceType, accelerators: facts.acceleratorCount, hours: 0, usd: 0 };
  for (const each of work) {
    const part = partOf(facts, each);
    if (part === undefined) return undefined;
    whole.hours += part.hours;
    whole.usd += part.usd;
  }
  return whole;
}

/** Prices cancel their region: both are looked up in the one with the most of them. */
const REGION = 'us-east-1';

function partOf(node: InstanceFacts, { placement, seconds }: UsefulWork) {
  const { pool, topology, onDemandHourlyUsd } = placement;
  const own = instanceFacts(pool.instanceType);
  const ratio = priceRatio(node.type, pool.instanceType);
  if (own === undefined || ratio === undefined || !isAlike(node, own)) return undefined;
  const needed = unitsOf(own) * topology.nodes;
  if (unitsOf(node) < needed || needed === 0) return undefined;
  const hours = ((seconds / 3_600) * needed) / unitsOf(node);
  return { hours, usd: hours * onDemandHourlyUsd * ratio + fileSystemsUsd(placement, hours * 3_600) };
}

function priceRatio(type: string, own: string): number | undefined {
  const [price, ownPrice] = [type, own].map((each) => trainingPrice(each, REGION)?.hourlyUsd);
  return price === undefined || ownPrice === undefined || ownPrice === 0 ? undefined : price / ownPrice;
}

const isAlike = (node: InstanceFacts, own: InstanceFacts): boolean =>
  own.accelerator === node.accelerator &&
  own.arch === node.arch &&
  (node.acceleratorMemoryMib ?? 0) >= (own.acceleratorMemoryMib ?? 0);

/** Accelerators, or vCPUs where there are none. */
const unitsOf = ({ accelerator, acceleratorCount, vcpu }: InstanceFacts): number =>
  accelerator === undefined ? vcpu : acceleratorCount;
