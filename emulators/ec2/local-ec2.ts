/** Gives the emulator's EC2 machines: a process tree for each instance that Tidewheel's fleets launch, and its end. */
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EC2Client } from '@aws-sdk/client-ec2';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { S3Client } from '@aws-sdk/client-s3';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { makeAllPrivate } from '@tidewheel/kit/files.ts';
import {
  openTemporaryFolder,
  removeTemporaryFolder,
  type TemporaryFolder,
} from '@tidewheel/kit/temporary-folder.ts';
import type { AccessKey } from '../access/access-key.ts';
import { type LocalClock, wallClock } from '../clock/clock.ts';
import { restUntil } from '../clock/presence.ts';
import type { Sleepers } from '../clock/sleepers.ts';
import { cpusPerHost } from '../sagemaker/hosts/container.ts';
import type { CapacityLease, CapacityMarket } from '../spot-market/model/capacity-source.ts';
import {
  instanceEnded,
  interruptionWarning,
  type SpotInstance,
  sendInstanceEvents,
} from '../spot-market/model/instance-events.ts';
import { type BootPlan, readUserData } from './boot-plan.ts';
import { bootHost, type Ec2Host } from './host.ts';
import {
  aliveInstances,
  type EndReason,
  type LocalInstance,
  launchOf,
  terminateInstance,
} from './instances.ts';
import { Jobs } from './jobs.ts';

export interface LocalEc2Options {
  /** Disks of the hosts, and what they print: <instance>.log. */
  readonly stateDirectory: string;
  /** The emulator: EC2, S3, EventBridge. */
  readonly awsEndpointUrl: string;
  /** The key that the emulator answers; hosts sign with it too. */
  readonly credentials: AccessKey;
  readonly region: string;
  /** Twelve digits. */
  readonly accountId: string;
  readonly market: CapacityMarket;
  /** Each host gets an environment of its own over that of this interpreter. */
  readonly pythonPath: string;
  /** Keeps the environments of what jobs require. */
  readonly environmentsDirectory: string;
  /** Zone id of a subnet; undefined when there is no such subnet. */
  readonly subnetZone: (subnetId: string) => Promise<string | undefined>;
  /** From EC2's notice to the end of a machine, which the market keeps; EC2's are 120. */
  readonly graceSeconds?: number;
  readonly lookMilliseconds?: number;
  /** By which hosts boot, and their notices run. Default: the clock on the wall. */
  readonly clock?: LocalClock;
  /** With a virtual clock: lets downloads and the renewals of reports sleep on it. */
  readonly sleepers?: Sleepers;
  /** For every host, under everything else. */
  readonly hostEnvironment?: Readonly<Record<string, string>>;
  /** From the launch to the start of the host's program, by EC2's name of the type. Default 0. */
  readonly bootSeconds?: (instanceType: string) => number;
  /** Of a host's downloads, by EC2's name of the type. Default, and undefined: as fast as they are here. */
  readonly downloadBytesPerSecond?: (instanceType: string) => number | undefined;
  readonly log?: (line: string) => void;
}

const LOOK_MILLISECONDS = 1_000;
const GRACE_SECONDS = 120;

/** A machine of an earlier start is gone, whatever EC2 says: its instance is ended, and the run continues on another. */
export async function startLocalEc2(options: LocalEc2Options): Promise<LocalEc2> {
  const stateDirectory = resolve(options.stateDirectory);
  await removeTemporaryFolder(stateDirectory);
  await rm(stateDirectory, { recursive: true, force: true });
  await makeAllPrivate(stateDirectory);
  const temporary = await openTemporaryFolder(stateDirectory);
  const ec2 = new LocalEc2({ ...options, stateDirectory }, temporary);
  await ec2.start();
  return ec2;
}

/** What an instance is while it lives. */
interface Machine {
  readonly instance: LocalInstance;
  readonly plan: BootPlan;
  readonly place: SpotInstance;
  readonly lease: CapacityLease;
  /** Aborted when nothing of it may run any more. */
  readonly gone: AbortController;
  /** EC2's notice, once there is one. */
  endsAt?: Date;
  /** EC2 has reclaimed it. */
  isReclaimed?: boolean;
}

/** The market has no such capacity now. */
class NoCapacityError extends Error {
  override readonly name = 'NoCapacityError';
}

export class LocalEc2 {
  /** By instance id, the oldest first. */
  readonly hosts = new Map<string, Ec2Host>();
  readonly #machines = new Map<string, Machine>();
  readonly #options: LocalEc2Options;
  readonly #clock: LocalClock;
  readonly #temporary: TemporaryFolder;
  readonly #ec2: EC2Client;
  readonly #s3: S3Client;
  readonly #events: EventBridgeClient;
  readonly #closing = new AbortController();
  /** Every instance is booted once; values settle at its end. */
  readonly #lives = new Map<string, Promise<void>>();
  readonly #jobs: Jobs;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: LocalEc2Options, temporary: TemporaryFolder) {
    this.#options = options;
    this.#clock = options.clock ?? wallClock;
    this.#temporary = temporary;
    const common = {
      endpoint: options.awsEndpointUrl,
      region: options.region,
      credentials: options.credentials,
    };
    this.#ec2 = new EC2Client(common);
    this.#s3 = new S3Client({ ...common, forcePathStyle: true });
    this.#events = new EventBridgeClient(common);
    this.#jobs = new Jobs(this.#s3, this.#clock);
  }

  get #graceSeconds(): number {
    return this.#options.graceSeconds ?? GRACE_SECONDS;
  }

  async start(): Promise<void> {
    for (const instance of await aliveInstances(this.#ec2)) {
      this.#lives.set(instance.instanceId, this.#end(instance, 'none'));
    }
    this.#watching = this.#watch();
  }

  /** EC2 takes all hosts back, with the same notice as for an interruption. */
  async close(): Promise<void> {
    this.#closing.abort();
    // As at an interruption: every script reckons with this time to save.
    const graceMilliseconds = this.#graceSeconds * 1_000;
    const end = new Date(this.#clock.now() + graceMilliseconds);
    for (const host of this.hosts.values()) host.announceEnd(end);
    const timer = setTimeout(() => this.hosts.forEach((host) => host.kill()), graceMilliseconds);
    await this.#watching;
    await Promise.all(this.#lives.values());
    clearTimeout(timer);
    for (const client of [this.#ec2, this.#s3, this.#events]) client.destroy();
    await this.#temporary.close();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.look()
        .then(() => this.#jobs.look())
        .catch((error: unknown) => this.#log(`local EC2: ${messageOf(error)}`));
      const pause = this.#options.lookMilliseconds ?? LOOK_MILLISECONDS;
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Finds what EC2 has launched or ended since the last look. A virtual clock waits for it before it moves. */
  async look(): Promise<void> {
    const alive = await aliveInstances(this.#ec2);
    const ids = new Set(alive.map(({ instanceId }) => instanceId));
    for (const [instanceId, { gone }] of this.#machines) if (!ids.has(instanceId)) gone.abort();
    if (this.#closing.signal.aborted) return;
    for (const instance of alive) {
      if (this.#lives.has(instance.instanceId)) continue;
      const gang = alive.filter(({ jobName }) => jobName === instance.jobName).length;
      this.#jobs.presenceOf(instance).set(instance.instanceId, 'starts');
      this.#lives.set(instance.instanceId, this.#live(instance, gang));
    }
  }

  /** From the launch to the end of the instance; never rejects. */
  async #live(instance: LocalInstance, gang: number): Promise<void> {
    const { instanceId, jobName } = instance;
    let machine: Machine | undefined;
    let reason: EndReason;
    try {
      machine = await this.#allocate(instance);
      reason = await this.#run(machine, gang);
    } catch (error: unknown) {
      const problem = machine === undefined ? 'was not launched: ' : '';
      this.#log(`${instanceId} of ${jobName}: ${problem}${messageOf(error)}`);
      reason =
        error instanceof NoCapacityError ? 'Server.InsufficientInstanceCapacity' : 'Server.InternalError';
    }
    await this.#end(instance, reason, machine);
  }

  async #allocate(instance: LocalInstance): Promise<Machine> {
    const { instanceId, jobName: owner, instanceType } = instance;
    const { accountId, market, subnetZone } = this.#options;
    const launch = await launchOf(this.#ec2, instance);
    const plan = launch && readUserData(launch.userData);
    if (launch === undefined || plan === undefined)
      throw new Error('its launch template holds no user data of a Tidewheel host');
    const zone = await subnetZone(launch.subnetId);
    const zoneIds = zone === undefined ? undefined : [zone];
    const groups = [{ instanceType, count: 1 }];
    const lease = market.acquire({
      owner,
      groups,
      zoneIds,
      purchaseOption: launch.purchaseOption,
      instanceId,
    });
    if (lease === undefined)
      throw new NoCapacityError(`no ${launch.purchaseOption} capacity of ${instanceType} in ${zone}`);
    const place = { instanceId, zoneId: lease.zoneId, accountId };
    const machine: Machine = { instance, plan, place, lease, gone: new AbortController() };
    this.#machines.set(instanceId, machine);
    lease.onReclaim(({ graceSeconds, isReservationOver }) =>
      isReservationOver ? machine.gone.abort() : this.#reclaim(machine, graceSeconds),
    );
    return machine;
  }

  /** @returns why it ended, where no caller has ended it before */
  async #run(machine: Machine, gang: number): Promise<EndReason> {
    const { instance, plan, lease, gone } = machine;
    const { stateDirectory, pythonPath, environmentsDirectory, awsEndpointUrl, credentials, region } =
      this.#options;
    const firstPort = await this.#jobs.join(instance, lease, plan.jobUri);
    if (!(await this.#isBooted(machine))) return reasonOf(machine);
    const host = await bootHost({
      instance,
      plan,
      folder: join(stateDirectory, instance.instanceId),
      temporary: join(this.#temporary.path, instance.instanceId),
      graceSeconds: this.#graceSeconds,
      consoleFile: join(stateDirectory, `${instance.instanceId}.log`),
      pythonPath,
      environmentsDirectory: resolve(environmentsDirectory),
      awsEndpointUrl,
      credentials,
      region,
      s3: this.#s3,
      firstPort,
      bytesPerSecond: this.#options.downloadBytesPerSecond?.(instance.instanceType),
      clock: this.#clock,
      sleepers: this.#options.sleepers,
      hostEnvironment: this.#options.hostEnvironment ?? {},
      onDoing: (doing) => this.#jobs.presenceOf(instance).set(instance.instanceId, doing),
      cpus: cpusPerHost(availableParallelism(), gang),
    });
    this.#log(`${instance.instanceId} of ${instance.jobName} is up in ${lease.zoneId}`);
    this.hosts.set(instance.instanceId, host);
    this.#announceEnd(machine);
    const kill = (): void => host.kill();
    gone.signal.addEventListener('abort', kill);
    if (gone.signal.aborted || this.#closing.signal.aborted) kill();
    await host.exited;
    gone.signal.removeEventListener('abort', kill);
    await host.remove();
    return reasonOf(machine, host);
  }

  /** @returns false for an instance that was gone before its program could start */
  async #isBooted({ instance, gone }: Machine): Promise<boolean> {
    const seconds = this.#options.bootSeconds?.(instance.instanceType) ?? 0;
    if (seconds === 0) return true;
    const launchedMs =
      instance.launchedAt === undefined ? this.#clock.now() : Date.parse(instance.launchedAt);
    const cut = AbortSignal.any([gone.signal, this.#closing.signal]);
    const presence = this.#jobs.presenceOf(instance);
    await restUntil(launchedMs + seconds * 1_000, {
      clock: this.#clock,
      cut,
      rest: () => presence.set(instance.instanceId, 'boots'),
      work: () => presence.set(instance.instanceId, 'starts'),
    });
    return !cut.aborted;
  }

  /** EC2 warns once, and the time runs on while the machine boots. What a host still does then takes real time. */
  #reclaim(machine: Machine, graceSeconds: number): void {
    const { gone, place } = machine;
    const endMs = this.#clock.now() + graceSeconds * 1_000;
    const end = (): void => {
      machine.isReclaimed = true;
      gone.abort();
    };
    machine.endsAt = new Date(endMs);
    this.#clock.at(endMs, end);
    setTimeout(end, graceSeconds * 1_000).unref();
    this.#announceEnd(machine);
    sendInstanceEvents(this.#events, [interruptionWarning(place)]).catch((error: unknown) =>
      this.#log(`${place.instanceId}: its warning was not sent: ${messageOf(error)}`),
    );
  }

  #announceEnd({ instance, endsAt }: Machine): void {
    const host = this.hosts.get(instance.instanceId);
    if (host === undefined || endsAt === undefined) return;
    this.#jobs.presenceOf(instance).set(instance.instanceId, 'ends');
    host.announceEnd(endsAt);
  }

  /** Whether its program has ended, or a caller has ended the instance: both are gone, the capacity is free, EC2 says so. */
  async #end(instance: LocalInstance, reason: EndReason, machine?: Machine): Promise<void> {
    const { instanceId } = instance;
    const { accountId, region } = this.#options;
    this.hosts.delete(instanceId);
    this.#machines.delete(instanceId);
    this.#jobs.leave(instance);
    machine?.lease.release();
    try {
      await terminateInstance(this.#ec2, instanceId, reason);
      const place = machine?.place ?? { instanceId, zoneId: region, accountId };
      await sendInstanceEvents(this.#events, [instanceEnded(place)]);
    } catch (error: unknown) {
      this.#log(`${instanceId}: its end did not reach EC2: ${messageOf(error)}`);
    } finally {
      this.#jobs.forget(instance);
    }
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }
}

/** A machine that fails, or that a caller has ended, has none; EC2 keeps the caller's. */
function reasonOf({ isReclaimed = false }: Machine, host?: Ec2Host): EndReason {
  if (host !== undefined && !host.isKilled) return 'Client.InstanceInitiatedShutdown';
  return isReclaimed ? 'Server.SpotInstanceTermination' : 'none';
}
