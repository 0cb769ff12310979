/**
 * How placement scores are asked for. Fewer than three types always score low, new questions a day are limited and
 * repeated ones are not: so the family is filled up and sorted, and the gang rounded up to a power of two.
 */
import { interchangeableTypes } from '../../core/catalog/catalog.ts';

const LEAST_TYPES = 3;

export interface ScoreRequest {
  readonly InstanceTypes: string[];
  readonly TargetCapacity: number;
  readonly TargetCapacityUnitType: 'units';
  readonly SingleAvailabilityZone: true;
  readonly RegionNames: string[];
}

export function scoreQuestion(
  types: readonly string[],
  nodes: number,
  region: string,
): { readonly request: ScoreRequest; readonly notes: readonly string[] } {
  const own = [...new Set(types)];
  const added = interchangeableTypes(own).slice(0, Math.max(0, LEAST_TYPES - own.length));
  const asked = [...own, ...added].sort();
  const capacity = 2 ** Math.ceil(Math.log2(Math.max(1, nodes)));
  const notes: string[] = [];
  if (added.length > 0) {
    notes.push(
      `scores are of a family filled up with ${added.join(' and ')}, since under three types always score low`,
    );
  }
  if (asked.length < LEAST_TYPES) {
    notes.push(`scores of ${asked.length} type(s) are always low: name at least three interchangeable types`);
  }
  if (capacity !== nodes) notes.push(`scores are for ${capacity} nodes, so that questions can be repeated`);
  return {
    request: {
      InstanceTypes: asked,
      TargetCapacity: capacity,
      TargetCapacityUnitType: 'units',
      SingleAvailabilityZone: true,
      RegionNames: [region],
    },
    notes,
  };
}
