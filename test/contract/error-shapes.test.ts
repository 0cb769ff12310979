/** The errors that AWS's own models name for the calls of a launch. EC2's model names none: its page does. */
import { describe, expect, it } from 'vitest';
import { awsErrorClass } from '../../functions/records/aws-error-class.ts';
import { loadModel } from './botocore.ts';

const CALLS = {
  'sagemaker/2017-07-24': ['CreateTrainingJob', 'DescribeTrainingJob', 'StopTrainingJob'],
  'iam/2010-05-08': [
    'AddRoleToInstanceProfile',
    'AttachRolePolicy',
    'CreateInstanceProfile',
    'CreateRole',
    'GetInstanceProfile',
    'GetRole',
    'ListAttachedRolePolicies',
  ],
  's3/2006-03-01': ['GetObject', 'ListObjectsV2', 'PutObject'],
  'dynamodb/2012-08-10': ['GetItem', 'PutItem', 'Query', 'TransactWriteItems', 'UpdateItem'],
  'stepfunctions/2016-11-23': ['SendTaskSuccess', 'StartExecution'],
} as const;

interface WithErrors {
  readonly operations: Readonly<Record<string, { readonly errors?: readonly { readonly shape: string }[] }>>;
}

describe('every error of the model of', () => {
  it.each(Object.entries(CALLS))('%s is known', (service, operations) => {
    const model = loadModel(service) as WithErrors;
    const names = operations.flatMap((operation) =>
      (model.operations[operation]?.errors ?? []).map(({ shape }) => shape),
    );
    expect(names.length).toBeGreaterThan(0);
    const unknown = names.filter((name) => awsErrorClass({ name }) === 'unknown');
    expect([...new Set(unknown)]).toEqual([]);
  });
});
