/**
 * EC2 and SageMaker as a launch sees them, behind the SDK's own clients: fleets with their templates, groups, tokens and
 * hosts, and training jobs. A test says which call answers with an error instead.
 */
import {
  CreateFleetCommand,
  type CreateFleetCommandInput,
  CreateLaunchTemplateCommand,
  CreatePlacementGroupCommand,
  DeleteLaunchTemplateCommand,
  DeletePlacementGroupCommand,
  DescribeInstancesCommand,
  DescribeLaunchTemplatesCommand,
  DescribePlacementGroupsCommand,
  EC2Client,
  EC2ServiceException,
  type Instance,
  type Tag,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import {
  CreateTrainingJobCommand,
  DescribeTrainingJobCommand,
  SageMakerClient,
  SageMakerServiceException,
  StopTrainingJobCommand,
} from '@aws-sdk/client-sagemaker';
import { mockClient } from 'aws-sdk-client-mock';
import type { FakeClock } from './clock.ts';

export const CALLS = {
  ec2: [
    'DescribeInstances',
    'CreatePlacementGroup',
    'CreateLaunchTemplate',
    'CreateFleet',
    'TerminateInstances',
    'DeleteLaunchTemplate',
    'DeletePlacementGroup',
  ],
  sagemaker: ['CreateTrainingJob', 'DescribeTrainingJob', 'StopTrainingJob'],
} as const;
export type LaunchCall = (typeof CALLS)['ec2' | 'sagemaker'][number];

/** thrown: the call fails; answered: CreateFleet's answer holds it; partial: beside some of the hosts. */
export interface Refusal {
  readonly call: LaunchCall;
  readonly name: string;
  readonly how?: 'thrown' | 'answered' | 'partial';
  /** Default: always. */
  readonly times?: number;
}

interface TargetCapacity {
  readonly TotalTargetCapacity?: number | undefined;
}

const CLIENT_ERROR = {
  $fault: 'client',
  $metadata: { httpStatusCode: 400 },
  message: 'its own words',
} as const;
const ec2Error = (name: string) => new EC2ServiceException({ ...CLIENT_ERROR, name });
const sageMakerError = (name: string) => new SageMakerServiceException({ ...CLIENT_ERROR, name });

const isAlive = ({ State }: Instance): boolean => State?.Name === 'running';

export function awsLaunches(clock: FakeClock) {
  const ec2 = mockClient(EC2Client);
  const sageMaker = mockClient(SageMakerClient);
  const templates = new Map<string, Tag[]>();
  const groups = new Map<string, Tag[]>();
  const hosts = new Map<string, Instance>();
  const jobs = new Map<string, { TrainingJobStatus: string; at: Date }>();
  const fleets = new Map<string, unknown>();
  let refusals: readonly Refusal[] = [];
  let calls = 0;

  const taken = (call: LaunchCall): Refusal | undefined => {
    const found = refusals.find((each) => each.call === call);
    if (found?.times !== undefined)
      refusals = refusals.flatMap((each) =>
        each !== found ? [each] : found.times === 1 ? [] : [{ ...found, times: (found.times ?? 1) - 1 }],
      );
    return found;
  };
  const refused = (call: LaunchCall, error: (name: string) => Error): Refusal | undefined => {
    calls += 1;
    const found = taken(call);
    if (found !== undefined && (found.how ?? 'thrown') === 'thrown') throw error(found.name);
    return found;
  };
  const end = (id: string, Code: string) => {
    const host = hosts.get(id);
    if (host !== undefined && isAlive(host))
      hosts.set(id, {
        ...host,
        State: { Name: 'terminated' },
        StateReason: { Code, Message: 'its own words' },
      });
  };
  const start = (count: number, Tags: Tag[]): string[] =>
    Array.from({ length: count }, () => {
      const InstanceId = `i-${hosts.size + 1}`;
      hosts.set(InstanceId, { InstanceId, Tags, State: { Name: 'running' }, LaunchTime: clock.now() });
      return InstanceId;
    });

  ec2.on(DescribeInstancesCommand).callsFake(({ Filters = [] }) => {
    refused('DescribeInstances', ec2Error);
    const job = (Filters as { Name: string; Values: string[] }[]).find(({ Name }) => Name.startsWith('tag:'));
    const isMeant = ({ Tags = [] }: Instance) =>
      job === undefined || Tags.some(({ Value }) => job.Values.includes(Value ?? ''));
    return { Reservations: [{ Instances: [...hosts.values()].filter(isMeant) }] };
  });
  ec2.on(CreatePlacementGroupCommand).callsFake(({ GroupName, TagSpecifications }) => {
    refused('CreatePlacementGroup', ec2Error);
    if (groups.has(GroupName)) throw ec2Error('InvalidPlacementGroup.Duplicate');
    groups.set(GroupName, TagSpecifications[0].Tags);
    return {};
  });
  ec2.on(CreateLaunchTemplateCommand).callsFake(({ LaunchTemplateName, TagSpecifications }) => {
    refused('CreateLaunchTemplate', ec2Error);
    if (templates.has(LaunchTemplateName)) throw ec2Error('InvalidLaunchTemplateName.AlreadyExistsException');
    templates.set(LaunchTemplateName, TagSpecifications[0].Tags);
    return {};
  });
  const launch = ({ TotalTargetCapacity: wanted = 0 }: TargetCapacity, tags: Tag[], refusal?: Refusal) => {
    const missing = refusal === undefined ? 0 : refusal.how === 'partial' ? 1 : wanted;
    const Errors = [{ ErrorCode: refusal?.name, ErrorMessage: CLIENT_ERROR.message }];
    return {
      FleetId: `fleet-${fleets.size}`,
      Instances: [{ InstanceIds: start(wanted - missing, tags) }],
      ...(missing > 0 && { Errors }),
    };
  };
  ec2.on(CreateFleetCommand).callsFake((input: CreateFleetCommandInput) => {
    const refusal = refused('CreateFleet', ec2Error);
    const {
      ClientToken: token = '',
      TargetCapacitySpecification: capacity = {},
      TagSpecifications = [],
    } = input;
    const known = fleets.get(token);
    if (known !== undefined) return known;
    const [config] = input.LaunchTemplateConfigs ?? [];
    const template = config?.LaunchTemplateSpecification?.LaunchTemplateName ?? '';
    if (!templates.has(template)) throw ec2Error('InvalidLaunchTemplateName.NotFoundException');
    const tags = TagSpecifications.flatMap(({ ResourceType, Tags = [] }) =>
      ResourceType === 'instance' ? Tags : [],
    );
    const answer = launch(capacity, tags, refusal);
    fleets.set(token, answer);
    return answer;
  });
  ec2.on(TerminateInstancesCommand).callsFake(({ InstanceIds }) => {
    refused('TerminateInstances', ec2Error);
    for (const id of InstanceIds) end(id, 'Client.UserInitiatedShutdown');
    return {};
  });
  ec2.on(DeleteLaunchTemplateCommand).callsFake(({ LaunchTemplateName }) => {
    refused('DeleteLaunchTemplate', ec2Error);
    if (!templates.delete(LaunchTemplateName)) throw ec2Error('InvalidLaunchTemplateName.NotFoundException');
    return {};
  });
  ec2.on(DeletePlacementGroupCommand).callsFake(({ GroupName }) => {
    refused('DeletePlacementGroup', ec2Error);
    if (!groups.delete(GroupName)) throw ec2Error('InvalidPlacementGroup.Unknown');
    return {};
  });
  ec2.on(DescribeLaunchTemplatesCommand).callsFake(() => ({
    LaunchTemplates: [...templates.values()].map((Tags) => ({ Tags })),
  }));
  ec2.on(DescribePlacementGroupsCommand).callsFake(() => ({
    PlacementGroups: [...groups.values()].map((Tags) => ({ Tags })),
  }));

  sageMaker.on(CreateTrainingJobCommand).callsFake(({ TrainingJobName }) => {
    refused('CreateTrainingJob', sageMakerError);
    if (jobs.has(TrainingJobName)) throw sageMakerError('ResourceInUse');
    jobs.set(TrainingJobName, { TrainingJobStatus: 'InProgress', at: clock.now() });
    return { TrainingJobArn: `arn:aws:sagemaker:us-east-1:123456789012:training-job/${TrainingJobName}` };
  });
  sageMaker.on(DescribeTrainingJobCommand).callsFake(({ TrainingJobName }) => {
    refused('DescribeTrainingJob', sageMakerError);
    const job = jobs.get(TrainingJobName);
    if (job === undefined)
      throw Object.assign(sageMakerError('ValidationException'), {
        message: 'Requested resource not found.',
      });
    const Status = job.TrainingJobStatus === 'InProgress' ? 'Training' : 'Stopped';
    return {
      TrainingJobStatus: job.TrainingJobStatus,
      SecondaryStatus: Status,
      CreationTime: job.at,
      SecondaryStatusTransitions: [{ Status, StartTime: job.at }],
    };
  });
  sageMaker.on(StopTrainingJobCommand).callsFake(({ TrainingJobName }) => {
    refused('StopTrainingJob', sageMakerError);
    const job = jobs.get(TrainingJobName);
    if (job !== undefined) jobs.set(TrainingJobName, { ...job, TrainingJobStatus: 'Stopped' });
    return {};
  });

  return {
    /** From now on; without one every call works. */
    refuse: (...next: readonly Refusal[]) => {
      refusals = next;
    },
    calls: () => calls,
    /** What costs money or is in the way of later launches. */
    left: () => [
      ...[...hosts.values()].filter(isAlive).map(({ InstanceId }) => `host ${InstanceId}`),
      ...[...templates.keys()].map((name) => `template ${name}`),
      ...[...groups.keys()].map((name) => `group ${name}`),
      ...[...jobs].flatMap(([name, { TrainingJobStatus }]) =>
        TrainingJobStatus === 'InProgress' ? [`job ${name}`] : [],
      ),
    ],
    running: () =>
      [...hosts.values()].filter(isAlive).length +
      [...jobs.values()].filter((job) => job.TrainingJobStatus === 'InProgress').length,
  };
}
