/** SageMaker counts the hosts of helpers to the quotas of their own types. */
import { expect, it } from 'vitest';
import type { Finding } from '../../../functions/check/finding.ts';
import { trainingQuotaFindings } from '../../../functions/check/training-quotas.ts';
import { quota, seen } from '../../support/builders/account.ts';
import { declaration } from '../../support/builders/launch.ts';

const HELPERS = [
  { name: 'one', instanceType: 'c5.4xlarge', nodes: 2 },
  { name: 'two', instanceType: 'c5.4xlarge', nodes: 1 },
];

/** Of 2 x g5.xlarge with the helpers, in an account with 8 of each. @param cpus the quota of the helpers' type, if listed */
function troubles(compute: Record<string, unknown>, cpus?: number): readonly Finding[] {
  const pipelines = [declaration({ compute: { purchaseOption: 'on-demand', helpers: HELPERS, ...compute } })];
  const quotas = [
    quota('ml.g5.xlarge for spot training job usage', 8),
    quota('ml.g5.xlarge for training job usage', 8),
    ...(cpus === undefined ? [] : [quota('ml.c5.4xlarge for training job usage', cpus, 'L-CPU')]),
  ];
  const question = { pipelines, region: 'us-east-1', launcher: 'sagemaker' } as const;
  return trainingQuotaFindings(question, seen(quotas)).filter(({ kind }) => kind !== 'passed');
}

it('counts all groups beside the training hosts', () => {
  expect(troubles({}, 3)).toEqual([]);
  expect(troubles({}, 2)).toMatchObject([
    {
      kind: 'fails',
      field: 'digits: compute.instanceTypes and helpers (on-demand)',
      value: 'ml.c5.4xlarge for training job usage: 2, needed 3',
      remedy: expect.stringMatching(/--quota-code L-CPU --desired-value 3$/) as string,
    },
  ]);
});

it('adds them to training hosts of the same type', () => {
  const helpers = [{ name: 'one', instanceType: 'g5.xlarge', nodes: 7 }];
  expect(troubles({ helpers })).toMatchObject([
    { value: 'ml.g5.xlarge for training job usage: 8, needed 9' },
  ]);
});

it('says where the account lists no quota of theirs', () => {
  expect(troubles({})).toMatchObject([
    { kind: 'notSeen', message: 'Service Quotas lists no "ml.c5.4xlarge for training job usage"' },
  ]);
});

it('counts them on Spot only where allowed there', () => {
  expect(troubles({ purchaseOption: 'spot-then-on-demand' }, 3)).toEqual([]);
  expect(troubles({ purchaseOption: 'spot-then-on-demand', spotWithHelpers: true }, 3)).toMatchObject([
    { kind: 'notSeen', field: 'digits: compute.instanceTypes and helpers (spot)' },
  ]);
});
