/** What `collect-scores` refreshes once a day, so that an old snapshot of the catalog does no harm. */

import {
  catalogTypes,
  ec2OnDemandUsd,
  type FactsOf,
  instanceFacts,
  trainingPrice,
} from '@tidewheel/catalog/catalog.ts';
import { factsWith, keepRead, readAnswer } from '@tidewheel/catalog/hardware.ts';
import {
  type KeptPrice,
  type ListPrice,
  type ListPrices,
  type TransferPrice,
  tabledTransferUsd,
} from '@tidewheel/catalog/prices.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { helperTypesOf } from '../candidates/throughput.ts';
import { typesOf } from '../candidates/topologies.ts';
import {
  type CatalogSource,
  type MarketAnswer,
  type MarketStores,
  taken,
} from '../records/market-history.ts';
import { regionsOf } from './ask-scores.ts';

export interface RefreshDeps extends Pick<MarketStores, 'listPrices' | 'hardware'> {
  /** The data's own region. */
  readonly region: string;
  /** Absent where AWS is out of reach; then stored values stay. */
  readonly catalog?: CatalogSource | undefined;
  readonly clock: Clock;
}

/** List prices change a few times a year, hardware never. */
const FRESH_MILLISECONDS = 24 * 3_600_000;

const isFresh = (at: string | undefined, now: Date): boolean =>
  at !== undefined && now.getTime() - Date.parse(at) < FRESH_MILLISECONDS;

/** Once a day, and at once for a new type. @returns the current facts */
export async function refreshHardware(
  { hardware, region, catalog, clock }: RefreshDeps,
  computes: readonly Pipeline['compute'][],
  notes: string[],
): Promise<FactsOf> {
  const known = await hardware.get();
  const stands = factsWith(known?.facts);
  const named = computes.flatMap((compute) => [...(compute.instanceTypes ?? []), ...helperTypesOf(compute)]);
  const types = [...new Set([...catalogTypes(), ...named])].sort();
  const now = clock.now();
  const isKnown = isFresh(known?.at, now) && types.every((type) => known?.requested.includes(type));
  if (catalog === undefined || computes.length === 0 || isKnown) return stands;
  const answer = await catalog.instanceTypes(types);
  if (answer.kind === 'unknown') {
    notes.push(`hardware unknown (${answer.failure}): ${answer.message}`);
    return stands;
  }
  const readings = answer.value.map((entry) => readAnswer(entry, instanceFacts));
  const read = keepRead(known, { region, at: now.toISOString(), requested: types, readings });
  for (const { type, why } of read.refused)
    notes.push(`what EC2 says of ${type} is not believed, and what was known stays: ${why}`);
  await hardware.put(read);
  return factsWith(read.facts);
}

interface PricesQuestion {
  readonly computes: readonly Pipeline['compute'][];
  readonly hardware: FactsOf;
  readonly notes: string[];
}

/** Region by region, so that a call that runs out of time leaves less for the next one. */
export async function refreshPrices(
  { listPrices, catalog, clock, region: home }: RefreshDeps,
  { computes, hardware, notes }: PricesQuestion,
): Promise<void> {
  if (catalog === undefined) return;
  const regions = new Set(computes.flatMap((compute) => regionsOf(compute, home)));
  for (const region of regions) {
    const here = computes.filter((compute) => regionsOf(compute, home).includes(region));
    const types = united(here.flatMap((each) => [...typesOf(each, hardware), ...helperTypesOf(each)]));
    // Data goes to a region and checkpoints come back; two other regions never exchange anything.
    const others = region === home ? [...regions].filter((each) => each !== region) : [home];
    const known = await listPrices.get(region);
    const now = clock.now();
    const isKnown =
      isFresh(known?.at, now) &&
      types.every((type) => known?.requested.includes(type)) &&
      others.every((other) => known?.requestedTo.includes(other));
    if (types.length === 0 || isKnown) continue;
    const answers = {
      training: await catalog.trainingPrices(types, region),
      ec2: await catalog.ec2Prices(types, region),
      transfer: await catalog.transferPrices(region, others),
    };
    await listPrices.put(merged(known, answers, { region, types, others, notes, at: now.toISOString() }));
  }
}

interface Answers {
  readonly training: MarketAnswer<readonly ListPrice[]>;
  readonly ec2: MarketAnswer<readonly ListPrice[]>;
  readonly transfer: MarketAnswer<readonly TransferPrice[]>;
}

interface Wanted {
  readonly region: string;
  readonly types: readonly string[];
  /** Where data of this region is sent. */
  readonly others: readonly string[];
  readonly notes: string[];
  readonly at: string;
}

/** Prices that AWS does not return keep their previous value and time. */
function merged(
  known: ListPrices | undefined,
  { training, ec2, transfer }: Answers,
  wanted: Wanted,
): ListPrices {
  const { region, at, types, others } = wanted;
  const perHour =
    (what: string, snapshotOf: (type: string) => number | undefined) =>
    ({ instanceType, hourlyUsd }: ListPrice): Described => ({
      key: instanceType,
      name: `${what} of ${instanceType}`,
      usd: hourlyUsd,
      snapshotUsd: snapshotOf(instanceType),
      bounds: USD_AN_HOUR,
    });
  const perGigabyte = ({ to, usdPerGigabyte }: TransferPrice): Described => ({
    key: to,
    name: `the price of transfer of a gigabyte for ${to}`,
    usd: usdPerGigabyte,
    snapshotUsd: tabledTransferUsd(region, to),
    bounds: USD_A_GIGABYTE,
  });
  const ec2Price = perHour("EC2's price", (type) => ec2OnDemandUsd(type, region));
  const listPrice = perHour('the list price', (type) => trainingPrice(type, region)?.hourlyUsd);
  const isWhole = [training, ec2, transfer].every(({ kind }) => kind === 'known');
  return {
    region,
    at: isWhole ? at : (known?.at ?? NEVER),
    requested: united(types, known?.requested),
    requestedTo: united(others, known?.requestedTo),
    ec2: renewed("EC2's prices", known?.ec2, ec2, { ...wanted, describe: ec2Price }),
    prices: renewed('list prices', known?.prices, training, { ...wanted, describe: listPrice }),
    transfer: renewed('prices of transfer', known?.transfer, transfer, { ...wanted, describe: perGigabyte }),
  };
}

const NEVER = new Date(0).toISOString();

const united = (some: readonly string[], others: readonly string[] = []): readonly string[] =>
  [...new Set([...some, ...others])].sort();

/** No AWS price has ever moved this far; P4 and P5 fell by less than half in 2025. */
const MOST_CHANGE = 5;

/** Bounds where the snapshot has no price to compare with, far beyond any AWS price. */
type Bounds = readonly [number, number];
const USD_AN_HOUR: Bounds = [0.001, 5_000];
const USD_A_GIGABYTE: Bounds = [0.001, 1];

interface Described {
  /** Tells it apart from others of its kind. */
  readonly key: string;
  readonly name: string;
  readonly usd: number;
  readonly snapshotUsd: number | undefined;
  readonly bounds: Bounds;
}

/** New values that can be believed first, then previous ones that have no new value. */
function renewed<T extends ListPrice | TransferPrice>(
  what: string,
  known: readonly KeptPrice<T>[] = [],
  answer: MarketAnswer<readonly T[]>,
  given: Wanted & { readonly describe: (price: T) => Described },
): readonly KeptPrice<T>[] {
  const { at, describe } = given;
  const found = taken(`${what} of ${given.region}`, answer, given.notes);
  const fresh = found.filter((each) => isBelieved(describe(each), given));
  const keys = new Set(fresh.map((each) => describe(each).key));
  return [
    ...fresh.map((each) => ({ ...each, readAt: at })),
    ...known.filter((each) => !keys.has(describe(each).key)),
  ];
}

function isBelieved({ name, usd, snapshotUsd, bounds }: Described, { region, notes }: Wanted): boolean {
  const [least, most] =
    snapshotUsd === undefined ? bounds : [snapshotUsd / MOST_CHANGE, snapshotUsd * MOST_CHANGE];
  if (usd >= least && usd <= most) return true;
  const far =
    snapshotUsd === undefined
      ? 'no price that AWS has ever asked'
      : `too far from $${snapshotUsd.toFixed(3)}`;
  notes.push(`${name} in ${region} is not believed: $${usd} is ${far}`);
  return false;
}
