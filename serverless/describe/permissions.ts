/** Words for what a role may do: each is a statement of an IAM policy, or a list of them. */
import { CONTAINER_ACCOUNTS } from '@tidewheel/catalog/images.ts';
import { PIPELINE_TAG } from '../../functions/launch/pipeline-role.ts';
import { arn, arnOf, ROLE_PATHS, ref, STACK, sub, type Value } from './cloudformation.ts';

export interface PolicyStatement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: readonly string[];
  readonly Resource: Value;
  readonly Condition?: Value;
}

/** @param actions of the service, without its name */
export function statement(
  service: string,
  actions: readonly string[],
  resources: readonly Value[],
  condition?: Value,
): PolicyStatement {
  const [first = '*', ...more] = resources;
  return {
    Effect: 'Allow',
    Action: actions.map((action) => `${service}:${action}`),
    Resource: more.length === 0 ? first : resources,
    ...(condition !== undefined && { Condition: condition }),
  };
}

/** A list that serverless/allowed.cjs makes of the deployment's parameters. */
const allowed = (list: string): Value => `\${file(serverless/allowed.cjs):${list}}`;

/** Actions that know no resource: IAM demands "*". */
export const withoutResource = (service: string, ...actions: string[]) => statement(service, actions, ['*']);

// S3

export const onObjects = (actions: readonly string[], ...keys: string[]) =>
  statement(
    's3',
    actions,
    keys.map((key) => sub(`\${DataBucket.Arn}/${key}`)),
  );
export const readObjects = (...keys: string[]) => onObjects(['GetObject'], ...keys);
export const writeObjects = (...keys: string[]) => onObjects(['PutObject'], ...keys);
export const writeShards = onObjects(
  ['PutObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'],
  '*/runs/*/plan/*',
  '*/dataset/*/shards/*',
  '*/dataset/*/members/*',
);
/** Which model is in use, where readers look. */
export const chooseModels = [onObjects(['GetObject', 'PutObject'], '*/models/current.json')];
/**
 * For every function that reads objects: without it S3 answers 403 instead of 404 for an object that is not there.
 * It has no condition on s3:prefix, because the request for an object names no prefix.
 */
export const listBucket = statement('s3', ['ListBucket'], [arnOf('DataBucket')]);

/** Another region's bucket is named as the data bucket with the region behind it; any account may take that name. */
const IN_THIS_ACCOUNT = { StringEquals: { 'aws:ResourceAccount': ref('AWS::AccountId') } };
export const listBucketElsewhere = statement(
  's3',
  ['ListBucket'],
  [sub('${DataBucket.Arn}-*')],
  IN_THIS_ACCOUNT,
);
export const onObjectsElsewhere = (actions: readonly string[], ...keys: string[]) =>
  statement(
    's3',
    actions,
    keys.map((key) => sub(`\${DataBucket.Arn}-*/${key}`)),
    IN_THIS_ACCOUNT,
  );
/**
 * The "*" behind the data bucket's name crosses slashes, so a statement for `a/runs/*` elsewhere also holds for
 * `b/a/runs/*`. This takes the latter away.
 */
export const neverBelowOthersElsewhere = (
  actions: readonly string[],
  ...keys: string[]
): PolicyStatement => ({
  ...statement(
    's3',
    actions,
    keys.map((key) => sub(`\${DataBucket.Arn}-*/*/${key}`)),
  ),
  Effect: 'Deny',
});
export const readObjectsElsewhere = (...keys: string[]) => onObjectsElsewhere(['GetObject'], ...keys);
export const writeObjectsElsewhere = (...keys: string[]) =>
  onObjectsElsewhere(['PutObject', 'AbortMultipartUpload'], ...keys);

// DynamoDB, SQS, CloudWatch Logs, EventBridge, IAM

export const useTable = (...actions: readonly ('GetItem' | 'PutItem' | 'UpdateItem' | 'Query')[]) =>
  statement('dynamodb', actions, [arnOf('Table'), sub('${Table.Arn}/index/*')]);

/** For what no index has yet. */
export const scanTable = statement('dynamodb', ['Scan'], [arnOf('Table')]);

export const consume = (queue: string) =>
  statement('sqs', ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'], [arnOf(queue)]);

export const writeLog = (functionName: string) => {
  const group = arn('logs', `log-group:/aws/lambda/${STACK}-${functionName}:*`);
  return statement('logs', ['CreateLogStream', 'PutLogEvents'], [group]);
};

/** What jobs and hosts print. SageMaker writes into the region of the job. */
export const readJobLogs = statement(
  'logs',
  ['DescribeLogStreams', 'FilterLogEvents'],
  [
    sub('arn:${AWS::Partition}:logs:*:${AWS::AccountId}:log-group:/aws/sagemaker/TrainingJobs'),
    sub('arn:${AWS::Partition}:logs:*:${AWS::AccountId}:log-group:/aws/sagemaker/TrainingJobs:*'),
    arnOf('HostLogGroup'),
  ],
);

/** One request carries several events, so the key holds a list: so it is ForAllValues. */
export const putEvents = statement('events', ['PutEvents'], [arn('events', 'event-bus/default')], {
  'ForAllValues:StringEquals': { 'events:source': 'tidewheel' },
});

/** Declarations name topics and secrets; the names bound what the function may reach. */
export const noticePermissions = [
  statement('sns', ['Publish'], [arn('sns', 'tidewheel-*')]),
  statement('secretsmanager', ['GetSecretValue'], [arn('secretsmanager', 'secret:tidewheel/notify/*')]),
];

/** A group for each pipeline, and secrets whose names are the list. */
export const handOver = [
  statement(
    'sagemaker',
    ['CreateModelPackageGroup', 'CreateModelPackage'],
    [arn('sagemaker', `model-package-group/${STACK}-*`), arn('sagemaker', `model-package/${STACK}-*`)],
  ),
  statement(
    'sagemaker',
    ['DescribeModelPackage', 'UpdateModelPackage'],
    [arn('sagemaker', `model-package/${STACK}-*`)],
  ),
  // AWS does not say by which packages it checks a list of one group.
  statement('sagemaker', ['ListModelPackages'], [arn('sagemaker', 'model-package/*')]),
  statement('secretsmanager', ['GetSecretValue'], [arn('secretsmanager', 'secret:tidewheel/registry/*')]),
];

const passRole = (role: Value, service: string) =>
  statement('iam', ['PassRole'], [role], { StringEquals: { 'iam:PassedToService': service } });

// Roles of pipelines. The service creates them, bounded by the policies of the template.

type PipelinePolicy = keyof typeof ROLE_PATHS;
const onPath = (kind: 'role' | 'instance-profile', policy: PipelinePolicy) =>
  sub(`arn:\${AWS::Partition}:iam::\${AWS::AccountId}:${kind}${ROLE_PATHS[policy]}*`);
const createRolesOf = (policy: PipelinePolicy) => [
  statement('iam', ['CreateRole'], [onPath('role', policy)], {
    ArnEquals: { 'iam:PermissionsBoundary': ref(policy) },
  }),
  statement('iam', ['AttachRolePolicy'], [onPath('role', policy)], {
    ArnEquals: { 'iam:PolicyARN': ref(policy), 'iam:PermissionsBoundary': ref(policy) },
  }),
  // A role is born with its tag. IAM demands TagRole for that.
  statement('iam', ['TagRole'], [onPath('role', policy)], {
    'ForAllValues:StringEquals': { 'aws:TagKeys': PIPELINE_TAG },
  }),
];
export const createPipelineRoles = [
  ...createRolesOf('TrainingPolicy'),
  ...createRolesOf('HostPolicy'),
  statement('iam', ['GetRole', 'ListAttachedRolePolicies'], [onPath('role', 'TrainingPolicy')]),
  statement(
    'iam',
    ['GetInstanceProfile', 'CreateInstanceProfile', 'AddRoleToInstanceProfile'],
    [onPath('instance-profile', 'HostPolicy')],
  ),
];

export const setSchedules = [
  statement(
    'scheduler',
    ['CreateSchedule', 'UpdateSchedule', 'DeleteSchedule', 'GetSchedule'],
    [arn('scheduler', 'schedule/${ScheduleGroup}/*')],
  ),
  passRole(arnOf('ScheduleRole'), 'scheduler.amazonaws.com'),
];

// What scripts need of the deployment's lists

/** Prefixes that every pipeline's scripts read, beside their own folder. */
export const readSharedPrefixes = [
  statement('s3', ['ListBucket'], [allowed('sharedBucketArns')]),
  statement('s3', ['GetObject'], [allowed('sharedObjectArns')]),
];

/** https://docs.aws.amazon.com/codeartifact/latest/ug/auth-and-access-control-permissions-reference.html */
export const installFromRepository = [
  statement('codeartifact', ['GetAuthorizationToken'], [allowed('indexDomainArns')]),
  statement('codeartifact', ['ReadFromRepository'], [allowed('indexRepositoryArns')]),
  statement('sts', ['GetServiceBearerToken'], ['*'], {
    StringEquals: { 'sts:AWSServiceName': 'codeartifact.amazonaws.com' },
  }),
];

const PULL = ['BatchCheckLayerAvailability', 'GetDownloadUrlForLayer', 'BatchGetImage'];
/** ECR has no other resources; IAM counts characters (policy-size.cjs). */
const repositoriesOf = (account: string) => sub(`arn:\${AWS::Partition}:ecr:*:${account}:*`);
const OF_AWS_AND_OWN = [
  ...['${AWS::AccountId}', ...CONTAINER_ACCOUNTS].map(repositoriesOf),
  // AWS's sagemaker-xgboost and sagemaker-scikit-learn lie in more accounts than a policy has room for.
  sub('arn:${AWS::Partition}:ecr:*:*:repository/sagemaker-*'),
];
/** Images of AWS and of this account. */
export const pullImages = [
  withoutResource('ecr', 'GetAuthorizationToken'),
  statement('ecr', PULL, OF_AWS_AND_OWN),
];
export const pullImagesOfOthers = statement('ecr', PULL, [allowed('repositoryArns')]);

/** What stands around the training of a declaration: the market, quotas, networks, images, the role for Spot. It only reads. */
export const lookAtAccount = [
  withoutResource(
    'ec2',
    'GetSpotPlacementScores',
    'DescribeSpotPriceHistory',
    'DescribeAvailabilityZones',
    'DescribeSubnets',
    'DescribeRouteTables',
    'DescribeVpcEndpoints',
    'DescribeSecurityGroups',
    'DescribeImages',
  ),
  withoutResource('servicequotas', 'ListServiceQuotas', 'ListAWSDefaultServiceQuotas'),
  statement('ecr', ['DescribeImages'], OF_AWS_AND_OWN),
  statement('ecr', ['DescribeImages'], [allowed('repositoryArns')]),
  // Declarations name machine images by public parameters of AWS alone.
  statement('ssm', ['GetParameter'], [sub('arn:${AWS::Partition}:ssm:*::parameter/aws/service/*')]),
  statement(
    'secretsmanager',
    ['DescribeSecret'],
    // The one that declarations may name.
    ["${param:packageIndexSecret, 'arn:aws:secretsmanager:us-east-1:000000000000:secret:none'}"],
  ),
  statement(
    'iam',
    ['GetRole'],
    [
      sub(
        'arn:${AWS::Partition}:iam::${AWS::AccountId}:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot',
      ),
    ],
  ),
];

const INTERFACES = [sub('arn:${AWS::Partition}:ec2:*:${AWS::AccountId}:network-interface/*')];
/**
 * SageMaker attaches a job to a VPC with the rights of the job's role, so scripts have them, too:
 * https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html
 * They hold in the deployment's subnets only. EC2 tells them by the subnet when an interface is created, and by the
 * interface's own subnet later. AWS does not document which `ec2:AuthorizedService` SageMaker gives.
 */
export const attachToSubnets = [
  statement('ec2', ['CreateNetworkInterface'], [allowed('interfaceArns')]),
  statement(
    'ec2',
    ['CreateNetworkInterfacePermission', 'DeleteNetworkInterface', 'DeleteNetworkInterfacePermission'],
    INTERFACES,
    { ArnLike: { 'ec2:Subnet': allowed('subnetArns') } },
  ),
  withoutResource(
    'ec2',
    'DescribeNetworkInterfaces',
    'DescribeVpcs',
    'DescribeDhcpOptions',
    'DescribeSubnets',
    'DescribeSecurityGroups',
  ),
];

// Step Functions and SageMaker

export const describeRuns = statement(
  'states',
  ['DescribeExecution'],
  [arn('states', `execution:${STACK}-run:*`)],
);
/** A person stops a run wherever its execution waits. */
export const stopExecutions = statement(
  'states',
  ['StopExecution'],
  [arn('states', `execution:${STACK}-run:*`)],
);
export const startRuns = [
  statement('states', ['StartExecution'], [arn('states', `stateMachine:${STACK}-run`)]),
  describeRuns,
];
/** IAM knows no resource for it. The token itself cannot be guessed. */
export const answerTask = withoutResource('states', 'SendTaskSuccess');

/** In any region that a pipeline names. */
const TRAINING_JOBS = [sub('arn:${AWS::Partition}:sagemaker:*:${AWS::AccountId}:training-job/*')];
const TRAINING_PLANS = [
  sub('arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:training-plan/*'),
];
/** What a job on a training plan uses: https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-iam-permissions.html */
const RESERVED_CAPACITY = [
  sub('arn:${AWS::Partition}:sagemaker:${AWS::Region}:${AWS::AccountId}:reserved-capacity/*'),
];
const onTrainingJobs = (...actions: string[]) => statement('sagemaker', actions, TRAINING_JOBS);

/** Read what `compute.reserved` names. */
export const describeReservations = [
  withoutResource('ec2', 'DescribeCapacityReservations'),
  statement('sagemaker', ['DescribeTrainingPlan'], TRAINING_PLANS),
];

/** Search what could be reserved. AWS knows no resource for either. */
export const searchOffers = [
  withoutResource('ec2', 'DescribeCapacityBlockOfferings'),
  withoutResource('sagemaker', 'SearchTrainingPlanOfferings'),
];

// Hosts on EC2. Everything that the service makes there bears the tag of a job.

const RESOURCE_IS_TAGGED = { StringLike: { 'aws:ResourceTag/tidewheel:job': '?*' } };
/** EC2 gives these tags only at creation, so the request must bear them. */
const REQUEST_IS_TAGGED = { StringLike: { 'aws:RequestTag/tidewheel:job': '?*' } };

const ec2 = (...kinds: string[]) => kinds.map((kind) => arn('ec2', `${kind}/*`));
/** Resources of AWS and of other accounts: their ARNs name no account. */
const withoutAccount = (service: string, rest: string) =>
  sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}::${rest}`);

/**
 * Read what the hosts of an attempt write, tell them to save or stop, and remove them in the end.
 * @param questions further EC2 actions that know no resource
 */
const followFleet = (...questions: string[]) => [
  readObjects('*/runs/*/attempts/*'),
  writeObjects('*/runs/*/attempts/*/requests/*'),
  withoutResource('ec2', 'DescribeInstances', ...questions),
  statement(
    'ec2',
    ['DeleteLaunchTemplate', 'DeletePlacementGroup'],
    ec2('launch-template', 'placement-group'),
    RESOURCE_IS_TAGGED,
  ),
  // The console is the only trace of a host that wrote no report.
  statement('ec2', ['TerminateInstances', 'GetConsoleOutput'], ec2('instance'), {
    ...RESOURCE_IS_TAGGED,
    // Hosts of this stage: the profiles of another one have another path.
    ArnLikeIfExists: { 'ec2:InstanceProfile': onPath('instance-profile', 'HostPolicy') },
  }),
];

/**
 * A fleet runs its instances with the permissions of its creator:
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-fleet-prerequisites.html
 */
const RUN = ['CreateFleet', 'RunInstances'];
/** New hosts start from the launch template that the attempt has. */
export const replaceHosts = [
  statement('ec2', RUN, ec2('fleet', 'instance', 'volume', 'network-interface'), REQUEST_IS_TAGGED),
  statement('ec2', RUN, ec2('launch-template'), RESOURCE_IS_TAGGED),
  statement('ec2', RUN, [withoutAccount('ec2', 'image/*')], {
    StringEquals: { 'ec2:Owner': allowed('machineImageOwners') },
  }),
  statement('ec2', RUN, [
    withoutAccount('ec2', 'snapshot/*'),
    // A reservation may have been made inside a group of any name.
    ...ec2('spot-instances-request', 'placement-group'),
    // One that is shared bears its owner's account.
    sub('arn:${AWS::Partition}:ec2:${AWS::Region}:*:capacity-reservation/*'),
  ]),
  statement('ec2', RUN, [allowed('subnetArns')]),
  statement('ec2', RUN, [allowed('securityGroupArns')]),
  statement(
    'ec2',
    ['CreateTags'],
    ec2('fleet', 'instance', 'volume', 'network-interface', 'launch-template', 'placement-group'),
    { StringEquals: { 'ec2:CreateAction': [...RUN, 'CreateLaunchTemplate', 'CreatePlacementGroup'] } },
  ),
  // A launch template may name its image by a public parameter of AWS.
  statement('ssm', ['GetParameters'], [withoutAccount('ssm', 'parameter/aws/service/*')]),
  passRole(onPath('role', 'HostPolicy'), 'ec2.amazonaws.com'),
];
const launchHosts = [
  ...replaceHosts,
  statement(
    'ec2',
    ['CreateLaunchTemplate', 'CreatePlacementGroup'],
    ec2('launch-template', 'placement-group'),
    REQUEST_IS_TAGGED,
  ),
];

/** Start attempts with every launcher. */
export const startAttempts = [
  statement('sagemaker', ['CreateTrainingJob'], TRAINING_JOBS, {
    // Without subnets the request has no such key, and ForAllValues holds.
    'ForAllValues:StringLike': {
      'sagemaker:VpcSubnets': allowed('subnetIds'),
      'sagemaker:VpcSecurityGroupIds': allowed('securityGroupIds'),
    },
  }),
  statement('sagemaker', ['CreateTrainingJob'], [...TRAINING_PLANS, ...RESERVED_CAPACITY]),
  onTrainingJobs('DescribeTrainingJob', 'StopTrainingJob', 'AddTags'),
  passRole(onPath('role', 'TrainingPolicy'), 'sagemaker.amazonaws.com'),
  ...followFleet(),
  ...launchHosts,
];

/**
 * Look at an attempt, wherever it runs, and do what follows: record it, stop it, answer the waiting task, tell the bus.
 * @param questions further EC2 actions that know no resource
 */
export const observeAttempts = (...questions: string[]) => [
  useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
  listBucket,
  onTrainingJobs('DescribeTrainingJob', 'StopTrainingJob'),
  ...followFleet(...questions),
  answerTask,
  putEvents,
];
