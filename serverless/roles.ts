/** Contents of roles.yml: a role for each function, and those of training jobs and of hosts on EC2. */

import { describedFunctions } from '../functions/functions.ts';
import { arnOf, ref, roleId, sub, type Value } from './describe/cloudformation.ts';
import * as allow from './describe/permissions.ts';

interface Role {
  /** The AWS service that takes the role. */
  readonly service: string;
  readonly policy: string;
  readonly statements: readonly allow.Statement[];
  /** The service may take the role only for this account (the confused deputy). */
  readonly onlyThisAccount?: boolean;
}

export function roleOf({ service, policy, statements, onlyThisAccount = false }: Role): Value {
  const trust = {
    Effect: 'Allow',
    Principal: { Service: service },
    Action: 'sts:AssumeRole',
    ...(onlyThisAccount && { Condition: { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } } }),
  };
  const document = { Version: '2012-10-17', Statement: statements.map((each) => ({ ...each })) };
  return {
    Type: 'AWS::IAM::Role',
    Properties: {
      AssumeRolePolicyDocument: { Version: '2012-10-17', Statement: [trust] },
      Policies: [{ PolicyName: policy, PolicyDocument: document }],
    },
  };
}

const functionRoles = describedFunctions.map(([name, { permissions }]) => [
  roleId(name),
  roleOf({
    service: 'lambda.amazonaws.com',
    policy: name,
    statements: [allow.writeLog(name), ...permissions],
  }),
]);

const readCodeAndData = [
  // Credentials of a private package index: the secret that the deployment names, or none.
  allow.statement(
    'secretsmanager',
    ['GetSecretValue'],
    ["${param:packageIndexSecret, 'arn:aws:secretsmanager:us-east-1:000000000000:secret:none'}"],
  ),
  allow.listBucket,
  // A pipeline names where its code lies: anywhere in the data bucket. For another bucket, extend these two roles.
  allow.readObjects('*'),
];
const SAVED = ['*/runs/*/checkpoints/*', '*/runs/*/models/*'];
/**
 * A "*" of IAM crosses slashes, so SAVED also names keys such as `b/incoming/runs/1/models/x.jpg`, by which a script of
 * one pipeline would put data into another, or declare a pipeline.
 */
const neverDropNorDeclare = allow.neverWriteObjects('*/incoming/*', 'pipelines/*');
const SAVE = ['PutObject', 'DeleteObject', 'AbortMultipartUpload'];

const trainingRole = roleOf({
  service: 'sagemaker.amazonaws.com',
  policy: 'train',
  onlyThisAccount: true,
  statements: [
    ...readCodeAndData,
    neverDropNorDeclare,
    allow.onObjects(SAVE, ...SAVED),
    // An attempt in another region reads and saves in the bucket there.
    allow.listBucketElsewhere,
    allow.readObjectsElsewhere('*'),
    allow.onObjectsElsewhere(SAVE, ...SAVED),
    allow.statement(
      'logs',
      ['CreateLogGroup', 'CreateLogStream', 'PutLogEvents', 'DescribeLogStreams'],
      [sub('arn:${AWS::Partition}:logs:*:${AWS::AccountId}:log-group:/aws/sagemaker/TrainingJobs*')],
    ),
    allow.statement('cloudwatch', ['PutMetricData'], ['*'], {
      StringEquals: { 'cloudwatch:namespace': '/aws/sagemaker/TrainingJobs' },
    }),
    allow.withoutResource('ecr', 'GetAuthorizationToken'),
    allow.statement(
      'ecr',
      ['BatchCheckLayerAvailability', 'GetDownloadUrlForLayer', 'BatchGetImage'],
      [sub('arn:${AWS::Partition}:ecr:*:*:repository/*')],
    ),
    // For a job with subnets: https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html
    allow.withoutResource(
      'ec2',
      'CreateNetworkInterface',
      'CreateNetworkInterfacePermission',
      'DeleteNetworkInterface',
      'DeleteNetworkInterfacePermission',
      'DescribeNetworkInterfaces',
      'DescribeVpcs',
      'DescribeDhcpOptions',
      'DescribeSubnets',
      'DescribeSecurityGroups',
    ),
  ],
});

const hostRole = roleOf({
  service: 'ec2.amazonaws.com',
  policy: 'train',
  statements: [
    ...readCodeAndData,
    neverDropNorDeclare,
    allow.onObjects(
      ['PutObject', 'AbortMultipartUpload'],
      ...SAVED,
      '*/runs/*/attempts/*/hosts/*',
      '*/runs/*/attempts/*/rendezvous/*',
    ),
    allow.statement('logs', ['CreateLogStream', 'PutLogEvents'], [arnOf('HostLogGroup')]),
  ],
});

export const rolesDocument: Value = {
  Resources: {
    ...Object.fromEntries(functionRoles),
    TrainingRole: trainingRole,
    HostRole: hostRole,
    HostProfile: { Type: 'AWS::IAM::InstanceProfile', Properties: { Roles: [ref('HostRole')] } },
  },
};
