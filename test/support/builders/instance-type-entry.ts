/** An entry of DescribeInstanceTypes: of the snapshot's facts, or made up for a type that it does not have. */
import { type InstanceFacts, instanceFacts } from '@tidewheel/catalog/catalog.ts';

interface Change {
  readonly vcpu?: number;
  readonly accelerator?: string;
  readonly memoryMib?: number;
}

const MADE_UP: InstanceFacts = {
  type: '',
  vcpu: 4,
  memoryGib: 32,
  acceleratorCount: 1,
  networkBaselineGbps: 10,
  networkBurstGbps: 25,
  efa: false,
  nvmeGb: 0,
  arch: 'x86_64',
};

const gpuOf = ({ accelerator, acceleratorCount, acceleratorMemoryMib = 24_576 }: InstanceFacts) => ({
  Name: accelerator,
  Manufacturer: 'NVIDIA',
  Count: acceleratorCount,
  MemoryInfo: { SizeInMiB: acceleratorMemoryMib },
});

/** @returns as the SDK gives it, without the unused fields, except one */
export function entry(type: string, { vcpu, accelerator, memoryMib }: Change = {}) {
  const facts: InstanceFacts = {
    ...(instanceFacts(type) ?? MADE_UP),
    ...(vcpu !== undefined && { vcpu }),
    ...(accelerator !== undefined && { accelerator }),
    ...(memoryMib !== undefined && { acceleratorMemoryMib: memoryMib }),
  };
  return {
    InstanceType: type,
    CurrentGeneration: true,
    VCpuInfo: { DefaultVCpus: facts.vcpu },
    MemoryInfo: { SizeInMiB: facts.memoryGib * 1_024 },
    ProcessorInfo: { SupportedArchitectures: [facts.arch] },
    ...(facts.accelerator === undefined ? {} : { GpuInfo: { Gpus: [gpuOf(facts)] } }),
    NetworkInfo: {
      EfaSupported: facts.efa,
      NetworkCards: [
        {
          BaselineBandwidthInGbps: facts.networkBaselineGbps,
          PeakBandwidthInGbps: facts.networkBurstGbps,
        },
      ],
    },
    InstanceStorageSupported: facts.nvmeGb > 0,
    InstanceStorageInfo: { TotalSizeInGB: facts.nvmeGb, NvmeSupport: 'required' },
    ...(facts.ebsBaselineMbps === undefined
      ? {}
      : { EbsInfo: { EbsOptimizedInfo: { BaselineBandwidthInMbps: facts.ebsBaselineMbps } } }),
  };
}
