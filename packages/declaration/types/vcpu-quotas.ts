/** EC2's quotas, counted in vCPUs of a class of families, for Spot and On-Demand apart. */
import { familyOf } from './instance-family.ts';

type Market = 'spot' | 'on-demand';

export interface VcpuQuota {
  /** The first is the one that EC2 counts by where the account lists several. */
  readonly codes: readonly [string, ...string[]];
  readonly name: string;
}

/**
 * Codes, because AWS renames the quotas: "All P4, P3 and P2 Spot Instance Requests" became "All P Spot Instance
 * Requests". Where P5 has no quota of its own, it counts to the other P families. The links of these pages hold codes
 * and names:
 * https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-spot-limits.html
 */
const QUOTAS = {
  standard: {
    spot: {
      codes: ['L-34B43A08'],
      name: 'All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests',
    },
    'on-demand': {
      codes: ['L-1216C47A'],
      name: 'Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances',
    },
  },
  g: {
    spot: { codes: ['L-3819A6DF'], name: 'All G and VT Spot Instance Requests' },
    'on-demand': { codes: ['L-DB2E81BA'], name: 'Running On-Demand G and VT instances' },
  },
  p5: {
    spot: { codes: ['L-C4BD4855', 'L-7212CCBC'], name: 'All P5 Spot Instance Requests' },
    'on-demand': { codes: ['L-417A185B'], name: 'Running On-Demand P instances' },
  },
  p: {
    spot: { codes: ['L-7212CCBC'], name: 'All P4, P3 and P2 Spot Instance Requests' },
    'on-demand': { codes: ['L-417A185B'], name: 'Running On-Demand P instances' },
  },
  trn: {
    spot: { codes: ['L-6B0D517C'], name: 'All Trn Spot Instance Requests' },
    'on-demand': { codes: ['L-2C3B7624'], name: 'Running On-Demand Trn instances' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<Market, VcpuQuota>>>>;

function classOf(instanceType: string): keyof typeof QUOTAS {
  const family = familyOf(instanceType);
  if (/^g\d/.test(family)) return 'g';
  if (/^p[5-9]/.test(family)) return 'p5';
  if (/^p\d/.test(family)) return 'p';
  return family.startsWith('trn') ? 'trn' : 'standard';
}

/** @param instanceType EC2's name, without `ml.` */
export const vcpuQuotaOf = (instanceType: string, market: Market): VcpuQuota =>
  QUOTAS[classOf(instanceType)][market];

/** What EC2's refusal does not say: which quota it is, and how to request more. */
export function vcpuQuotaRemedy(instanceType: string, market: Market): string {
  const { codes, name } = vcpuQuotaOf(instanceType, market);
  return (
    `${instanceType} counts to the EC2 quota "${name}"; request its vCPUs: aws service-quotas ` +
    `request-service-quota-increase --service-code ec2 --quota-code ${codes[0]} --desired-value VCPUS`
  );
}
