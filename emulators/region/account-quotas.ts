/** What Service Quotas says of a profile: the same figures that the region keeps to. */

import { createHash } from 'node:crypto';
import { TRAINING_TYPES, vcpuQuotaOf } from '@tidewheel/declaration/instance-types.ts';
import type { AccountQuota, AccountQuotas } from '../aws/ministack.ts';
import { type LimitProfile, limitsOf } from '../limits/profiles.ts';
import { marketLimits, sageMakerLimits } from './account-limits.ts';

export function accountQuotas(profile: LimitProfile, accountId: string): AccountQuotas {
  return {
    accountId,
    services: {
      ec2: { name: 'Amazon Elastic Compute Cloud (Amazon EC2)', quotas: vcpuQuotas(profile) },
      lambda: { name: 'AWS Lambda', quotas: lambdaQuotas(profile) },
      sagemaker: { name: 'Amazon SageMaker', quotas: sageMakerQuotas(profile) },
    },
  };
}

function lambdaQuotas(profile: LimitProfile): readonly AccountQuota[] {
  const { concurrentExecutions } = limitsOf(profile).lambda;
  const usual = limitsOf('default').lambda.concurrentExecutions;
  if (concurrentExecutions === undefined || usual === undefined) return [];
  const name = 'Concurrent executions';
  // https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
  return [{ code: 'L-B99A9384', name, value: concurrentExecutions, default: usual }];
}

/** Of the classes of the types that can train; none where there is no limit. */
function vcpuQuotas(profile: LimitProfile): readonly AccountQuota[] {
  const { vcpuQuota } = marketLimits(profile);
  const { vcpuQuota: usual } = marketLimits('new-account');
  if (vcpuQuota === undefined || usual === undefined) return [];
  const types = TRAINING_TYPES.map((type) => type.replace(/^ml\./, ''));
  const quotas = types.flatMap((type) =>
    (['spot', 'on-demand'] as const).map((market): AccountQuota => {
      const { codes, name } = vcpuQuotaOf(type, market);
      return { code: codes[0], name, value: vcpuQuota(type), default: usual(type) };
    }),
  );
  return [...new Map(quotas.map((quota) => [quota.code, quota])).values()];
}

/** Names as SageMaker's refusals have them. https://docs.aws.amazon.com/general/latest/gr/sagemaker.html */
function sageMakerQuotas(profile: LimitProfile): readonly AccountQuota[] {
  const { instanceQuota, longestRunSeconds } = sageMakerLimits(profile);
  const instances = TRAINING_TYPES.flatMap((type) => {
    const ec2Name = type.replace(/^ml\./, '');
    return [
      sageMakerQuota(`${type} for training job usage`, instanceQuota(ec2Name, 'on-demand')),
      sageMakerQuota(`${type} for spot training job usage`, instanceQuota(ec2Name, 'spot')),
    ];
  });
  return [...instances, sageMakerQuota('Longest run time for a training job', longestRunSeconds)];
}

/** AWS gives its codes no rule: these are this region's own. */
const sageMakerQuota = (name: string, value: number): AccountQuota => ({
  code: `L-${createHash('sha256').update(name).digest('hex').slice(0, 8).toUpperCase()}`,
  name,
  value,
  default: value,
});
