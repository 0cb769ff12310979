/** The instance types of the catalog that meet InstanceRequirements, as far as the catalog can tell. */
import { catalogTypes, type InstanceFacts, instanceFacts } from '../../../functions/core/catalog/catalog.ts';
import { invalid } from './query.ts';

const MIB_PER_GIB = 1_024;
const MEASURES: Readonly<Record<string, (facts: InstanceFacts) => number>> = {
  VCpuCount: (facts) => facts.vcpu,
  MemoryMiB: (facts) => facts.memoryGib * MIB_PER_GIB,
  AcceleratorCount: (facts) => facts.acceleratorCount,
};
const ARCHITECTURES = /^ArchitectureType\.\d+$/;
/** Every type of the catalog is virtualised in hardware. */
const VIRTUALIZATION = /^VirtualizationType\.\d+$/;
const BOUND = /^InstanceRequirements\.(\w+)\.(Min|Max)$/;
const PATTERN = /^InstanceRequirements\.(Allowed|Excluded)InstanceType\.\d+$/;

/** @param requirements names without the leading `InstanceRequirementsWithMetadata.`; one that is not known is refused */
export function typesMeeting(requirements: ReadonlyMap<string, string>): readonly string[] {
  const tests = [...requirements].map(([name, value]) => testOf(name, value));
  const architectures = valuesOf(requirements, ARCHITECTURES);
  const allowed = valuesOf(requirements, /^InstanceRequirements\.AllowedInstanceType\.\d+$/);
  return catalogTypes().filter((type) => {
    const facts = instanceFacts(type);
    return (
      facts !== undefined &&
      tests.every((test) => test(facts)) &&
      (architectures.length === 0 || architectures.includes(facts.arch)) &&
      (allowed.length === 0 || allowed.some((pattern) => matches(pattern, type)))
    );
  });
}

function testOf(name: string, value: string): (facts: InstanceFacts) => boolean {
  const [, measure = '', bound] = BOUND.exec(name) ?? [];
  const measured = Object.hasOwn(MEASURES, measure) ? MEASURES[measure] : undefined;
  if (measured) {
    const limit = Number(value);
    if (!Number.isFinite(limit)) throw invalid(name, value, 'it must be a number');
    return (facts) => (bound === 'Min' ? measured(facts) >= limit : measured(facts) <= limit);
  }
  if (PATTERN.exec(name)?.[1] === 'Excluded') return (facts) => !matches(value, facts.type);
  if (PATTERN.test(name) || ARCHITECTURES.test(name) || VIRTUALIZATION.test(name)) return () => true;
  throw invalid(name, value, 'the local market cannot judge this requirement, name instance types instead');
}

const valuesOf = (requirements: ReadonlyMap<string, string>, name: RegExp): readonly string[] =>
  [...requirements].flatMap(([key, value]) => (name.test(key) ? [value] : []));

/** `*` is the only wildcard here. */
const matches = (pattern: string, type: string): boolean => {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(type);
};
