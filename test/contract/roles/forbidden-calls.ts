/** What hosts do, what no role may do, and what only its owner may do. All are tried on the roles of the template. */
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import type { Call } from '../roles.ts';
import {
  away,
  BUCKET,
  createRole,
  describeReservations,
  ec2,
  INTERFACE_ACTIONS,
  imageOf,
  inVpc,
  job,
  machineImage,
  object,
  onInterface,
  onPlan,
  passRole,
  policyArn,
  RUN,
  read,
  regional,
  role,
  roleOfKind,
  savedAway,
  searchOffers,
  start,
  stopExecution,
  TABLE,
  write,
} from './call-words.ts';
import { attempt, made, ofStage, onEc2, onPackages } from './calls.ts';

const ADMINISTRATOR = 'arn:aws:iam::aws:policy/AdministratorAccess';

/** What no role of ours may do. */
export const FORBIDDEN: readonly Call[] = [
  {
    action: 'events:PutEvents',
    resource: regional('events', 'event-bus/default'),
    context: { 'events:source': ['tidewheel', 'aws.s3'] },
  },
  { action: 's3:DeleteBucket', resource: BUCKET },
  object('s3:DeleteObject', bucketKeys.currentModel('digits')),
  { action: 's3:PutBucketPolicy', resource: BUCKET },
  write(`${bucketKeys.incoming('digits')}7/0001.png`),
  object('s3:DeleteObject', bucketKeys.manifest('digits', RUN)),
  object('s3:DeleteObject', `${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
  { action: 's3:GetObject', resource: 'arn:aws:s3:::foreign-bucket/digits/dataset/x' },
  // A stranger's bucket with a name such as ours would have.
  ...savedAway('s3:PutObject').map((call) => ({
    ...call,
    context: { 'aws:ResourceAccount': '999999999999' },
  })),
  { action: 'dynamodb:DeleteTable', resource: TABLE },
  { action: 'dynamodb:DeleteItem', resource: TABLE },
  { action: 'states:StartExecution', resource: regional('states', 'stateMachine:another') },
  { action: 'states:StopExecution', resource: regional('states', 'execution:another:x') },
  { action: 'lambda:UpdateFunctionCode', resource: regional('lambda', 'function:tidewheel-dev-launch') },
  { action: 'iam:CreateRole', resource: role('tw-new') },
  // Without a boundary, and with one that allows everything.
  { action: 'iam:CreateRole', resource: role(roleOfKind('training')) },
  ...createRole('training', ADMINISTRATOR),
  ...createRole('hosts', policyArn('training')),
  { action: 'iam:DeleteRolePermissionsBoundary', resource: role(roleOfKind('training')) },
  { action: 'iam:PutRolePolicy', resource: role(roleOfKind('training')) },
  { action: 'iam:UpdateAssumeRolePolicy', resource: role(roleOfKind('training')) },
  { action: 'iam:CreatePolicyVersion', resource: policyArn('training') },
  passRole(roleOfKind('training'), 'ec2.amazonaws.com'),
  passRole('Administrator', 'sagemaker.amazonaws.com'),
  { action: 'ec2:RunInstances', resource: regional('ec2', 'instance/*') },
  onEc2('TerminateInstances', 'instance/i-foreign'),
  onEc2('TerminateInstances', 'instance/i-other-stage', ofStage('production')),
  { action: 'sns:Publish', resource: regional('sns', 'others') },
  onPackages('UpdateModelPackage', '/others/1'),
  onPackages('DeleteModelPackage', '/tidewheel-dev-digits/1'),
  { action: 'secretsmanager:GetSecretValue', resource: regional('secretsmanager', 'secret:others-AbCdEf') },
  { action: 'logs:PutLogEvents', resource: regional('logs', 'log-group:others:log-stream:x') },
  { action: 'ssm:GetParameter', resource: regional('ssm', 'parameter/password') },
  // Nothing is ever bought.
  ...['PurchaseCapacityBlock', 'PurchaseCapacityBlockExtension', 'CreateCapacityReservation'].map(ec2),
  { action: 'sagemaker:CreateTrainingPlan', resource: regional('sagemaker', 'training-plan/team-a') },
  { action: 'sagemaker:ExtendTrainingPlan', resource: '*' },
  onEc2('CreateTags', 'instance/i-foreign', made),
  onEc2('DeleteLaunchTemplate', 'launch-template/lt-foreign'),
  passRole(roleOfKind('hosts'), 'lambda.amazonaws.com'),
  passRole('Administrator', 'ec2.amazonaws.com'),
];

/** What the deployment's parameters do not name. */
export const NOT_ALLOWED: readonly Call[] = [
  inVpc('subnet-2', 'sg-1'),
  inVpc('subnet-1', 'sg-2'),
  onEc2('RunInstances', 'subnet/subnet-2'),
  onEc2('RunInstances', 'security-group/sg-2'),
  { ...machineImage('RunInstances'), context: { 'ec2:Owner': '999999999999' } },
  machineImage('RunInstances'),
  imageOf('999999999999'),
  { action: 's3:GetObject', resource: 'arn:aws:s3:::other-data/private/0001.png' },
  onEc2('CreateNetworkInterface', 'subnet/subnet-2'),
  onEc2('CreateNetworkInterface', 'security-group/sg-2'),
  ...INTERFACE_ACTIONS.map((action) => onInterface(action, 'subnet-2')),
];

/** Of another pipeline, of declarations, and keys of its own folder that look like those of a checkpoint. */
export const FORBIDDEN_TO_SCRIPTS: readonly Call[] = [
  write(bucketKeys.currentModel('digits')),
  ...['digits', 'other'].flatMap((pipeline) => [
    write(`${bucketKeys.incoming(pipeline)}runs/1/checkpoints/0001.png`),
    write(`${bucketKeys.source(pipeline)}train.py`),
    write(bucketKeys.manifest(pipeline, runIdOf(pipeline, 1))),
    write(bucketKeys.pinnedSource(pipeline, runIdOf(pipeline, 1))),
  ]),
  // IAM's "*" crosses slashes, and "other" may be a name that begins with "digits".
  ...['other', 'digits-2', 'digits-2/runs', 'a/digits'].flatMap((pipeline) =>
    ['PutObject', 'DeleteObject', 'GetObject'].flatMap((name) =>
      [bucketKeys.checkpoints(pipeline, RUN), bucketKeys.models(pipeline, RUN)].flatMap((prefix) => [
        object(`s3:${name}`, `${prefix}step-10/state.pt`),
        away(`s3:${name}`, `${prefix}step-10/state.pt`),
      ]),
    ),
  ),
  ...['other', 'digits-2', 'a/digits'].flatMap((pipeline) =>
    ['PutObject', 'PutObjectTagging', 'GetObject'].map((name) =>
      object(`s3:${name}`, `${bucketKeys.wheels(pipeline)}0a1b.tar`),
    ),
  ),
  object('s3:DeleteObject', `${bucketKeys.wheels('digits')}0a1b.tar`),
  object('s3:PutObjectTagging', `${bucketKeys.checkpoints('digits', RUN)}step-10/state.pt`),
  read(`${bucketKeys.incoming('other')}0001.png`),
  read(`${bucketKeys.shards('other', 'other-000001')}shard-000000.tar`),
  read(`${bucketKeys.attempt('other', 'other-000001', 1)}job.json`),
  write(`${bucketKeys.attempt('other', 'other-000001', 1)}hosts/i-1.json`),
  write(`${bucketKeys.agent('0123456789abcdef')}tidewheel.pyz`),
  read(bucketKeys.pipeline('other')),
  write(bucketKeys.pipeline('other')),
  write('pipelines/runs/1/models/other.yaml'),
];

/** Makes hosts: at the launch, and where lost ones are replaced. */
const LAUNCHERS = ['launch', 'on-spot-warning', 'reconcile'];

/** Write a generation's documents: manifest, lists and version. */
const SEALERS = ['seal-dataset', 'seal-compaction'];

/** Calls that belong to one function alone, or to a few. */
export const RESERVED: readonly (readonly [owner: string | readonly string[], Call])[] = [
  ['launch', job('CreateTrainingJob')],
  ['launch', passRole(roleOfKind('training'), 'sagemaker.amazonaws.com')],
  ...createRole('training').map((call) => ['launch', call] as const),
  [LAUNCHERS, onEc2('CreateFleet', 'fleet/fleet-1', made)],
  [LAUNCHERS, passRole(roleOfKind('hosts'), 'ec2.amazonaws.com')],
  ['launch', onEc2('CreateLaunchTemplate', 'launch-template/lt-1', made)],
  ['launch', write(`${attempt}job.json`)],
  ['launch', write(bucketKeys.attemptRecord('digits', RUN, 1))],
  [['settle', 'launch', 'api'], write(bucketKeys.closeRecord('digits', RUN))],
  ['api', object('s3:DeleteObject', bucketKeys.pinnedSource('digits', RUN))],
  [['reconcile', 'api'], stopExecution],
  [
    ['pack-shards', 'compact-shards', ...SEALERS],
    write(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
  ],
  [SEALERS, write(bucketKeys.manifest('digits', RUN))],
  [SEALERS, write(bucketKeys.datasetVersion('digits', 1))],
  ['expire-runs', object('s3:DeleteObject', `${bucketKeys.plan('digits', RUN)}abc/items.json`)],
  ['expire-runs', object('s3:DeleteObject', `${bucketKeys.packedSource('digits', 'abc')}source.zip`)],
  ['delete-packed', object('s3:DeleteObject', `${bucketKeys.incoming('digits')}7/0001.png`)],
  ['api', write(bucketKeys.pipeline('digits'))],
  [['on-arrival', 'reconcile', 'start-next-execution', 'judge', 'report', 'api'], start],
  ['collect-scores', ec2('DescribeInstanceTypes')],
  [['collect-scores', 'place', 'plan', 'reconcile'], ec2('GetSpotPlacementScores')],
  ...describeReservations.map((call) => [['place', 'plan', 'reconcile'], call] as const),
  ...searchOffers.map((call) => [['place', 'plan'], call] as const),
  ...onPlan.map((call) => ['launch', call] as const),
  ['plan', { action: 'iam:SimulatePrincipalPolicy', resource: role('tw-launchrole') }],
  ['collect-scores', { action: 'pricing:GetProducts', resource: '*' }],
];
