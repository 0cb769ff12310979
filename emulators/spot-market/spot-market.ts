/** The local Spot market: capacity that comes and goes by a script, and the EC2 API that describes it. */
import { EC2Client } from '@aws-sdk/client-ec2';
import type { AccessKey } from '../access/access-key.ts';
import { type LocalClock, wallClock } from '../clock/clock.ts';
import { type Rate, tokenBuckets } from '../limits/token-bucket.ts';
import { configurationLimit } from './ec2/configuration-limit.ts';
import { startEc2Server } from './ec2/server.ts';
import { type VcpuGate, vcpuGate } from './ec2/vcpu-gate.ts';
import type { CapacityPlan } from './model/capacity-plan.ts';
import type { CapacityMarket } from './model/capacity-source.ts';
import { type Leases, makeLeases } from './model/leases.ts';
import { type MarketTime, startMarketTime } from './model/market-time.ts';
import { REGIONS, zoneOf, zonesOffering } from './model/offers.ts';
import { makePrices, type SpotPrices, steadyPrices } from './model/prices.ts';
import {
  type LocalOffer,
  type LocalReservation,
  makeReservations,
  type Reservations,
} from './model/reservations.ts';
import { type MarketScript, planOf } from './scripts/market-script.ts';

export type { MarketScript } from './scripts/market-script.ts';

export interface LocalMarketOptions {
  /** The key that clients sign with. */
  readonly credentials: AccessKey;
  /** How the capacity comes and goes. Default: calm. */
  readonly script?: MarketScript;
  /** 0 or nothing takes a free one. The server listens on 127.0.0.1 only. */
  readonly port?: number;
  /** The emulator, for every EC2 action that is not the market's. */
  readonly awsEndpointUrl?: string;
  /** Where capacity is leased. Default us-east-1. */
  readonly region?: string;
  /** Real seconds from the warning to the kill. Default 120, as on EC2. */
  readonly graceSeconds?: number;
  /** Distinct GetSpotPlacementScores configurations in 24 hours. AWS does not publish its own. Default 50. */
  readonly configurationLimit?: number | undefined;
  /** Requests of each action. Default: no limit. */
  readonly actionRate?: Rate;
  /** vCPUs of the class of a type that may run at once, in each purchase option. Default: no limit. */
  readonly vcpuQuota?: ((instanceType: string) => number) | undefined;
  /** Spot always costs what the catalog says, as a simulation assumes that pays one price. Default: it wanders. */
  readonly steadyPrices?: boolean;
  /** What the account has reserved. Default: nothing. */
  readonly reservations?: readonly LocalReservation[] | undefined;
  /** What it could reserve. Default: nothing. */
  readonly offers?: readonly LocalOffer[] | undefined;
  /** Default: the clock on the wall. */
  readonly clock?: LocalClock;
  readonly log?: (line: string) => void;
  /** Takes what a user should see: that a job waits for capacity. */
  readonly notice?: (line: string) => void;
  /** The script took a job's capacity, and no person. */
  readonly onReclaim?: ((owner: string) => void) | undefined;
}

export interface LocalMarket {
  readonly url: string;
  readonly port: number;
  readonly market: CapacityMarket;
  readonly reservations: Reservations;
  /** Spot capacity that is leased, and the way to reclaim it at once. */
  readonly leases: Pick<Leases, 'held' | 'reclaimNow'>;
  /** Spot price over On-Demand price now; 1 where nothing is known. EC2 names without `ml.`. */
  readonly spotDiscount: (instanceType: string, zoneId: string) => number;
  readonly close: () => Promise<void>;
}

export async function startLocalMarket(options: LocalMarketOptions): Promise<LocalMarket> {
  const { region = REGIONS[0], graceSeconds = 120, log = () => undefined } = options;
  const clock = options.clock ?? wallClock;
  const problems = problemsOf({
    region,
    graceSeconds,
    configurationLimit: options.configurationLimit,
  });
  if (problems.length > 0) throw new RangeError(`the local market cannot start: ${problems.join('; ')}`);
  const plan = planOf(options.script ?? { kind: 'calm' });
  const time = startMarketTime(clock);
  const prices = pricesBy(options, plan, time);
  const leases = makeLeases({
    plan,
    time,
    zonesFor: (types) => zonesForAll(types, region),
    priceOf: (pool) => prices.priceAt(pool, time.now()),
    graceSeconds,
    log,
    ...(options.notice && { notice: options.notice }),
    onReclaim: options.onReclaim,
  });
  const reservations = makeReservations(options.reservations ?? [], clock, options.offers);
  const launches = launchesOf(options, region);
  const configurations = configurationLimit(options.configurationLimit ?? 50);
  const server = await startEc2Server({
    port: options.port ?? 0,
    awsEndpointUrl: options.awsEndpointUrl,
    credentials: options.credentials,
    market: { time, prices, leases, configurations, reservations },
    clock,
    mayPass: options.actionRate && tokenBuckets(options.actionRate, () => clock.now()),
    vcpus: launches.gate,
    log,
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    market: reservations.beside(leases),
    reservations,
    leases,
    spotDiscount: prices.spotDiscount,
    close: async () => {
      leases.close();
      await server.close();
      launches.close();
    },
  };
}

/** What runs is counted in the emulator. */
function launchesOf(
  { awsEndpointUrl: endpoint, credentials, vcpuQuota }: LocalMarketOptions,
  region: string,
): { readonly gate?: VcpuGate; close(): void } {
  if (endpoint === undefined || vcpuQuota === undefined) return { close: () => undefined };
  const ec2 = new EC2Client({ endpoint, region, credentials });
  return { gate: vcpuGate(ec2, vcpuQuota), close: () => ec2.destroy() };
}

/** Of the prices' wandering. */
const PRICE_SEED = 1;

const pricesBy = (options: LocalMarketOptions, plan: CapacityPlan, time: MarketTime): SpotPrices =>
  options.steadyPrices ? steadyPrices() : makePrices(PRICE_SEED, plan, time);

/** Zone ids that offer every one of the types. */
function zonesForAll(types: readonly string[], region: string): readonly string[] {
  const [first = [], ...others] = types.map((type) => zonesOffering(type, region).map((zone) => zone.zoneId));
  return first.filter((zoneId) => others.every((zones) => zones.includes(zoneId)) && zoneOf(zoneId));
}

function problemsOf(options: {
  readonly region: string;
  readonly graceSeconds: number;
  readonly configurationLimit: number | undefined;
}): readonly string[] {
  const { region, graceSeconds, configurationLimit: limit = 1 } = options;
  return [
    ...(REGIONS.some((known) => known === region)
      ? []
      : [`region is ${region}, choose from ${REGIONS.join(', ')}`]),
    ...positive('graceSeconds', graceSeconds),
    ...positive('configurationLimit', limit),
  ];
}

const positive = (name: string, value: number): readonly string[] =>
  Number.isFinite(value) && value > 0 ? [] : [`${name} is ${value}, give a number above 0`];
