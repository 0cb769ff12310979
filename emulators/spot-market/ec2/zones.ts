/** DescribeAvailabilityZones. */
import { type MarketZone, REGIONS, zonesOf } from '../model/offers.ts';
import { Ec2Error } from './ec2-error.ts';
import { applyFilters, type Fields } from './filters.ts';
import type { Ec2Answer, ServiceRequest } from './service.ts';

const ZONE_FIELDS: Fields<MarketZone> = {
  'zone-name': (zone) => zone.zoneName,
  'zone-id': (zone) => zone.zoneId,
  'region-name': (zone) => zone.region,
  state: () => 'available',
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

const zoneItem = (zone: MarketZone) => ({
  optInStatus: 'opt-in-not-required',
  messageSet: [],
  regionName: zone.region,
  zoneName: zone.zoneName,
  zoneId: zone.zoneId,
  groupName: `${zone.region}-zg-1`,
  networkBorderGroup: zone.region,
  zoneType: 'availability-zone',
  zoneState: 'available',
});

export const knownRegion = (region: string): boolean => REGIONS.some((known) => known === region);
