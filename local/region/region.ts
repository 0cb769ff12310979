/** One machine as an AWS region: the emulator, a SageMaker and a Spot market beside it, and the stack deployed into it. */
import { join } from 'node:path';
import { type Emulator, startEmulator } from '../emulator/emulator.ts';
import { type LocalMarket, type MarketScript, startLocalMarket } from '../market/market.ts';
import { startLocalSageMaker } from '../sagemaker/server.ts';
import {
  ACCOUNT_ID,
  type Endpoints,
  environmentFor,
  type LocalClients,
  localClients,
  REGION,
  type Stack,
} from './aws.ts';
import { deploy } from './deploy.ts';
import { choosePorts } from './ports.ts';
import { subnetZone } from './subnets.ts';

export interface RegionOptions {
  readonly projectFolder: string;
  /** Everything that outlives a restart; .tidewheel/ for the project's own start. */
  readonly stateDirectory: string;
  readonly pythonPath: string;
  readonly market: MarketScript;
  /** Seconds that a host gets between SIGTERM and SIGKILL; SageMaker's are 120. */
  readonly graceSeconds?: number;
  readonly log: (line: string) => void;
  /** Told before each part starts. */
  readonly onStep?: (text: string) => void;
}

export interface Region {
  readonly endpoints: Endpoints;
  readonly clients: LocalClients;
  readonly stack: Stack;
  /** Resolves if the emulator ends by itself. */
  readonly emulatorExited: Promise<void>;
  /** Ends every process of the region and keeps its state; idempotent. */
  close(): Promise<void>;
}

export async function startRegion(options: RegionOptions): Promise<Region> {
  const ports = await choosePorts(options.stateDirectory);
  const endpoints: Endpoints = {
    aws: `http://127.0.0.1:${ports.aws}`,
    sageMaker: `http://127.0.0.1:${ports.sageMaker}`,
    ec2: `http://127.0.0.1:${ports.ec2}`,
  };
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    // Last started, first ended: hosts save their checkpoints before the bucket goes away.
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    options.onStep?.('emulator (S3, EventBridge, Step Functions, Lambda, DynamoDB, SQS, API Gateway)');
    const emulator = await startAws(options, endpoints, ports.aws);
    closers.push(() => emulator.stop());
    const clients = localClients(endpoints);
    options.onStep?.('Spot market and SageMaker');
    const market = await startLocalMarket({
      port: ports.ec2,
      awsEndpointUrl: endpoints.aws,
      script: options.market,
      graceSeconds: options.graceSeconds ?? 120,
      log: options.log,
    });
    closers.push(() => market.close());
    closers.push(await startSageMaker(options, { endpoints, clients, port: ports.sageMaker, market }));
    options.onStep?.('stack (osls deploy)');
    const { stack } = await deploy({ ...options, endpoints, clients });
    return { endpoints, clients, stack, emulatorExited: emulator.exited, close };
  } catch (error: unknown) {
    await close();
    throw error;
  }
}

async function startAws(options: RegionOptions, endpoints: Endpoints, port: number): Promise<Emulator> {
  const { AWS_ENDPOINT_URL_SAGEMAKER = '', AWS_ENDPOINT_URL_EC2 = '' } = environmentFor(endpoints);
  return startEmulator({
    pythonPath: options.pythonPath,
    stateDirectory: join(options.stateDirectory, 'aws'),
    port,
    nodePath: process.execPath,
    // The functions find the two servers through the SDK's own variables; no line of them knows.
    environment: { AWS_ENDPOINT_URL_SAGEMAKER, AWS_ENDPOINT_URL_EC2 },
    log: join(options.stateDirectory, 'logs', 'emulator.log'),
  });
}

async function startSageMaker(
  options: RegionOptions,
  at: {
    readonly endpoints: Endpoints;
    readonly clients: LocalClients;
    readonly port: number;
    readonly market: LocalMarket;
  },
): Promise<() => Promise<void>> {
  const server = await startLocalSageMaker({
    port: at.port,
    stateDirectory: join(options.stateDirectory, 'sagemaker'),
    awsEndpointUrl: at.endpoints.aws,
    region: REGION,
    accountId: ACCOUNT_ID,
    market: at.market.market,
    pythonPath: options.pythonPath,
    subnetZone: async (subnetId) => subnetZone(at.clients.ec2, subnetId),
    spotDiscount: at.market.spotDiscount,
    ...(options.graceSeconds !== undefined && { graceSeconds: options.graceSeconds }),
    log: options.log,
  });
  return () => server.close();
}
