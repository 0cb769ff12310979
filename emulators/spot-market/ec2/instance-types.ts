/** DescribeInstanceTypes, as far as the catalog's snapshot knows; what it does not know is left out, never made up. */
import { catalogTypes, type InstanceFacts, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { zonesOffering } from '../model/offers.ts';
import { Ec2Error } from './ec2-error.ts';
import { applyFilters, type Fields } from './filters.ts';
import { pageAt, positionAfter } from './paging.ts';
import type { Ec2Answer, ServiceRequest } from './service.ts';
import type { Xml } from './xml.ts';

const MIB_PER_GIB = 1_024;

const FIELDS: Fields<InstanceFacts> = { 'instance-type': (facts) => facts.type };

export function describeInstanceTypes({ query, region, nowMs }: ServiceRequest): Ec2Answer {
  const requested = query.list('InstanceType');
  if (requested.length > 100)
    throw new Ec2Error('InvalidParameterValue', 'At most 100 instance types may be named.');
  const isOffered = (type: string): boolean =>
    query.isTrue('IncludeUnsupportedInRegion') || zonesOffering(type, region).length > 0;
  const unknown = requested.filter((type) => !instanceFacts(type) || !isOffered(type));
  if (unknown.length > 0) {
    const message = `The following supplied instance types do not exist: [${unknown.join(', ')}]`;
    throw new Ec2Error('InvalidInstanceType', message);
  }
  const size = query.integer('MaxResults', { minimum: 5, maximum: 100 });
  if (size !== undefined && requested.length > 0) {
    throw new Ec2Error('InvalidParameterCombination', 'InstanceType and MaxResults cannot both be given.');
  }
  const named = (requested.length > 0 ? requested : catalogTypes().filter(isOffered)).flatMap(
    (type) => instanceFacts(type) ?? [],
  );
  const page = pageAt(
    applyFilters(named, query.filters(), FIELDS),
    positionAfter(query.text('NextToken'), nowMs),
    size ?? 100,
  );
  return { instanceTypeSet: page.items.map(itemOf), nextToken: page.nextToken };
}

const isBareMetal = (facts: InstanceFacts): boolean => facts.type.includes('.metal');
const isNeuron = (facts: InstanceFacts): boolean => /trainium|inferentia/i.test(facts.accelerator ?? '');

function itemOf(facts: InstanceFacts): Xml {
  return {
    instanceType: facts.type,
    supportedUsageClasses: ['on-demand', 'spot'],
    bareMetal: isBareMetal(facts),
    processorInfo: { supportedArchitectures: [facts.arch] },
    vCpuInfo: { defaultVCpus: facts.vcpu },
    memoryInfo: { sizeInMiB: facts.memoryGib * MIB_PER_GIB },
    instanceStorageSupported: facts.nvmeGb > 0,
    instanceStorageInfo:
      facts.nvmeGb > 0 ? { totalSizeInGB: facts.nvmeGb, nvmeSupport: 'required' } : undefined,
    ebsInfo:
      facts.ebsBaselineMbps === undefined
        ? undefined
        : { ebsOptimizedInfo: { baselineBandwidthInMbps: facts.ebsBaselineMbps } },
    networkInfo: networkOf(facts),
    gpuInfo: facts.acceleratorCount > 0 && !isNeuron(facts) ? gpuOf(facts) : undefined,
    neuronInfo: facts.acceleratorCount > 0 && isNeuron(facts) ? neuronOf(facts) : undefined,
    supportedInRegion: true,
  };
}

/** The catalog has the figures of the whole instance: they are shown as one card. */
const networkOf = ({ networkBaselineGbps, networkBurstGbps, efa }: InstanceFacts): Xml => ({
  networkPerformance:
    networkBurstGbps > networkBaselineGbps
      ? `Up to ${networkBurstGbps} Gigabit`
      : `${networkBaselineGbps} Gigabit`,
  networkCards: [
    {
      networkCardIndex: 0,
      baselineBandwidthInGbps: networkBaselineGbps,
      peakBandwidthInGbps: networkBurstGbps,
    },
  ],
  efaSupported: efa,
});

const gpuOf = ({ accelerator, acceleratorCount, acceleratorMemoryMib }: InstanceFacts): Xml => ({
  gpus: [
    {
      name: accelerator,
      manufacturer: 'NVIDIA',
      count: acceleratorCount,
      memoryInfo: acceleratorMemoryMib === undefined ? undefined : { sizeInMiB: acceleratorMemoryMib },
    },
  ],
  totalGpuMemoryInMiB:
    acceleratorMemoryMib === undefined ? undefined : acceleratorMemoryMib * acceleratorCount,
});

const neuronOf = ({ accelerator, acceleratorCount, acceleratorMemoryMib }: InstanceFacts): Xml => ({
  neuronDevices: [
    {
      count: acceleratorCount,
      name: accelerator,
      memoryInfo: acceleratorMemoryMib === undefined ? undefined : { sizeInMiB: acceleratorMemoryMib },
    },
  ],
});
