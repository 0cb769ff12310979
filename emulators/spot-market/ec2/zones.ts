/** DescribeAvailabilityZones and DescribeInstanceTypeOfferings. */
import { catalogTypes } from '@tidewheel/catalog/catalog.ts';
import { type MarketZone, REGIONS, zonesOf, zonesOffering } from '../model/offers.ts';
import { Ec2Error } from './ec2-error.ts';
import { applyFilters, type Fields } from './filters.ts';
import { pageAt, positionAfter } from './paging.ts';
import { invalid } from './query.ts';
import type { Ec2Answer, ServiceRequest } from './service.ts';

const ZONE_FIELDS: Fields<MarketZone> = {
  'zone-name': (zone) => zone.zoneName,
  'zone-id': (zone) => zone.zoneId,
  'region-name': (zone) => zone.region,
  state: () => 'available',
  'zone-type': () => 'availability-zone',
  'opt-in-status': () => 'opt-in-not-required',
  'group-name': (zone) => groupOf(zone),
};

export function describeAvailabilityZones({ query, region }: ServiceRequest): Ec2Answer {
  const all = zonesOf(region);
  const names = query.list('ZoneName');
  const ids = query.list('ZoneId');
  refuseUnknown(
    names,
    all.map((zone) => zone.zoneName),
  );
  refuseUnknown(
    ids,
    all.map((zone) => zone.zoneId),
  );
  const chosen = all.filter(
    (zone) =>
      (names.length === 0 || names.includes(zone.zoneName)) &&
      (ids.length === 0 || ids.includes(zone.zoneId)),
  );
  return { availabilityZoneInfo: applyFilters(chosen, query.filters(), ZONE_FIELDS).map(zoneItem) };
}

function refuseUnknown(requested: readonly string[], known: readonly string[]): void {
  const unknown = requested.filter((each) => !known.includes(each));
  if (unknown.length > 0) {
    throw new Ec2Error('InvalidParameterValue', `Invalid availability zone: [${unknown.join(', ')}]`);
  }
}

const groupOf = ({ region }: MarketZone): string => `${region}-zg-1`;

const zoneItem = (zone: MarketZone) => ({
  optInStatus: 'opt-in-not-required',
  messageSet: [],
  regionName: zone.region,
  zoneName: zone.zoneName,
  zoneId: zone.zoneId,
  groupName: groupOf(zone),
  networkBorderGroup: zone.region,
  zoneType: 'availability-zone',
  zoneState: 'available',
});

interface Offering {
  readonly instanceType: string;
  readonly locationType: string;
  readonly location: string;
}

const OFFERING_FIELDS: Fields<Offering> = {
  'instance-type': (offering) => offering.instanceType,
  location: (offering) => offering.location,
};

export function describeInstanceTypeOfferings({ query, region, nowMs }: ServiceRequest): Ec2Answer {
  const locationType = query.text('LocationType') ?? 'region';
  const offerings = catalogTypes().flatMap((type) => offeringsOf(type, region, locationType));
  const chosen = applyFilters(offerings, query.filters(), OFFERING_FIELDS);
  const size = query.integer('MaxResults', { minimum: 5, maximum: 1_000 }) ?? 1_000;
  const page = pageAt(chosen, positionAfter(query.text('NextToken'), nowMs), size);
  return {
    instanceTypeOfferingSet: page.items.map((offering) => ({ ...offering })),
    nextToken: page.nextToken,
  };
}

function offeringsOf(instanceType: string, region: string, locationType: string): readonly Offering[] {
  const zones = zonesOffering(instanceType, region);
  const at = (location: string): Offering => ({ instanceType, locationType, location });
  switch (locationType) {
    case 'region':
      return zones.length > 0 ? [at(region)] : [];
    case 'availability-zone':
      return zones.map((zone) => at(zone.zoneName));
    case 'availability-zone-id':
      return zones.map((zone) => at(zone.zoneId));
    case 'outpost':
      return [];
    default:
      throw invalid(
        'LocationType',
        locationType,
        'write region, availability-zone, availability-zone-id or outpost',
      );
  }
}

export const knownRegion = (region: string): boolean => REGIONS.some((known) => known === region);
