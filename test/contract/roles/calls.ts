/**
 * What each function calls on AWS, read from the domain function it serves and the adapters below it. Every call is
 * tried on the role that the template gives it.
 */

import {
  AGENT_FILE,
  bucketKeys,
  compactedName,
  drawnName,
  SOURCE_FILE,
} from '@tidewheel/contract/bucket-keys.ts';
import { archiveNoteKeys, bundleKeys } from '@tidewheel/packing/bundles.ts';
import { PIPELINE_TAG } from '../../../functions/launch/pipeline-role.ts';
import { ACCOUNT } from '../intrinsics.ts';
import type { Call } from '../roles.ts';
import {
  answer,
  askMarket,
  away,
  consume,
  createRole,
  describeReservations,
  ec2,
  index,
  instanceProfile,
  inVpc,
  items,
  job,
  jobAway,
  keptRecords,
  learnsOfAbsence,
  list,
  listsAway,
  log,
  look,
  machineImage,
  notify,
  object,
  onPlan,
  passRole,
  query,
  RUN,
  read,
  regional,
  role,
  roleOfKind,
  savedAway,
  schedules,
  searchOffers,
  start,
  stopExecution,
  versions,
  write,
} from './call-words.ts';
import { planCalls } from './plan-calls.ts';

/** Of a dataset that is not packed. */
const FILE = { key: `${bucketKeys.incoming('digits')}a.csv`, etag: 'e' };

/** Progress is a note and the marker of the checkpoint that it names; either may be missing. */
const progress: Call[] = [
  read(bucketKeys.progress('digits', RUN)),
  read(`${bucketKeys.checkpoints('digits', RUN)}step-10/COMPLETE`),
  list(`${bucketKeys.checkpoints('digits', RUN)}step-10`),
  learnsOfAbsence,
];
/** Whatever is tagged as ours can be ended and removed, and nothing else. */
const ours = { 'aws:ResourceTag/tidewheel:job': `${RUN}-a1-abcdef` };
/** A host that a deployment of this stage has launched. */
export const ofStage = (stage: string) => ({
  ...ours,
  'ec2:InstanceProfile': instanceProfile(roleOfKind('hosts').replace('/dev/', `/${stage}/`)),
});
export const made = { 'aws:RequestTag/tidewheel:job': `${RUN}-a1-abcdef` };
export const onPackages = (action: string, of: string): Call => ({
  action: `sagemaker:${action}`,
  resource: regional('sagemaker', `model-package${of}`),
});
export const onEc2 = (action: string, resource: string, context?: Call['context']): Call => ({
  action: `ec2:${action}`,
  resource: regional('ec2', resource),
  ...(context && { context }),
});
export const attempt = bucketKeys.attempt('digits', RUN, 1);
/** The same of an attempt on EC2: what the hosts wrote, what EC2 says, an end, and everything cleared away. */
const followFleet: Call[] = [
  read(`${attempt}job.json`),
  read(`${attempt}hosts/i-1.json`),
  read(`${attempt}requests/stop.json`),
  write(`${attempt}requests/stop.json`),
  list(`${attempt}hosts/`),
  learnsOfAbsence,
  ec2('DescribeInstances'),
  onEc2('TerminateInstances', 'instance/i-1', ofStage('dev')),
  onEc2('GetConsoleOutput', 'instance/i-1', ofStage('dev')),
  onEc2('DeleteLaunchTemplate', 'launch-template/lt-1', ours),
  onEc2('DeletePlacementGroup', 'placement-group/pg-1', ours),
];
/** https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html */
const makeFleet: Call[] = [
  onEc2('CreatePlacementGroup', 'placement-group/pg-1', made),
  onEc2('CreateLaunchTemplate', 'launch-template/lt-1', made),
  ...['fleet/fleet-1', 'instance/i-1', 'volume/vol-1'].map((each) => onEc2('CreateFleet', each, made)),
  ...['instance/i-1', 'volume/vol-1', 'network-interface/eni-1'].map((each) =>
    onEc2('RunInstances', each, made),
  ),
  ...['security-group/sg-1', 'spot-instances-request/sir-1', 'capacity-reservation/cr-1'].map((each) =>
    onEc2('RunInstances', each),
  ),
  // A reservation that another account shares.
  { action: 'ec2:RunInstances', resource: 'arn:aws:ec2:us-east-1:111122223333:capacity-reservation/cr-1' },
  ...['CreateFleet', 'RunInstances'].flatMap((action) => [
    onEc2(action, 'launch-template/lt-1', ours),
    // One that a reservation was made inside.
    onEc2(action, 'placement-group/team-a'),
    onEc2(action, 'subnet/subnet-1'),
    { ...machineImage(action), context: { 'ec2:Owner': 'amazon' } },
    { ...machineImage(action), context: { 'ec2:Owner': ACCOUNT } },
  ]),
  ...['fleet/fleet-1', 'instance/i-1', 'volume/vol-1', 'network-interface/eni-1'].map((resource) =>
    onEc2('CreateTags', resource, { 'ec2:CreateAction': 'CreateFleet' }),
  ),
  onEc2('CreateTags', 'launch-template/lt-1', { 'ec2:CreateAction': 'CreateLaunchTemplate' }),
  onEc2('CreateTags', 'placement-group/pg-1', { 'ec2:CreateAction': 'CreatePlacementGroup' }),
  // And ssm:GetParameters on public parameters, whose ARN names no account: the simulator knows no such ARN.
  passRole(roleOfKind('hosts'), 'ec2.amazonaws.com'),
];
/** Lost hosts are requested again from the existing launch template. */
const refill = makeFleet.filter(({ action }) => !/^ec2:Create(LaunchTemplate|PlacementGroup)$/.test(action));

/** What observing an attempt may come to: the record, the timeline, a stop, an answer to the waiting state. */
const observe: Call[] = [
  ...items('Get', 'Put', 'Update'),
  query,
  job('DescribeTrainingJob'),
  job('StopTrainingJob'),
  ...followFleet,
  answer,
  notify,
];
/** A declaration is looked up, the pipeline's record made if it is new, its schedule set, a run opened. */
const wake: Call[] = [
  ...items('Get', 'Put', 'Update'),
  query,
  ...keptRecords,
  read(bucketKeys.pipeline('digits')),
  read(bucketKeys.report('digits', RUN)),
  list('digits/runs/'),
  list(bucketKeys.incoming('digits')),
  learnsOfAbsence,
  start,
  look,
];

/** A model is read for its digest, and the file names the one in use. */
const decideModels: Call[] = [
  read(bucketKeys.currentModel('digits')),
  write(bucketKeys.currentModel('digits')),
  read(`${bucketKeys.models('digits', RUN)}job/output/model.tar.gz`),
  list(bucketKeys.models('digits', RUN)),
  notify,
];

const generation = bucketKeys.generation('digits', RUN);
const plan = bucketKeys.plan('digits', RUN);
/** Small generations joined: the plan and the shards lie under the name of the joined generation. */
const JOINED = compactedName('digits', 1, '0123456789abcdef');
const DRAWN = drawnName(RUN, 'abcdef01');
const joinedPlan = bucketKeys.plan('digits', JOINED);
export const CALLS: Readonly<Record<string, readonly Call[]>> = {
  'on-arrival': [
    log('on-arrival'),
    ...consume('tw-arrivalsqueue'),
    ...wake,
    ...schedules,
    read(bucketKeys.currentModel('digits')),
  ],
  settle: [
    log('settle'),
    ...items('Get', 'Put', 'Update'),
    list(bucketKeys.incoming('digits')),
    list(bucketKeys.archives('digits')),
    list(bucketKeys.models('digits', RUN)),
    read(bucketKeys.currentModel('digits')),
    read(bucketKeys.pipeline('digits')),
    read(bucketKeys.closeRecord('digits', RUN)),
    write(bucketKeys.closeRecord('digits', RUN)),
    learnsOfAbsence,
  ],
  'unpack-archives': [
    log('unpack-archives'),
    ...items('Put'),
    read(`${bucketKeys.incoming('digits')}train.zip`),
    ...['PutObject', 'DeleteObject'].map((name) => object(`s3:${name}`, bundleKeys('digits', 'abc').index)),
    ...['GetObject', 'PutObject', 'DeleteObject'].map((name) =>
      object(`s3:${name}`, archiveNoteKeys('digits', { key: 'digits/incoming/train.zip', etag: 'e' }).ended),
    ),
    list(bucketKeys.archives('digits')),
    list(bucketKeys.retractions('digits')),
    read(bucketKeys.retraction('digits', 1)),
    learnsOfAbsence,
  ],
  'plan-shards': [
    log('plan-shards'),
    ...items('Get'),
    list(bucketKeys.incoming('digits')),
    read(`${bucketKeys.incoming('digits')}annotations.csv`),
    read(`${plan}plan.json`),
    read(bucketKeys.manifest('digits', RUN)),
    ...['plan.json', 'items.json', 'abc/arrivals-000000.jsonl.gz'].map((name) => write(plan + name)),
    ...versions,
    learnsOfAbsence,
  ],
  'plan-compaction': [
    log('plan-compaction'),
    ...items('Get', 'Put', 'Update'),
    ...versions,
    read(bucketKeys.manifest('digits', RUN)),
    read(`${generation}members/shard-000000-abc.jsonl.gz`),
    write(`${bucketKeys.reads('digits', RUN)}00000001.json`),
    ...['plan.json', 'items.json'].map((name) => write(joinedPlan + name)),
    learnsOfAbsence,
  ],
  'pack-shards': [
    log('pack-shards'),
    ...items('Get'),
    read(`${bucketKeys.incoming('digits')}7/0001.png`),
    object('s3:GetObjectAttributes', `${bucketKeys.incoming('digits')}7/0001.png`),
    read(`${plan}abc/item-000000.jsonl.gz`),
    read(`${plan}abc/done-000000.json`),
    write(`${plan}abc/done-000000.json`),
    ...['PutObject', 'AbortMultipartUpload'].map((name) =>
      object(`s3:${name}`, `${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
    ),
    read(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
    write(`${generation}members/shard-000000-abc.jsonl.gz`),
    learnsOfAbsence,
  ],
  'compact-shards': [
    log('compact-shards'),
    ...items('Get'),
    read(`${joinedPlan}plan.json`),
    read(`${joinedPlan}abc/done-000000.json`),
    write(`${joinedPlan}abc/done-000000.json`),
    read(bucketKeys.manifest('digits', RUN)),
    read(`${generation}members/shard-000000-abc.jsonl.gz`),
    read(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
    ...['PutObject', 'AbortMultipartUpload', 'GetObject'].map((name) =>
      object(`s3:${name}`, `${bucketKeys.shards('digits', JOINED)}shard-000000.tar`),
    ),
    ...[JOINED, DRAWN].map((name) =>
      write(`${bucketKeys.generation('digits', name)}members/shard-000000-abc.jsonl.gz`),
    ),
    learnsOfAbsence,
  ],
  'delete-packed': [
    log('delete-packed'),
    ...items('Get'),
    read(bucketKeys.manifest('digits', RUN)),
    read(`${generation}arrivals/part-000000.jsonl.gz`),
    read(bucketKeys.deletion('digits', RUN)),
    write(bucketKeys.deletion('digits', RUN)),
    object('s3:DeleteObject', `${bucketKeys.incoming('digits')}7/0001.png`),
    read(`${bucketKeys.incoming('digits')}7/0001.png`),
    learnsOfAbsence,
  ],
  'expire-runs': [
    log('expire-runs'),
    ...items('Update'),
    index('open'),
    look,
    list(`${bucketKeys.runs('digits')}${RUN}-`),
    ...['manifest.json', 'shards/shard-000000.tar'].map((name) =>
      object('s3:DeleteObject', `${bucketKeys.generation('digits', DRAWN)}${name}`),
    ),
    ...['plan/a', 'map/b', 'reads/c', 'checkpoints/d', 'files/training/e'].map((name) =>
      object('s3:DeleteObject', `${bucketKeys.run('digits', RUN)}${name}`),
    ),
    object('s3:DeleteObject', `${bucketKeys.packedSource('digits', 'abc')}${SOURCE_FILE}`),
  ],
  'seal-dataset': [
    log('seal-dataset'),
    ...items('Get', 'Put', 'Update'),
    notify,
    read(FILE.key),
    ...['PutObject', 'AbortMultipartUpload'].map((name) =>
      object(`s3:${name}`, bucketKeys.keptFile('digits', FILE)),
    ),
    read(`${plan}abc/done-000000.json`),
    read(`${generation}members/shard-000000-abc.jsonl.gz`),
    read(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
    write(`${generation}arrivals/part-000000.jsonl.gz`),
    write(bucketKeys.manifest('digits', RUN)),
    read(bucketKeys.manifest('digits', RUN)),
    ...versions,
    write(bucketKeys.datasetVersion('digits', 1)),
    list(plan),
    learnsOfAbsence,
  ],
  'seal-compaction': [
    log('seal-compaction'),
    ...items('Get', 'Put'),
    read(`${joinedPlan}plan.json`),
    read(`${joinedPlan}abc/done-000000.json`),
    read(bucketKeys.manifest('digits', RUN)),
    read(`${generation}arrivals/part-000000.jsonl.gz`),
    read(`${generation}members/shard-000000-abc.jsonl.gz`),
    read(`${bucketKeys.shards('digits', JOINED)}shard-000000.tar`),
    write(`${bucketKeys.generation('digits', JOINED)}arrivals/part-000000.jsonl.gz`),
    ...[JOINED, DRAWN].map((name) => write(bucketKeys.manifest('digits', name))),
    ...versions,
    write(bucketKeys.datasetVersion('digits', 1)),
    learnsOfAbsence,
  ],
  'abandon-compaction': [log('abandon-compaction'), ...items('Put')],
  place: [
    listsAway,
    read(bucketKeys.manifest('digits', RUN)),
    log('place'),
    ...items('Get', 'Put'),
    query,
    index('list'),
    ...describeReservations,
    ...searchOffers,
    ...askMarket,
  ],
  'collect-scores': [
    log('collect-scores'),
    ...items('Get', 'Put'),
    query,
    index('list'),
    read(bucketKeys.pipeline('digits')),
    learnsOfAbsence,
    ...askMarket,
    ec2('DescribeInstanceTypes'),
    { action: 'pricing:GetProducts', resource: '*' },
  ],
  launch: [
    log('launch'),
    ...observe,
    ...progress,
    list(bucketKeys.dataset('digits')),
    list(bucketKeys.shards('digits', RUN)),
    read(bucketKeys.manifest('digits', RUN)),
    write(bucketKeys.channelManifest('digits', RUN, 'train')),
    read(FILE.key),
    read(bucketKeys.keptFile('digits', FILE)),
    list(bucketKeys.keptFiles('digits')),
    ...['PutObject', 'AbortMultipartUpload'].map((name) =>
      object(`s3:${name}`, `${bucketKeys.channelFiles('digits', RUN, 'training')}a.csv`),
    ),
    ...versions,
    write(`${bucketKeys.reads('digits', RUN)}00000001.json`),
    write(bucketKeys.agent('0123456789abcdef') + AGENT_FILE),
    job('CreateTrainingJob'),
    inVpc('subnet-1', 'sg-1'),
    job('AddTags'),
    jobAway('CreateTrainingJob'),
    ...onPlan,
    listsAway,
    read(`${bucketKeys.source('digits')}train.py`),
    ...['s3:PutObject', 's3:AbortMultipartUpload'].map((action) =>
      away(action, `${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
    ),
    write(bucketKeys.packedSource('digits', '0a1b') + SOURCE_FILE),
    read(bucketKeys.packedSource('digits', '0a1b') + SOURCE_FILE),
    write(bucketKeys.pinnedSource('digits', RUN)),
    read(bucketKeys.pinnedSource('digits', RUN)),
    away('s3:PutObject', bucketKeys.packedSource('digits', '0a1b') + SOURCE_FILE),
    away('s3:PutObject', bucketKeys.agent('0123456789abcdef') + AGENT_FILE),
    away('s3:PutObject', bucketKeys.channelManifest('digits', RUN, 'train')),
    away('s3:PutObject', bucketKeys.progress('digits', RUN)),
    passRole(roleOfKind('training'), 'sagemaker.amazonaws.com'),
    ...(['training', 'hosts'] as const).flatMap((kind) => [
      ...createRole(kind),
      { action: 'iam:TagRole', resource: role(roleOfKind(kind)), context: { 'aws:TagKeys': [PIPELINE_TAG] } },
    ]),
    ...['GetRole', 'ListAttachedRolePolicies'].map((name) => ({
      action: `iam:${name}`,
      resource: role(roleOfKind('training')),
    })),
    ...['GetInstanceProfile', 'CreateInstanceProfile', 'AddRoleToInstanceProfile'].map((name) => ({
      action: `iam:${name}`,
      resource: instanceProfile(roleOfKind('hosts')),
    })),
    ...makeFleet,
    write(`${attempt}job.json`),
    ...keptRecords,
    write(bucketKeys.attemptRecord('digits', RUN, 1)),
  ],
  judge: [
    log('judge'),
    ...observe,
    ...progress,
    ...keptRecords,
    jobAway('DescribeTrainingJob'),
    listsAway,
    ...savedAway('s3:GetObject'),
    object('s3:AbortMultipartUpload', `${bucketKeys.models('digits', RUN)}job/output/model.tar.gz`),
    write(bucketKeys.progress('digits', RUN)),
    write(`${bucketKeys.models('digits', RUN)}job/output/model.tar.gz`),
    // Whether what arrived is worth a training.
    start,
    look,
    read(bucketKeys.currentModel('digits')),
    read(bucketKeys.scores('digits', RUN)),
    read(bucketKeys.modelScores('digits', 'abc')),
    read(bucketKeys.manifest('digits', RUN)),
  ],
  'start-next-execution': [log('start-next-execution'), ...items('Get', 'Put', 'Update'), start, look],
  // A run that fails while its job runs stops it, and tells it.
  report: [
    log('report'),
    ...observe,
    ...progress,
    ...decideModels,
    write(bucketKeys.report('digits', RUN)),
    // What an evaluation has left is scored alone.
    start,
    look,
  ],
  'on-training-event': [log('on-training-event'), ...consume('tw-trainingeventsqueue'), ...observe],
  'on-spot-warning': [
    log('on-spot-warning'),
    ...consume('tw-spotwarningsqueue'),
    ...observe,
    ...refill,
    write(`${attempt}requests/round-2.json`),
  ],
  reconcile: [
    log('reconcile'),
    ...observe,
    ...refill,
    ...wake,
    ...schedules,
    index('open'),
    index('list'),
    ...decideModels,
    write(bucketKeys.report('digits', RUN)),
    read(bucketKeys.progress('digits', RUN)),
    read(`${bucketKeys.checkpoints('digits', RUN)}step-1/COMPLETE.json`),
    ...['DescribeLaunchTemplates', 'DescribePlacementGroups', 'GetSpotPlacementScores'].map(ec2),
    ...describeReservations,
    stopExecution,
  ],
  diagnose: [
    log('diagnose'),
    ...items('Get', 'Put', 'Update'),
    query,
    index('open'),
    ...progress,
    list(bucketKeys.evidence('digits', RUN)),
    read(`${bucketKeys.evidence('digits', RUN)}1-algo-1.jsonl`),
    notify,
  ],
  'send-notices': [
    log('send-notices'),
    ...consume('tw-noticedeliveriesqueue'),
    ...items('Get', 'Put'),
    query,
    learnsOfAbsence,
    read(`digits/runs/${RUN}/notices/finished.json`),
    write(`digits/runs/${RUN}/notices/finished.json`),
    { action: 'sns:Publish', resource: regional('sns', 'tidewheel-alerts') },
    {
      action: 'secretsmanager:GetSecretValue',
      resource: regional('secretsmanager', 'secret:tidewheel/notify/slack-AbCdEf'),
    },
  ],
  'hand-over': [
    log('hand-over'),
    ...consume('tw-registriesqueue'),
    // Of models on record alone: none is read for its digest.
    ...decideModels.filter(({ resource }) => !resource.endsWith('.tar.gz')),
    query,
    read(bucketKeys.pipeline('digits')),
    onPackages('CreateModelPackageGroup', '-group/tidewheel-dev-digits'),
    ...['CreateModelPackage', 'ListModelPackages', 'DescribeModelPackage', 'UpdateModelPackage'].map(
      (action) => onPackages(action, '/tidewheel-dev-digits/1'),
    ),
    {
      action: 'secretsmanager:GetSecretValue',
      resource: regional('secretsmanager', 'secret:tidewheel/registry/mlflow-AbCdEf'),
    },
  ],
  api: [
    log('api'),
    ...['DescribeLogStreams', 'FilterLogEvents'].flatMap((action) => [
      {
        action: `logs:${action}`,
        resource: regional('logs', 'log-group:/aws/sagemaker/TrainingJobs:log-stream:'),
      },
      { action: `logs:${action}`, resource: regional('logs', 'log-group:/tidewheel/dev/hosts:log-stream:') },
    ]),
    ...wake,
    ...schedules,
    ...decideModels,
    query,
    index('list'),
    write(bucketKeys.pipeline('digits')),
    object('s3:DeleteObject', bucketKeys.pipeline('digits')),
    stopExecution,
    object('s3:DeleteObject', bucketKeys.pinnedSource('digits', RUN)),
    write(bucketKeys.closeRecord('digits', RUN)),
  ],
  plan: planCalls,
  page: [log('page')],
};
