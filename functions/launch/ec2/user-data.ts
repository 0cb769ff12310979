/**
 * The script of a host's first start. It schedules the host's shutdown, fetches the agent and starts the program that
 * makes the host look like a training container. All user input is in job.json. The values in the script are validated
 * and quoted.
 */
import { posix } from 'node:path';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import { AGENT_PATH } from '../job/job-parts.ts';

export interface UserDataInput {
  readonly region: string;
  /** s3://… of the folder that holds the agent, with a slash at the end. */
  readonly agentUri: string;
  /** s3://… of job.json. */
  readonly jobUri: string;
  /** s3://… of the folder for the hosts' reports, with a slash at the end. */
  readonly hostsUri: string;
  readonly python: string;
  /** The host always switches itself off after this time. */
  readonly maximumSeconds: number;
  /** Whether /opt/ml goes to the instance store. */
  readonly instanceStore: boolean;
}

/** EC2's limit on user data before base64. */
export const MAXIMUM_USER_DATA = 16_384;
const SECONDS_A_MINUTE = 60;

const set = (name: string, value: string): string => `export ${name}=${shellQuote(value)}`;

export function userData(input: UserDataInput): string {
  const minutes = Math.ceil(input.maximumSeconds / SECONDS_A_MINUTE);
  return [
    '#!/bin/bash',
    '# Tidewheel: one host of a training job. Shutting down terminates the instance.',
    'set -uo pipefail',
    `shutdown -h +${minutes} || { sleep ${minutes * SECONDS_A_MINUTE}; poweroff -f; } &`,
    "trap 'shutdown -h now || poweroff -f' EXIT",
    set('AWS_DEFAULT_REGION', input.region),
    set('TIDEWHEEL_JOB_URI', input.jobUri),
    set('TIDEWHEEL_HOSTS_URI', input.hostsUri),
    'export HOME=/root PYTHONDONTWRITEBYTECODE=1',
    ...(input.instanceStore ? onInstanceStore('/opt/ml') : []),
    // Credentials and network may need some seconds on a new host; a slow NAT gateway needs minutes.
    'for attempt in 1 2 3 4 5 6 7 8 9; do',
    `  aws s3 cp --only-show-errors --recursive ${shellQuote(input.agentUri)} ${shellQuote(`${posix.dirname(AGENT_PATH)}/`)} && break`,
    '  sleep $((attempt * 5))',
    'done',
    `${shellQuote(input.python)} ${shellQuote(AGENT_PATH)} --host`,
    '',
  ].join('\n');
}

export const encodeUserData = (script: string): string => Buffer.from(script, 'utf8').toString('base64');

/**
 * One file system over all NVMe disks of the host. Safe to repeat. If it fails, the host uses its volume.
 * Deep Learning AMIs mount the disks themselves: https://docs.aws.amazon.com/dlami/latest/devguide/important-changes.html
 */
function onInstanceStore(target: string): string[] {
  return [
    'mount_instance_store() {',
    `  mountpoint -q ${target} && return 0`,
    `  mkdir -p ${target}`,
    '  systemctl start dlami-nvme 2>/dev/null',
    '  if mountpoint -q /opt/dlami/nvme; then',
    `    mkdir -p /opt/dlami/nvme/ml && mount --bind /opt/dlami/nvme/ml ${target}`,
    '    return',
    '  fi',
    "  mapfile -t stores < <(lsblk -dpno NAME,MODEL | awk '/Instance Storage/ {print $1}')",
    '  local store="${stores[0]:-}"',
    '  if [ "${#stores[@]}" -gt 1 ]; then',
    '    store=/dev/md/tidewheel',
    '    [ -e "$store" ] || mdadm --create "$store" --level=0 --force --run \\',
    '      --raid-devices="${#stores[@]}" "${stores[@]}" || return',
    '  fi',
    '  [ -n "$store" ] || return',
    `  mkfs.ext4 -q -F -E nodiscard "$store" && mount -o noatime "$store" ${target}`,
    '}',
    `mount_instance_store || echo "tidewheel: ${target} is on the volume, not on the instance store" >&2`,
  ];
}
