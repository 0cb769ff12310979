/** The words in which calls.ts says what is called, on which resource. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { ACCOUNT, REGION } from '../intrinsics.ts';
import type { Call } from '../roles.ts';

export const BUCKET = 'arn:aws:s3:::tw-databucket';
export const TABLE = `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/tw-table`;
export const RUN = 'digits-000001';
const MACHINE = `arn:aws:states:${REGION}:${ACCOUNT}:stateMachine:tidewheel-dev-run`;
export const regional = (service: string, rest: string): string =>
  `arn:aws:${service}:${REGION}:${ACCOUNT}:${rest}`;
export const role = (name: string): string => `arn:aws:iam::${ACCOUNT}:role/${name}`;

export const instanceProfile = (name: string): string => `arn:aws:iam::${ACCOUNT}:instance-profile/${name}`;

export const object = (action: string, key: string): Call => ({ action, resource: `${BUCKET}/${key}` });
export const read = (key: string): Call => object('s3:GetObject', key);
export const write = (key: string): Call => object('s3:PutObject', key);
export const list = (prefix: string): Call => ({
  action: 's3:ListBucket',
  resource: BUCKET,
  context: { 's3:prefix': prefix },
});
/** S3 answers 404 for an absent object only to a caller that may list the bucket; that question names no prefix. */
export const learnsOfAbsence: Call = { action: 's3:ListBucket', resource: BUCKET };

/** In the bucket of another region, which must belong to the account: anybody may take a bucket's name. */
const own = { 'aws:ResourceAccount': ACCOUNT };
export const away = (action: string, key: string): Call => ({
  action,
  resource: `${BUCKET}-eu-west-1/${key}`,
  context: own,
});
export const listsAway: Call = { action: 's3:ListBucket', resource: `${BUCKET}-eu-west-1`, context: own };
export const jobAway = (action: string): Call => ({
  action: `sagemaker:${action}`,
  resource: `arn:aws:sagemaker:eu-west-1:${ACCOUNT}:training-job/digits-000001-a1-abcdef`,
});
export const savedAway = (action: string): Call[] => [
  away(action, `${bucketKeys.checkpoints('digits', 'digits-000001')}step-10/state.pt`),
  away(action, `${bucketKeys.models('digits', 'digits-000001')}job/output/model.tar.gz`),
];

export const items = (...names: ('Get' | 'Put' | 'Update')[]): Call[] =>
  names.map((name) => ({ action: `dynamodb:${name}Item`, resource: TABLE }));
export const query: Call = { action: 'dynamodb:Query', resource: TABLE };
export const index = (name: string): Call => ({
  action: 'dynamodb:Query',
  resource: `${TABLE}/index/${name}`,
});

/** A table that was lost is completed from these. */
export const keptRecords: Call[] = [
  list(bucketKeys.attemptRecords('digits', RUN)),
  read(bucketKeys.attemptRecord('digits', RUN, 1)),
  read(bucketKeys.closeRecord('digits', RUN)),
];

export const job = (action: string): Call => ({
  action: `sagemaker:${action}`,
  resource: regional('sagemaker', `training-job/${RUN}-a1-abcdef`),
});
/** A job in a VPC. */
export const inVpc = (subnet: string, securityGroup: string): Call => ({
  ...job('CreateTrainingJob'),
  context: { 'sagemaker:VpcSubnets': [subnet], 'sagemaker:VpcSecurityGroupIds': [securityGroup] },
});
export const machineImage = (action: string): Call => ({
  action: `ec2:${action}`,
  resource: `arn:aws:ec2:${REGION}::image/ami-1`,
});
export const imageOf = (account: string): Call => ({
  action: 'ecr:BatchGetImage',
  resource: `arn:aws:ecr:${REGION}:${account}:repository/own`,
});
export const INTERFACE_ACTIONS = [
  'CreateNetworkInterfacePermission',
  'DeleteNetworkInterface',
  'DeleteNetworkInterfacePermission',
];
/** An interface's own subnet, as EC2 tells it to policies. */
export const onInterface = (action: string, subnet: string): Call => ({
  action: `ec2:${action}`,
  resource: regional('ec2', 'network-interface/eni-1'),
  context: { 'ec2:Subnet': regional('ec2', `subnet/${subnet}`) },
});

export const consume = (queue: string): Call[] =>
  ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'].map((name) => ({
    action: `sqs:${name}`,
    resource: regional('sqs', queue),
  }));
export const start: Call = { action: 'states:StartExecution', resource: MACHINE };
export const look: Call = {
  action: 'states:DescribeExecution',
  resource: regional('states', `execution:tidewheel-dev-run:${RUN}`),
};
export const stopExecution: Call = { ...look, action: 'states:StopExecution' };
/** IAM knows no resource for it; the token itself is what cannot be guessed. */
export const answer: Call = { action: 'states:SendTaskSuccess', resource: '*' };
export const notify: Call = {
  action: 'events:PutEvents',
  resource: regional('events', 'event-bus/default'),
  // One request carries many events, so the key holds a list: a policy needs ForAllValues.
  context: { 'events:source': ['tidewheel'] },
};
const ROLE_PATHS = { training: 'TrainingPolicy', hosts: 'HostPolicy' } as const;
type RoleKind = keyof typeof ROLE_PATHS;
export const roleOfKind = (kind: RoleKind) => `tidewheel/dev/us-east-1/${kind}/tidewheel-digits-01234567`;
export const policyArn = (kind: RoleKind) =>
  `arn:aws:iam::${ACCOUNT}:policy/tw-${ROLE_PATHS[kind].toLowerCase()}`;
/** @param policy the boundary that the request names, and the policy that it attaches */
export const createRole = (kind: RoleKind, policy = policyArn(kind)): Call[] => {
  const resource = role(roleOfKind(kind));
  const bound = { 'iam:PermissionsBoundary': policy };
  return [
    { action: 'iam:CreateRole', resource, context: bound },
    { action: 'iam:AttachRolePolicy', resource, context: { ...bound, 'iam:PolicyARN': policy } },
  ];
};
export const passRole = (name: string, service: string): Call => ({
  action: 'iam:PassRole',
  resource: role(name),
  context: { 'iam:PassedToService': service },
});
export const log = (name: string): Call => ({
  action: 'logs:PutLogEvents',
  resource: regional('logs', `log-group:/aws/lambda/tidewheel-dev-${name}:log-stream:2026/11/21/x`),
});
export const ec2 = (action: string): Call => ({ action: `ec2:${action}`, resource: '*' });

export const askMarket: Call[] = [
  'GetSpotPlacementScores',
  'DescribeSpotPriceHistory',
  'DescribeAvailabilityZones',
].map(ec2);
export const describeReservations: Call[] = [
  ec2('DescribeCapacityReservations'),
  { action: 'sagemaker:DescribeTrainingPlan', resource: regional('sagemaker', 'training-plan/team-a') },
];
export const searchOffers: Call[] = [
  ec2('DescribeCapacityBlockOfferings'),
  { action: 'sagemaker:SearchTrainingPlanOfferings', resource: '*' },
];
/** What a job on a training plan uses besides its own name. */
export const onPlan: Call[] = ['training-plan/team-a', 'reserved-capacity/a1'].map((each) => ({
  action: 'sagemaker:CreateTrainingJob',
  resource: regional('sagemaker', each),
}));
export const schedules: Call[] = [
  ...['CreateSchedule', 'UpdateSchedule', 'DeleteSchedule'].map((name) => ({
    action: `scheduler:${name}`,
    resource: regional('scheduler', 'schedule/tidewheel-dev/digits'),
  })),
  passRole('tw-schedulerole', 'scheduler.amazonaws.com'),
];

export const versions: Call[] = [
  list(bucketKeys.datasetVersions('digits')),
  list(bucketKeys.dataset('digits')),
  read(bucketKeys.datasetVersion('digits', 1)),
];
