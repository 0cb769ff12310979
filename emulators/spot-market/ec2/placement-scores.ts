/** GetSpotPlacementScores: the ten best zones or regions for a capacity, as a moment's hint. */

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
    JSON.stringify([question.types.toSorted(), question.target, isSingleZone, [...regions].sort()]),
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
  if (named.length === 0) {
    const message =
      'The request must contain InstanceTypes: the local market weighs no InstanceRequirements.';
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
  const unit = query.text('TargetCapacityUnitType') ?? 'units';
  if (unit !== 'units') throw invalid('TargetCapacityUnitType', unit, 'the local market counts units');
  return { types: named, target };
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
