/** Prices from the snapshot, each with its source. */
import {
  ec2OnDemandUsd,
  ec2SpotUsd,
  offeredZoneIds,
  snapshotDates,
  trainingPrice,
} from '../../core/catalog/catalog.ts';
import type { MarketAnswer, OnDemandPrice, SpotPrice } from '../../core/placement/model/market-source.ts';

export function catalogPrices(
  types: readonly string[],
  region: string,
): MarketAnswer<readonly OnDemandPrice[]> {
  const known: OnDemandPrice[] = [];
  const missing: string[] = [];
  for (const instanceType of new Set(types)) {
    const price = trainingPrice(instanceType, region);
    if (price === undefined) missing.push(instanceType);
    else
      known.push({
        instanceType,
        ...price,
        ec2HourlyUsd: ec2OnDemandUsd(instanceType, region),
        ec2Note: `catalog of ${snapshotDates.ec2}`,
      });
  }
  const notes =
    missing.length === 0
      ? []
      : [
          `no price in the catalog of ${snapshotDates.ec2} for ${missing.join(', ')} in ${region}: name other types`,
        ];
  return { kind: 'known', value: known, notes };
}

export function snapshotSpotPrices(
  types: readonly string[],
  region: string,
): { readonly prices: readonly SpotPrice[]; readonly note: string } {
  const prices = [...new Set(types)].flatMap((instanceType) =>
    (offeredZoneIds(instanceType, region) ?? []).flatMap((zoneId) => {
      const hourlyUsd = ec2SpotUsd(instanceType, region, zoneId);
      return hourlyUsd === undefined ? [] : [{ instanceType, zoneId, hourlyUsd, basis: 'snapshot' as const }];
    }),
  );
  return {
    prices,
    note: prices.length > 0 ? 'those of the catalog are taken, which are old' : 'the catalog has none either',
  };
}
