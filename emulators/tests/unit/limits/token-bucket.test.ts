/** Throttling of APIs, and which instances a profile allows. */
import { vcpuQuotaOf } from '@tidewheel/declaration/instance-types.ts';
import { expect, it } from 'vitest';
import { LIMIT_PROFILES, limitsOf } from '../../../limits/profiles.ts';
import { tokenBuckets } from '../../../limits/token-bucket.ts';
import { marketLimits, sageMakerLimits } from '../../../region/account-limits.ts';
import { accountQuotas } from '../../../region/account-quotas.ts';

it('passes a burst, then as many as tokens return', () => {
  let now = 0;
  const mayPass = tokenBuckets({ burst: 3, perSecond: 2 }, () => now);
  const passed = (name: string) => Array.from({ length: 5 }, () => mayPass(name)).filter(Boolean).length;
  expect(passed('DescribeInstances')).toBe(3);
  expect(passed('DescribeSubnets')).toBe(3);
  now += 1_000;
  expect(passed('DescribeInstances')).toBe(2);
  now += 60_000;
  expect(passed('DescribeInstances')).toBe(3);
});

it('gives a new account no accelerators', () => {
  const { instanceQuota } = sageMakerLimits('new-account');
  expect(instanceQuota('g5.xlarge', 'spot')).toBe(0);
  expect(instanceQuota('m5.xlarge', 'on-demand')).toBeGreaterThan(0);
  expect(sageMakerLimits('none').instanceQuota('g5.xlarge', 'spot')).toBeGreaterThan(0);
});

it('delays the largest types most, and none without limits', () => {
  const { pendingSeconds, preparationSeconds } = sageMakerLimits('new-account');
  const types = ['m5.large', 'g5.xlarge', 'p4d.24xlarge'];
  const preparations = types.map(preparationSeconds);
  expect(preparations.toSorted((one, other) => one - other)).toEqual(preparations);
  expect(preparationSeconds('p4d.24xlarge')).toBeGreaterThan(600);
  expect(types.map(pendingSeconds)).toEqual([0, 0, 21_600]);
  const none = sageMakerLimits('none');
  expect(types.flatMap((type) => [none.pendingSeconds(type), none.preparationSeconds(type)])).toEqual(
    Array.from({ length: 6 }, () => 0),
  );
});

it('lists the quotas of vCPUs that it keeps to', () => {
  const listed = accountQuotas('new-account', '000000000000').services['ec2']?.quotas ?? [];
  const values = new Map(listed.map(({ code, value }) => [code, value]));
  const { vcpuQuota } = marketLimits('new-account');
  for (const type of ['m5.large', 'g5.xlarge', 'p4d.24xlarge', 'p5.48xlarge', 'trn1.32xlarge'])
    for (const market of ['spot', 'on-demand'] as const)
      expect(values.get(vcpuQuotaOf(type, market).codes[0])).toBe(vcpuQuota?.(type));
  expect(values.get('L-34B43A08')).toBe(5);
  expect(values.get('L-3819A6DF')).toBe(0);
});

it('limits a new account no less than others', () => {
  expect(LIMIT_PROFILES).toEqual(['new-account', 'default', 'none']);
  const slots = LIMIT_PROFILES.map((profile) => limitsOf(profile).lambda.concurrentExecutions ?? Infinity);
  expect(slots.toSorted((one, other) => one - other)).toEqual(slots);
});
