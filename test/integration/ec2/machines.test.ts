/** The local EC2 alone: what an instance's machine gets, and every way in which the two end together. */

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DescribeInstancesCommand, EC2Client, TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { socketProblem } from '@tidewheel/kit/temporary-folder.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientConfiguration } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';
import { type Machines, startMachines, until } from './ground.ts';
import { launchStandIn } from './stand-in.ts';

/** Of a type that the other tests do not have. */
const SLOW = { instanceType: 'm5.xlarge', bootSeconds: 3 };
const FAR = { instanceType: 'c5.2xlarge', bytesPerSecond: 100_000 };

const emulator = emulatorOfSuite();
let folder: string;
let machines: Machines;
let ec2: EC2Client;
let store: ObjectStore;
let attempt = 0;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-machines-'));
  ec2 = new EC2Client(clientConfiguration(emulator.url));
  const s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: 'tw-data' }));
  store = objectStoreOf(s3, 'tw-data');
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'), {
    bootSeconds: (type) => (type === SLOW.instanceType ? SLOW.bootSeconds : 0),
    downloadBytesPerSecond: (type) => (type === FAR.instanceType ? FAR.bytesPerSecond : undefined),
  });
});

afterAll(async () => {
  await machines?.close();
  await rm(folder, { recursive: true, force: true });
});

/** @returns the instance of a host that runs the stand-in */
async function launch(kind: string, instanceType = 'c5.xlarge'): Promise<string> {
  attempt += 1;
  const { instanceIds } = await launchStandIn({ ec2, store }, { kind, instanceType, attempt });
  return instanceIds[0] ?? '';
}

async function describe(instanceId: string) {
  const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [instanceId] }));
  return Reservations[0]?.Instances?.[0];
}

const stateOf = async (instanceId: string) => (await describe(instanceId))?.State?.Name;
const reasonOf = async (instanceId: string) => (await describe(instanceId))?.StateReason;

const terminated = (instanceId: string) =>
  until(`${instanceId} is terminated`, async () => (await stateOf(instanceId)) === 'terminated');

it('ends an instance whose program has ended', async () => {
  const instanceId = await launch('short');
  await terminated(instanceId);
  expect(await machines.printedBy(instanceId)).toMatch(
    new RegExp(`^up ${instanceId} 127\\.128\\.\\d+\\.\\d+ 404 \\['--host'\\]\n`),
  );
  expect(await reasonOf(instanceId)).toEqual({
    Code: 'Client.InstanceInitiatedShutdown',
    Message: 'Client.InstanceInitiatedShutdown: Instance initiated shutdown',
  });
});

it('boots before its program, and not once terminated', async () => {
  const launched = Date.now();
  const instanceId = await launch('short', SLOW.instanceType);
  const goneId = await launch('short', SLOW.instanceType);
  await ec2.send(new TerminateInstancesCommand({ InstanceIds: [goneId] }));
  await terminated(instanceId);
  // EC2's time of the launch has whole seconds.
  expect(Date.now() - launched).toBeGreaterThan((SLOW.bootSeconds - 1) * 1_000);
  expect(await machines.printedBy(instanceId)).toContain(`up ${instanceId}`);
  expect(await machines.printedBy(goneId)).toBe('');
});

it('downloads at the rate of its type', async () => {
  await store.writeText('shard', 'x'.repeat(FAR.bytesPerSecond));
  const instanceId = await launch('fetches', FAR.instanceType);
  await terminated(instanceId);
  const [, seconds] = /^fetched in (\S+)$/m.exec(await machines.printedBy(instanceId)) ?? [];
  expect(Number(seconds)).toBeGreaterThanOrEqual(1);
});

it('gives a short temporary folder and tells the grace', async () => {
  const instanceId = await launch('short');
  await terminated(instanceId);
  const [, seconds, temporary = ''] = /^grace (\S+) (\S+)$/m.exec(await machines.printedBy(instanceId)) ?? [];
  expect([seconds, socketProblem(temporary), existsSync(temporary)]).toEqual(['75', undefined, false]);
});

it('ends the machine of an instance that was terminated', async () => {
  const instanceId = await launch('stubborn');
  const host = await machines.hostOf(instanceId);
  await ec2.send(new TerminateInstancesCommand({ InstanceIds: [instanceId] }));
  expect(await host.exited).toMatchObject({ signal: 'SIGKILL' });
  await until('its machine is gone', () => !machines.ec2.hosts.has(instanceId));
  expect(await reasonOf(instanceId)).toMatchObject({ Code: 'Client.UserInitiatedShutdown' });
});

it('gives EC2 no reason for a machine that fails', async () => {
  const instanceId = await launch('stubborn');
  (await machines.hostOf(instanceId)).kill();
  await terminated(instanceId);
  expect(await reasonOf(instanceId)).toBeUndefined();
});

it('ends an instance without capacity', async () => {
  machines.market.isOpen = false;
  const instanceId = await launch('short');
  await terminated(instanceId);
  machines.market.isOpen = true;
  expect(await reasonOf(instanceId)).toMatchObject({ Code: 'Server.InsufficientInstanceCapacity' });
});

it('warns before it reclaims capacity', async () => {
  const [heeds, stays] = [await launch('heeds'), await launch('stubborn')];
  const hosts = [await machines.hostOf(heeds), await machines.hostOf(stays)];
  await until('both are up', async () => (await machines.printedBy(stays)).startsWith('up '));
  machines.market.reclaim(1);
  const exits = await Promise.all(hosts.map((host) => host.exited));
  expect(exits.map(({ exitCode }) => exitCode)).toEqual([0, 137]);
  expect(await machines.printedBy(heeds)).toMatch(/notice {"action":"terminate","time":".*Z"} {"noticeTime"/);
  await Promise.all([heeds, stays].map(terminated));
  expect(await reasonOf(heeds)).toMatchObject({ Code: 'Client.InstanceInitiatedShutdown' });
  expect(await reasonOf(stays)).toEqual({
    Code: 'Server.SpotInstanceTermination',
    Message: 'Server.SpotInstanceTermination: Spot instance termination',
  });
  expect(machines.market.leasesHeld).toBe(0);
});

it('counts a notice from its moment while it boots', async () => {
  const { market } = machines;
  const requests = market.requests.length;
  const instanceId = await launch('heeds', SLOW.instanceType);
  await until('it has capacity', async () => market.requests.length > requests);
  const reclaimed = Date.now();
  const graceSeconds = 2 * SLOW.bootSeconds;
  market.reclaim(graceSeconds);
  await terminated(instanceId);
  const [, announced = ''] = /notice .*?"time":"([^"]+)"/.exec(await machines.printedBy(instanceId)) ?? [];
  expect(Date.parse(announced) - reclaimed).toBeLessThanOrEqual((graceSeconds + 1) * 1_000);
});

it('ends its instances and those of earlier starts', async () => {
  const instanceId = await launch('heeds');
  const host = await machines.hostOf(instanceId);
  const closed = Date.now();
  await machines.close();
  expect(await host.exited).toMatchObject({ exitCode: 0 });
  const [, announced = ''] = /notice .*?"time":"([^"]+)"/.exec(await machines.printedBy(instanceId)) ?? [];
  // EC2's 120 s, to the whole second.
  expect(Date.parse(announced) - closed).toBeGreaterThan(118_000);
  expect(await stateOf(instanceId)).toBe('terminated');
  const orphan = await launch('heeds');
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'));
  await terminated(orphan);
  expect(machines.ec2.hosts.size).toBe(0);
});
