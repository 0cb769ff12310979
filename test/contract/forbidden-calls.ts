/** What no function may do, and what only its owner may do. Both are tried on the roles of the template. */
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import {
  BUCKET,
  ec2,
  job,
  object,
  passRole,
  RUN,
  regional,
  role,
  savedAway,
  start,
  TABLE,
  write,
} from './call-words.ts';
import { attempt, made, onEc2 } from './calls.ts';
import type { Call } from './roles.ts';

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
  passRole('tw-trainingrole', 'ec2.amazonaws.com'),
  passRole('Administrator', 'sagemaker.amazonaws.com'),
  { action: 'ec2:RunInstances', resource: regional('ec2', 'instance/*') },
  onEc2('TerminateInstances', 'instance/i-foreign'),
  onEc2('CreateTags', 'instance/i-foreign', made),
  onEc2('DeleteLaunchTemplate', 'launch-template/lt-foreign'),
  passRole('tw-hostrole', 'lambda.amazonaws.com'),
  passRole('Administrator', 'ec2.amazonaws.com'),
];

/** What no script may do: these keys of another pipeline, and of declarations, look like those of a checkpoint. */
export const FORBIDDEN_TO_SCRIPTS: readonly Call[] = [
  write(`${bucketKeys.incoming('other')}runs/1/checkpoints/0001.png`),
  write('pipelines/runs/1/models/other.yaml'),
];

/** Makes hosts: at the launch, and where lost ones are replaced. */
const LAUNCHERS = ['launch', 'on-spot-warning', 'reconcile'];

/** Write a generation's documents: manifest, lists and version. */
const SEALERS = ['seal-dataset', 'seal-compaction'];

/** Calls that belong to one function alone, or to a few. */
export const RESERVED: readonly (readonly [owner: string | readonly string[], Call])[] = [
  ['launch', job('CreateTrainingJob')],
  ['launch', passRole('tw-trainingrole', 'sagemaker.amazonaws.com')],
  [LAUNCHERS, onEc2('CreateFleet', 'fleet/fleet-1', made)],
  [LAUNCHERS, passRole('tw-hostrole', 'ec2.amazonaws.com')],
  ['launch', onEc2('CreateLaunchTemplate', 'launch-template/lt-1', made)],
  ['launch', write(`${attempt}job.json`)],
  [
    ['pack-shards', 'compact-shards', ...SEALERS],
    write(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
  ],
  [SEALERS, write(bucketKeys.manifest('digits', RUN))],
  [SEALERS, write(bucketKeys.datasetVersion('digits', 1))],
  ['delete-packed', object('s3:DeleteObject', `${bucketKeys.incoming('digits')}7/0001.png`)],
  ['api', write(bucketKeys.pipeline('digits'))],
  [['on-arrival', 'reconcile', 'start-next-execution', 'api'], start],
  ['collect-scores', ec2('DescribeInstanceTypes')],
  [['collect-scores', 'place', 'reconcile'], ec2('GetSpotPlacementScores')],
  ['collect-scores', { action: 'pricing:GetProducts', resource: '*' }],
];
