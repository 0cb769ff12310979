/** What AWS calls for a training job or a host under a pipeline's role, which the user's script may call, too. */
import { AGENT_FILES, bucketKeys, SOURCE_FILE } from '@tidewheel/contract/bucket-keys.ts';
import { REGION } from '../intrinsics.ts';
import type { Call } from '../roles.ts';
import {
  away,
  ec2,
  INTERFACE_ACTIONS,
  imageOf,
  list,
  listsAway,
  object,
  onInterface,
  RUN,
  read,
  regional,
  savedAway,
  write,
} from './call-words.ts';
import { attempt, onEc2 } from './calls.ts';

/** The agent's own request after an installation. */
const KEEPS_WHEELS = ['PutObject', 'PutObjectTagging', 'GetObject'].map((name) =>
  object(`s3:${name}`, `${bucketKeys.wheels('digits')}0a1b.tar`),
);

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
  ...AGENT_FILES.map((file) => read(bucketKeys.agent('0123456789abcdef') + file)),
  read(bucketKeys.channelManifest('digits', RUN, 'train')),
  ...['GetObject', 'PutObject', 'DeleteObject'].map((name) =>
    object(`s3:${name}`, `${bucketKeys.checkpoints('digits', RUN)}step-10/state.pt`),
  ),
  write(`${bucketKeys.models('digits', RUN)}job/output/model.tar.gz`),
  ...KEEPS_WHEELS,
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
  ...['123456789012', '111122223333'].map((account) => imageOf(account)),
  read('shared/images/0001.png'),
  { action: 's3:GetObject', resource: 'arn:aws:s3:::other-data/images/0001.png' },
  { action: 's3:ListBucket', resource: 'arn:aws:s3:::other-data' },
  onEc2('CreateNetworkInterface', 'network-interface/*'),
  onEc2('CreateNetworkInterface', 'subnet/subnet-1'),
  onEc2('CreateNetworkInterface', 'security-group/sg-1'),
  ...INTERFACE_ACTIONS.map((action) => onInterface(action, 'subnet-1')),
  ec2('DescribeSubnets'),
];

/** The same on a host of ours on EC2: the AWS CLI calls with this role, and so can the user's script. */
export const HOST_CALLS: readonly Call[] = [
  ...['', 'source/', 'dataset/'].map((folder) => list(`digits/${folder}`)),
  list(bucketKeys.agent('0123456789abcdef')),
  read(`${bucketKeys.shards('digits', RUN)}shard-000000.tar`),
  read(bucketKeys.packedSource('digits', '0a1b') + SOURCE_FILE),
  ...AGENT_FILES.map((file) => read(bucketKeys.agent('0123456789abcdef') + file)),
  read(bucketKeys.channelManifest('digits', RUN, 'train')),
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
  ...KEEPS_WHEELS,
];
