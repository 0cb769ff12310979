/** What hosts do, what no role may do, and what only its owner may do. All are tried on the roles of the template. */
import { AGENT_FILE, bucketKeys, runIdOf, SOURCE_FILE } from '../../functions/core/shared/keys.ts';
import {
  away,
  BUCKET,
  createRole,
  ec2,
  job,
  list,
  listsAway,
  object,
  passRole,
  policyArn,
  RUN,
  read,
  regional,
  role,
  roleOfKind,
  savedAway,
  start,
  TABLE,
  write,
} from './call-words.ts';
import { attempt, made, onEc2 } from './calls.ts';
import { REGION } from './intrinsics.ts';
import type { Call } from './roles.ts';

const ADMINISTRATOR = 'arn:aws:iam::aws:policy/AdministratorAccess';

/** What the containers do: SageMaker reads and writes with this role, and so does the user's script. */
export const TRAINING_CALLS: readonly Call[] = [
  listsAway,
  away('s3:GetObject', `${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
  ...savedAway('s3:PutObject'),
  list(bucketKeys.shards('digits', RUN)),
  list(bucketKeys.packedSource('digits', '0a1b')),
  list(bucketKeys.agent('0123456789abcdef')),
  list(bucketKeys.checkpoints('digits', RUN)),
  read(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
  read(bucketKeys.packedSource('digits', '0a1b') + SOURCE_FILE),
  read(bucketKeys.agent('0123456789abcdef') + AGENT_FILE),
  read(bucketKeys.trainManifest('digits', RUN)),
  ...['GetObject', 'PutObject', 'DeleteObject'].map((name) =>
    object(`s3:${name}`, `${bucketKeys.checkpoints('digits', RUN)}step-10/state.pt`),
  ),
  write(`${bucketKeys.models('digits', RUN)}job/output/model.tar.gz`),
  {
    action: 'logs:PutLogEvents',
    resource: regional('logs', 'log-group:/aws/sagemaker/TrainingJobs:log-stream:x/algo-1'),
  },
  {
    action: 'cloudwatch:PutMetricData',
    resource: '*',
    context: { 'cloudwatch:namespace': '/aws/sagemaker/TrainingJobs' },
  },
  { action: 'ecr:GetAuthorizationToken', resource: '*' },
  { action: 'ecr:BatchGetImage', resource: `arn:aws:ecr:${REGION}:763104351884:repository/pytorch` },
];

/** The same on a host of ours on EC2: the AWS CLI calls with this role, and so can the user's script. */
export const HOST_CALLS: readonly Call[] = [
  ...['', 'source/', 'dataset/'].map((folder) => list(`digits/${folder}`)),
  list(bucketKeys.agent('0123456789abcdef')),
  read(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
  read(bucketKeys.packedSource('digits', '0a1b') + SOURCE_FILE),
  read(bucketKeys.agent('0123456789abcdef') + AGENT_FILE),
  read(bucketKeys.trainManifest('digits', RUN)),
  read(`${attempt}job.json`),
  read(`${attempt}requests/members-2.json`),
  list(`${attempt}requests/`),
  {
    action: 'logs:PutLogEvents',
    resource: regional('logs', 'log-group:/tidewheel/dev/hosts:log-stream:digits-000001-a1-abcdef/i-1'),
  },
  ...['hosts/i-1.json', 'rendezvous/2/i-1.json'].flatMap((name) => [
    read(attempt + name),
    write(attempt + name),
  ]),
  read(`${bucketKeys.checkpoints('digits', RUN)}step-10/state.pt`),
  write(`${bucketKeys.checkpoints('digits', RUN)}step-10/state.pt`),
  write(`${bucketKeys.models('digits', RUN)}job/output/model.tar.gz`),
];

/** What no role of ours may do. */
export const FORBIDDEN: readonly Call[] = [
  {
    action: 'events:PutEvents',
    resource: regional('events', 'event-bus/default'),
    context: { 'events:source': ['tidewheel', 'aws.s3'] },
  },
  { action: 's3:DeleteBucket', resource: BUCKET },
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
  onEc2('CreateTags', 'instance/i-foreign', made),
  onEc2('DeleteLaunchTemplate', 'launch-template/lt-foreign'),
  passRole(roleOfKind('hosts'), 'lambda.amazonaws.com'),
  passRole('Administrator', 'ec2.amazonaws.com'),
];

/** Of another pipeline, of declarations, and keys of its own folder that look like those of a checkpoint. */
export const FORBIDDEN_TO_SCRIPTS: readonly Call[] = [
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
  [['settle', 'launch'], write(bucketKeys.closeRecord('digits', RUN))],
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
  [['on-arrival', 'reconcile', 'start-next-execution', 'api'], start],
  ['collect-scores', ec2('DescribeInstanceTypes')],
  [['collect-scores', 'place', 'reconcile'], ec2('GetSpotPlacementScores')],
  ['collect-scores', { action: 'pricing:GetProducts', resource: '*' }],
];
