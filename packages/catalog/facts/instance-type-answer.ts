/**
 * An entry of DescribeInstanceTypes, read as far as the catalog knows its fields.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html
 */
import * as z from 'zod';
import type { InstanceFacts } from './catalog.ts';

const mib = z.object({ SizeInMiB: z.number() });
const device = z.object({
  Name: z.string().optional(),
  Count: z.number().int(),
  MemoryInfo: mib.optional(),
});
const card = z.object({
  NetworkCardIndex: z.number().int().optional(),
  InterfaceTypes: z.array(z.string()).optional(),
  BaselineBandwidthInGbps: z.number().optional(),
  PeakBandwidthInGbps: z.number().optional(),
});

const answerSchema = z.object({
  InstanceType: z.string(),
  VCpuInfo: z.object({
    DefaultVCpus: z.number().int(),
    DefaultThreadsPerCore: z.number().int().positive().optional(),
  }),
  MemoryInfo: mib,
  ProcessorInfo: z.object({ SupportedArchitectures: z.array(z.string()).min(1) }),
  GpuInfo: z.object({ Gpus: z.array(device).min(1) }).optional(),
  NeuronInfo: z.object({ NeuronDevices: z.array(device).min(1) }).optional(),
  NetworkInfo: z
    .object({
      EfaSupported: z.boolean().optional(),
      EfaInfo: z.object({ MaximumEfaInterfaces: z.number().int() }).optional(),
      NetworkCards: z.array(card).optional(),
    })
    .optional(),
  InstanceStorageSupported: z.boolean().optional(),
  InstanceStorageInfo: z
    .object({
      TotalSizeInGB: z.number().optional(),
      NvmeSupport: z.string().optional(),
      Disks: z.array(z.object({ Type: z.string().optional() })).optional(),
    })
    .optional(),
  EbsInfo: z
    .object({
      EbsOptimizedInfo: z.object({ BaselineBandwidthInMbps: z.number().optional() }).optional(),
    })
    .optional(),
});
type InstanceTypeAnswer = z.output<typeof answerSchema>;

export type TypeAnswer =
  | { readonly kind: 'readable'; readonly type: string; readonly facts: Partial<InstanceFacts> }
  | { readonly kind: 'unreadable'; readonly type: string; readonly why: string };

/** Only what the entry says; `undefined` for accelerators means that it has none. */
export function answerOf(entry: unknown): TypeAnswer {
  const answer = answerSchema.safeParse(entry);
  if (answer.success)
    return { kind: 'readable', type: answer.data.InstanceType, facts: factsOf(answer.data) };
  const named = z.object({ InstanceType: z.string() }).safeParse(entry);
  const [issue] = answer.error.issues;
  const why = `the answer is not of the documented shape (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''})`;
  return { kind: 'unreadable', type: named.success ? named.data.InstanceType : 'a type', why };
}

function factsOf(answer: InstanceTypeAnswer): Partial<InstanceFacts> {
  const cards = answer.NetworkInfo?.NetworkCards ?? [];
  return {
    type: answer.InstanceType,
    vcpu: answer.VCpuInfo.DefaultVCpus,
    ...given('threadsPerCore', answer.VCpuInfo.DefaultThreadsPerCore),
    memoryGib: answer.MemoryInfo.SizeInMiB / 1_024,
    arch:
      answer.ProcessorInfo.SupportedArchitectures.find((each) => each === 'x86_64' || each === 'arm64') ?? '',
    ...acceleratorsOf(answer),
    ...given('networkBaselineGbps', sumOf(cards.map((each) => each.BaselineBandwidthInGbps))),
    ...given('networkBurstGbps', sumOf(cards.map((each) => each.PeakBandwidthInGbps))),
    ...given('efa', answer.NetworkInfo?.EfaSupported),
    ...efaOf(answer),
    ...given('nvmeGb', nvmeOf(answer)),
    ...given('ebsBaselineMbps', answer.EbsInfo?.EbsOptimizedInfo?.BaselineBandwidthInMbps),
  };
}

const given = <K extends keyof InstanceFacts>(
  name: K,
  value: InstanceFacts[K] | undefined,
): Partial<InstanceFacts> => (value === undefined ? {} : { [name]: value });

type Accelerators = Pick<InstanceFacts, 'accelerator' | 'acceleratorCount' | 'acceleratorMemoryMib'>;

function acceleratorsOf({ GpuInfo, NeuronInfo }: InstanceTypeAnswer): Accelerators {
  const devices = GpuInfo?.Gpus ?? NeuronInfo?.NeuronDevices ?? [];
  return {
    accelerator: devices[0]?.Name,
    acceleratorCount: devices.reduce((sum, { Count }) => sum + Count, 0),
    acceleratorMemoryMib: devices[0]?.MemoryInfo?.SizeInMiB,
  };
}

/** Hosts without accelerators have no use for more than one. */
function efaOf(answer: InstanceTypeAnswer): Partial<InstanceFacts> {
  const { EfaSupported, EfaInfo, NetworkCards = [] } = answer.NetworkInfo ?? {};
  if (EfaSupported !== true || EfaInfo === undefined) return {};
  const isAccelerated = answer.GpuInfo !== undefined || answer.NeuronInfo !== undefined;
  const first = NetworkCards.find(({ InterfaceTypes }) => InterfaceTypes?.includes('efa'))?.NetworkCardIndex;
  return {
    efaInterfaces: Math.min(EfaInfo.MaximumEfaInterfaces, isAccelerated ? Number.POSITIVE_INFINITY : 1),
    ...(first !== undefined && first > 0 && { firstEfaCard: first }),
  };
}

/** undefined where the answer omits one of them, or there is none. */
const sumOf = (values: readonly (number | undefined)[]): number | undefined =>
  values.length === 0
    ? undefined
    : values.reduce<number | undefined>(
        (sum, each) => (sum === undefined || each === undefined ? undefined : sum + each),
        0,
      );

/** Local NVMe disks in GB; hard disks are none. */
function nvmeOf({
  InstanceStorageSupported: has,
  InstanceStorageInfo: info,
}: InstanceTypeAnswer): number | undefined {
  if (has === false) return 0;
  if (info?.TotalSizeInGB === undefined) return undefined;
  const isNvme =
    info.NvmeSupport !== 'unsupported' && info.Disks?.some(({ Type }) => Type === 'hdd') !== true;
  return isNvme ? info.TotalSizeInGB : 0;
}
