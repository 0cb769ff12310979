/**
 * A campaign played through the local region: the real state machine and Lambdas in the emulator, the local SageMaker and
 * Spot market, and a training script that only counts, all on one virtual clock.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateSubnetCommand, DescribeSubnetsCommand } from '@aws-sdk/client-ec2';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { asWritten, isTrainingPlan, pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import type { VirtualClock } from '@tidewheel/emulators/clock/virtual-clock.ts';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { REGION } from '@tidewheel/emulators/region/clients.ts';
import { type Region, startRegion } from '@tidewheel/emulators/region/region.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { zoneOf } from '@tidewheel/emulators/spot-market/model/offers.ts';
import type { LocalReservation } from '@tidewheel/emulators/spot-market/model/reservations.ts';
import { stringify } from 'yaml';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { documentClient } from '../../functions/aws/shared/clients.ts';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';
import { endOf } from '../work-folder.ts';
import type { Campaign, CampaignZone } from './campaign-case.ts';

const projectFolder = join(import.meta.dirname, '../..');

export interface Played {
  readonly campaign: Campaign;
  readonly report: RunReport;
  /** When the clock was started, and the trace with it; milliseconds since 1970 of the region's clock. */
  readonly startedMs: number;
  /** From the drop to the report, as the region's clock and the one on the wall have it. */
  readonly campaignSeconds: number;
  readonly wallSeconds: number;
}

export interface CampaignOptions {
  readonly stateDirectory: string;
  readonly pythonPath: string;
  readonly log: (line: string) => void;
  /** Ends what is played: every process of the region ends, and the reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** Plays them side by side in one region; each has a pipeline, an instance family and zones of its own. */
export async function playCampaigns(
  campaigns: readonly Campaign[],
  options: CampaignOptions,
): Promise<readonly Played[]> {
  const region = await startRegion({
    ...options,
    projectFolder,
    market: {
      kind: 'trace',
      zones: Object.fromEntries(
        campaigns.flatMap((each) => each.zones.map((zone) => [zone.zoneId, traceOf(each, zone)])),
      ),
    },
    reservations: campaigns.flatMap(reservationsOf),
    isClockVirtual: true,
    steadyPrices: true,
    usesOtherPorts: true,
    graceSeconds: 30,
  });
  try {
    const { clock } = region;
    if (clock === undefined) throw new Error('the region goes by the clock on the wall');
    for (const campaign of campaigns) await prepare(region, campaign);
    const started = performance.now();
    // Dropped while the clock stands: the traces and the campaigns begin together.
    for (const { name } of campaigns)
      await put(region, `${bucketKeys.incoming(name)}sample.txt`, 'one sample\n');
    const startedMs = clock.now();
    clock.start();
    const api = apiClient(region);
    const played = Promise.all(
      campaigns.map(async (campaign) => {
        const report = await finished(api, clock, campaign);
        const campaignSeconds = (Date.parse(report.finishedAt) - Date.parse(report.startedAt)) / 1_000;
        const wallSeconds = (performance.now() - started) / 1_000;
        return { campaign, report, startedMs, campaignSeconds, wallSeconds };
      }),
    );
    return await Promise.race([played, endOfEmulator(region), endOf(options.signal)]);
  } finally {
    await region.close();
  }
}

async function endOfEmulator({ emulatorExited }: Region): Promise<never> {
  await emulatorExited;
  throw new Error('the emulator ended in the middle of a campaign');
}

/** After its last tick a trace begins again: what is past the end of this one has no capacity. */
function traceOf({ tickSeconds, deadlineHours }: Campaign, { available }: CampaignZone) {
  const ticks = Math.ceil((2 * deadlineHours * 3_600) / tickSeconds);
  const data = Array.from({ length: ticks }, (_, tick) => (available[tick] ? 1 : 0));
  return { metadata: { gap_seconds: tickSeconds }, data };
}

/** The region's clock begins a moment later, and stands until the drop. */
function reservationsOf({ reserved, instanceType, zones }: Campaign): readonly LocalReservation[] {
  if (reserved === undefined) return [];
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000);
  return [
    {
      id: reserved.id,
      kind: isTrainingPlan(reserved.id) ? 'training-plan' : 'capacity-block',
      instanceType,
      zoneId: zones[0]?.zoneId ?? '',
      instances: 1,
      startsAt: at(reserved.fromHours),
      endsAt: at(reserved.untilHours),
    },
  ];
}

/** Not more often: each save is waited for in real time, until the agent has reported it and it is in S3. */
const SAVE_SECONDS = 1_800;

const put = (region: Region, Key: string, Body: string | Buffer) =>
  region.clients.s3.send(new PutObjectCommand({ Bucket: region.stack.bucket, Key, Body }));

const launcherOf = ({ reserved }: Campaign) =>
  reserved === undefined || isTrainingPlan(reserved.id) ? 'sagemaker' : 'ec2';

/** The source, the declaration, and the record of a former run: a campaign knows how long the work is. */
async function prepare(region: Region, campaign: Campaign): Promise<void> {
  const { name, instanceType, zones, workSeconds, deadlineHours, startSeconds, reserved } = campaign;
  const { securityGroupIds } = await defaultVpc(region.clients.ec2);
  const subnets: { id: string; zoneId: string }[] = [];
  for (const { zoneId } of zones) subnets.push({ id: await subnetIn(region, zoneId), zoneId });
  const vpc = { securityGroupIds, subnets };
  const declaration = {
    name,
    settle: { quietSeconds: 1 },
    packing: { label: 'none' },
    training: {
      strategy: 'single',
      // Later images have no code for the V100 of p3.
      frameworkVersion: '2.8',
      hyperparameters: { steps: workSeconds, start_seconds: startSeconds, save_seconds: SAVE_SECONDS },
    },
    compute: {
      instanceTypes: [instanceType],
      nodes: 1,
      vpc,
      ...(reserved && { reserved: [reserved.id] }),
      ...(launcherOf(campaign) === 'ec2' && { launcher: 'ec2', ec2: { image: 'ami-0123456789abcdef0' } }),
    },
    limits: { deadlineHours, attempts: 50, maximumRunSeconds: 2 * deadlineHours * 3_600 },
  };
  await put(
    region,
    `${bucketKeys.source(name)}train.py`,
    await readFile(join(import.meta.dirname, 'train.py')),
  );
  await recordFormerRun(region, campaign, declaration);
  const api = apiClient(region);
  const { status, body } = await api.call('PUT', `/pipelines/${name}`, stringify(asWritten(declaration)));
  if (status !== 200)
    throw new Error(`the pipeline of campaign ${name} was refused: ${JSON.stringify(body)}`);
}

/** The emulator's default VPC has subnets in three zones only; another is made as on AWS. */
async function subnetIn({ clients: { ec2 } }: Region, zoneId: string): Promise<string> {
  const { Subnets = [] } = await ec2.send(
    new DescribeSubnetsCommand({ Filters: [{ Name: 'default-for-az', Values: ['true'] }] }),
  );
  const there = Subnets.find((subnet) => subnet.AvailabilityZoneId === zoneId)?.SubnetId;
  if (there !== undefined) return there;
  const { Subnet } = await ec2.send(
    new CreateSubnetCommand({
      VpcId: Subnets[0]?.VpcId,
      // By its name: the emulator takes no notice of AvailabilityZoneId.
      AvailabilityZone: zoneOf(zoneId)?.zoneName,
      CidrBlock: `172.31.${128 + 16 * (Number(zoneId.at(-1)) % 8)}.0/20`,
    }),
  );
  if (Subnet?.SubnetId === undefined || Subnet.AvailabilityZoneId !== zoneId)
    throw new Error(`a subnet was wanted in ${zoneId}, but made in ${Subnet?.AvailabilityZoneId}`);
  return Subnet.SubnetId;
}

async function recordFormerRun(region: Region, campaign: Campaign, declaration: object): Promise<void> {
  const { name, instanceType, zones, workSeconds } = campaign;
  const dynamo = new DynamoDBClient({
    endpoint: region.endpoints.aws,
    region: REGION,
    credentials: region.credentials,
  });
  const stores = dynamoStores(documentClient(dynamo), region.stack.table);
  const at = new Date((region.clock?.now() ?? Date.now()) - 86_400_000).toISOString();
  const runId = runIdOf(name, 1);
  const times = { createdAt: at, updatedAt: at };
  await stores.pipelines.ensure(name, { firstBatch: 2, at });
  await stores.runs.create({
    runId,
    pipeline: name,
    batch: 1,
    status: 'succeeded',
    trigger: 'api',
    execution: 1,
    declaration: pipelineSchema.parse(declaration),
    ...times,
  });
  await stores.attempts.create({
    runId,
    pipeline: name,
    attempt: 1,
    jobName: `${runId}-1`,
    launcher: launcherOf(campaign),
    status: 'done',
    placement: {
      pool: {
        instanceType,
        zoneId: zones[0]?.zoneId ?? '',
        launcher: launcherOf(campaign),
        purchaseOption: 'on-demand',
      },
      topology: { nodes: 1, acceleratorsPerNode: 1 },
      onDemandHourlyUsd: 1,
      maximumRunSeconds: 2 * workSeconds,
      reason: 'a former run',
      considered: [],
      decidedAt: at,
    },
    outcome: {
      kind: 'completed',
      message: '',
      startedAt: at,
      endedAt: at,
      trainingSeconds: workSeconds,
      billableSeconds: workSeconds,
      interruptions: 0,
    },
    ...times,
  });
  dynamo.destroy();
}

/** Of the region's clock: looking is work as well, and a look stops the clock. */
const LOOK_MILLISECONDS = 30 * 60_000;

/** The run's report, once there is one; an end of the deadline's length without one is a failure. */
async function finished(api: ApiClient, clock: VirtualClock, campaign: Campaign): Promise<RunReport> {
  const runId = runIdOf(campaign.name, 2);
  const giveUpMs = clock.now() + 2 * campaign.deadlineHours * 3_600_000;
  for (;;) {
    const release = await reached(clock, clock.now() + LOOK_MILLISECONDS);
    try {
      const { status, body } = await api.call('GET', `/runs/${runId}/report`);
      if (status === 200) return body as RunReport;
      if (clock.now() > giveUpMs) throw new Error(`${runId} has no report: ${JSON.stringify(body)}`);
    } finally {
      release();
    }
  }
}

/** Stops the clock at that moment; the function returned lets it go on. */
const reached = (clock: VirtualClock, momentMs: number): Promise<() => void> =>
  new Promise((resolve) => clock.at(momentMs, () => resolve(clock.hold('a look at the run'))));
