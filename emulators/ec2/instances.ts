/** What the emulator's EC2 knows of the instances that Tidewheel's fleets have launched. */
import {
  DescribeFleetsCommand,
  DescribeLaunchTemplateVersionsCommand,
  type EC2Client,
  type Instance,
  paginateDescribeInstances,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { JOB_TAG } from '@tidewheel/contract/bucket-keys.ts';

export interface LocalInstance {
  readonly instanceId: string;
  readonly jobName: string;
  readonly instanceType: string;
  /** The emulator gives each its own in 10.0.0.0/16. */
  readonly privateAddress: string;
  /** ISO 8601, as the identity document has it. */
  readonly launchedAt?: string | undefined;
}

export interface Launch {
  readonly purchaseOption: 'spot' | 'on-demand';
  readonly subnetId: string;
  readonly userData: string;
}

/** Those that EC2 takes for alive. */
export async function aliveInstances(client: EC2Client): Promise<LocalInstance[]> {
  const found: LocalInstance[] = [];
  const Filters = [
    { Name: 'tag-key', Values: [JOB_TAG] },
    { Name: 'instance-state-name', Values: ['pending', 'running'] },
  ];
  for await (const { Reservations = [] } of paginateDescribeInstances({ client }, { Filters })) {
    found.push(...Reservations.flatMap(({ Instances = [] }) => Instances.flatMap(toInstance)));
  }
  return found;
}

/** Looked at again here: an EC2 that knows no such filter (the emulator's) answers with every instance. */
function toInstance({ InstanceId, State, Tags = [], ...rest }: Instance): LocalInstance[] {
  const jobName = Tags.find(({ Key }) => Key === JOB_TAG)?.Value;
  const isAlive = State?.Name === 'pending' || State?.Name === 'running';
  if (InstanceId === undefined || jobName === undefined || !isAlive) return [];
  const { InstanceType: instanceType = '', PrivateIpAddress: privateAddress = '10.0.0.1' } = rest;
  const launchedAt = rest.LaunchTime?.toISOString();
  return [{ instanceId: InstanceId, jobName, instanceType, privateAddress, launchedAt }];
}

/** From its launch template; undefined when that is gone, and with it the attempt. */
export async function launchOf(client: EC2Client, instance: LocalInstance): Promise<Launch | undefined> {
  try {
    const requested = { LaunchTemplateName: instance.jobName, Versions: ['1'] };
    const { LaunchTemplateVersions: [version] = [] } = await client.send(
      new DescribeLaunchTemplateVersionsCommand(requested),
    );
    const { UserData: userData = '', NetworkInterfaces: [card] = [] } = version?.LaunchTemplateData ?? {};
    const purchaseOption = await purchaseOptionOf(client, instance.instanceId);
    return { purchaseOption, subnetId: card?.SubnetId ?? '', userData };
  } catch (error: unknown) {
    if (error instanceof Error && error.name.includes('NotFound')) return undefined;
    throw error;
  }
}

/** The emulator tells it of fleets only, and tells instant fleets without their ids too. */
async function purchaseOptionOf(client: EC2Client, instanceId: string): Promise<'spot' | 'on-demand'> {
  const { Fleets = [] } = await client.send(new DescribeFleetsCommand({}));
  const [part] = Fleets.flatMap(({ Instances = [] }) => Instances).filter(({ InstanceIds = [] }) =>
    InstanceIds.includes(instanceId),
  );
  return part?.Lifecycle === 'spot' ? 'spot' : 'on-demand';
}

/** Codes of StateReason; none: AWS documents no code for a machine that fails. */
export type EndReason =
  | 'Client.InstanceInitiatedShutdown'
  | 'Server.InsufficientInstanceCapacity'
  | 'Server.InternalError'
  | 'Server.SpotInstanceTermination'
  | 'none';

/** The emulator takes the reason beside EC2's own parameters; the reason of an instance that has ended before stays. */
export async function terminateInstance(
  client: EC2Client,
  instanceId: string,
  reason: EndReason,
): Promise<void> {
  const command = new TerminateInstancesCommand({ InstanceIds: [instanceId] });
  command.middlewareStack.add(
    (next) => (args) => {
      if (hasForm(args.request)) args.request.body += `&TidewheelStateReason=${reason}`;
      return next(args);
    },
    { step: 'serialize', priority: 'low', name: 'stateReason' },
  );
  try {
    await client.send(command);
  } catch (error: unknown) {
    if (!(error instanceof Error && error.name === 'InvalidInstanceID.NotFound')) throw error;
  }
}

const hasForm = (request: unknown): request is { body: string } =>
  typeof request === 'object' && request !== null && 'body' in request && typeof request.body === 'string';
