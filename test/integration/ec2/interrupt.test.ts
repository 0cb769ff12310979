/** `tidewheel interrupt` against hosts on EC2: the command, the control server, the market and the machines together. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { startControlServer } from '@tidewheel/emulators/region/control-server.ts';
import { makeInterruptions } from '@tidewheel/emulators/region/interruptions.ts';
import { type LocalMarket, startLocalMarket } from '@tidewheel/emulators/spot-market/spot-market.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientConfiguration, TEST_KEY } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';
import { type Machines, startMachines, until } from './ground.ts';
import { launchStandIn } from './stand-in.ts';

const run = promisify(execFile);
const COMMAND = path.join(import.meta.dirname, '../../../cli/tidewheel.mjs');
/** The stand-in heeds its notice at once, and no test waits for the end of the grace. */
const GRACE_SECONDS = 120;

const emulator = emulatorOfSuite();
let folder: string;
let market: LocalMarket;
let machines: Machines;
let ec2: EC2Client;
let closeControl: () => Promise<void>;
let attempt = 0;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-interrupt-'));
  await writeFile(path.join(folder, 'access-key.json'), JSON.stringify(TEST_KEY));
  ec2 = new EC2Client(clientConfiguration(emulator.url));
  market = await startLocalMarket({ credentials: TEST_KEY, graceSeconds: GRACE_SECONDS });
  machines = await startMachines(emulator.url, path.join(folder, 'ec2'), {
    market: market.market,
    graceSeconds: 1,
  });
  closeControl = await startControlServer({
    stateDirectory: folder,
    credentials: TEST_KEY,
    interruptions: makeInterruptions({ market, sageMaker: { running: () => [] }, ec2: machines.ec2 }),
    log: () => undefined,
  });
});

afterAll(async () => {
  await closeControl?.();
  await machines?.close();
  await market?.close();
  await rm(folder, { recursive: true, force: true });
});

/** @returns the job of two hosts that are up, and its instances in the order that the command counts */
async function launch(kind: string) {
  const s3 = new S3Client({ ...clientConfiguration(emulator.url), forcePathStyle: true });
  if (attempt === 0) await s3.send(new CreateBucketCommand({ Bucket: 'tw-data' }));
  attempt += 1;
  const store = objectStoreOf(s3, 'tw-data');
  const plan = { kind, instanceType: 'c5.xlarge', attempt, nodes: 2 };
  const { jobName, instanceIds } = await launchStandIn({ ec2, store }, plan);
  for (const id of instanceIds)
    await until(`${id} is up`, async () => (await machines.printedBy(id)).includes('grace '));
  return { jobName, instanceIds };
}

/** Exit code and all that it printed. */
async function interrupt(...words: string[]): Promise<[number, string]> {
  try {
    const { stdout } = await run(process.execPath, [COMMAND, 'interrupt', '--state', folder, ...words]);
    return [0, stdout];
  } catch (error: unknown) {
    const { code, stderr } = error as { code: number; stderr: string };
    return [code, stderr];
  }
}

async function endOf(instanceId: string): Promise<string> {
  const describe = async () => {
    const asked = new DescribeInstancesCommand({ InstanceIds: [instanceId] });
    const { Reservations } = await ec2.send(asked);
    return Reservations?.[0]?.Instances?.[0];
  };
  await until('it is terminated', async () => (await describe())?.State?.Name === 'terminated');
  return (await describe())?.StateReason?.Code ?? 'none';
}

it('warns no host twice, but kills it', async () => {
  const { jobName, instanceIds } = await launch('stubborn');
  const [first = '', second = ''] = instanceIds;
  await interrupt(jobName, '--host', '1');
  expect((await interrupt(jobName, '--host', '1'))[1]).toContain(`host 1 of ${jobName} is reclaimed already`);
  expect((await interrupt(jobName, '--kill', '--host', '1'))[0]).toBe(0);
  expect(await endOf(first)).toBe('none');
  expect(machines.ec2.hosts.has(second)).toBe(true);
  expect(await interrupt(jobName, '--kill')).toEqual([
    0,
    `${jobName}: all hosts failed, without a warning\n`,
  ]);
  expect(await endOf(second)).toBe('none');
  expect(await machines.printedBy(second)).not.toContain('notice ');
  expect((await interrupt())[1]).toBe('no run has machines now\n');
}, 300_000);

it('warns one host of two, then both', async () => {
  const { jobName, instanceIds } = await launch('heeds');
  const [first = '', second = ''] = instanceIds;
  expect((await interrupt())[1]).toBe(`digits-000001  ${jobName}  ec2  2 hosts  Spot\n`);
  expect((await interrupt(jobName, '--host', '3'))[1]).toContain(`${jobName} has 2 hosts`);
  expect(await interrupt('digits-000001', '--host', '2')).toEqual([
    0,
    `${jobName}: host 2 warned; the grace runs\n`,
  ]);
  expect(await endOf(second)).toBe('Client.InstanceInitiatedShutdown');
  expect(await machines.printedBy(second)).toContain('notice ');
  expect(await machines.printedBy(first)).not.toContain('notice ');
  expect(machines.ec2.hosts.has(first)).toBe(true);
  // One in its place may come to the zone where the other is.
  const groups = [{ instanceType: 'c5.xlarge', count: 1 }];
  const request = { owner: jobName, groups, purchaseOption: 'spot' } as const;
  const [zoneId = ''] = market.leases.held().map((lease) => lease.zoneId);
  const again = market.market.acquire({ ...request, zoneIds: [zoneId] });
  expect(again?.zoneId).toBe(zoneId);
  again?.release();
  expect((await interrupt(jobName))[0]).toBe(0);
  expect(await endOf(first)).toBe('Client.InstanceInitiatedShutdown');
  expect(market.market.acquire({ ...request, zoneIds: [zoneId] })).toBeUndefined();
}, 300_000);
