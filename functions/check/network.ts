/** The subnets and security groups that a pipeline declares: whether they exist, and whether hosts in them reach S3. */

import { efaOf, hasPublicAddress } from '@tidewheel/catalog/speeds.ts';
import { launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { gangsOf } from '@tidewheel/placement/estimate.ts';
import type { Endpoint, Network, Route, Subnet } from './account-view.ts';
import { type AwsAnswer, type Finding, fails, judged, limited, passed, someOf } from './finding.ts';
import { launcherChecks } from './launcher-checks.ts';

const CHECK = 'network';

export type Vpc = NonNullable<Pipeline['compute']['vpc']>;

/** @param vpc of the pipeline in the region of the look */
export function networkFindings(pipeline: Pipeline, vpc: Vpc, look: AwsAnswer<Network>): readonly Finding[] {
  return judged({ check: CHECK, field: `${pipeline.name}: compute.vpc` }, look, (network) => [
    ...vpc.subnets.flatMap((declared) => subnetFindings(pipeline, declared, network)),
    ...groupFindings(pipeline, vpc, network),
  ]);
}

function subnetFindings(
  pipeline: Pipeline,
  declared: Vpc['subnets'][number],
  network: Network,
): readonly Finding[] {
  const place = { check: CHECK, field: `${pipeline.name}: compute.vpc.subnets ${declared.id}` };
  const subnet = network.subnets.find(({ id }) => id === declared.id);
  if (subnet === undefined)
    return [
      fails(place, {
        value: 'missing',
        message: 'the account has no such subnet in this region',
        remedy: 'name a subnet of this region: aws ec2 describe-subnets',
      }),
    ];
  if (subnet.zoneId !== declared.zoneId)
    return [
      fails(place, {
        value: `zoneId ${declared.zoneId}`,
        message: `the subnet is in ${subnet.zoneId}: placement would weigh the wrong zone`,
        remedy: `write zoneId: ${subnet.zoneId}`,
      }),
    ];
  return [...addressFindings(pipeline, subnet), ...reachFindings(pipeline, subnet, network.endpoints)].map(
    (finding) => ({ ...finding, ...place }),
  );
}

function addressFindings({ compute }: Pipeline, { freeAddresses }: Subnet): readonly Finding[] {
  const nodes = Math.max(1, ...gangsOf(compute).map((gang) => gang.nodes));
  if (freeAddresses >= nodes) return [];
  return [
    limited(NO_PLACE, {
      value: `${freeAddresses} free addresses`,
      message: `a gang of ${nodes} hosts does not fit`,
      remedy: 'free addresses, or name a larger subnet of the zone',
    }),
  ];
}

/** The caller puts the subnet's own place on each finding. */
const NO_PLACE = { check: CHECK, field: '' };

function reachFindings(
  pipeline: Pipeline,
  subnet: Subnet,
  endpoints: readonly Endpoint[],
): readonly Finding[] {
  const launchers = launchersOf(pipeline.compute);
  const hasInternet = reachesInternet(subnet);
  const hasS3 = hasInternet || hasEndpoint(subnet, endpoints, 's3');
  const unreached = launchers.filter(
    (launcher) => !hasS3 && !(launcherChecks[launcher].givesPublicAddress && hasPublicRoute(subnet)),
  );
  if (unreached.length > 0) return [s3Unreached(pipeline, subnet, unreached.length < launchers.length)];
  const findings: Finding[] = [];
  if (!hasS3 && hasPublicRoute(subnet)) findings.push(...withoutPublicAddress(pipeline));
  if (
    !hasInternet &&
    !(launchers.every((each) => launcherChecks[each].givesPublicAddress) && hasPublicRoute(subnet))
  )
    findings.push(...indexFindings(pipeline, subnet, endpoints));
  return findings.length > 0 ? findings : [passed(NO_PLACE, `${subnet.zoneId}, reaches S3`)];
}

function s3Unreached({ compute }: Pipeline, subnet: Subnet, isServedElsewhere: boolean): Finding {
  const trouble = {
    value: subnet.routes.some(({ isActive }) => !isActive) ? 'a route without a target' : 'no route to S3',
    message:
      launchersOf(compute).some((each) => !launcherChecks[each].givesPublicAddress) && hasPublicRoute(subnet)
        ? 'SageMaker gives its instances no public address, so the internet gateway does not serve them'
        : 'hosts in this subnet read no data and write no report',
    remedy: `aws ec2 create-vpc-endpoint --vpc-id ${subnet.vpcId} --service-name com.amazonaws.${subnet.region}.s3 --route-table-ids ${subnet.routeTableId ?? 'ROUTE_TABLE'} (free), or add a NAT gateway`,
  };
  return isServedElsewhere ? limited(NO_PLACE, trouble) : fails(NO_PLACE, trouble);
}

/** Hosts that reach S3 only over an internet gateway, of types that EC2 gives no public address. */
function withoutPublicAddress({ compute }: Pipeline): readonly Finding[] {
  const types = gangsOf(compute).flatMap(({ nodes, instanceTypes }) =>
    instanceTypes.filter((type) => !hasPublicAddress(type, nodes)),
  );
  if (types.length === 0 || compute.ec2?.privateSubnets !== true) return [];
  return [
    fails(NO_PLACE, {
      value: 'tuning.compute.ec2.privateSubnets: true',
      message: `the subnet has only an internet gateway, and hosts of ${someOf(types)} have no public address`,
      remedy:
        'add a NAT gateway or a gateway endpoint for S3, or leave out tuning.compute.ec2.privateSubnets',
    }),
  ];
}

function indexFindings(
  { training }: Pipeline,
  subnet: Subnet,
  endpoints: readonly Endpoint[],
): readonly Finding[] {
  const { packageIndex } = training;
  if (packageIndex?.secret !== undefined && !hasEndpoint(subnet, endpoints, 'secretsmanager'))
    return [
      fails(NO_PLACE, {
        value: 'no route to Secrets Manager',
        message: 'hosts cannot read training.packageIndex.secret',
        remedy: `add an interface endpoint for com.amazonaws.${subnet.region}.secretsmanager to ${subnet.vpcId}, or a NAT gateway`,
      }),
    ];
  const lacking = ['codeartifact.api', 'codeartifact.repositories'].filter(
    (service) => packageIndex?.codeArtifact !== undefined && !hasEndpoint(subnet, endpoints, service),
  );
  if (lacking.length > 0)
    return [
      fails(NO_PLACE, {
        value: 'no route to CodeArtifact',
        message: 'hosts cannot install from training.packageIndex.codeArtifact',
        remedy: `add interface endpoints for ${lacking.map((each) => `com.amazonaws.${subnet.region}.${each}`).join(' and ')} to ${subnet.vpcId}, or a NAT gateway`,
      }),
    ];
  if (packageIndex !== undefined) return [];
  return [
    limited(NO_PLACE, {
      value: `${subnet.zoneId}, reaches S3, no internet`,
      message: 'a requirements.txt cannot be installed from PyPI',
      remedy:
        'add a NAT gateway, or name an index inside the VPC as training.packageIndex, if the source has one',
    }),
  ];
}

const isDefault = ({ destination, isActive }: Route): boolean => isActive && destination === '0.0.0.0/0';

const reachesInternet = ({ routes }: Subnet): boolean =>
  routes.some((route) => isDefault(route) && (route.via === 'natGateway' || route.via === 'other'));

/** Over an internet gateway, which serves hosts with a public address only. */
const hasPublicRoute = ({ routes, assignsPublicAddress }: Subnet): boolean =>
  assignsPublicAddress && routes.some((route) => isDefault(route) && route.via === 'internetGateway');

const hasEndpoint = (subnet: Subnet, endpoints: readonly Endpoint[], service: string): boolean =>
  endpoints.some(
    ({ vpcId, service: of, kind, routeTableIds, isAvailable }) =>
      isAvailable &&
      vpcId === subnet.vpcId &&
      of === service &&
      (kind === 'interface' || routeTableIds.some((id) => id === subnet.routeTableId)),
  );

function groupFindings({ name, compute }: Pipeline, vpc: Vpc, network: Network): readonly Finding[] {
  const vpcs = new Set(
    network.subnets.filter(({ id }) => vpc.subnets.some((each) => each.id === id)).map(({ vpcId }) => vpcId),
  );
  const found = network.securityGroups.filter(({ id }) => vpc.securityGroupIds.includes(id));
  const place = { check: CHECK, field: `${name}: compute.vpc.securityGroupIds` };
  const missing = vpc.securityGroupIds.filter((id) => !found.some((group) => group.id === id));
  if (missing.length > 0)
    return [
      fails(place, {
        value: missing.join(', '),
        message: 'the account has no such security group in this region',
        remedy: 'name security groups of the VPC: aws ec2 describe-security-groups',
      }),
    ];
  const foreign = found.filter(({ vpcId }) => vpcs.size > 0 && !vpcs.has(vpcId));
  if (foreign.length > 0)
    return [
      fails(place, {
        value: foreign.map(({ id, vpcId }) => `${id} of ${vpcId}`).join(', '),
        message: `the subnets are in ${[...vpcs].join(', ')}`,
        remedy: 'name security groups of the same VPC',
      }),
    ];
  const gangs = gangsOf(compute).filter(({ nodes }) => nodes > 1);
  if (gangs.length === 0 || found.some((group) => group.allowsOwnInbound && group.allowsOwnOutbound))
    return [passed(place, vpc.securityGroupIds.join(', '))];
  const withEfa = gangs.some(({ instanceTypes }) => instanceTypes.some((type) => efaOf(type).interfaces > 0));
  const [group = ''] = vpc.securityGroupIds;
  return [
    fails(place, {
      value: vpc.securityGroupIds.join(', '),
      message: `no group allows all traffic among its members in both directions: hosts of a gang cannot meet${withEfa ? ' (EFA needs the rule by group, not by address)' : ''}`,
      remedy: `aws ec2 authorize-security-group-ingress --group-id ${group} --protocol -1 --source-group ${group}; the same with authorize-security-group-egress`,
    }),
  ];
}
