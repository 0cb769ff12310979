/** The default VPC's subnets: with them a pipeline can be placed in a chosen zone, here as on AWS. */
import { DescribeSecurityGroupsCommand, DescribeSubnetsCommand, type EC2Client } from '@aws-sdk/client-ec2';

export interface DefaultVpc {
  readonly securityGroupIds: readonly string[];
  readonly subnets: readonly { readonly id: string; readonly zoneId: string }[];
}

export async function defaultVpc(ec2: EC2Client): Promise<DefaultVpc> {
  const { Subnets } = await ec2.send(
    new DescribeSubnetsCommand({ Filters: [{ Name: 'default-for-az', Values: ['true'] }] }),
  );
  const { SecurityGroups } = await ec2.send(
    new DescribeSecurityGroupsCommand({ Filters: [{ Name: 'group-name', Values: ['default'] }] }),
  );
  const subnets = (Subnets ?? []).flatMap(({ SubnetId, AvailabilityZoneId }) =>
    SubnetId && AvailabilityZoneId ? [{ id: SubnetId, zoneId: AvailabilityZoneId }] : [],
  );
  const securityGroupIds = (SecurityGroups ?? []).flatMap(({ GroupId }) => GroupId ?? []).slice(0, 1);
  return { securityGroupIds, subnets };
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
