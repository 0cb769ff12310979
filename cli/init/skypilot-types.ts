/** Instance types that have what a SkyPilot task asks of its hosts, the cheapest first. */
import {
  catalogTypes,
  ec2OnDemandUsd,
  type InstanceFacts,
  instanceFacts,
} from '@tidewheel/catalog/catalog.ts';
import { trainingType } from '@tidewheel/declaration/instance-types.ts';
import { asText, type Table } from './job.ts';

/** Enough to find capacity, and few enough for a person to read. */
const MOST_TYPES = 3;
const PRICED_IN = 'us-east-1';
const USUAL_VCPUS = 8;
const UNITS: Readonly<Record<string, number>> = { K: 1e-6, M: 1e-3, G: 1, T: 1e3, P: 1e6 };

/** `256`, `256GB`, `1TB`; rounded down, as SkyPilot does. */
export function gigabytesOf(size: unknown): number | undefined {
  const [, number, unit = 'G'] = /^(\d+(?:\.\d+)?)\s*([KMGTP])?I?B?$/.exec(String(size).toUpperCase()) ?? [];
  return number === undefined ? undefined : Math.floor(Number(number) * (UNITS[unit] ?? 1));
}

/** `4` and `4+`: a larger one also has them. */
const least = (wanted: unknown): number =>
  gigabytesOf(typeof wanted === 'string' ? wanted.replace(/\+$/, '') : wanted) ?? 0;

interface Accelerator {
  readonly name: string;
  readonly count: number;
}

/** `H100:8`, a list or set of such, or `{ H100: 8 }`. */
function acceleratorsOf(given: unknown): readonly Accelerator[] {
  if (typeof given === 'string') {
    const [name = '', count = '1'] = given.replaceAll(/[{}'"\s]/g, '').split(':');
    return [{ name, count: Number(count) }];
  }
  if (Array.isArray(given)) return given.flatMap(acceleratorsOf);
  return Object.entries(given ?? {}).map(([name, count]) =>
    count === null ? (acceleratorsOf(name)[0] ?? { name, count: 1 }) : { name, count: Number(count) },
  );
}

/** SkyPilot tells sizes of memory apart by the name. */
function isKind({ accelerator, acceleratorMemoryMib = 0 }: InstanceFacts, name: string): boolean {
  const [, kind, gigabytes] = /^(.+?)(?:-(\d+)GB)?$/i.exec(name) ?? [];
  if (accelerator?.toUpperCase() !== kind?.toUpperCase()) return false;
  const isSmall = acceleratorMemoryMib < 60_000;
  return accelerator !== 'A100' || isSmall === (gigabytes === undefined);
}

/** What AWS has instead, where no type has so many. */
export function nearestTo(resources: Table): string {
  const wanted = acceleratorsOf(resources['accelerators']);
  const [found] = pricedTypes().filter((facts) =>
    wanted.some(({ name, count }) => facts.acceleratorCount > count && isKind(facts, name)),
  );
  const nearest = found === undefined ? '' : `: ${found.type} has ${found.acceleratorCount}`;
  return `no type of AWS that is known here has just that${nearest}`;
}

const price = ({ type }: InstanceFacts) => ec2OnDemandUsd(type, PRICED_IN) ?? Number.POSITIVE_INFINITY;

function pricedTypes(): readonly InstanceFacts[] {
  return catalogTypes()
    .flatMap((type) => instanceFacts(type) ?? [])
    .filter((facts) => trainingType(facts.type) !== undefined && Number.isFinite(price(facts)))
    .toSorted((one, other) => price(one) - price(other));
}

export function typesOf(resources: Table): readonly string[] {
  const named = asText(resources['instance_type']);
  if (named !== undefined) return [named];
  const wanted = acceleratorsOf(resources['accelerators']);
  const isPlain = wanted.length === 0 && !('cpus' in resources) && !('memory' in resources);
  const cpus = isPlain ? USUAL_VCPUS : least(resources['cpus']);
  return pricedTypes()
    .filter(
      (facts) =>
        facts.vcpu >= cpus &&
        facts.memoryGib >= least(resources['memory']) &&
        (wanted.length === 0
          ? facts.acceleratorCount === 0 && facts.arch === 'x86_64'
          : wanted.some(({ name, count }) => facts.acceleratorCount === count && isKind(facts, name))),
    )
    .map(({ type }) => type)
    .slice(0, MOST_TYPES);
}
