/** Shell lines that put a folder on a host's instance store. */
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';

/**
 * One file system over all NVMe disks of the host. Safe to repeat. If it fails, the host uses its volume.
 * Deep Learning AMIs mount the disks themselves: https://docs.aws.amazon.com/dlami/latest/devguide/important-changes.html
 */
export function onInstanceStore(folder: string): string[] {
  const target = shellQuote(folder);
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
    `mount_instance_store || echo "tidewheel: ${folder} is on the volume, not on the instance store" >&2`,
  ];
}
