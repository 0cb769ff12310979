/** DescribeSpotPriceHistory: change points, newest first, the one in force at StartTime included. */
import { catalogTypes } from '@tidewheel/catalog/catalog.ts';
import { isKnownType, type MarketZone, zoneOf, zonesOf, zonesOffering } from '../model/offers.ts';
import { Ec2Error } from './ec2-error.ts';
import { applyFilters, type Fields } from './filters.ts';
import { pageAt, positionAfter } from './paging.ts';
import { type Ec2Query, invalid } from './query.ts';
import type { Ec2Answer, ServiceRequest } from './service.ts';

interface Row {
  readonly zone: MarketZone;
  readonly instanceType: string;
  readonly price: string;
  readonly at: Date;
}

const PRODUCT = 'Linux/UNIX';
const LONGEST_DAYS = 90;
const DAY_MS = 86_400_000;

const FIELDS: Fields<Row> = {
  'availability-zone': (row) => row.zone.zoneName,
  'availability-zone-id': (row) => row.zone.zoneId,
  'instance-type': (row) => row.instanceType,
};

export function describeSpotPriceHistory({ query, region, nowMs, market }: ServiceRequest): Ec2Answer {
  const position = positionAfter(query.text('NextToken'), nowMs);
  const { startMs, endMs } = rangeOf(query, position.requestedMs);
  const zones = requestedZones(query, region);
  const rows = requestedTypes(query).flatMap((instanceType) =>
    zonesOffering(instanceType, region)
      .filter((zone) => zones.includes(zone))
      .flatMap((zone) =>
        market.prices
          .history(
            { instanceType, zoneId: zone.zoneId },
            market.time.marketSecond(startMs),
            market.time.marketSecond(endMs),
          )
          .map(({ at, usd }) => ({
            zone,
            instanceType,
            price: usd.toFixed(6),
            // Whole seconds, as EC2 gives them.
            at: new Date(Math.floor(market.time.wallMs(at) / 1_000) * 1_000),
          })),
      ),
  );
  const chosen = applyFilters(wantsLinux(query) ? rows : [], query.filters(), FIELDS);
  const sorted = chosen.toSorted((a, b) => b.at.getTime() - a.at.getTime());
  const size = query.integer('MaxResults', { minimum: 1, maximum: 1_000 }) ?? 1_000;
  const page = pageAt(sorted, position, size);
  // EC2 ends with an empty token here, not with none.
  return { spotPriceHistorySet: page.items.map(itemOf), nextToken: page.nextToken ?? '' };
}

const itemOf = ({ zone, instanceType, price, at }: Row) => ({
  availabilityZone: zone.zoneName,
  availabilityZoneId: zone.zoneId,
  instanceType,
  productDescription: PRODUCT,
  spotPrice: price,
  timestamp: at,
});

function rangeOf(query: Ec2Query, nowMs: number): { readonly startMs: number; readonly endMs: number } {
  const endMs = Math.min(query.time('EndTime')?.getTime() ?? nowMs, nowMs);
  const oldest = nowMs - LONGEST_DAYS * DAY_MS;
  const startMs = Math.max(query.time('StartTime')?.getTime() ?? oldest, oldest);
  // A start in the future, as a clock that runs ahead sends it, asks for the price in force now.
  return { startMs: Math.min(startMs, nowMs), endMs };
}

function requestedTypes(query: Ec2Query): readonly string[] {
  const requested = query.list('InstanceType');
  const unknown = requested.filter((type) => !isKnownType(type));
  if (unknown.length > 0) {
    throw invalid('InstanceType', unknown.join(', '), "the local market's catalog does not know it");
  }
  // What a filter leaves out needs no history: there are dozens of types in every zone.
  const filters = query.filters().filter(({ name }) => name === 'instance-type');
  return applyFilters(requested.length > 0 ? requested : catalogTypes(), filters, {
    'instance-type': (type: string) => type,
  });
}

function requestedZones(query: Ec2Query, region: string): readonly MarketZone[] {
  const name = query.text('AvailabilityZone');
  const id = query.text('AvailabilityZoneId');
  if (name !== undefined && id !== undefined) {
    const message = 'AvailabilityZone and AvailabilityZoneId cannot both be given.';
    throw new Ec2Error('InvalidParameterCombination', message);
  }
  const zones = zonesOf(region).filter(
    (zone) => (name === undefined || zone.zoneName === name) && (id === undefined || zone.zoneId === id),
  );
  if (zones.length === 0 && (name ?? id) !== undefined && zoneOf(id ?? '')?.region !== region) {
    throw invalid(
      name === undefined ? 'AvailabilityZoneId' : 'AvailabilityZone',
      name ?? id ?? '',
      'no such zone',
    );
  }
  return zones;
}

/** Only Linux is priced here; accounts with a VPC may ask under either name. */
function wantsLinux(query: Ec2Query): boolean {
  const requested = query.list('ProductDescription');
  return (
    requested.length === 0 || requested.some((each) => each === PRODUCT || each === `${PRODUCT} (Amazon VPC)`)
  );
}
