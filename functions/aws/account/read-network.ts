/** Reads subnets with their routes, the endpoints of their VPCs, and security groups. */
import {
  DescribeRouteTablesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  DescribeVpcEndpointsCommand,
  type EC2Client,
  type Route as Ec2Route,
  type SecurityGroup as Ec2SecurityGroup,
  type Subnet as Ec2Subnet,
  type IpPermission,
  type RouteTable,
  type VpcEndpoint,
} from '@aws-sdk/client-ec2';
import type { Endpoint, Network, Route, SecurityGroup, Subnet } from '../../check/account-view.ts';

interface Names {
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

/** Filters, because a request by id fails as a whole when one id does not exist. */
export async function readNetwork(ec2: EC2Client, region: string, names: Names): Promise<Network> {
  const filter = (name: string, values: readonly string[]) => ({
    Filters: [{ Name: name, Values: [...values] }],
  });
  const [{ Subnets = [] }, { SecurityGroups = [] }] = await Promise.all([
    ec2.send(new DescribeSubnetsCommand(filter('subnet-id', names.subnetIds))),
    ec2.send(new DescribeSecurityGroupsCommand(filter('group-id', names.securityGroupIds))),
  ]);
  const vpcIds = [...new Set(Subnets.flatMap(({ VpcId }) => VpcId ?? []))];
  if (vpcIds.length === 0)
    return { subnets: [], endpoints: [], securityGroups: SecurityGroups.map(securityGroupOf) };
  const [{ RouteTables = [] }, { VpcEndpoints = [] }] = await Promise.all([
    ec2.send(new DescribeRouteTablesCommand(filter('vpc-id', vpcIds))),
    ec2.send(new DescribeVpcEndpointsCommand(filter('vpc-id', vpcIds))),
  ]);
  return {
    subnets: Subnets.map((subnet) => subnetOf(subnet, region, RouteTables)),
    endpoints: VpcEndpoints.map(endpointOf),
    securityGroups: SecurityGroups.map(securityGroupOf),
  };
}

function subnetOf(subnet: Ec2Subnet, region: string, tables: readonly RouteTable[]): Subnet {
  const { SubnetId: id = '', VpcId: vpcId = '' } = subnet;
  const ofVpc = tables.filter((table) => table.VpcId === vpcId);
  const table =
    ofVpc.find(({ Associations = [] }) => Associations.some((each) => each.SubnetId === id)) ??
    ofVpc.find(({ Associations = [] }) => Associations.some((each) => each.Main === true));
  return {
    id,
    vpcId,
    region,
    zoneId: subnet.AvailabilityZoneId ?? '',
    freeAddresses: subnet.AvailableIpAddressCount ?? 0,
    assignsPublicAddress: subnet.MapPublicIpOnLaunch ?? false,
    routeTableId: table?.RouteTableId,
    routes: (table?.Routes ?? []).map(routeOf),
  };
}

function routeOf(route: Ec2Route): Route {
  return {
    destination: route.DestinationCidrBlock ?? route.DestinationPrefixListId ?? '',
    via: viaOf(route),
    isActive: route.State !== 'blackhole',
  };
}

function viaOf({ GatewayId = '', NatGatewayId }: Ec2Route): Route['via'] {
  if (NatGatewayId !== undefined) return 'natGateway';
  if (GatewayId.startsWith('igw-')) return 'internetGateway';
  if (GatewayId.startsWith('vpce-')) return 'endpoint';
  return GatewayId === 'local' ? 'local' : 'other';
}

const endpointOf = (endpoint: VpcEndpoint): Endpoint => ({
  vpcId: endpoint.VpcId ?? '',
  service: endpoint.ServiceName?.split('.').at(-1) ?? '',
  kind: endpoint.VpcEndpointType === 'Gateway' ? 'gateway' : 'interface',
  routeTableIds: endpoint.RouteTableIds ?? [],
  // EC2 answers `available`, its model has `Available`.
  isAvailable: endpoint.State?.toLowerCase() === 'available',
});

function securityGroupOf(group: Ec2SecurityGroup): SecurityGroup {
  const { GroupId: id = '', VpcId: vpcId = '', IpPermissions = [], IpPermissionsEgress = [] } = group;
  return {
    id,
    vpcId,
    allowsOwnInbound: IpPermissions.some((rule) => allowsMembers(rule, id)),
    allowsOwnOutbound: IpPermissionsEgress.some((rule) => allowsMembers(rule, id) || allowsAll(rule)),
  };
}

/** -1 is every protocol. */
const allowsMembers = ({ IpProtocol, UserIdGroupPairs = [] }: IpPermission, id: string): boolean =>
  IpProtocol === '-1' && UserIdGroupPairs.some(({ GroupId }) => GroupId === id);

const allowsAll = ({ IpProtocol, IpRanges = [] }: IpPermission): boolean =>
  IpProtocol === '-1' && IpRanges.some(({ CidrIp }) => CidrIp === '0.0.0.0/0');
