/** Contents of roles.yml: a role for each function, and the policies of the roles that the service gives to pipelines. */

import { describedFunctions } from '../functions/handlers/functions.ts';
import { PIPELINE_TAG } from '../functions/launch/pipeline-role.ts';
import { arnOf, CONDITIONS, onlyIf, ref, roleId, sub, type Value } from './describe/cloudformation.ts';
import * as allow from './describe/permissions.ts';

interface Role {
  /** The AWS service that takes the role. */
  readonly service: string;
  readonly policy: string;
  readonly statements: readonly allow.PolicyStatement[];
  /** The service may take the role only for this account (the confused deputy). */
  readonly onlyThisAccount?: boolean;
  /** Name of the condition without which there is no such role. */
  readonly condition?: string | undefined;
}

export function roleResource({
  service,
  policy,
  statements,
  onlyThisAccount = false,
  condition,
}: Role): Value {
  const trust = {
    Effect: 'Allow',
    Principal: { Service: service },
    Action: 'sts:AssumeRole',
    ...(onlyThisAccount && { Condition: { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } } }),
  };
  return {
    Type: 'AWS::IAM::Role',
    ...(condition !== undefined && { Condition: condition }),
    Properties: {
      AssumeRolePolicyDocument: { Version: '2012-10-17', Statement: [trust] },
      Policies: [{ PolicyName: policy, PolicyDocument: documentOf(asValues(statements)) }],
    },
  };
}

const documentOf = (statements: readonly Value[]): Value => ({
  Version: '2012-10-17',
  Statement: statements,
});
const asValues = (statements: readonly allow.PolicyStatement[]): Value[] =>
  statements.map((each) => ({ ...each }));

const functionRoles = describedFunctions.map(([name, { permissions, onlyWith }]) => [
  roleId(name),
  roleResource({
    service: 'lambda.amazonaws.com',
    policy: name,
    statements: [allow.writeLog(name), ...permissions],
    condition: onlyWith && CONDITIONS[onlyWith],
  }),
]);

/** Without the parameter a policy is shorter: IAM takes 6,144 characters (policy-size.cjs). */
function onlyWith(
  parameter: keyof typeof CONDITIONS,
  ...statements: readonly allow.PolicyStatement[]
): readonly Value[] {
  return asValues(statements).map((each) => onlyIf(CONDITIONS[parameter], each));
}

// What scripts may do. Both policies name the pipeline by the tag of the role that has them.

/** The `!` keeps CloudFormation from reading the variable, which is IAM's. */
const OWN = `\${!aws:PrincipalTag/${PIPELINE_TAG}}`;
/** With the ending: the "*" of another region's bucket would let a folder `agent` of any pipeline pass. */
const AGENT = `agent/${'?'.repeat(16)}/*.pyz`;
const readCodeAndData = [
  ...asValues([allow.listBucket, allow.readObjects(`${OWN}/*`, AGENT)]),
  // Credentials of a private package index.
  ...onlyWith(
    'packageIndexSecret',
    allow.statement(
      'secretsmanager',
      ['GetSecretValue'],
      ["${param:packageIndexSecret, 'arn:aws:secretsmanager:us-east-1:000000000000:secret:none'}"],
    ),
  ),
  ...onlyWith('packageIndexRepository', ...allow.installFromRepository),
  ...onlyWith('sharedPrefixes', ...allow.readSharedPrefixes),
];
const SAVED = [`${OWN}/runs/*/checkpoints/*`, `${OWN}/runs/*/models/*`];
/** Folders of the pipeline in the bucket of another region. */
const COPIED = [`${OWN}/dataset/*`, `${OWN}/sources/*`, `${OWN}/runs/*`];
const SAVE = ['PutObject', 'DeleteObject', 'AbortMultipartUpload'];
const keepWheels = allow.onObjects(['PutObject', 'PutObjectTagging'], `${OWN}/wheels/*`);

const trainingPolicy = policyOf([
  ...readCodeAndData,
  ...asValues([
    allow.onObjects(SAVE, ...SAVED),
    keepWheels,
    // An attempt in another region reads and saves in the bucket there.
    allow.listBucketElsewhere,
    allow.readObjectsElsewhere(...COPIED, AGENT),
    allow.onObjectsElsewhere(SAVE, ...SAVED),
    allow.neverBelowOthersElsewhere(['GetObject', ...SAVE], ...COPIED),
    allow.statement(
      'logs',
      ['CreateLogGroup', 'CreateLogStream', 'PutLogEvents', 'DescribeLogStreams'],
      [sub('arn:${AWS::Partition}:logs:*:${AWS::AccountId}:log-group:/aws/sagemaker/TrainingJobs*')],
    ),
    allow.statement('cloudwatch', ['PutMetricData'], ['*'], {
      StringEquals: { 'cloudwatch:namespace': '/aws/sagemaker/TrainingJobs' },
    }),
    ...allow.pullImages,
  ]),
  ...onlyWith('imageAccounts', allow.pullImagesOfOthers),
  ...onlyWith('subnets', ...allow.attachToSubnets),
]);

const hostPolicy = policyOf([
  ...readCodeAndData,
  ...asValues([
    allow.onObjects(
      ['PutObject', 'AbortMultipartUpload'],
      ...SAVED,
      `${OWN}/runs/*/attempts/*/hosts/*`,
      `${OWN}/runs/*/attempts/*/rendezvous/*`,
    ),
    keepWheels,
    allow.statement('logs', ['CreateLogStream', 'PutLogEvents'], [arnOf('HostLogGroup')]),
  ]),
]);

/** Kept when the stack is deleted, because the roles that the service has created bear it until they are deleted. */
function policyOf(statements: readonly Value[]): Value {
  return {
    Type: 'AWS::IAM::ManagedPolicy',
    DeletionPolicy: 'Retain',
    UpdateReplacePolicy: 'Retain',
    Properties: { PolicyDocument: documentOf(statements) },
  };
}

export const rolesDocument: Value = {
  Conditions: Object.fromEntries(
    Object.entries(CONDITIONS).map(([parameter, name]) => [
      name,
      { 'Fn::Not': [{ 'Fn::Equals': [`\${param:${parameter}, ''}`, ''] }] },
    ]),
  ),
  Resources: {
    ...Object.fromEntries(functionRoles),
    TrainingPolicy: trainingPolicy,
    HostPolicy: hostPolicy,
  },
};
