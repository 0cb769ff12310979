/**
 * Answers of DescribeInstanceTypes, made after the shapes of EC2's model (a contract test compares them) with the values
 * of moto 5.2.5: of the snapshot, beyond it, with a card without EFA, and with what the catalog does not read.
 */

const card = (NetworkCardIndex: number, gbps: number, types = ['interface', 'efa', 'efa-only']) => ({
  NetworkCardIndex,
  NetworkPerformance: `${gbps} Gigabit`,
  MaximumNetworkInterfaces: 4,
  BaselineBandwidthInGbps: gbps,
  PeakBandwidthInGbps: gbps,
  InterfaceTypes: types,
});

const cards = (count: number, gbps: number) => Array.from({ length: count }, (_, index) => card(index, gbps));

interface Recorded {
  readonly InstanceType: string;
  readonly vcpus: number;
  readonly memoryMib: number;
  readonly gpu?: readonly [name: string, count: number, mib: number];
  readonly efa: number;
  readonly network: readonly ReturnType<typeof card>[];
  readonly nvmeGb: number;
  readonly ebsMbps: number;
}

const recorded = ({ InstanceType, vcpus, memoryMib, gpu, efa, network, nvmeGb, ebsMbps }: Recorded) => ({
  InstanceType,
  CurrentGeneration: true,
  BareMetal: false,
  Hypervisor: 'nitro',
  ProcessorInfo: { SupportedArchitectures: ['x86_64'], SustainedClockSpeedInGhz: 3.2 },
  VCpuInfo: { DefaultVCpus: vcpus, DefaultCores: vcpus / 2, DefaultThreadsPerCore: 2 },
  MemoryInfo: { SizeInMiB: memoryMib },
  InstanceStorageSupported: nvmeGb > 0,
  ...(nvmeGb > 0 && {
    InstanceStorageInfo: {
      TotalSizeInGB: nvmeGb,
      Disks: [{ SizeInGB: nvmeGb / 8, Count: 8, Type: 'ssd' }],
      NvmeSupport: 'required',
      EncryptionSupport: 'required',
    },
  }),
  EbsInfo: {
    EbsOptimizedSupport: 'default',
    EncryptionSupport: 'supported',
    EbsOptimizedInfo: { BaselineBandwidthInMbps: ebsMbps, MaximumBandwidthInMbps: ebsMbps },
    NvmeSupport: 'required',
  },
  NetworkInfo: {
    MaximumNetworkCards: network.length,
    DefaultNetworkCardIndex: 0,
    NetworkCards: network,
    EfaSupported: efa > 0,
    ...(efa > 0 && { EfaInfo: { MaximumEfaInterfaces: efa } }),
  },
  ...(gpu !== undefined && {
    GpuInfo: {
      Gpus: [{ Name: gpu[0], Manufacturer: 'NVIDIA', Count: gpu[1], MemoryInfo: { SizeInMiB: gpu[2] } }],
      TotalGpuMemoryInMiB: gpu[1] * gpu[2],
    },
  }),
});

export const RECORDED_TYPES = [
  recorded({
    InstanceType: 'p4d.24xlarge',
    vcpus: 96,
    memoryMib: 1_179_648,
    gpu: ['A100', 8, 40_960],
    efa: 4,
    network: cards(4, 100),
    nvmeGb: 8_000,
    ebsMbps: 19_000,
  }),
  recorded({
    InstanceType: 'p6-b300.48xlarge',
    vcpus: 192,
    memoryMib: 4_194_304,
    gpu: ['B300', 8, 275_040],
    efa: 16,
    network: [card(0, 300, ['interface']), ...cards(17, 400).slice(1)],
    nvmeGb: 30_400,
    ebsMbps: 100_000,
  }),
  recorded({
    InstanceType: 'g9.48xlarge',
    vcpus: 192,
    memoryMib: 2_097_152,
    gpu: ['Z1', 8, 196_608],
    efa: 8,
    network: cards(8, 200),
    nvmeGb: 7_600,
    ebsMbps: 60_000,
  }),
  recorded({
    InstanceType: 'c7i-flex.xlarge',
    vcpus: 4,
    memoryMib: 8_192,
    efa: 0,
    network: [{ ...card(0, 0.781, ['interface']), PeakBandwidthInGbps: 12.5 }],
    nvmeGb: 0,
    ebsMbps: 650,
  }),
];
