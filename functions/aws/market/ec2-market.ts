/** MarketSource on EC2's Spot APIs and the catalog's snapshot. Every failure is a value with a remedy. */
import {
  DescribeAvailabilityZonesCommand,
  type EC2Client,
  paginateDescribeInstanceTypes,
  paginateDescribeSpotPriceHistory,
  paginateGetSpotPlacementScores,
  type SpotPrice as SpotPriceRow,
} from '@aws-sdk/client-ec2';
import {
  ec2OnDemandUsd,
  ec2SpotUsd,
  offeredZoneIds,
  scoredFamily,
  snapshotDates,
  trainingPrice,
} from '@tidewheel/catalog/catalog.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type {
  MarketAnswer,
  MarketSource,
  OnDemandPrice,
  PlacementScore,
  SpotPrice,
  Zone,
} from '@tidewheel/placement/market.ts';
import { answered, reuse } from './answers.ts';

export interface MarketDeps {
  readonly ec2: EC2Client;
  readonly region: string;
  readonly clock: Clock;
}

/**
 * A placement score describes the moment: a score from before a loss would send the next attempt to the pool of the
 * loss. Repeated requests of the same configuration are not limited.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html
 */
const SCORE_SECONDS = 3;
const PRICE_SECONDS = 60;
const ZONE_SECONDS = 86_400;

/** All that a look at a running attempt asks. */
export function ec2Scores({ ec2, region, clock }: MarketDeps): Pick<MarketSource, 'region' | 'scores'> {
  const scores = reuse<readonly PlacementScore[]>(clock, SCORE_SECONDS);
  return {
    region,
    scores: (types, nodes) => {
      const question = scoreQuestion(types, nodes, region);
      if (question === undefined) return Promise.resolve(tooFew(types));
      const { request, notes } = question;
      return scores(JSON.stringify(request), () => answered(() => readScores(ec2, request), notes));
    },
  };
}

export function ec2Market(deps: MarketDeps): MarketSource {
  const { ec2, region, clock } = deps;
  const prices = reuse<readonly SpotPrice[]>(clock, PRICE_SECONDS);
  const zones = reuse<readonly Zone[]>(clock, ZONE_SECONDS);
  const askZones = () => zones('zones', () => answered(() => readZones(ec2)));
  return {
    ...ec2Scores(deps),
    zones: askZones,
    spotPrices: (types) =>
      prices([...types].sort().join(' '), async () => {
        const live = await answered(() => readPrices(ec2, types, clock.now(), askZones));
        return live.kind === 'known' && live.value.length > 0 ? live : snapshotInstead(types, region, live);
      }),
    onDemandPrices: (types) => Promise.resolve(catalogPrices(types, region)),
  };
}

const tooFew = (types: readonly string[]): MarketAnswer<readonly PlacementScore[]> => ({
  kind: 'unknown',
  failure: 'unavailable',
  message: `not asked for ${types.join(' and ')} alone, which would always score low: name three interchangeable types`,
});

type ScoreQuestion = NonNullable<ReturnType<typeof scoreQuestion>>;

async function readScores(ec2: EC2Client, request: ScoreQuestion['request']): Promise<PlacementScore[]> {
  const found: PlacementScore[] = [];
  for await (const page of paginateGetSpotPlacementScores({ client: ec2 }, request)) {
    for (const { AvailabilityZoneId: zoneId, Score: score } of page.SpotPlacementScores ?? []) {
      if (zoneId !== undefined && score !== undefined) found.push({ zoneId, score });
    }
  }
  return found;
}

async function readZones(ec2: EC2Client): Promise<Zone[]> {
  const { AvailabilityZones: zones } = await ec2.send(new DescribeAvailabilityZonesCommand({}));
  return (zones ?? []).flatMap(({ ZoneId: zoneId, ZoneName: zoneName }) =>
    zoneId === undefined || zoneName === undefined ? [] : [{ zoneId, zoneName }],
  );
}

/**
 * StartTime = now returns the current price, because the last earlier change is always included. The request uses a
 * filter for types, so that an unknown type does not fail the prices of the others, maybe of other pipelines.
 */
async function readPrices(
  ec2: EC2Client,
  types: readonly string[],
  now: Date,
  askZones: () => Promise<MarketAnswer<readonly Zone[]>>,
): Promise<SpotPrice[]> {
  const newest = new Map<string, { readonly price: SpotPrice; readonly at: number }>();
  const names = new Map<string, string>();
  const pages = paginateDescribeSpotPriceHistory(
    { client: ec2, stopOnSameToken: true },
    {
      Filters: [{ Name: 'instance-type', Values: [...new Set(types)].sort() }],
      ProductDescriptions: ['Linux/UNIX'],
      StartTime: now,
    },
  );
  for await (const page of pages) {
    for (const row of page.SpotPriceHistory ?? []) {
      const zoneId = row.AvailabilityZoneId ?? (await zoneIdOf(row.AvailabilityZone, names, askZones));
      const price = zoneId === undefined ? undefined : priceOf(row, zoneId);
      if (!price) continue;
      const key = `${price.instanceType} ${price.zoneId}`;
      const at = row.Timestamp?.getTime() ?? 0;
      if ((newest.get(key)?.at ?? -1) < at) newest.set(key, { price, at });
    }
  }
  return [...newest.values()].map(({ price }) => price);
}

/** EC2 sends prices as text. */
function priceOf(row: SpotPriceRow, zoneId: string): SpotPrice | undefined {
  const hourlyUsd = Number(row.SpotPrice);
  if (row.InstanceType === undefined || !Number.isFinite(hourlyUsd) || hourlyUsd <= 0) return undefined;
  return { instanceType: row.InstanceType, zoneId, hourlyUsd, basis: 'quoted' };
}

/** Older answers hold only this account's name of the zone. */
async function zoneIdOf(
  zoneName: string | undefined,
  names: Map<string, string>,
  askZones: () => Promise<MarketAnswer<readonly Zone[]>>,
): Promise<string | undefined> {
  if (zoneName === undefined) return undefined;
  if (names.size === 0) {
    const zones = await askZones();
    if (zones.kind === 'known') for (const each of zones.value) names.set(each.zoneName, each.zoneId);
  }
  return names.get(zoneName);
}

function snapshotInstead(
  types: readonly string[],
  region: string,
  live: MarketAnswer<readonly SpotPrice[]>,
): MarketAnswer<readonly SpotPrice[]> {
  const why = live.kind === 'unknown' ? `${live.failure}: ${live.message}` : 'EC2 named none';
  const value = [...new Set(types)].flatMap((instanceType) =>
    (offeredZoneIds(instanceType, region) ?? []).flatMap((zoneId) => {
      const hourlyUsd = ec2SpotUsd(instanceType, region, zoneId);
      return hourlyUsd === undefined ? [] : [{ instanceType, zoneId, hourlyUsd, basis: 'snapshot' as const }];
    }),
  );
  const instead =
    value.length > 0 ? 'those of the catalog are taken, which are old' : 'the catalog has none either';
  return { kind: 'known', value, notes: [`Spot prices of now unknown (${why}); ${instead}`] };
}

function catalogPrices(types: readonly string[], region: string): MarketAnswer<readonly OnDemandPrice[]> {
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

/**
 * Fewer than three types always score low, new questions a day are limited and repeated ones are not: so the family is
 * filled up and sorted, and the gang rounded up to a power of two.
 * @returns undefined for fewer than three types
 */
function scoreQuestion(types: readonly string[], nodes: number, region: string) {
  const requested = scoredFamily(types);
  if (requested === undefined) return undefined;
  const added = requested.filter((type) => !types.includes(type));
  const capacity = 2 ** Math.ceil(Math.log2(Math.max(1, nodes)));
  const notes: string[] = [];
  if (added.length > 0)
    notes.push(
      `scores are of a family filled up with ${added.join(' and ')}, since under three types always score low`,
    );
  if (capacity !== nodes) notes.push(`scores are for ${capacity} nodes, so that questions can be repeated`);
  return {
    request: {
      InstanceTypes: [...requested],
      TargetCapacity: capacity,
      TargetCapacityUnitType: 'units' as const,
      SingleAvailabilityZone: true,
      RegionNames: [region],
    },
    notes,
  };
}

// EC2's data on the hardware of instance types.

/** EC2's limit for the values of a filter. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html */
const VALUES_A_FILTER = 200;

/**
 * Unchecked entries of InstanceTypes; the reader checks them. The request uses a filter, because EC2 refuses a whole list
 * of names if the region does not offer one of them.
 */
export const describeHardware = (
  ec2: EC2Client,
  types: readonly string[],
): Promise<MarketAnswer<readonly unknown[]>> =>
  answered(async () => {
    const names = [...new Set(types)].sort();
    const found: unknown[] = [];
    for (let start = 0; start < names.length; start += VALUES_A_FILTER) {
      const Values = names.slice(start, start + VALUES_A_FILTER);
      const pages = paginateDescribeInstanceTypes(
        { client: ec2, pageSize: 100, stopOnSameToken: true },
        { Filters: [{ Name: 'instance-type', Values }] },
      );
      for await (const { InstanceTypes } of pages) found.push(...(InstanceTypes ?? []));
    }
    return found;
  });
