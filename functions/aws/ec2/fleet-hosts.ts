/** Hosts, launch templates and placement groups of fleets, found by the tag with their job's name. */
import {
  DeleteLaunchTemplateCommand,
  DeletePlacementGroupCommand,
  DescribePlacementGroupsCommand,
  type EC2Client,
  type Filter,
  type Instance,
  paginateDescribeInstances,
  paginateDescribeLaunchTemplates,
  type Tag,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { JOB_TAG } from '@tidewheel/contract/bucket-keys.ts';
import { ROUND_TAG } from '../../launch/ec2/fleet-request.ts';
import type { FleetInstance } from '../../launch/ec2/fleet-view.ts';
import { awsErrorClass } from '../../records/aws-error-class.ts';
import { rethrow } from '../shared/aws-errors.ts';

async function describe(client: EC2Client, Filters: Filter[]): Promise<Instance[]> {
  const found: Instance[] = [];
  for await (const { Reservations = [] } of paginateDescribeInstances({ client }, { Filters })) {
    found.push(...Reservations.flatMap(({ Instances = [] }) => Instances));
  }
  return found;
}

export async function fleetHosts(ec2: EC2Client, jobName: string): Promise<FleetInstance[]> {
  try {
    const found = await describe(ec2, [{ Name: `tag:${JOB_TAG}`, Values: [jobName] }]);
    return found.flatMap(toHost);
  } catch (error) {
    return rethrow(`describe the instances of ${jobName}`, error);
  }
}

function toHost({
  InstanceId,
  InstanceType,
  State,
  LaunchTime,
  StateReason,
  Tags = [],
}: Instance): FleetInstance[] {
  if (InstanceId === undefined) return [];
  return [
    {
      instanceId: InstanceId,
      instanceType: InstanceType,
      state: State?.Name ?? 'pending',
      launchedAt: LaunchTime,
      reasonCode: StateReason?.Code,
      reasonMessage: StateReason?.Message,
      round: Number(Tags.find(({ Key }) => Key === ROUND_TAG)?.Value ?? 1),
    },
  ];
}

const ALIVE = ['pending', 'running'];

export async function endHosts(ec2: EC2Client, jobName: string): Promise<void> {
  const alive = (await fleetHosts(ec2, jobName)).filter(({ state }) => ALIVE.includes(state));
  await terminateHosts(
    ec2,
    alive.map(({ instanceId }) => instanceId),
  );
}

export async function terminateHosts(ec2: EC2Client, instanceIds: readonly string[]): Promise<void> {
  if (instanceIds.length === 0) return;
  try {
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [...instanceIds] }));
  } catch (error) {
    rethrow(`terminate ${instanceIds.join(', ')}`, error);
  }
}

const jobOf = (tags: readonly Tag[] = []): string[] =>
  tags.flatMap(({ Key, Value }) => (Key === JOB_TAG && Value !== undefined ? [Value] : []));

/** Uses a filter instead of ids, because one forgotten id would fail the whole request. */
export async function jobsOf(
  ec2: EC2Client,
  instanceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (instanceIds.length === 0) return new Map();
  try {
    const found = await describe(ec2, [
      { Name: 'instance-id', Values: [...instanceIds] },
      { Name: 'tag-key', Values: [JOB_TAG] },
    ]);
    return new Map(
      found.flatMap(({ InstanceId, Tags }) =>
        // Checked again here, because the emulator's EC2 ignores the filter and returns every instance.
        jobOf(Tags).flatMap((job): [string, string][] =>
          InstanceId !== undefined && instanceIds.includes(InstanceId) ? [[InstanceId, job]] : [],
        ),
      ),
    );
  } catch (error) {
    return rethrow('find the jobs of the instances', error);
  }
}

export async function listLeftovers(client: EC2Client): Promise<readonly string[]> {
  const Filters = [{ Name: 'tag-key', Values: [JOB_TAG] }];
  const names = new Set<string>();
  try {
    const hosts = await describe(client, [...Filters, { Name: 'instance-state-name', Values: ALIVE }]);
    for (const { Tags } of hosts) for (const job of jobOf(Tags)) names.add(job);
    for await (const { LaunchTemplates = [] } of paginateDescribeLaunchTemplates({ client }, { Filters })) {
      for (const { Tags } of LaunchTemplates) for (const job of jobOf(Tags)) names.add(job);
    }
    const { PlacementGroups = [] } = await client.send(new DescribePlacementGroupsCommand({ Filters }));
    for (const { Tags } of PlacementGroups) for (const job of jobOf(Tags)) names.add(job);
  } catch (error) {
    return rethrow('list the leftovers of fleets', error);
  }
  return [...names].sort();
}

/** A placement group is in use until its last instance has ended. The next release then removes it. */
export async function releaseFleet(ec2: EC2Client, jobName: string): Promise<void> {
  await endHosts(ec2, jobName);
  await unlessGone(ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: jobName })));
  await unlessGone(ec2.send(new DeletePlacementGroupCommand({ GroupName: jobName })));
}

/** EC2's errors for a placement group that does not exist or is still used by ending instances. */
const NO_GROUP_OR_IN_USE: ReadonlySet<string> = new Set([
  'InvalidPlacementGroup.Unknown',
  'InvalidPlacementGroup.InUse',
]);

async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (awsErrorClass(error) === 'notFound') return;
    if (error instanceof Error && NO_GROUP_OR_IN_USE.has(error.name)) return;
    rethrow('remove a launch template or placement group', error);
  }
}
