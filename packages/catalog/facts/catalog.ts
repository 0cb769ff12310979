/**
 * Instance facts and prices as a dated snapshot, for when AWS is out of reach. Every file under `data/` names its
 * sources; a lookup of something no source knows is `undefined`, and a price that is derived says so.
 */

import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import { once } from '@tidewheel/kit/once.ts';
import { own } from '@tidewheel/kit/own-property.ts';
import * as z from 'zod';
import ec2 from '../data/ec2-prices.json' with { type: 'json' };
import instances from '../data/instances.json' with { type: 'json' };
import sagemaker from '../data/sagemaker-prices.json' with { type: 'json' };
import { efaOfSnapshot } from './network-cards.ts';

export const instanceFactsSchema = z.object({
  /** EC2 name, without `ml.` */
  type: z.string(),
  vcpu: z.number(),
  /** vCPUs of one physical core; undefined where no source says. */
  threadsPerCore: z.number().optional(),
  memoryGib: z.number(),
  accelerator: z.string().optional(),
  acceleratorCount: z.number(),
  acceleratorMemoryMib: z.number().optional(),
  networkBaselineGbps: z.number(),
  /** What the type may reach for a while; equal to the baseline where AWS states no "up to". */
  networkBurstGbps: z.number(),
  efa: z.boolean(),
  /** Only for a type with EFA: the number of interfaces, and the card of the first one if that is not card 0. */
  efaInterfaces: z.number().optional(),
  firstEfaCard: z.number().optional(),
  /** 0 = EBS only */
  nvmeGb: z.number(),
  /** Absent where no source says. */
  ebsBaselineMbps: z.number().optional(),
  /** How accelerators of one node talk; undefined where no source says. */
  interconnect: z.string().optional(),
  arch: z.string(),
});
export type InstanceFacts = Readonly<z.output<typeof instanceFactsSchema>>;

export interface TrainingPrice {
  /** SageMaker training on demand, USD per hour of one instance. */
  readonly hourlyUsd: number;
  /** listed: this region; other-region: same type elsewhere; estimated: EC2 price times an observed ratio. */
  readonly basis: 'listed' | 'other-region' | 'estimated';
  readonly note: string;
}

type Cell = string | number | boolean | null;
type RegionPrices = Readonly<
  Record<string, readonly [number | null, Readonly<Record<string, number | null>>]>
>;
type TrainingRow = readonly [number, string | null, string | null];

const ec2Prices = ec2.prices as unknown as Readonly<Record<string, RegionPrices>>;
const trainingPrices = sagemaker.prices as unknown as Readonly<
  Record<string, Readonly<Record<string, TrainingRow>>>
>;

/** The day each part of the snapshot speaks of, for tables and pages. */
export const snapshotDates = { instances: instances.asOf, ec2: ec2.asOf, training: sagemaker.asOf } as const;

const numberOr = <T>(value: Cell | undefined, fallback: T): number | T =>
  typeof value === 'number' ? value : fallback;
const textOr = (value: Cell | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** What every forecast needs: a type without it is no type of the catalog, and no figure stands in for it. */
function required(value: Cell | undefined, name: string): number {
  if (typeof value === 'number') return value;
  throw new TypeError(`data/instances.json has a row without ${name}`);
}

function factsOf(row: readonly Cell[]): InstanceFacts {
  const cell = (name: string): Cell | undefined => row[instances.columns.indexOf(name)];
  const number = (name: string): number => required(cell(name), name);
  const baseline = number('networkBaselineGbps');
  return {
    type: textOr(cell('type')) ?? '',
    vcpu: number('vcpu'),
    threadsPerCore: numberOr(cell('threadsPerCore'), undefined),
    memoryGib: number('memoryGib'),
    accelerator: textOr(cell('accelerator')),
    acceleratorCount: number('acceleratorCount'),
    acceleratorMemoryMib: numberOr(cell('acceleratorMemoryMib'), undefined),
    networkBaselineGbps: baseline,
    networkBurstGbps: numberOr(cell('networkBurstGbps'), baseline),
    efa: cell('efa') === true,
    ...efaOfSnapshot(textOr(cell('type')) ?? ''),
    nvmeGb: number('nvmeGb'),
    ebsBaselineMbps: numberOr(cell('ebsBaselineMbps'), undefined),
    interconnect: textOr(cell('interconnect')),
    arch: textOr(cell('arch')) ?? '',
  };
}

const facts = once(
  (): ReadonlyMap<string, InstanceFacts> =>
    new Map(
      (instances.rows as unknown as readonly (readonly Cell[])[])
        .map(factsOf)
        .map((each) => [each.type, each]),
    ),
);

/** undefined: a type the snapshot does not know; callers go on without its facts and say so. */
export const instanceFacts = (type: string): InstanceFacts | undefined => facts().get(type);

/** Where facts of hardware come from: the snapshot, or what was read of EC2 over it (`hardware.ts`). */
export type FactsOf = (type: string) => InstanceFacts | undefined;

export const catalogTypes = (): readonly string[] => [...facts().keys()];

/** EC2 On-Demand, USD an hour. */
export const ec2OnDemandUsd = (type: string, region: string): number | undefined =>
  own(own(ec2Prices, type), region)?.[0] ?? undefined;

/** EC2 Spot at the moment of the snapshot, USD an hour; undefined also where the zone offers it at an unknown price. */
export const ec2SpotUsd = (type: string, region: string, zoneId: string): number | undefined =>
  own(own(own(ec2Prices, type), region)?.[1], zoneId) ?? undefined;

/** Zone ids that offered the type when the snapshot was made; undefined when the snapshot has no row for it. */
export function offeredZoneIds(type: string, region: string): readonly string[] | undefined {
  const zones = own(own(ec2Prices, type), region)?.[1];
  return zones && Object.keys(zones).length > 0 ? Object.keys(zones).sort() : undefined;
}

/** Of every region in the snapshot, the zone ids that offered anything. */
const zonesByRegion = once(
  (): ReadonlyMap<string, ReadonlySet<string>> =>
    Object.values(ec2Prices)
      .flatMap((regions) => Object.entries(regions))
      .reduce((all, [region, [, zones]]) => {
        all.set(region, new Set([...(all.get(region) ?? []), ...Object.keys(zones)]));
        return all;
      }, new Map<string, Set<string>>()),
);

export const zonesOfRegion = (region: string): readonly string[] =>
  [...(zonesByRegion().get(region) ?? [])].sort();

/** Zone ids begin with a short name of their region that AWS does not derive from its name: use1-az4 of us-east-1. */
export const regionOfZone = (zoneId: string): string | undefined =>
  [...zonesByRegion()].find(([, zones]) =>
    [...zones].some((each) => each.split('-')[0] === zoneId.split('-')[0]),
  )?.[0];

/**
 * SageMaker over EC2 On-Demand as observed in us-east-1 wherever both are known: 1.40 for the xlarge sizes of g4dn,
 * g5 and g6e, 1.25 for the other G and P3 sizes, 1.15 for P4 and P5, 1.325 for Trainium, 1.20 for CPU families.
 */
export function trainingRatio(type: string): number {
  const family = familyOf(type);
  if (/^(g4dn|g5|g6e)\.xlarge$/.test(type)) return 1.4;
  if (/^(g|p3)/.test(family)) return 1.25;
  if (family.startsWith('p')) return 1.15;
  return family.startsWith('trn') ? 1.325 : 1.2;
}

/** What an hour of `ml.<type>` costs for training on demand, and how well that is known. */
export function trainingPrice(type: string, region: string): TrainingPrice | undefined {
  const rows = own(trainingPrices, type) ?? {};
  const listed = own(rows, region);
  if (listed) return { hourlyUsd: listed[0], basis: 'listed', note: describeRow(listed, region) };
  const ec2Here = ec2OnDemandUsd(type, region);
  const [elsewhere, row] = Object.entries(rows)[0] ?? [];
  if (ec2Here === undefined && (elsewhere === undefined || row === undefined)) return undefined;
  if (ec2Here !== undefined) {
    const ratio = trainingRatio(type);
    const note = `estimate: EC2 On-Demand ${ec2Here} x ${ratio} (ratio seen in us-east-1), no list price known`;
    return { hourlyUsd: ec2Here * ratio, basis: 'estimated', note };
  }
  return row && { hourlyUsd: row[0], basis: 'other-region', note: describeRow(row, elsewhere ?? 'unstated') };
}

function describeRow([, asOf, component]: TrainingRow, region: string): string {
  const where = region === 'unstated' ? 'region not stated' : region;
  return `price list of ${asOf ?? 'unknown date'}, ${where}${component ? `, ${component}` : ''}`;
}

/**
 * Types that can stand in for the given ones when a placement score needs at least three: the same accelerator (or
 * none) and at least as many of them, at least half and at most four times the vCPUs; nearest first.
 */
export function interchangeableTypes(types: readonly string[]): readonly string[] {
  const wanted = types.map(instanceFacts).filter((each) => each !== undefined);
  const first = wanted[0];
  if (!first) return [];
  const least = Math.min(...wanted.map((each) => each.vcpu));
  const distance = (other: InstanceFacts): number =>
    Math.abs(Math.log(other.vcpu / first.vcpu)) + Math.abs(other.acceleratorCount - first.acceleratorCount);
  return [...facts().values()]
    .filter((other) => !types.includes(other.type) && other.arch === first.arch)
    .filter((other) => (first.accelerator ? acceleratorLike(other, first) : other.acceleratorCount === 0))
    .filter((other) => other.vcpu >= least / 2 && other.vcpu <= least * 4)
    .sort((a, b) => distance(a) - distance(b) || a.type.localeCompare(b.type))
    .map((each) => each.type);
}

/** EC2 scores fewer types always low. */
const LEAST_TYPES = 3;

/**
 * The family in a request for a placement score: the types, filled up with interchangeable ones where they are fewer
 * than three; the same for every order of the types. undefined where there are no three: their score would say nothing.
 */
export function scoredFamily(types: readonly string[]): readonly string[] | undefined {
  const own = [...new Set(types)].sort();
  if (own.length >= LEAST_TYPES) return own;
  // Each stands first once: a small type finds substitutes that a large one does not.
  const families = own.map((first) =>
    [...own, ...interchangeableTypes([first, ...own]).slice(0, LEAST_TYPES - own.length)].sort(),
  );
  return families.find(({ length }) => length >= LEAST_TYPES);
}

/** Enough accelerators with enough memory each: a job sized for the first runs on the second. */
const acceleratorLike = (other: InstanceFacts, first: InstanceFacts): boolean =>
  other.acceleratorCount >= first.acceleratorCount &&
  other.acceleratorCount <= Math.max(1, first.acceleratorCount) * 2 &&
  (other.acceleratorMemoryMib ?? 0) >= (first.acceleratorMemoryMib ?? 0);
