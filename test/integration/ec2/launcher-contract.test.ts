/** The EC2 launcher keeps the launchers' contract on the emulator's EC2 and S3; the test speaks for the hosts. */

import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterAll, beforeAll } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { makeEc2Launcher, makeEc2Starter } from '../../../functions/launch/ec2/ec2-launcher.ts';
import { HOSTS_FOLDER, type HostReport } from '../../../functions/launch/job/job-document.ts';
import { jobSaltOf, parseJobName } from '../../../functions/launch/job/job-name.ts';
import { fleetInput } from '../../support/builders/fleet.ts';
import { HOST_PROFILE, knownRole } from '../../support/builders/launchers.ts';
import { type LauncherGround, launcherContract } from '../../support/contracts/launcher.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { makeObjectStore } from '../control-plane/ground.ts';

const BUCKET = 'tw-data';
const clock = fakeClock('2026-11-21T04:00:00.000Z');
let emulator: TestEmulator | undefined;
let store: ObjectStore | undefined;

beforeAll(async () => {
  emulator = await startTestEmulator();
  store = await makeObjectStore(emulator.url, BUCKET);
}, 60_000);

afterAll(async () => {
  await emulator?.stop();
}, 60_000);

async function instancesOf(ec2: EC2Client, jobName: string): Promise<string[]> {
  const { Reservations = [] } = await ec2.send(
    new DescribeInstancesCommand({ Filters: [{ Name: 'tag:tidewheel:job', Values: [jobName] }] }),
  );
  return Reservations.flatMap(({ Instances = [] }) =>
    Instances.flatMap(({ InstanceId }) => InstanceId ?? []),
  );
}

/** What every host writes at its end. */
async function reportAll(on: ObjectStore, jobName: string, ids: readonly string[]): Promise<void> {
  const job = parseJobName(jobName, jobSaltOf(BUCKET));
  if (job === undefined) throw new Error(`${jobName} is no job of this bucket`);
  const folder = bucketKeys.attempt('digits', job.runId, job.attempt) + HOSTS_FOLDER;
  const endedAt = clock.now();
  for (const instanceId of ids) {
    const report: HostReport = {
      instanceId,
      startedAt: new Date(endedAt.getTime() - 60_000).toISOString(),
      seenAt: endedAt.toISOString(),
      phase: 'script',
      endedAt: endedAt.toISOString(),
      exitCode: 0,
    };
    await on.writeText(`${folder}${instanceId}.json`, JSON.stringify(report));
  }
}

launcherContract(
  'EC2 on the emulator',
  { hosts: true, leftovers: true, capacityErrors: false },
  async (): Promise<LauncherGround> => {
    if (emulator === undefined || store === undefined) throw new Error('the emulator did not start');
    const bucket = store;
    const ec2 = new EC2Client(clientConfiguration(emulator.url));
    const fleets = makeFleetService({ ec2, store: bucket, clock });
    return {
      launcher: makeEc2Launcher(fleets),
      starter: makeEc2Starter(fleets, { role: knownRole(HOST_PROFILE) }),
      input: (attempt) => fleetInput({ instanceType: 'c5.xlarge', over: { attempt, bucket: BUCKET } }),
      write: async (objects) => {
        for (const { key, text } of objects) await bucket.writeText(key, text);
      },
      finish: async (jobName) => reportAll(bucket, jobName, await instancesOf(ec2, jobName)),
      pass: () => Promise.resolve(clock.advance(60)),
      instancesOf: (jobName) => instancesOf(ec2, jobName),
    };
  },
);
