/** TrainingView on the services of one region. */
import {
  DescribeImagesCommand as DescribeMachineImagesCommand,
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
import { DescribeImagesCommand, type ECRClient } from '@aws-sdk/client-ecr';
import {
  type ContextEntry,
  type EvaluationResult,
  GetRoleCommand,
  type IAMClient,
  SimulatePrincipalPolicyCommand,
} from '@aws-sdk/client-iam';
import { DescribeSecretCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import {
  paginateListAWSDefaultServiceQuotas,
  paginateListServiceQuotas,
  type ServiceQuota,
  type ServiceQuotasClient,
} from '@aws-sdk/client-service-quotas';
import { GetParameterCommand, type SSMClient } from '@aws-sdk/client-ssm';
import type {
  Endpoint,
  MachineImage,
  Network,
  Quota,
  QuotaService,
  RoleQuestion,
  Route,
  SecurityGroup,
  SimulatedDecision,
  Subnet,
  TrainingView,
} from '../../check/account-view.ts';
import { regionOfBucket } from '../s3/open-store.ts';
import { ecrIn, secretsManagerIn, serviceQuotasIn, ssmIn } from '../shared/account-clients.ts';
import { unlessMissing } from '../shared/aws-errors.ts';
import { ec2In, iam } from '../shared/compute-clients.ts';
import { look } from './look.ts';

export interface TrainingClients {
  readonly region: string;
  readonly ec2: EC2Client;
  readonly ecr: ECRClient;
  readonly iam: IAMClient;
  readonly secrets: SecretsManagerClient;
  readonly quotas: ServiceQuotasClient;
  readonly ssm: SSMClient;
  /** As the data path's `regionOfBucket`. */
  readonly regionOfBucket: (bucket: string) => Promise<string | undefined>;
}

export function trainingView(clients: TrainingClients): TrainingView {
  const { ec2, ecr, iam, secrets } = clients;
  const exists = (action: string, call: () => Promise<unknown>) =>
    look(action, async () => (await unlessMissing(call)) !== undefined);
  return {
    region: clients.region,
    quotas: (service) => look('servicequotas:ListServiceQuotas', () => readQuotas(clients.quotas, service)),
    hasSpotRole: () =>
      exists('iam:GetRole', () => iam.send(new GetRoleCommand({ RoleName: 'AWSServiceRoleForEC2Spot' }))),
    network: (names) => look(NETWORK_ACTIONS, () => readNetwork(ec2, clients.region, names)),
    machineImage: (reference) => look('ec2:DescribeImages', () => machineImage(clients, reference)),
    hasContainerImage: async (uri) => {
      const image = containerImageOf(uri);
      // SageMaker takes images from ECR only, unless the job names a registry inside a VPC.
      if (image === undefined) return { kind: 'seen', value: false };
      return exists('ecr:DescribeImages', () => ecr.send(new DescribeImagesCommand(image)));
    },
    hasSecret: (arn) =>
      exists('secretsmanager:DescribeSecret', () =>
        secrets.send(new DescribeSecretCommand({ SecretId: arn })),
      ),
    hasBucket: (name) =>
      exists('s3:ListBucket', async () => (await clients.regionOfBucket(name)) ?? clients.region),
    decisions: (question) =>
      look('iam:SimulatePrincipalPolicy', () => unlessMissing(() => decisions(iam, question))),
  };
}

async function decisions(
  iam: IAMClient,
  { roleArn, actions, resource, context = {} }: RoleQuestion,
): Promise<readonly SimulatedDecision[]> {
  // The simulator takes a key without an entry for absent, and a condition on it fails.
  const entries = Object.entries(context).map(
    ([ContextKeyName, value]): ContextEntry => ({
      ContextKeyName,
      ContextKeyValues: [value],
      ContextKeyType: 'string',
    }),
  );
  const { EvaluationResults = [] } = await iam.send(
    new SimulatePrincipalPolicyCommand({
      PolicySourceArn: roleArn,
      ActionNames: [...actions],
      ResourceArns: [resource],
      ...(entries.length > 0 && { ContextEntries: entries }),
    }),
  );
  return EvaluationResults.map(decisionOf);
}

const NETWORK_ACTIONS =
  'ec2:DescribeSubnets, DescribeRouteTables, DescribeVpcEndpoints and DescribeSecurityGroups';
const SSM_REFERENCE = 'resolve:ssm:';

async function machineImage(
  { ec2, ssm }: TrainingClients,
  reference: string,
): Promise<MachineImage | undefined> {
  const id = reference.startsWith(SSM_REFERENCE)
    ? await parameter(ssm, reference.slice(SSM_REFERENCE.length))
    : reference;
  if (id === undefined) return undefined;
  const described = await unlessMissing(() => ec2.send(new DescribeMachineImagesCommand({ ImageIds: [id] })));
  const image = described?.Images?.[0];
  if (image === undefined) return undefined;
  return {
    id,
    state: image.State ?? 'unknown',
    architecture: image.Architecture ?? 'unknown',
    rootDevice: image.RootDeviceName ?? 'unknown',
  };
}

const parameter = async (ssm: SSMClient, Name: string): Promise<string | undefined> =>
  (await unlessMissing(() => ssm.send(new GetParameterCommand({ Name }))))?.Parameter?.Value;

/** account.dkr.ecr.region.amazonaws.com/repository:tag, or @digest in place of the tag. */
function containerImageOf(uri: string) {
  const [, registryId, rest = ''] = /^(\d{12})\.dkr\.ecr\.[^/]+\/(.+)$/.exec(uri) ?? [];
  const [, repositoryName, digest, tag = 'latest'] = /^([^:@]+)(?:@(.+)|:(.+))?$/.exec(rest) ?? [];
  if (registryId === undefined || repositoryName === undefined) return undefined;
  const imageId = digest === undefined ? { imageTag: tag } : { imageDigest: digest };
  return { registryId, repositoryName, imageIds: [imageId] };
}

function decisionOf({
  EvalActionName: action = '',
  EvalDecision,
  OrganizationsDecisionDetail,
  PermissionsBoundaryDecisionDetail,
}: EvaluationResult): SimulatedDecision {
  if (EvalDecision === 'allowed') return { action, isAllowed: true };
  if (OrganizationsDecisionDetail?.AllowedByOrganizations === false)
    return { action, isAllowed: false, deniedBy: 'organization' };
  if (PermissionsBoundaryDecisionDetail?.AllowedByPermissionsBoundary === false)
    return { action, isAllowed: false, deniedBy: 'boundary' };
  return { action, isAllowed: false, deniedBy: 'policy' };
}

/** "If an applied quota value is not available for a quota, the quota is not retrieved": the defaults fill the gaps. */
async function readQuotas(client: ServiceQuotasClient, service: QuotaService): Promise<readonly Quota[]> {
  const of = { ServiceCode: service };
  const [defaults, applied] = await Promise.all([
    quotasOn(paginateListAWSDefaultServiceQuotas({ client, pageSize: 100 }, of)),
    quotasOn(paginateListServiceQuotas({ client, pageSize: 100 }, of)),
  ]);
  return [
    ...new Map([...defaults, ...applied].flatMap(quotaOf).map((quota) => [quota.code, quota])).values(),
  ];
}

async function quotasOn(
  pages: AsyncIterable<{ readonly Quotas?: ServiceQuota[] | undefined }>,
): Promise<readonly ServiceQuota[]> {
  const all: ServiceQuota[] = [];
  for await (const { Quotas = [] } of pages) all.push(...Quotas);
  return all;
}

const quotaOf = ({ QuotaName, QuotaCode, Value }: ServiceQuota): Quota[] =>
  QuotaName === undefined || QuotaCode === undefined || Value === undefined
    ? []
    : [{ name: QuotaName, code: QuotaCode, value: Value }];

export const trainingViewIn = (region: string): TrainingView =>
  trainingView({
    region,
    ec2: ec2In(region),
    ecr: ecrIn(region),
    iam: iam(),
    secrets: secretsManagerIn(region),
    quotas: serviceQuotasIn(region),
    ssm: ssmIn(region),
    regionOfBucket: (bucket) => regionOfBucket(bucket, region),
  });

// Reads subnets with their routes, the endpoints of their VPCs, and security groups.

interface Names {
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

/** Filters, because a request by id fails as a whole when one id does not exist. */
async function readNetwork(ec2: EC2Client, region: string, names: Names): Promise<Network> {
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
