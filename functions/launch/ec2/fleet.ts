/**
 * An attempt on EC2 is an instant fleet: the whole gang or nothing, of one type, in one zone, in a cluster placement
 * group, with EFA if the type has it. Pure: the same input gives the same requests, and names and tokens make them
 * idempotent.
 */

import { isDeepStrictEqual } from 'node:util';
import type { InstanceFacts } from '@tidewheel/catalog/catalog.ts';
import {
  bytesPerHost,
  type Disk,
  diskBytesPerSecond,
  diskOf,
  downloadOf,
  FASTER_DOWNLOAD,
  whyTooLate,
} from '@tidewheel/catalog/data-on-hosts.ts';
import { efaOf } from '@tidewheel/catalog/speeds.ts';
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import { asSelected, type Placement, requestedAs } from '@tidewheel/placement/records.ts';
import type { PreparedObject } from '../job/job-channels.ts';
import { downloadQuestion, HOSTS_FOLDER, JOB_DOCUMENT, jobDocument } from '../job/job-document.ts';
import { type JobInput, type JobParts, jobParts } from '../job/job-parts.ts';
import {
  type FleetRequest,
  fleetRequest,
  jobTags,
  type LaunchTemplateRequest,
  type NetworkInterfaceRequest,
  type PlacementGroupRequest,
  type Tag,
  tagged,
} from './fleet-request.ts';
import { encodeUserData, MAXIMUM_USER_DATA, type UserDataInput, userData } from './user-data.ts';

export interface FleetInput extends JobInput {
  /** The instance profile of the pipeline's hosts. */
  readonly hostProfileArn: string;
  /** The log group of CloudWatch Logs for the hosts' output. */
  readonly hostLogGroup?: string | undefined;
}

export interface FleetPlan {
  readonly kind: 'fleet';
  /** The job's name, also of the launch template, the placement group, the fleet's token and the tag tidewheel:job. */
  readonly name: string;
  /** Only for a gang of several hosts, outside reservations. */
  readonly placementGroup?: PlacementGroupRequest;
  readonly launchTemplate: LaunchTemplateRequest;
  readonly fleet: FleetRequest;
  /** To be written to the bucket first. */
  readonly objects: readonly PreparedObject[];
}

export type FleetResult = FleetPlan | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

/** Time for the host's start, the downloads, the last save and the upload of the model. */
const OVERHEAD_SECONDS = 1_800;

export function buildFleet(input: FleetInput): FleetResult {
  const { declaration, placement } = input;
  const {
    parts,
    objects,
    problems: ofParts,
  } = jobParts(input, {
    inputMode: 'File',
    whyNoFileSystems: 'hosts on EC2 mount no file systems: remove launcher: ec2, or name an S3 prefix',
  });
  const site = siteOf(input);
  const { instanceType } = placement.pool;
  const downloadBytes = bytesPerHost(downloadQuestion(input));
  const { volumeGigabytes } = declaration.compute;
  const disk = diskOf({ instanceType, downloadBytes, volumeGigabytes });
  const problems = [
    ...ofParts,
    ...site.problems,
    ...gangProblems(declaration.compute, placement),
    ...diskProblems(disk, {
      instanceType,
      bytes: downloadBytes,
      limitSeconds: declaration.limits.maximumRunSeconds,
    }),
  ];
  if (problems.length > 0 || site.kind === 'nowhere' || disk.kind === 'problem')
    return { kind: 'problems', problems };
  const name = parts.TrainingJobName;
  const tags = jobTags(name, parts.Tags);
  const script = scriptOf(input, { python: site.ec2.python, instanceStore: disk.instanceStore });
  if (Buffer.byteLength(script) > MAXIMUM_USER_DATA) {
    return {
      kind: 'problems',
      problems: [
        {
          path: 'training.source',
          message: `makes the user data longer than ${MAXIMUM_USER_DATA} bytes: use a shorter prefix`,
        },
      ],
    };
  }
  const template = launchTemplate({ input, site, disk, name, tags, script });
  return {
    kind: 'fleet',
    name,
    ...(isGrouped(placement) ? { placementGroup: placementGroup(name, tags) } : {}),
    launchTemplate: template,
    fleet: fleetRequest({
      name,
      tags: parts.Tags,
      instanceTypes: [instanceType, ...alternativesWith(template, input)],
      capacityType:
        placement.reserved?.kind === 'capacity-block' ? 'capacity-block' : requestedAs(placement.pool),
      hosts: placement.topology.nodes,
      round: 1,
    }),
    objects: [...objects, documentOf(input, parts)],
  };
}

/** Network interfaces and disk are the template's. */
const alternativesWith = (template: LaunchTemplateRequest, input: FleetInput): readonly string[] =>
  (input.placement.alternatives ?? []).flatMap(({ instanceType }) => {
    const plan = buildFleet({ ...input, placement: asSelected(input.placement, instanceType) });
    return plan.kind === 'fleet' && isDeepStrictEqual(plan.launchTemplate, template) ? [instanceType] : [];
  });

interface Site {
  readonly kind: 'somewhere';
  readonly subnetId: string;
  readonly securityGroupIds: readonly string[];
  readonly ec2: NonNullable<Pipeline['compute']['ec2']>;
  readonly problems: readonly Problem[];
}

/** On EC2 the subnet determines the zone, and there is no default. */
function siteOf(
  input: FleetInput,
): Site | { readonly kind: 'nowhere'; readonly problems: readonly Problem[] } {
  const { vpc, ec2 } = input.declaration.compute;
  const { pool, subnetId } = input.placement;
  const problems: Problem[] = [];
  if (ec2 === undefined)
    problems.push({ path: 'compute.ec2', message: 'the launcher ec2 needs it: name the image' });
  const subnet = vpc?.subnets.find(({ id, zoneId }) =>
    subnetId === undefined ? zoneId === pool.zoneId : id === subnetId,
  );
  if (vpc === undefined) {
    problems.push({
      path: 'compute.vpc',
      message: 'the launcher ec2 needs it: name subnets and securityGroupIds',
    });
  } else if (subnet === undefined) {
    const wanted = subnetId ?? pool.zoneId ?? 'a zone, but the placement names none';
    problems.push({ path: 'compute.vpc.subnets', message: `contain no subnet for ${wanted}: add one` });
  }
  if (ec2 === undefined || vpc === undefined || subnet === undefined) return { kind: 'nowhere', problems };
  const { securityGroupIds } = vpc;
  return { kind: 'somewhere', subnetId: subnet.id, securityGroupIds, ec2, problems };
}

/** Placement leaves out what the deadline forbids; the limit holds for every attempt. */
function diskProblems(
  disk: ReturnType<typeof diskOf>,
  { instanceType, bytes, limitSeconds }: DownloadLimit,
): readonly Problem[] {
  if (disk.kind === 'problem') return [disk.problem];
  const download = downloadOf(instanceType, bytes, diskBytesPerSecond(disk));
  const late = whyTooLate(download, { limitSeconds, limit: 'is the limit of an attempt' });
  if (late === undefined) return [];
  return [{ path: 'limits.maximumRunSeconds', message: `${late}: raise the limit, ${FASTER_DOWNLOAD}` }];
}

interface DownloadLimit {
  readonly instanceType: string;
  /** Of the shards that one host fetches. */
  readonly bytes: number;
  /** limits.maximumRunSeconds */
  readonly limitSeconds: number;
}

function gangProblems({ helpers }: Pipeline['compute'], { topology }: Placement): Problem[] {
  const problems: Problem[] = [];
  if (helpers !== undefined) {
    problems.push({
      path: 'compute.helpers',
      message:
        'need SageMaker, because a fleet has one instance type: remove compute.helpers or use launcher: sagemaker',
    });
  }
  if (!Number.isInteger(topology.nodes) || topology.nodes < 1) {
    problems.push({
      path: 'compute.nodes',
      message: `${topology.nodes} is not a number of hosts: use a whole number from 1`,
    });
  }
  return problems;
}

const attemptFolder = ({ declaration, runId, attempt }: FleetInput): string =>
  bucketKeys.attempt(declaration.name, runId, attempt);

function documentOf(input: FleetInput, parts: JobParts): PreparedObject {
  const document = jobDocument(input, parts, { canRefill: true, logGroup: input.hostLogGroup });
  return { key: attemptFolder(input) + JOB_DOCUMENT, text: JSON.stringify(document) };
}

function scriptOf(input: FleetInput, own: Pick<UserDataInput, 'python' | 'instanceStore'>): string {
  const folder = attemptFolder(input);
  return userData({
    region: input.region,
    agentUri: s3Uri(input.bucket, input.agentPrefix),
    jobUri: s3Uri(input.bucket, folder + JOB_DOCUMENT),
    hostsUri: s3Uri(input.bucket, folder + HOSTS_FOLDER),
    ...own,
    maximumSeconds: input.placement.maximumRunSeconds + OVERHEAD_SECONDS,
  });
}

/** A reservation that was made outside a placement group has no capacity in one. */
const isGrouped = ({ topology, reserved }: Placement): boolean =>
  topology.nodes > 1 && reserved === undefined;

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html: one made inside a group has capacity there alone. */
const groupOf = (placement: Placement, name: string): string | undefined =>
  isGrouped(placement) ? name : placement.reserved?.placementGroup;

/**
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-launch.html
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-fleet-launch-instances-capacity-blocks-walkthrough.html
 */
function reservationOf({
  pool: { reservation },
  reserved,
}: Placement): Pick<
  LaunchTemplateRequest['LaunchTemplateData'],
  'CapacityReservationSpecification' | 'InstanceMarketOptions'
> {
  if (reservation === undefined) return {};
  return {
    CapacityReservationSpecification: { CapacityReservationTarget: { CapacityReservationId: reservation } },
    ...(reserved?.kind === 'capacity-block' && { InstanceMarketOptions: { MarketType: 'capacity-block' } }),
  };
}

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-cluster */
const placementGroup = (name: string, tags: readonly Tag[]): PlacementGroupRequest => ({
  GroupName: name,
  Strategy: 'cluster',
  TagSpecifications: tagged(['placement-group'], tags),
});

interface TemplateInput {
  readonly input: FleetInput;
  readonly site: Site;
  readonly disk: Disk;
  readonly name: string;
  readonly tags: readonly Tag[];
  readonly script: string;
}

function launchTemplate({ input, site, disk, name, tags, script }: TemplateInput): LaunchTemplateRequest {
  const { placement } = input;
  const { nodes } = placement.topology;
  const { instanceType } = placement.pool;
  const group = groupOf(placement, name);
  return {
    // The name alone makes it idempotent: with a token of an earlier template that is gone, EC2 creates none.
    LaunchTemplateName: name,
    TagSpecifications: tagged(['launch-template'], tags),
    LaunchTemplateData: {
      ImageId: site.ec2.image,
      IamInstanceProfile: { Arn: input.hostProfileArn },
      UserData: encodeUserData(script),
      NetworkInterfaces: networkInterfaces({
        instanceType,
        facts: input.hardware?.(instanceType),
        nodes,
        subnetId: site.subnetId,
        securityGroupIds: site.securityGroupIds,
      }),
      BlockDeviceMappings: [
        {
          DeviceName: site.ec2.rootDevice,
          Ebs: {
            VolumeSize: disk.volumeGigabytes,
            VolumeType: 'gp3',
            Throughput: disk.throughput,
            Iops: disk.iops,
            Encrypted: true,
            DeleteOnTermination: true,
          },
        },
      ],
      // IMDSv2 with one hop: a request forged through the script cannot read the role's credentials.
      MetadataOptions: { HttpTokens: 'required', HttpEndpoint: 'enabled', HttpPutResponseHopLimit: 1 },
      InstanceInitiatedShutdownBehavior: 'terminate',
      ...(group === undefined ? {} : { Placement: { GroupName: group } }),
      ...reservationOf(placement),
    },
  };
}

interface InterfacesInput {
  readonly instanceType: string;
  readonly facts: InstanceFacts | undefined;
  readonly nodes: number;
  readonly subnetId: string;
  readonly securityGroupIds: readonly string[];
}

/**
 * A single host needs no EFA. In a gang, card 0 carries IP, and EFA if it can. Every other card carries EFA only, which
 * saves subnet addresses (a p5.48xlarge has 32 cards). The primary interface is device 0 of card 0, the others are
 * device 1.
 */
function networkInterfaces(input: InterfacesInput): NetworkInterfaceRequest[] {
  const { instanceType, facts, nodes, subnetId, securityGroupIds } = input;
  const common = { SubnetId: subnetId, Groups: [...securityGroupIds], DeleteOnTermination: true };
  const { interfaces, firstCard } = efaOf(instanceType, facts);
  const primary = { ...common, DeviceIndex: 0, NetworkCardIndex: 0 };
  if (nodes === 1 || interfaces === 0) return [{ ...primary, InterfaceType: 'interface' }];
  const withEfa = Array.from({ length: interfaces }, (_, index) => firstCard + index);
  return [
    { ...primary, InterfaceType: firstCard === 0 ? 'efa' : 'interface' },
    ...withEfa
      .filter((card) => card > 0)
      .map((card) => ({
        ...common,
        DeviceIndex: 1,
        NetworkCardIndex: card,
        InterfaceType: 'efa-only' as const,
      })),
  ];
}
