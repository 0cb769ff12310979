/** The default VPC's subnets: with them a pipeline can be placed in a chosen zone, here as on AWS. */
import {
  AuthorizeSecurityGroupIngressCommand,
  CreateNatGatewayCommand,
  CreateRouteCommand,
  DescribeRouteTablesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  type EC2Client,
} from '@aws-sdk/client-ec2';

export interface DefaultVpc {
  readonly securityGroupIds: readonly string[];
  readonly subnets: readonly { readonly id: string; readonly zoneId: string }[];
}

const DEFAULT_GROUP = { Filters: [{ Name: 'group-name', Values: ['default'] }] };

export async function defaultVpc(ec2: EC2Client): Promise<DefaultVpc> {
  const { Subnets } = await ec2.send(
    new DescribeSubnetsCommand({ Filters: [{ Name: 'default-for-az', Values: ['true'] }] }),
  );
  const { SecurityGroups } = await ec2.send(new DescribeSecurityGroupsCommand(DEFAULT_GROUP));
  const subnets = (Subnets ?? []).flatMap(({ SubnetId, AvailabilityZoneId }) =>
    SubnetId && AvailabilityZoneId ? [{ id: SubnetId, zoneId: AvailabilityZoneId }] : [],
  );
  const securityGroupIds = (SecurityGroups ?? []).flatMap(({ GroupId }) => GroupId ?? []).slice(0, 1);
  return { securityGroupIds, subnets };
}

const EVERYWHERE = '0.0.0.0/0';

/**
 * Gives the default VPC the way out that hosts have here, which are processes of this machine, and its security group
 * the rule of AWS's default one: members reach each other. The emulator's have neither. Safe to repeat.
 */
export async function openDefaultVpc(ec2: EC2Client): Promise<void> {
  await openRoutes(ec2);
  const { SecurityGroups = [] } = await ec2.send(new DescribeSecurityGroupsCommand(DEFAULT_GROUP));
  for (const { GroupId, IpPermissions = [] } of SecurityGroups) {
    if (IpPermissions.length > 0) continue;
    const rule = { IpProtocol: '-1', UserIdGroupPairs: [{ GroupId }] };
    await ec2.send(new AuthorizeSecurityGroupIngressCommand({ GroupId, IpPermissions: [rule] }));
  }
}

async function openRoutes(ec2: EC2Client): Promise<void> {
  const { RouteTables = [] } = await ec2.send(new DescribeRouteTablesCommand({}));
  const [subnet] = (await defaultVpc(ec2)).subnets;
  for (const { RouteTableId, Routes = [], Associations = [] } of RouteTables) {
    const isMain = Associations.some(({ Main }) => Main === true);
    if (!isMain || Routes.some(({ DestinationCidrBlock }) => DestinationCidrBlock === EVERYWHERE)) continue;
    const { NatGateway } = await ec2.send(new CreateNatGatewayCommand({ SubnetId: subnet?.id }));
    const route = { RouteTableId, DestinationCidrBlock: EVERYWHERE, NatGatewayId: NatGateway?.NatGatewayId };
    await ec2.send(new CreateRouteCommand(route));
  }
}

/** Zone id of a subnet, or undefined when there is no such subnet. */
export async function subnetZone(ec2: EC2Client, subnetId: string): Promise<string | undefined> {
  try {
    const { Subnets } = await ec2.send(new DescribeSubnetsCommand({ SubnetIds: [subnetId] }));
    return Subnets?.[0]?.AvailabilityZoneId;
  } catch (error: unknown) {
    if (error instanceof Error && error.name === 'InvalidSubnetID.NotFound') return undefined;
    throw error;
  }
}
