/** One machine as an AWS region: the emulator, a SageMaker, EC2's machines and a Spot market beside it, and the stack deployed into it. */

import { join, resolve } from 'node:path';
import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { makePrivate } from '@tidewheel/kit/files.ts';
import { ACCESS_KEY_FILE, type AccessKey, accessKeyIn } from '../access/access-key.ts';
import { type Emulator, startEmulator } from '../aws/ministack.ts';
import type { VirtualClock } from '../clock/virtual-clock.ts';
import { type LocalEc2, startLocalEc2 } from '../ec2/local-ec2.ts';
import type { LimitProfile } from '../limits/profiles.ts';
import { canShowOptMl, NOT_SHOWN } from '../sagemaker/hosts/opt-ml.ts';
import { INJECTED_FAULTS, type LocalSageMaker, startLocalSageMaker } from '../sagemaker/server.ts';
import { lockFolder } from '../shared/folder-lock.ts';
import type { LocalReservation } from '../spot-market/model/reservations.ts';
import { type LocalMarket, type MarketScript, startLocalMarket } from '../spot-market/spot-market.ts';
import { emulatorLimits, hostLimits, marketLimits, sageMakerLimits } from './account-limits.ts';
import { accountQuotas } from './account-quotas.ts';
import {
  ACCOUNT_ID,
  type DeployedStack,
  type Endpoints,
  type LocalClients,
  localClients,
  REGION,
} from './clients.ts';
import { startControlServer } from './control-server.ts';
import { deploy } from './deploy.ts';
import { type Interruptions, makeInterruptions } from './interruptions.ts';
import { choosePorts, type Ports } from './ports.ts';
import { type RegionClock, startRegionClock } from './region-clock.ts';
import { emulatorDirectory } from './startable.ts';
import { openDefaultVpc, subnetZone } from './subnets.ts';

/** What a run needs between the settle window and its training, in order. */
const FUNCTIONS_OF_A_RUN = ['plan-shards', 'pack-shards', 'seal-dataset', 'judge', 'place', 'launch'];

export interface RegionOptions {
  readonly projectFolder: string;
  /** Everything that outlives a restart; .tidewheel/ for the project's own start. */
  readonly stateDirectory: string;
  readonly pythonPath: string;
  readonly market: MarketScript;
  /** Seconds that a host gets between SIGTERM and SIGKILL; SageMaker's are 120. */
  readonly graceSeconds?: number;
  /**
   * The region goes by a virtual clock, which stands while anything is at work and jumps to what comes next when
   * nothing is. It stands until it is started. Default: the clock on the wall.
   */
  readonly isClockVirtual?: boolean;
  /** Limits of an account that the region plays. Default: none. */
  readonly limits?: LimitProfile;
  /** Leaves the usual ports to another region on this machine. */
  readonly usesOtherPorts?: boolean;
  /** Spot always costs what the catalog says. */
  readonly steadyPrices?: boolean;
  /** What its account has reserved. Default: nothing. */
  readonly reservations?: readonly LocalReservation[];
  /** A region that is still starting when it comes is closed again. */
  readonly signal?: AbortSignal | undefined;
  readonly log: (line: string) => void;
  /** Takes what a user should see: that a job waits for capacity. */
  readonly notice?: (line: string) => void;
  /** The market's script took a job's capacity, and no person. */
  readonly onReclaim?: ((job: string) => void) | undefined;
  /** Called before each part starts. */
  readonly onStep?: (text: string) => void;
}

export interface Region {
  readonly endpoints: Endpoints;
  /** Made at the first start, kept in the state folder: the only key that the region answers. */
  readonly credentials: AccessKey;
  readonly clients: LocalClients;
  readonly stack: DeployedStack;
  readonly interruptions: Interruptions;
  /** Only with `isClockVirtual`. */
  readonly clock: VirtualClock | undefined;
  /** Resolves if the emulator ends by itself. */
  readonly emulatorExited: Promise<void>;
  /** Ends every process of the region and keeps its state; idempotent. */
  close(): Promise<void>;
}

/**
 * @throws PortsError when a deployed state cannot have its ports
 * @throws Error when another region uses the state folder
 */
export async function startRegion(given: RegionOptions): Promise<Region> {
  const options = { ...given, stateDirectory: resolve(given.stateDirectory) };
  await makePrivate(options.stateDirectory);
  const isEnding = () => options.signal?.aborted === true;
  const unlock = await lockFolder(options.stateDirectory, 'region', { isEnding });
  try {
    return await startLocked(options, unlock);
  } catch (error: unknown) {
    unlock();
    throw error;
  }
}

function endpointsAt(ports: Ports): Endpoints {
  return {
    aws: `http://127.0.0.1:${ports.aws}`,
    sageMaker: `http://127.0.0.1:${ports.sageMaker}`,
    ec2: `http://127.0.0.1:${ports.ec2}`,
  };
}

async function startLocked(options: RegionOptions, unlock: () => void): Promise<Region> {
  const { ports, release } = await choosePorts({
    stateDirectory: options.stateDirectory,
    emulatorDirectory: emulatorDirectory(options),
    usual: !options.usesOtherPorts,
    onWait: () => options.onStep?.('once the emulator of a killed start has saved its state'),
    onMove: ({ aws }) =>
      options.onStep?.(`on port ${aws} and two others: the usual 4566 to 4568 are not all free`),
  });
  const endpoints = endpointsAt(ports);
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    // Last started, first ended: hosts save their checkpoints before the bucket goes away.
    for (const closer of closers.splice(0).reverse()) await closer();
    release();
    unlock();
  };
  const { signal } = options;
  try {
    signal?.throwIfAborted();
    const credentials = await accessKeyIn(join(options.stateDirectory, ACCESS_KEY_FILE));
    const time = await startRegionClock(options);
    closers.push(() => time.close());
    options.onStep?.('emulator (S3, EventBridge, Step Functions, Lambda, DynamoDB, SQS, API Gateway)');
    const emulator = await startAws(options, { endpoints, credentials, port: ports.aws, time });
    closers.push(() => emulator.stop());
    signal?.throwIfAborted();
    time.followEmulator(endpoints.aws);
    const clients = localClients(endpoints, credentials);
    options.onStep?.('Spot market, SageMaker and EC2');
    const market = await startMarket(options, { endpoints, credentials, port: ports.ec2, time });
    closers.push(() => market.close());
    const hostFaults = await faultsOfHosts(options);
    const beside = { endpoints, credentials, clients, market, time };
    const sageMaker = await startSageMaker(options, { ...beside, port: ports.sageMaker });
    closers.push(() => sageMaker.close());
    const ec2 = await startEc2(options, beside);
    closers.push(() => ec2.close());
    time.follow('EC2', () => ec2.look());
    const interruptions = makeInterruptions({ market, sageMaker, ec2 }, hostFaults);
    closers.push(await startControlServer({ ...options, credentials, interruptions }));
    closers.push(() => time.stop());
    options.onStep?.('stack (osls deploy, if the service has changed)');
    await openDefaultVpc(clients.ec2);
    const { stack } = await deploy({ ...options, endpoints, credentials, clients });
    signal?.throwIfAborted();
    return {
      endpoints,
      credentials,
      clients,
      stack,
      interruptions,
      clock: time.virtual,
      emulatorExited: emulator.exited,
      close,
    };
  } catch (error: unknown) {
    await close();
    throw error;
  }
}

/** Says where hosts have no /opt/ml of their own: none can have a full disk there. */
async function faultsOfHosts({ pythonPath, stateDirectory, notice }: RegionOptions) {
  if (await canShowOptMl(pythonPath, stateDirectory)) return INJECTED_FAULTS;
  notice?.(NOT_SHOWN);
  return INJECTED_FAULTS.filter((fault) => fault !== 'disk');
}

/** SageMaker's and EC2's hosts share what was installed once. */
const environmentsDirectory = ({ stateDirectory }: RegionOptions): string =>
  join(stateDirectory, 'environments');

const startMarket = (options: RegionOptions, at: Place): Promise<LocalMarket> =>
  startLocalMarket({
    port: at.port,
    awsEndpointUrl: at.endpoints.aws,
    credentials: at.credentials,
    script: options.market,
    graceSeconds: options.graceSeconds ?? 120,
    steadyPrices: options.steadyPrices ?? false,
    ...marketLimits(options.limits),
    reservations: options.reservations,
    clock: at.time.clock,
    log: options.log,
    ...(options.notice && { notice: options.notice }),
    onReclaim: options.onReclaim,
  });

async function startAws(options: RegionOptions, at: Place): Promise<Emulator> {
  return startEmulator({
    pythonPath: options.pythonPath,
    stateDirectory: emulatorDirectory(options),
    port: at.port,
    credentials: at.credentials,
    nodePath: process.execPath,
    // The functions find the two servers through the SDK's own variables; they know nothing of the region.
    // Native packages lie beside the bundles: on AWS in a layer, here where npm installed it.
    environment: {
      AWS_ENDPOINT_URL_SAGEMAKER: at.endpoints.sageMaker,
      AWS_ENDPOINT_URL_EC2: at.endpoints.ec2,
      NODE_PATH: join(options.projectFolder, 'node_modules'),
    },
    log: join(options.stateDirectory, 'logs', 'emulator.log'),
    initialised: FUNCTIONS_OF_A_RUN,
    ...emulatorLimits(options.limits),
    serviceQuotas: accountQuotas(options.limits ?? 'none', ACCOUNT_ID),
    ...at.time.emulator,
  });
}

/** Where a server stands. */
interface Place {
  readonly endpoints: Endpoints;
  readonly credentials: AccessKey;
  readonly port: number;
  readonly time: RegionClock;
}

/** What a server beside the emulator works with. */
interface Beside extends Omit<Place, 'port'> {
  readonly clients: LocalClients;
  readonly market: LocalMarket;
}

/** Options of the two servers that run hosts. */
const hostServer = (options: RegionOptions, at: Beside) => ({
  ...at.time.hosts,
  ...(options.graceSeconds !== undefined && { graceSeconds: options.graceSeconds }),
  awsEndpointUrl: at.endpoints.aws,
  credentials: at.credentials,
  region: REGION,
  accountId: ACCOUNT_ID,
  market: at.market.market,
  pythonPath: options.pythonPath,
  environmentsDirectory: environmentsDirectory(options),
  subnetZone: async (subnetId: string) => subnetZone(at.clients.ec2, subnetId),
  log: options.log,
});

async function startSageMaker(
  options: RegionOptions,
  at: Beside & { readonly port: number },
): Promise<LocalSageMaker> {
  return startLocalSageMaker({
    ...hostServer(options, at),
    ...sageMakerLimits(options.limits),
    ...(at.time.virtual === undefined && { hostVcpus: vcpusOfProbe }),
    port: at.port,
    stateDirectory: join(options.stateDirectory, 'sagemaker'),
    spotDiscount: at.market.spotDiscount,
    reservations: at.market.reservations,
  });
}

async function startEc2(options: RegionOptions, at: Beside): Promise<LocalEc2> {
  return startLocalEc2({
    ...hostServer(options, at),
    ...hostLimits(options.limits),
    stateDirectory: join(options.stateDirectory, 'ec2'),
  });
}

// A probe compares types, so its hosts have clocks of their own. All other jobs go by the region's clock.

/** Attempt and installation, behind the run in a job's name (functions/launch/job/job-name.ts). */
const BEHIND_RUN = /-a[1-9]\d*-[0-9a-f]{6}$/;

/** @returns undefined for a job that is no probe, and for an unknown type */
const vcpusOfProbe = (jobName: string, instanceType: string): number | undefined =>
  parseRunId(jobName.replace(BEHIND_RUN, ''))?.isProbe === true
    ? instanceFacts(instanceType.replace(/^ml\./, ''))?.vcpu
    : undefined;
