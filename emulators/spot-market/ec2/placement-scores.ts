/** GetSpotPlacementScores: the ten best zones or regions for a capacity, as a moment's hint. */

import { catalogTypes, type InstanceFacts, instanceFacts } from '../../../functions/core/catalog/catalog.ts';
import { isKnownType, type MarketPool, REGIONS, zonesOf } from '../model/offers.ts';
import { HIGHEST, LOWEST, regionScore, type ScoreQuestion, zoneScore } from '../model/scores.ts';
import { Ec2Error } from './ec2-error.ts';
import { pageAt, positionAfter } from './paging.ts';
import { type Ec2Query, invalid } from './query.ts';
import type { Ec2Answer, ServiceRequest } from './service.ts';
import { knownRegion } from './zones.ts';

const LARGEST_TARGET = 2_000_000_000;
const MOST_TYPES = 1_000;
const MOST_REGIONS = 10;
/** However many there are, the answer holds no more. */
const TOP = 10;
const UNITS = ['units', 'vcpu', 'memory-mib'] as const;

interface Scored {
  readonly region: string;
  readonly zoneId?: string;
  readonly score: number;
}

export function getSpotPlacementScores({ query, nowMs, market }: ServiceRequest): Ec2Answer {
  const question = questionOf(query);
  const regions = regionsOf(query);
  const isSingleZone = query.isTrue('SingleAvailabilityZone');
  const size = query.integer('MaxResults', { minimum: 10, maximum: 1_000 }) ?? TOP;
  market.configurations.count(
    JSON.stringify([
      question.types.toSorted(),
      question.target,
      question.unit,
      isSingleZone,
      [...regions].sort(),
    ]),
    market.time.now(),
  );
  const freeOf = (pool: MarketPool): number => market.leases.freeAt(pool);
  const scored = regions.flatMap((region) =>
    isSingleZone ? scoredZones(question, region, freeOf) : scoredRegion(question, region, freeOf),
  );
  const best = scored
    .toSorted((a, b) => b.score - a.score || placeOf(a).localeCompare(placeOf(b)))
    .slice(0, TOP);
  const page = pageAt(best, positionAfter(query.text('NextToken'), nowMs), size);
  return {
    spotPlacementScoreSet: page.items.map(({ region, zoneId, score }) => ({
      region,
      availabilityZoneId: zoneId,
      score: Math.max(LOWEST, Math.min(HIGHEST, score)),
    })),
    nextToken: page.nextToken,
  };
}

const placeOf = ({ region, zoneId }: Scored): string => zoneId ?? region;

const scoredZones = (
  question: ScoreQuestion,
  region: string,
  freeOf: (pool: MarketPool) => number,
): readonly Scored[] =>
  zonesOf(region).map(({ zoneId }) => ({
    region,
    zoneId,
    score: zoneScore(question, zoneId, region, freeOf),
  }));

const scoredRegion = (
  question: ScoreQuestion,
  region: string,
  freeOf: (pool: MarketPool) => number,
): readonly Scored[] => {
  const zoneIds = zonesOf(region).map(({ zoneId }) => zoneId);
  return [{ region, score: regionScore(question, zoneIds, region, freeOf) }];
};

function questionOf(query: Ec2Query): ScoreQuestion {
  const named = query.list('InstanceType');
  const requirements = query.under('InstanceRequirementsWithMetadata.');
  if (named.length > 0 && requirements.size > 0) {
    const message = 'InstanceTypes and InstanceRequirementsWithMetadata cannot both be given.';
    throw new Ec2Error('InvalidParameterCombination', message);
  }
  if (named.length === 0 && requirements.size === 0) {
    const message = 'The request must contain InstanceTypes or InstanceRequirementsWithMetadata.';
    throw new Ec2Error('MissingParameter', message);
  }
  if (named.length > MOST_TYPES)
    throw invalid('InstanceType', `${named.length} types`, `at most ${MOST_TYPES} are taken`);
  const unknown = named.filter((type) => !isKnownType(type));
  if (unknown.length > 0) {
    throw invalid('InstanceType', unknown.join(', '), "the local market's catalog does not know it");
  }
  const target = query.integer('TargetCapacity', { minimum: 1, maximum: LARGEST_TARGET });
  if (target === undefined) {
    throw new Ec2Error('MissingParameter', 'The request must contain the parameter TargetCapacity');
  }
  return { types: named.length > 0 ? named : typesMeeting(requirements), target, unit: unitOf(query) };
}

function unitOf(query: Ec2Query): ScoreQuestion['unit'] {
  const requested = query.text('TargetCapacityUnitType') ?? 'units';
  const unit = UNITS.find((known) => known === requested);
  if (!unit) throw invalid('TargetCapacityUnitType', requested, `write ${UNITS.join(', ')}`);
  return unit;
}

function regionsOf(query: Ec2Query): readonly string[] {
  const requested = query.list('RegionName');
  if (requested.length > MOST_REGIONS) {
    throw invalid('RegionName', `${requested.length} regions`, `at most ${MOST_REGIONS} are taken`);
  }
  const unknown = requested.filter((region) => !knownRegion(region));
  if (unknown.length > 0) {
    throw invalid('RegionName', unknown.join(', '), `the local market has ${REGIONS.join(', ')}`);
  }
  return requested.length > 0 ? requested : REGIONS;
}

// The instance types of the catalog that meet InstanceRequirements, as far as the catalog can tell.

const MIB_PER_GIB = 1_024;
const MEASURES: Readonly<Record<string, (facts: InstanceFacts) => number>> = {
  VCpuCount: (facts) => facts.vcpu,
  MemoryMiB: (facts) => facts.memoryGib * MIB_PER_GIB,
  AcceleratorCount: (facts) => facts.acceleratorCount,
};
const ARCHITECTURES = /^ArchitectureType\.\d+$/;
/** Every type of the catalog is virtualised in hardware. */
const VIRTUALIZATION = /^VirtualizationType\.\d+$/;
const BOUND = /^InstanceRequirements\.(\w+)\.(Min|Max)$/;
const PATTERN = /^InstanceRequirements\.(Allowed|Excluded)InstanceType\.\d+$/;

/** @param requirements names without the leading `InstanceRequirementsWithMetadata.`; one that is not known is refused */
function typesMeeting(requirements: ReadonlyMap<string, string>): readonly string[] {
  const tests = [...requirements].map(([name, value]) => testOf(name, value));
  const architectures = valuesOf(requirements, ARCHITECTURES);
  const allowed = valuesOf(requirements, /^InstanceRequirements\.AllowedInstanceType\.\d+$/);
  return catalogTypes().filter((type) => {
    const facts = instanceFacts(type);
    return (
      facts !== undefined &&
      tests.every((test) => test(facts)) &&
      (architectures.length === 0 || architectures.includes(facts.arch)) &&
      (allowed.length === 0 || allowed.some((pattern) => matches(pattern, type)))
    );
  });
}

function testOf(name: string, value: string): (facts: InstanceFacts) => boolean {
  const [, measure = '', bound] = BOUND.exec(name) ?? [];
  const measured = Object.hasOwn(MEASURES, measure) ? MEASURES[measure] : undefined;
  if (measured) {
    const limit = Number(value);
    if (!Number.isFinite(limit)) throw invalid(name, value, 'it must be a number');
    return (facts) => (bound === 'Min' ? measured(facts) >= limit : measured(facts) <= limit);
  }
  if (PATTERN.exec(name)?.[1] === 'Excluded') return (facts) => !matches(value, facts.type);
  if (PATTERN.test(name) || ARCHITECTURES.test(name) || VIRTUALIZATION.test(name)) return () => true;
  throw invalid(name, value, 'the local market cannot judge this requirement, name instance types instead');
}

const valuesOf = (requirements: ReadonlyMap<string, string>, name: RegExp): readonly string[] =>
  [...requirements].flatMap(([key, value]) => (name.test(key) ? [value] : []));

/** `*` is the only wildcard here. */
const matches = (pattern: string, type: string): boolean => {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(type);
};
