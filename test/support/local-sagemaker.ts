/** What the local SageMaker's tests stand on: an emulator, a bucket, a market without limits, and the server itself. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import {
  CreateTrainingJobCommand,
  type CreateTrainingJobRequest,
  DescribeTrainingJobCommand,
  type DescribeTrainingJobResponse,
  SageMakerClient,
} from '@aws-sdk/client-sagemaker';
import {
  type LocalSageMaker,
  type LocalSageMakerOptions,
  startLocalSageMaker,
} from '@tidewheel/emulators/sagemaker/server.ts';
import type {
  CapacityLease,
  CapacityMarket,
  CapacityRequest,
} from '@tidewheel/emulators/spot-market/model/capacity-source.ts';
import { clientConfiguration, projectPython, TEST_KEY } from './emulator.ts';

type ReclaimListener = (notice: { readonly graceSeconds: number }) => void;

/** A market that a test opens, closes and reclaims from by hand. */
export class HandMarket implements CapacityMarket {
  isOpen = true;
  /** Types without capacity while the market is open. */
  readonly without = new Set<string>();
  readonly requests: CapacityRequest[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #leases = new Set<{ reclaim: ReclaimListener | undefined }>();
  #synced: (() => void)[] = [];

  acquire(request: CapacityRequest): CapacityLease | undefined {
    this.requests.push(request);
    if (!this.isOpen || request.groups.some(({ instanceType }) => this.without.has(instanceType)))
      return undefined;
    const lease: { reclaim: ReclaimListener | undefined } = { reclaim: undefined };
    this.#leases.add(lease);
    return {
      zoneId: request.zoneIds?.[0] ?? 'use1-az1',
      onReclaim: (listener) => {
        lease.reclaim = listener;
      },
      checkpointSynced: () => {
        for (const resolve of this.#synced.splice(0)) resolve();
      },
      release: () => {
        this.#leases.delete(lease);
      },
    };
  }

  onCapacity(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get leasesHeld(): number {
    return this.#leases.size;
  }

  open(): void {
    this.isOpen = true;
    for (const listener of Array.from(this.#listeners)) listener();
  }

  reclaim(graceSeconds: number): void {
    for (const lease of this.#leases) {
      const { reclaim } = lease;
      lease.reclaim = undefined;
      reclaim?.({ graceSeconds });
    }
  }

  nextSync(): Promise<void> {
    return new Promise((resolve) => this.#synced.push(resolve));
  }
}

export interface Ground {
  readonly url: string;
  readonly bucket: string;
  readonly s3: S3Client;
  readonly logs: CloudWatchLogsClient;
  readonly sageMaker: SageMakerClient;
  readonly market: HandMarket;
  readonly server: LocalSageMaker;
  readonly stateDirectory: string;
  /** Lines that the server logged. */
  readonly lines: readonly string[];
  put(key: string, body: string | Buffer): Promise<void>;
  get(key: string): Promise<Buffer>;
  keys(prefix: string): Promise<readonly string[]>;
  create(request: Partial<CreateTrainingJobRequest> & { readonly script: string }): Promise<string>;
  describe(name: string): Promise<DescribeTrainingJobResponse>;
  until(
    name: string,
    isWanted: (job: DescribeTrainingJobResponse) => boolean,
  ): Promise<DescribeTrainingJobResponse>;
  ended(name: string): Promise<DescribeTrainingJobResponse>;
  close(): Promise<void>;
}

let counter = 0;

const PATIENCE_SECONDS = 60;

/** @param patienceSeconds how long `until` and `ended` wait before they give up */
export async function layGround(
  emulatorUrl: string,
  options: Partial<LocalSageMakerOptions> = {},
  patienceSeconds = PATIENCE_SECONDS,
): Promise<Ground> {
  const stateDirectory =
    options.stateDirectory ?? (await mkdtemp(path.join(os.tmpdir(), 'tidewheel-sagemaker-')));
  const market = new HandMarket();
  const lines: string[] = [];
  const server = await startLocalSageMaker({
    port: 0,
    credentials: TEST_KEY,
    stateDirectory,
    awsEndpointUrl: emulatorUrl,
    region: 'us-east-1',
    accountId: '000000000000',
    market,
    pythonPath: projectPython(),
    subnetZone: async (subnetId) =>
      subnetId.startsWith('subnet-') ? `use1-az${subnetId.slice(-1)}` : undefined,
    graceSeconds: 5,
    checkpointSyncSeconds: 0.1,
    log: (line) => lines.push(line),
    ...options,
  });
  const s3 = new S3Client({ ...clientConfiguration(emulatorUrl), forcePathStyle: true });
  const sageMaker = new SageMakerClient({ ...clientConfiguration(emulatorUrl), endpoint: server.url });
  counter += 1;
  const bucket = `ground-${process.pid}-${counter}-${Date.now()}`;
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  const put = async (key: string, body: string | Buffer): Promise<void> => {
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
  };
  const describe = (name: string): Promise<DescribeTrainingJobResponse> =>
    sageMaker.send(new DescribeTrainingJobCommand({ TrainingJobName: name }));
  const until = async (
    name: string,
    isWanted: (job: DescribeTrainingJobResponse) => boolean,
  ): Promise<DescribeTrainingJobResponse> => {
    const end = Date.now() + patienceSeconds * 1_000;
    for (;;) {
      const job = await describe(name);
      if (isWanted(job)) return job;
      if (Date.now() > end)
        throw new Error(`${name} is ${job.TrainingJobStatus}/${job.SecondaryStatus}\n${lines.join('\n')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  return {
    url: server.url,
    bucket,
    s3,
    logs: new CloudWatchLogsClient(clientConfiguration(emulatorUrl)),
    sageMaker,
    market,
    server,
    stateDirectory,
    lines,
    put,
    get: async (key) => {
      const answer = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      return Buffer.from((await answer.Body?.transformToByteArray()) ?? []);
    },
    keys: async (prefix) => {
      const page = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
      return (page.Contents ?? []).map(({ Key }) => Key ?? '');
    },
    create: async ({ script, ...request }) => {
      counter += 1;
      const name = request.TrainingJobName ?? `job-${counter}-${Date.now()}`;
      await put(`code/${name}/main.py`, script);
      await sageMaker.send(new CreateTrainingJobCommand(jobRequest(bucket, name, request)));
      return name;
    },
    describe,
    until,
    ended: (name) =>
      until(name, (job) => ['Completed', 'Failed', 'Stopped'].includes(job.TrainingJobStatus ?? '')),
    close: async () => {
      await server.close();
      s3.destroy();
      sageMaker.destroy();
      if (!options.stateDirectory) await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}

export function jobRequest(
  bucket: string,
  name: string,
  request: Partial<CreateTrainingJobRequest> = {},
): CreateTrainingJobRequest {
  const groupNames = request.ResourceConfig?.InstanceGroups?.map((group) => group.InstanceGroupName ?? '');
  const hasRouting = request.InputDataConfig?.some(
    (channel) => channel.DataSource?.S3DataSource?.InstanceGroupNames,
  );
  return {
    RoleArn: 'arn:aws:iam::000000000000:role/training',
    OutputDataConfig: { S3OutputPath: `s3://${bucket}/models` },
    ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 1, VolumeSizeInGB: 1 },
    StoppingCondition: { MaxRuntimeInSeconds: 600 },
    ...request,
    TrainingJobName: name,
    AlgorithmSpecification: {
      TrainingImage: '000000000000.dkr.ecr.us-east-1.amazonaws.com/image:1',
      TrainingInputMode: 'File',
      ContainerEntrypoint: ['python', '/opt/ml/input/data/code/main.py'],
      ...request.AlgorithmSpecification,
    },
    InputDataConfig: [
      ...(request.InputDataConfig ?? []),
      {
        ChannelName: 'code',
        DataSource: {
          S3DataSource: {
            S3DataType: 'S3Prefix',
            S3Uri: `s3://${bucket}/code/${name}/`,
            ...(hasRouting && groupNames ? { InstanceGroupNames: groupNames } : {}),
          },
        },
      },
    ],
  };
}

/** A channel of a prefix. */
export const channelOf = (
  ChannelName: string,
  S3Uri: string,
  more: Partial<
    NonNullable<
      NonNullable<
        NonNullable<CreateTrainingJobRequest['InputDataConfig']>[number]['DataSource']
      >['S3DataSource']
    >
  > = {},
): NonNullable<CreateTrainingJobRequest['InputDataConfig']>[number] => ({
  ChannelName,
  DataSource: { S3DataSource: { S3DataType: 'S3Prefix', S3Uri, ...more } },
});

/** A process that has ended, and whose parent has not read its exit, does not run. */
export function isRunning(pid: number): boolean {
  if (process.platform === 'linux') {
    const status = `/proc/${pid}/stat`;
    return existsSync(status) && !readFileSync(status, 'latin1').includes(') Z ');
  }
  const state = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
}
