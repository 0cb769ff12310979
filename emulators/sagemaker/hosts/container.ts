/** The hosts of a job and what SageMaker's container contract puts before the program: files, arguments, environment. Pure. */

import { join } from 'node:path';
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import { type AccessKey, keyVariables } from '../../access/access-key.ts';
import { groupsOf } from '../model/job-record.ts';
import { OPT_ML } from './opt-ml.ts';

export interface Host {
  /** algo-1 and so on: the name in log streams and metrics, and of the host's folder. */
  readonly name: string;
  /** What other hosts reach it by, and its name in resourceconfig.json: no name would resolve on one machine. */
  readonly address: string;
  readonly groupName: string;
  readonly instanceType: string;
  /** Stands for `/`. */
  readonly root: string;
  /** Stands for `/opt/ml`. */
  readonly base: string;
  /** Stands for `/tmp`; outside `root`, whose path may be too long for sockets. */
  readonly temporary: string;
  /** The folder of its Python environment. */
  readonly python: string;
}

/** A job's range is 127.(64 + slot / 256).(slot % 256).x, hosts from .2 on. */
export const MAXIMUM_SLOTS = 64 * 256;
const FIRST_SECOND_OCTET = 64;
const FIRST_HOST_OCTET = 2;
export const MAXIMUM_HOSTS = 250;

/** All hosts in the order of the groups. slot: the number of the job's address range on this machine. */
export function planHosts(
  request: CreateTrainingJobRequest,
  folders: { readonly job: string; readonly temporary: string },
  slot: number,
): readonly Host[] {
  const range = `127.${FIRST_SECOND_OCTET + Math.floor(slot / 256)}.${slot % 256}`;
  return groupsOf(request)
    .flatMap((group) => Array.from({ length: group.count }, () => group))
    .map((group, index) => {
      const name = `algo-${index + 1}`;
      const root = join(folders.job, 'hosts', name);
      return {
        name,
        address: `${range}.${FIRST_HOST_OCTET + index}`,
        groupName: group.name,
        instanceType: group.instanceType,
        root,
        base: join(root, 'opt', 'ml'),
        python: join(root, 'python'),
        temporary: join(folders.temporary, `${slot}-${index + 1}`),
      };
    });
}

/** resourceconfig.json. Top-level hosts in lexicographic order, as SageMaker writes them (10 before 2). */
export function resourceConfig(hosts: readonly Host[], current: Host): Record<string, unknown> {
  const groupNames = [...new Set(hosts.map((host) => host.groupName))];
  return {
    current_host: current.address,
    current_instance_type: current.instanceType,
    current_group_name: current.groupName,
    hosts: hosts.map((host) => host.address).toSorted(),
    instance_groups: groupNames.map((groupName) => {
      const members = hosts.filter((host) => host.groupName === groupName);
      return {
        instance_group_name: groupName,
        instance_type: members[0]?.instanceType ?? '',
        hosts: members.map((host) => host.address),
      };
    }),
    network_interface_name: 'lo',
  };
}

/** inputdataconfig.json of one host: only its group's channels. */
export function inputDataConfig(request: CreateTrainingJobRequest, host: Host): Record<string, unknown> {
  const channels = hostChannelsOf(request, host);
  return Object.fromEntries(
    channels.map((channel) => [
      channel.ChannelName ?? '',
      {
        ...(channel.ContentType ? { ContentType: channel.ContentType } : {}),
        TrainingInputMode: channel.InputMode ?? request.AlgorithmSpecification?.TrainingInputMode ?? 'File',
        S3DistributionType: channel.DataSource?.S3DataSource?.S3DataDistributionType ?? 'FullyReplicated',
        RecordWrapperType: channel.RecordWrapperType ?? 'None',
      },
    ]),
  );
}

export function hostChannelsOf(
  request: CreateTrainingJobRequest,
  host: Pick<Host, 'groupName'>,
): NonNullable<CreateTrainingJobRequest['InputDataConfig']> {
  return (request.InputDataConfig ?? []).filter((channel) => {
    const names = channel.DataSource?.S3DataSource?.InstanceGroupNames ?? [];
    return names.length === 0 || names.includes(host.groupName);
  });
}

const DEFAULT_CHECKPOINT_PATH = '/opt/ml/checkpoints';

/** The host's checkpoint folder as the server sees it, or undefined when the job keeps none. */
export function checkpointDirectory(request: CreateTrainingJobRequest, host: Host): string | undefined {
  if (!request.CheckpointConfig) return undefined;
  // join() resolves what climbs up before it is put below the root: no LocalPath leaves the host's folder.
  const inside = join('/', request.CheckpointConfig.LocalPath ?? DEFAULT_CHECKPOINT_PATH);
  return join(host.root, inside);
}

/** What the host runs: no shell, each argument as it was sent. An image's `train` is the program when none is named. */
export function commandOf(request: CreateTrainingJobRequest): readonly string[] {
  const { ContainerEntrypoint: entry, ContainerArguments: given } = request.AlgorithmSpecification ?? {};
  return entry ? [...entry, ...(given ?? [])] : (given ?? ['train']);
}

export interface HostSurroundings {
  readonly jobArn: string;
  readonly region: string;
  readonly awsEndpointUrl: string;
  readonly credentials: AccessKey;
  readonly path: string;
  /** The first of the ports that are the job's own (addresses.ts). */
  readonly masterPort: number;
  /** Under everything else. */
  readonly given?: Readonly<Record<string, string>>;
  /** CPUs of the host: its share of this machine's, or its type's vCPUs where it has a clock of its own. */
  readonly cpusPerHost: number;
  /** Between SIGTERM and SIGKILL. */
  readonly graceSeconds: number;
}

/** Hosts of one job share this machine's CPUs evenly; each has one at least. */
export const cpusPerHost = (machineCpus: number, hosts: number): number =>
  Math.max(1, Math.floor(machineCpus / Math.max(1, hosts)));

/** What a script may use up of the time until SIGKILL: as the agent's 110 s of SageMaker's 120, the rest is the agent's. */
const scriptGraceSeconds = (graceSeconds: number): number =>
  Math.round(((graceSeconds * 110) / 120) * 10) / 10;

/** The whole environment of a host's program. Nothing of the server's own environment is in it. */
export function environmentOf(
  request: CreateTrainingJobRequest,
  host: Host,
  surroundings: HostSurroundings,
): Record<string, string> {
  return {
    ...surroundings.given,
    PATH: surroundings.path,
    HOME: join(host.root, 'root'),
    LANG: 'C.UTF-8',
    TMPDIR: host.temporary,
    AWS_REGION: surroundings.region,
    AWS_DEFAULT_REGION: surroundings.region,
    AWS_ENDPOINT_URL: surroundings.awsEndpointUrl,
    ...keyVariables(surroundings.credentials),
    AWS_EC2_METADATA_DISABLED: 'true',
    GLOO_SOCKET_IFNAME: 'lo',
    NCCL_SOCKET_IFNAME: 'lo',
    TIDEWHEEL_CPUS: String(surroundings.cpusPerHost),
    TIDEWHEEL_GRACE_SECONDS: String(scriptGraceSeconds(surroundings.graceSeconds)),
    ...request.Environment,
    TRAINING_JOB_NAME: request.TrainingJobName ?? '',
    TRAINING_JOB_ARN: surroundings.jobArn,
    SAGEMAKER_BASE_DIR: OPT_ML,
    TIDEWHEEL_MASTER_PORT: String(surroundings.masterPort),
  };
}
