/** What disk a host gets for the shards that it fetches, and what its user data does with an instance store. */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import {
  type Disk,
  diskBytesPerSecond,
  diskOf,
  downloadOf,
  whyTooLate,
} from '@tidewheel/catalog/data-on-hosts.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildFleet } from '../../../../functions/launch/ec2/fleet.ts';
import { type Choice, fleetInput, planOf, scriptOf } from '../../../support/builders/fleet.ts';
import { generationAt } from '../../../support/builders/generations.ts';

const GIGABYTE = 1e9;
const disk = (instanceType: string, gigabytes: number) =>
  diskOf({ instanceType, downloadBytes: gigabytes * GIGABYTE, volumeGigabytes: 30 });

const shards = (gigabytes: number): NonNullable<Choice['over']> => {
  const generation = generationAt('digits/dataset/a/shards/', ['0.tar']);
  return {
    generations: [{ ...generation, totals: { shards: 1, bytes: gigabytes * GIGABYTE } }],
  };
};

describe('the disk of a host', () => {
  it('holds the image, the shards and the declared room', () => {
    expect(disk('c5.xlarge', 0)).toMatchObject({ volumeGigabytes: 130, throughput: 125, iops: 3_000 });
    expect(disk('c5.xlarge', 150)).toMatchObject({ volumeGigabytes: 297, instanceStore: false });
  });

  it('takes up the shards within five minutes', () => {
    expect(disk('c5.xlarge', 150)).toMatchObject({ throughput: 477, iops: 3_000 });
    expect(disk('c5.xlarge', 270)).toMatchObject({ throughput: 859, iops: 3_436 });
    expect(disk('c5.xlarge', 3_000)).toMatchObject({ throughput: 1_000, iops: 4_000 });
  });

  it('is the instance store where that holds the shards', () => {
    expect(instanceFacts('g5.xlarge')?.nvmeGb).toBe(250);
    expect(disk('g5.xlarge', 150)).toMatchObject({ instanceStore: true, throughput: 125 });
    expect(disk('g5.xlarge', 240)).toMatchObject({ instanceStore: false, throughput: 763 });
    expect(disk('c5.xlarge', 1)).toMatchObject({ instanceStore: false });
  });

  it('is refused when nothing holds the shards', () => {
    expect(disk('c5.xlarge', 15_000)).toMatchObject({
      kind: 'problem',
      problem: { message: expect.stringMatching(/16697 GB.*ShardedByS3Key.*NVMe$/) },
    });
    expect(disk('p5.48xlarge', 20_000)).toMatchObject({ kind: 'disk', instanceStore: true });
  });
});

describe('a fleet', () => {
  it('requests a volume for the shards of a host', () => {
    const choice = { instanceType: 'c5.xlarge', nodes: 2, over: shards(150) };
    const volume = (training: Choice['training']) =>
      planOf({ ...choice, ...(training && { training }) }).launchTemplate.LaunchTemplateData
        .BlockDeviceMappings[0]?.Ebs;
    expect(volume(undefined)).toMatchObject({ VolumeSize: 297, Throughput: 477, Iops: 3_000 });
    const divided = volume({ strategy: 'ddp', distribution: 'ShardedByS3Key' });
    expect(divided).toMatchObject({ VolumeSize: 214, Throughput: 239 });
  });

  it('mounts the instance store only where it has one', () => {
    expect(scriptOf(planOf({ instanceType: 'p4d.24xlarge' }))).toContain('mount_instance_store');
    expect(scriptOf(planOf({ instanceType: 'c5.xlarge' }))).not.toContain('mount_instance_store');
  });

  it('is not launched when its shards fit nowhere', () => {
    expect(buildFleet(fleetInput({ instanceType: 'c5.xlarge', over: shards(15_000) }))).toMatchObject({
      kind: 'problems',
      problems: [{ path: 'compute.volumeGigabytes' }],
    });
  });
});

describe('a download', () => {
  const HOUR = 3_600;
  const download = (gigabytes: number, instanceType = 'c5.xlarge') =>
    downloadOf(instanceType, gigabytes * GIGABYTE, diskBytesPerSecond(disk(instanceType, gigabytes) as Disk));
  const late = (gigabytes: number, instanceType = 'c5.xlarge', limitSeconds = HOUR) =>
    whyTooLate(download(gigabytes, instanceType), { limitSeconds, limit: 'is the limit' });

  it('may take the whole limit at full rates', () => {
    // 1,000 MiB/s of the volume, and 10 Gbit/s for an hour, then 1.25.
    expect(late(3_700)).toBeUndefined();
    expect(late(3_800)).toBe(
      '3800 GB of shards take a host at least 61 min to download, and 60 min is the limit, so the script would never start',
    );
    expect(late(4_900, 'c5.xlarge', 2 * HOUR)).toBeUndefined();
    expect(late(5_100, 'c5.xlarge', 2 * HOUR)).toContain('at least 2.1 h');
  });

  it('is expected at half the baseline of the network', () => {
    // 1.25 Gbit/s.
    expect(download(150).seconds).toBeCloseTo(1_920);
    expect(download(0).seconds).toBe(0);
  });

  it('skips the volume with an instance store', () => {
    expect(late(20_000, 'p5.48xlarge')).toBeUndefined();
  });

  it('of an unknown type may be fast', () => {
    expect(late(3_000, 'unknown.type')).toBeUndefined();
    expect(download(3_000, 'unknown.type').seconds).toBe(24_000);
  });

  it('that ends too late is not paid for', () => {
    const { declaration, ...input } = fleetInput({ instanceType: 'c5.xlarge', over: shards(4_000) });
    const within = (maximumRunSeconds: number) =>
      buildFleet({
        ...input,
        declaration: { ...declaration, limits: { ...declaration.limits, maximumRunSeconds } },
      });
    expect(within(24 * HOUR)).toMatchObject({ kind: 'fleet' });
    expect(within(HOUR)).toMatchObject({
      kind: 'problems',
      problems: [{ path: 'limits.maximumRunSeconds', message: expect.stringContaining('ShardedByS3Key') }],
    });
  });
});

describe('the instance store', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'instance-store-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  /** Runs the lines with commands that only note how they were called; `disks`: as lsblk prints them. */
  function run(disks: readonly string[], fakes: Readonly<Record<string, string>> = {}): string[] {
    const calls = join(root, 'calls');
    writeFileSync(calls, '');
    const programs: Record<string, string> = {
      lsblk: `cat <<'END'\n${disks.join('\n')}\nEND`,
      mountpoint: `[ "$2" = "${join(root, 'ml')}" ] && [ -e ${join(root, 'mounted')} ]`,
      systemctl: 'exit 5',
      mount: `touch ${join(root, 'mounted')}`,
      mdadm: '',
      'mkfs.ext4': '',
      ...fakes,
    };
    for (const [name, body] of Object.entries(programs)) {
      const note = ['lsblk', 'mountpoint', 'systemctl'].includes(name)
        ? ''
        : `echo ${name} "$@" >> ${calls}\n`;
      writeFileSync(join(root, name), `#!/bin/sh\n${note}${body}\n`);
      chmodSync(join(root, name), 0o755);
    }
    const script = scriptOf(planOf({ instanceType: 'p4d.24xlarge' }));
    const [mounts = ''] = /^mount_instance_store\(\) .*?^mount_instance_store [^\n]*$/ms.exec(script) ?? [];
    expect(mounts).not.toBe('');
    const lines = [
      'set -uo pipefail',
      mounts.replaceAll('/opt/ml', join(root, 'ml')),
      'echo the host goes on',
    ];
    const env = { PATH: `${root}:${process.env['PATH'] ?? ''}` };
    const input = lines.join('\n');
    expect(execFileSync('bash', { input, env, encoding: 'utf8', stdio: 'pipe' })).toBe('the host goes on\n');
    return readFileSync(calls, 'utf8').replaceAll(root, '').split('\n').filter(Boolean);
  }
  const ROOT = '/dev/nvme0n1 Amazon Elastic Block Store';
  const store = (number: number) => `/dev/nvme${number}n1 Amazon EC2 NVMe Instance Storage`;

  it('is one array over all its disks', () => {
    expect(run([ROOT, store(1), store(2)])).toEqual([
      'mdadm --create /dev/md/tidewheel --level=0 --force --run --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1',
      'mkfs.ext4 -q -F -E nodiscard /dev/md/tidewheel',
      'mount -o noatime /dev/md/tidewheel /ml',
    ]);
  });

  it('is formatted once', () => {
    expect(run([ROOT, store(1)])).toEqual([
      'mkfs.ext4 -q -F -E nodiscard /dev/nvme1n1',
      'mount -o noatime /dev/nvme1n1 /ml',
    ]);
    expect(run([ROOT, store(1)])).toEqual([]);
  });

  it('is shared with an image that mounts it itself', () => {
    const mountpoint = '[ "$2" = /opt/dlami/nvme ]';
    expect(run([ROOT, store(1)], { mountpoint, mkdir: '' })).toContain('mount --bind /opt/dlami/nvme/ml /ml');
  });

  it.each([
    ['without disks', [ROOT], {}],
    ['with a disk that cannot be formatted', [ROOT, store(1)], { 'mkfs.ext4': 'exit 1' }],
    ['with an array that cannot be made', [ROOT, store(1), store(2)], { mdadm: 'exit 1' }],
  ])('is left out %s', (_, disks, fakes) => {
    expect(run(disks, fakes).filter((call) => call.startsWith('mount'))).toEqual([]);
  });
});
