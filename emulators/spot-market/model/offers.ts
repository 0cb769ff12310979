/** The regions and zones of the local market, what each offers, and at which list price; all from the catalog. */
import {
  catalogTypes,
  ec2OnDemandUsd,
  ec2SpotUsd,
  instanceFacts,
  offeredZoneIds,
} from '@tidewheel/catalog/catalog.ts';

/** Those the catalog has prices for. */
export const REGIONS = [
  'us-east-1',
  'us-east-2',
  'us-west-2',
  'eu-west-1',
  'eu-central-1',
  'ap-northeast-1',
] as const;

export interface MarketZone {
  readonly region: string;
  /** Such as use1-az4: the same place for every account. */
  readonly zoneId: string;
  /** Such as us-east-1d: this account's name for it. */
  readonly zoneName: string;
}

/** Instance type x zone; the market is Spot throughout. */
export interface MarketPool {
  readonly instanceType: string;
  readonly zoneId: string;
}

/** The emulator names zones so: the letter is the number of the id. Its subnets must lie in the same places. */
const nameOf = (region: string, zoneId: string): string =>
  `${region}${String.fromCodePoint('a'.charCodeAt(0) + Number(zoneId.slice(zoneId.indexOf('-az') + 3)) - 1)}`;

function zonesIn(region: string): readonly MarketZone[] {
  const ids = new Set(catalogTypes().flatMap((type) => offeredZoneIds(type, region) ?? []));
  // Local Zones need an opt-in, which this account has not given.
  const availabilityZones = [...ids].filter((zoneId) => /^[a-z0-9]+-az\d+$/.test(zoneId));
  return availabilityZones.sort().map((zoneId) => ({ region, zoneId, zoneName: nameOf(region, zoneId) }));
}

const zonesByRegion: ReadonlyMap<string, readonly MarketZone[]> = new Map(
  REGIONS.map((region) => [region, zonesIn(region)]),
);
const zonesById: ReadonlyMap<string, MarketZone> = new Map(
  [...zonesByRegion.values()].flat().map((zone) => [zone.zoneId, zone]),
);

export const zonesOf = (region: string): readonly MarketZone[] => zonesByRegion.get(region) ?? [];
export const zoneOf = (zoneId: string): MarketZone | undefined => zonesById.get(zoneId);
export const isKnownType = (type: string): boolean => instanceFacts(type) !== undefined;

/** A type that the catalog does not know is taken to be everywhere: the market must not stop what it cannot judge. */
export function zonesOffering(type: string, region: string): readonly MarketZone[] {
  const offered = offeredZoneIds(type, region);
  if (offered) return zonesOf(region).filter((zone) => offered.includes(zone.zoneId));
  return isKnownType(type) ? [] : zonesOf(region);
}

export interface PoolListPrice {
  readonly onDemandUsd: number;
  /** The catalog's Spot price, or what Spot of this type costs elsewhere in the region, relative to On-Demand. */
  readonly spotUsd: number;
}

/** Where no Spot price is known at all; the middle of what the catalog shows. */
const USUAL_DISCOUNT = 0.4;

/** USD per instance hour; undefined where the catalog knows no price. */
export function listPrice({ instanceType, zoneId }: MarketPool): PoolListPrice | undefined {
  const region = zoneOf(zoneId)?.region;
  const onDemandUsd = region && ec2OnDemandUsd(instanceType, region);
  if (!region || !onDemandUsd) return undefined;
  return {
    onDemandUsd,
    spotUsd: ec2SpotUsd(instanceType, region, zoneId) ?? onDemandUsd * USUAL_DISCOUNT,
  };
}
