/** Hosts that run a small program in the agent's place, so that a test of the machines alone is short. */

import { DescribeInstancesCommand, type EC2Client } from '@aws-sdk/client-ec2';
import { AGENT_FILE } from '@tidewheel/contract/bucket-keys.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { expect } from 'vitest';
import { makeFleetService } from '../../../functions/aws/ec2/ec2-fleet-service.ts';
import { planOf } from '../../support/builders/fleet.ts';

/** In the agent's place: says where it is, and goes when EC2 announces the end; a stubborn one stays. */
const PROGRAM = `
import json, os, subprocess, sys, time, urllib.request
url = os.environ['TIDEWHEEL_METADATA_URL'] + '/latest/'
token = urllib.request.urlopen(urllib.request.Request(url + 'api/token', method='PUT')).read().decode()
def ask(path):
    request = urllib.request.Request(url + 'meta-data/' + path)
    request.add_header('X-aws-ec2-metadata-token', token)
    try:
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)
job = json.loads(subprocess.check_output(['aws', 's3', 'cp', os.environ['TIDEWHEEL_JOB_URI'], '-']))
kind = job['HyperParameters'].get('kind', '').strip('"')
print('up', ask('instance-id'), ask('local-ipv4'), ask('spot/instance-action'), sys.argv[1:], flush=True)
print('grace', os.environ['TIDEWHEEL_GRACE_SECONDS'], os.environ['TMPDIR'], flush=True)
if kind == 'fetches':
    began = time.monotonic()
    subprocess.check_call(['aws', 's3', 'cp', 's3://tw-data/shard', os.environ['TMPDIR'] + '/shard'])
    print('fetched in', time.monotonic() - began, flush=True)
if kind in ('short', 'fetches'):
    sys.exit(3)
# A child that has left its session must not outlive the machine.
subprocess.Popen(['sleep', '300'], start_new_session=True)
while kind == 'stubborn' or ask('spot/instance-action') == '404':
    time.sleep(0.1)
print('notice', ask('spot/instance-action'), ask('events/recommendations/rebalance'), flush=True)
`;

export interface StandIn {
  /** short: ends at once. fetches: downloads first. stubborn: heeds no notice. Any other heeds it. */
  readonly kind: string;
  readonly instanceType: string;
  /** Names the job: each launch has its own. */
  readonly attempt: number;
  readonly nodes?: number;
}

/** @param store over the bucket tw-data */
export async function launchStandIn(
  { ec2, store }: { readonly ec2: EC2Client; readonly store: ObjectStore },
  { kind, instanceType, attempt, nodes = 1 }: StandIn,
): Promise<{ readonly jobName: string; readonly instanceIds: readonly string[] }> {
  const plan = planOf({ instanceType, nodes, training: { hyperparameters: { kind } }, over: { attempt } });
  const script = Buffer.from(plan.launchTemplate.LaunchTemplateData.UserData, 'base64').toString();
  const [, agent] = /s3:\/\/tw-data\/(agent\/\S+\/)'/.exec(script) ?? [];
  expect(agent).toBeDefined();
  await store.writeText(`${agent}${AGENT_FILE}`, PROGRAM);
  await makeFleetService({ ec2, store, clock: { now: () => new Date() } }).launch(plan);
  const { Reservations = [] } = await ec2.send(
    new DescribeInstancesCommand({ Filters: [{ Name: 'tag:tidewheel:job', Values: [plan.name] }] }),
  );
  const instances = Reservations.flatMap(({ Instances = [] }) => Instances);
  return {
    jobName: plan.name,
    instanceIds: instances.flatMap(({ InstanceId = [] }) => InstanceId).toSorted(),
  };
}
