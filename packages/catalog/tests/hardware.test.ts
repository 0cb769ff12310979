/** What EC2 says of hardware: believed where it can be true. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entry } from '../../../test/support/builders/instance-type-entry.ts';
import { catalogTypes, instanceFacts } from '../facts/catalog.ts';
import { factsWith, readAnswer } from '../facts/hardware.ts';

const p4d = entry('p4d.24xlarge');
const card = { BaselineBandwidthInGbps: 100, PeakBandwidthInGbps: 100 };

describe('an answer of DescribeInstanceTypes', () => {
  it('that says what the snapshot says changes nothing', () => {
    for (const type of catalogTypes())
      expect(readAnswer(entry(type))).toEqual({ kind: 'asInSnapshot', type });
  });

  it('sums network cards and NVMe, and keeps other facts', () => {
    const answer = { ...p4d, NetworkInfo: { EfaSupported: true, NetworkCards: [card, card, card, card] } };
    expect(readAnswer(answer)).toEqual({ kind: 'asInSnapshot', type: 'p4d.24xlarge' });
    const more = { ...answer, InstanceStorageInfo: { TotalSizeInGB: 9_000, NvmeSupport: 'required' } };
    expect(readAnswer(more)).toMatchObject({
      kind: 'facts',
      facts: { nvmeGb: 9_000, interconnect: instanceFacts('p4d.24xlarge')?.interconnect },
    });
  });

  it('counts EFA interfaces, and skips a card without', () => {
    const withEfa = { ...card, InterfaceTypes: ['interface', 'efa', 'efa-only'] };
    const network = (cards: object[], MaximumEfaInterfaces: number) => ({
      EfaSupported: true,
      EfaInfo: { MaximumEfaInterfaces },
      NetworkCards: cards.map((each, NetworkCardIndex) => ({ ...each, NetworkCardIndex })),
    });
    const plain = { ...card, InterfaceTypes: ['interface'] };
    const later = {
      ...entry('g9.48xlarge', { accelerator: 'Z1' }),
      NetworkInfo: network([plain, withEfa, withEfa], 2),
    };
    expect(readAnswer(later)).toMatchObject({ facts: { efaInterfaces: 2, firstEfaCard: 1 } });
    const cpu = { ...entry('c9.48xlarge'), NetworkInfo: network([withEfa, withEfa], 2) };
    expect(readAnswer(cpu)).toMatchObject({ facts: { efa: true, efaInterfaces: 1 } });
    expect(readAnswer({ ...p4d, NetworkInfo: network([withEfa, withEfa, withEfa, withEfa], 4) })).toEqual({
      kind: 'asInSnapshot',
      type: 'p4d.24xlarge',
    });
  });

  it("keeps the snapshot's value of every omitted field", () => {
    const { NetworkInfo: _network, EbsInfo: _ebs, ...rest } = p4d;
    expect(readAnswer(rest)).toEqual({ kind: 'asInSnapshot', type: 'p4d.24xlarge' });
    const unnamed = { ...p4d, NetworkInfo: { EfaSupported: true, NetworkCards: [card, {}] } };
    expect(readAnswer(unnamed)).toEqual({ kind: 'asInSnapshot', type: 'p4d.24xlarge' });
  });

  it('recognises Trainium, and hard disks as no NVMe', () => {
    const { GpuInfo: _gpu, ...rest } = entry('trn9.large');
    const device = { Name: 'Trainium', Count: 16, MemoryInfo: { SizeInMiB: 32_768 } };
    const answer = {
      ...rest,
      NeuronInfo: { NeuronDevices: [device] },
      InstanceStorageSupported: true,
      InstanceStorageInfo: { TotalSizeInGB: 9_000, NvmeSupport: 'unsupported', Disks: [{ Type: 'hdd' }] },
    };
    expect(readAnswer(answer)).toMatchObject({
      facts: { accelerator: 'Trainium', acceleratorCount: 16, acceleratorMemoryMib: 32_768, nvmeGb: 0 },
    });
  });

  const nonsense: [string, unknown, RegExp][] = [
    ['of another shape', { InstanceType: 'g5.xlarge', VCpuInfo: 'many' }, /documented shape \(VCpuInfo/],
    ['of nothing', undefined, /documented shape/],
    ['with no vCPU', entry('g9.xlarge', { vcpu: 0 }), /vcpu of 0/],
    ['with memory that is not a number', { ...p4d, MemoryInfo: { SizeInMiB: Number.NaN } }, /MemoryInfo/],
    ['with other vCPUs than the type has', entry('g5.xlarge', { vcpu: 8 }), /vcpu is 8, and 4/],
    ['with another accelerator', entry('g5.xlarge', { accelerator: 'T4' }), /accelerator is T4, and A10G/],
    ['without its accelerators', { ...entry('g5.xlarge'), GpuInfo: undefined }, /accelerator is missing/],
    ['of another architecture', { ...p4d, ProcessorInfo: { SupportedArchitectures: ['arm64'] } }, /arch is/],
    [
      'with a network of a hundredth',
      { ...p4d, NetworkInfo: { NetworkCards: [{ BaselineBandwidthInGbps: 4, PeakBandwidthInGbps: 400 }] } },
      /too far from the snapshot's 400/,
    ],
    [
      'with a burst below the baseline',
      {
        ...entry('g9.xlarge'),
        NetworkInfo: { NetworkCards: [{ BaselineBandwidthInGbps: 10, PeakBandwidthInGbps: 5 }] },
      },
      /below the baseline/,
    ],
    [
      'of a new type without a network',
      { ...entry('g9.xlarge'), NetworkInfo: {} },
      /networkBaselineGbps of 0/,
    ],
  ];
  it.each(nonsense)('%s is refused with its reason', (_what, answer, why) => {
    expect(readAnswer(answer)).toMatchObject({ kind: 'refused', why: expect.stringMatching(why) });
  });

  it('never throws, and keeps every fact within bounds', () => {
    fc.assert(
      fc.property(
        fc.anything(),
        fc.constantFrom(...Object.keys(p4d)),
        fc.constantFrom('p4d.24xlarge', 'g9.large'),
        (value, field, type) => {
          const reading = readAnswer({ ...entry(type), [field]: value });
          if (reading.kind !== 'facts') return;
          expect(reading.facts.vcpu).toBeGreaterThan(0);
          expect(reading.facts.networkBaselineGbps).toBeGreaterThan(0);
          expect(Number.isFinite(reading.facts.memoryGib)).toBe(true);
        },
      ),
    );
  });
});

it('read facts replace the snapshot’s; the others stay', () => {
  const facts = { ...instanceFacts('g5.xlarge'), type: 'g9.xlarge' } as NonNullable<
    ReturnType<typeof instanceFacts>
  >;
  const hardware = factsWith([{ facts, readAt: '2026-11-20T00:00:00.000Z' }]);
  expect([hardware('g9.xlarge')?.vcpu, hardware('x9.large')]).toEqual([4, undefined]);
  expect(hardware('g6.xlarge')).toBe(instanceFacts('g6.xlarge'));
});
