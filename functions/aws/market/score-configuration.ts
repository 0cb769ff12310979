/**
 * How we request placement scores. Fewer than three types always score low, new questions a day are limited and
 * repeated ones are not: so the family is filled up and sorted, and the gang rounded up to a power of two.
 */
import { scoredFamily } from '../../core/catalog/catalog.ts';

export interface ScoreRequest {
  readonly InstanceTypes: string[];
  readonly TargetCapacity: number;
  readonly TargetCapacityUnitType: 'units';
  readonly SingleAvailabilityZone: true;
  readonly RegionNames: string[];
}

/** @returns undefined for fewer than three types */
export function scoreQuestion(
  types: readonly string[],
  nodes: number,
  region: string,
): { readonly request: ScoreRequest; readonly notes: readonly string[] } | undefined {
  const requested = scoredFamily(types);
  if (requested === undefined) return undefined;
  const added = requested.filter((type) => !types.includes(type));
  const capacity = 2 ** Math.ceil(Math.log2(Math.max(1, nodes)));
  const notes: string[] = [];
  if (added.length > 0) {
    notes.push(
      `scores are of a family filled up with ${added.join(' and ')}, since under three types always score low`,
    );
  }
  if (capacity !== nodes) notes.push(`scores are for ${capacity} nodes, so that questions can be repeated`);
  return {
    request: {
      InstanceTypes: [...requested],
      TargetCapacity: capacity,
      TargetCapacityUnitType: 'units',
      SingleAvailabilityZone: true,
      RegionNames: [region],
    },
    notes,
  };
}
