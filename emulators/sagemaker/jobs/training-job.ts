/** The life of one training job, from waiting for capacity to its end, through interruptions. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { Presence, restUntil } from '../../clock/presence.ts';
import type { CapacityLease } from '../../spot-market/model/capacity-source.ts';
import type { AddressBook } from '../hosts/addresses.ts';
import { type ArtifactKind, uploadArtifacts } from '../hosts/artifacts.ts';
import type { Host } from '../hosts/container.ts';
import { failureOf, type Gang, type GangOutcome } from '../hosts/gang.ts';
import { channelDirectory, channelHosts, modeOf } from '../hosts/host-channels.ts';
import type { InjectedFault } from '../hosts/host-process.ts';
import { makeStayingGang, type Reclaim, reclaimOf, type StayServices } from '../hosts/lease.ts';
import { EndingSwitch, STOPPED_AS } from '../model/endings.ts';
import {
  ec2Name,
  groupsOf,
  type JobRecord,
  purchaseOptionOf,
  secondsUntil,
  withPhaseEnded,
  withPhaseStarted,
} from '../model/job-record.ts';
import { JobFailure, TRY_AGAIN } from '../model/refusals.ts';
import {
  billingRate,
  capacityRequests,
  NO_CAPACITY,
  pendsWhenStarved,
  STARVED,
  waitForCapacity,
} from './capacity.ts';
import { JobState, type StateServices } from './job-state.ts';

export interface JobServices extends StateServices, StayServices {
  readonly addresses: AddressBook;
}

/** How long (in job seconds) an On-Demand job without accelerators is retried here before it fails; AWS tells no figure. */
const ON_DEMAND_PATIENCE_SECONDS = 900;
const DAY_SECONDS = 86_400;

export class LocalTrainingJob {
  readonly #services: JobServices;
  readonly #zoneIds: readonly string[] | undefined;
  readonly #state: JobState;
  readonly #endings: EndingSwitch;
  /** A virtual clock goes on while the job waits for capacity, and while its hosts' programs sleep. */
  readonly #presence: Presence;
  #done: Promise<void> = Promise.resolve();
  /** While it is on capacity. */
  #gang: Gang | undefined;

  /** zoneIds: those of the job's subnets; undefined when it names none. */
  constructor(record: JobRecord, zoneIds: readonly string[] | undefined, services: JobServices) {
    this.#zoneIds = zoneIds;
    this.#services = services;
    this.#state = new JobState(record, services);
    const { clock } = services.settings;
    this.#presence = new Presence(clock, record.name);
    this.#endings = new EndingSwitch(clock, async (ending) => {
      this.#presence.work();
      if (ending !== 'noCapacity') await this.#showStopping();
    });
  }

  get record(): JobRecord {
    return this.#state.record;
  }

  start(): void {
    this.#presence.work();
    this.#done = this.#run().finally(() => this.#presence.rest());
  }

  /** StopTrainingJob of a job that has not ended; asking twice is asking once. */
  async stop(): Promise<void> {
    if (this.#endings.ending !== undefined) return;
    this.#presence.work();
    await this.#showStopping();
    this.#endings.end('stopped');
  }

  /** Undefined while the job has no capacity. */
  get hostCount(): number | undefined {
    return this.#gang?.hosts.length;
  }

  /** Machines fail without a warning: one, counted from 1, or all. */
  failHosts(host?: number): void {
    this.#gang?.fail(host);
  }

  /** @param host counted from 1. @returns false when the job has no such host now */
  injectFault(host: number, fault: InjectedFault): boolean {
    return this.#gang?.inject(host, fault) ?? false;
  }

  /** The server goes: hosts are stopped and checkpoints saved, the record stays as one that was running. */
  async close(): Promise<void> {
    this.#endings.end('serverCloses');
    await this.#done;
  }

  #showStopping(): Promise<void> {
    return this.#state.change('Stopping', 'Stopping', 'Stopping the training job');
  }

  async #run(): Promise<void> {
    const { request } = this.record;
    try {
      await this.#state.change('InProgress', 'Starting', 'Starting the training job.');
      // MaxWait counts waiting and running together.
      if (purchaseOptionOf(request) === 'spot')
        this.#endings.limit('maxWait', request.StoppingCondition?.MaxWaitTimeInSeconds);
      for (let again = await this.#stay(); again !== undefined; again = await this.#stay()) {
        await this.#state.change('InProgress', 'Starting', again);
      }
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#endings.cancelLimits();
      await this.#services.store.removeHosts(this.record.name);
    }
  }

  /** One stay on capacity. @returns the message of the next launch, if another stay is due */
  async #stay(): Promise<string | undefined> {
    const lease = await this.#acquire();
    if (!lease) {
      await this.#finishEarly(undefined);
      return undefined;
    }
    const { addresses, settings } = this.#services;
    const reclaim = reclaimOf(lease, settings.graceSeconds);
    let slot: number | undefined;
    let port: number | undefined;
    try {
      const prepared = await this.#prepareInstances(reclaim.signal);
      if (prepared === 'reclaimed') return REPLACING;
      if (prepared === 'ended') await this.#finishEarly(undefined);
      if (prepared !== 'ready') return undefined;
      slot = addresses.takeSlot();
      port = await addresses.takePorts();
      return (await this.#useCapacity(lease, reclaim, { slot, masterPort: port })) ? LAUNCHING : undefined;
    } finally {
      addresses.release(slot, port);
      lease.release();
    }
  }

  async #acquire(): Promise<CapacityLease | undefined> {
    const { request, name } = this.record;
    const pends = pendsWhenStarved(request);
    const cancels: (() => void)[] = [];
    const onStarved = (): (() => void) => {
      let isWaiting = true;
      const changed = this.#state.change('InProgress', pends ? 'Pending' : 'Starting', STARVED);
      void changed.then(() => isWaiting && this.#presence.rest());
      if (pends)
        cancels.push(this.#endings.limit('maxPending', request.StoppingCondition?.MaxPendingTimeInSeconds));
      else if (purchaseOptionOf(request) === 'on-demand') {
        cancels.push(this.#endings.limit('noCapacity', ON_DEMAND_PATIENCE_SECONDS));
      }
      return () => {
        isWaiting = false;
        this.#presence.work();
      };
    };
    const wanted = capacityRequests(name, request, this.#zoneIds);
    const acquired = await waitForCapacity(
      this.#services.settings.market,
      wanted,
      this.#endings.signal,
      onStarved,
    );
    for (const cancel of cancels) cancel();
    if (acquired) this.#state.update((record) => ({ ...record, request: acquired.request }));
    return acquired?.lease;
  }

  /** What SageMaker shows of a reclaim before the download is not documented: here it launches again. */
  async #prepareInstances(reclaim: AbortSignal): Promise<Prepared> {
    const seconds = this.#longest(this.#services.settings.preparationSeconds);
    if (seconds > 0) await this.#state.change('InProgress', 'Starting', PREPARING);
    return this.#pass(seconds, reclaim);
  }

  /** @returns whether it was interrupted */
  async #useCapacity(
    lease: CapacityLease,
    reclaim: Reclaim,
    place: { readonly slot: number; readonly masterPort: number },
  ): Promise<boolean> {
    const { settings } = this.#services;
    const gang = makeStayingGang(this.#services, this.record, lease, {
      ...place,
      onRest: (isAtRest) => (isAtRest && !cut.aborted ? this.#presence.rest() : this.#presence.work()),
    });
    const cut = AbortSignal.any([reclaim.signal, this.#endings.signal]);
    cut.addEventListener('abort', () => this.#presence.work(), { once: true });
    this.#state.update((record) =>
      withPhaseStarted(
        record,
        billingRate(record.request, lease.zoneId, settings.spotDiscount),
        settings.clock.now(),
      ),
    );
    const cancelRuntime = this.#limitRuntime();
    this.#gang = gang;
    try {
      return await this.#runGang(gang, cut, reclaim.noticeSeconds);
    } finally {
      cancelRuntime();
      this.#gang = undefined;
      // Whatever went wrong on the way: no process stays.
      await gang.stop(0);
      await gang.metrics.close();
      await gang.remove();
      this.#state.update((record) => withPhaseEnded(record, settings.clock.now()));
    }
  }

  /** Time on capacity before an interruption counts: whether SageMaker counts so is not documented. */
  #limitRuntime(): () => void {
    const { settings } = this.#services;
    const { trainingSeconds } = secondsUntil(this.record, settings.clock.now());
    const runtime = this.record.request.StoppingCondition?.MaxRuntimeInSeconds ?? DAY_SECONDS;
    return this.#endings.limit('maxRuntime', Math.max(0, runtime - trainingSeconds));
  }

  async #runGang(gang: Gang, cut: AbortSignal, noticeSeconds: () => number): Promise<boolean> {
    const outcome = await this.#prepareAndRun(gang, cut);
    if (outcome) {
      await this.#conclude(outcome, gang);
      return false;
    }
    if (this.#endings.ending !== undefined) {
      await this.#finishEarly(gang);
      return false;
    }
    await this.#interrupt(gang, noticeSeconds());
    return true;
  }

  /** undefined when something cut it short. */
  async #prepareAndRun(gang: Gang, cut: AbortSignal): Promise<GangOutcome | undefined> {
    const { downloadSeconds, imageSeconds } = this.#services.settings;
    const tell = (message: string) => this.#state.change('InProgress', 'Downloading', message);
    try {
      const packages = gang.imagePackages;
      if (packages.length > 0)
        await tell(`${DOWNLOADING_IMAGE}: this machine installs its packages (${packages.join(', ')})`);
      await gang.makeFolders();
      const laid = gang.layEnvironments(cut).then(() => tell(DOWNLOADING_DATA));
      const filled = gang.prepare(cut);
      // Whichever fails, the other no longer writes into the folders.
      await Promise.allSettled([laid, filled]);
      await laid;
      await filled;
      const bytes = await downloadedBytes(this.record.request, gang.hosts);
      await this.#pass(
        this.#longest((type) => downloadSeconds(type, bytes)),
        cut,
      );
    } catch (error) {
      if (cut.aborted) return undefined;
      throw error;
    }
    const image = cut.aborted ? 0 : this.#longest(imageSeconds);
    if (image > 0) await tell(DOWNLOADING_IMAGE);
    await this.#pass(image, cut);
    if (cut.aborted) return undefined;
    await this.#state.change(
      'InProgress',
      'Training',
      'Training image download completed. Training in progress.',
    );
    const { promise: isCut, resolve } = Promise.withResolvers<undefined>();
    cut.addEventListener('abort', () => resolve(undefined), { once: true });
    if (cut.aborted) return undefined;
    return Promise.race([gang.run(), isCut]);
  }

  /** Of the job's instance types. */
  #longest(secondsOf: (instanceType: string) => number): number {
    const types = groupsOf(this.record.request).map(({ instanceType }) => ec2Name(instanceType));
    return Math.max(0, ...types.map(secondsOf));
  }

  /**
   * Job seconds in which only the clock goes on.
   * @param reclaim aborted when the capacity goes
   */
  async #pass(seconds: number, reclaim: AbortSignal): Promise<Prepared> {
    if (seconds === 0) return 'ready';
    const { clock } = this.#services.settings;
    const endMs = clock.now() + seconds * 1_000;
    const ending = this.#endings.signal;
    await restUntil(endMs, {
      clock,
      cut: AbortSignal.any([reclaim, ending]),
      rest: () => this.#presence.rest(),
      work: () => this.#presence.work(),
    });
    return ending.aborted ? 'ended' : reclaim.aborted ? 'reclaimed' : 'ready';
  }

  async #interrupt(gang: Gang, graceSeconds: number): Promise<void> {
    await this.#state.change('InProgress', 'Interrupted', 'Training job interrupted');
    await gang.stop(graceSeconds);
    await gang.finish();
  }

  /** The program ended by itself. */
  async #conclude(outcome: GangOutcome, gang: Gang): Promise<void> {
    // Peers of a failed host may save too: in the time that every script reckons with.
    await gang.stop(outcome.kind === 'failed' ? this.#services.settings.graceSeconds : 0);
    await gang.finish();
    this.#keepMetrics(gang);
    await this.#state.change('InProgress', 'Uploading', 'Uploading generated training model');
    await this.#upload(outcome.kind === 'completed' ? ['model', 'output'] : ['output'], gang);
    if (outcome.kind === 'failed') throw await failureOf(outcome);
    await this.#state.end('Completed', 'Completed', 'Training job completed');
  }

  /** Stopped by a client or a limit, with or without hosts. */
  async #finishEarly(gang: Gang | undefined): Promise<void> {
    const ending = this.#endings.ending ?? 'stopped';
    if (ending === 'noCapacity') throw new JobFailure('CapacityError', NO_CAPACITY);
    if (gang) {
      await gang.stop(this.#services.settings.graceSeconds);
      await gang.finish();
      this.#keepMetrics(gang);
    }
    if (ending === 'serverCloses') return;
    if (gang) {
      await this.#state.change('Stopping', 'Uploading', 'Uploading generated training model');
      await this.#upload(['model', 'output'], gang);
    }
    await this.#state.end('Stopped', ...STOPPED_AS[ending]);
  }

  #keepMetrics(gang: Gang): void {
    this.#state.update((record) => ({ ...record, metrics: gang.metrics.latest() }));
  }

  async #upload(kinds: readonly ArtifactKind[], gang: Gang): Promise<void> {
    const { OutputDataConfig: output } = this.record.request;
    const uris = await uploadArtifacts(
      {
        s3: this.#services.clients.s3,
        jobName: this.record.name,
        outputPath: output?.S3OutputPath ?? '',
        compression: output?.CompressionType ?? 'GZIP',
        hosts: gang.hosts,
        scratchDirectory: join(this.#services.store.directoryOf(this.record.name), 'scratch'),
      },
      kinds,
    );
    this.#state.update((record) => ({ ...record, modelUri: uris.model }));
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#endings.ending === 'serverCloses') return;
    const failure =
      error instanceof JobFailure ? error : new JobFailure('InternalServerError', TRY_AGAIN, error);
    if (failure !== error) this.#services.settings.log(`${this.record.name}: ${messageOf(error)}`);
    this.#state.update((record) => ({ ...record, failureReason: failure.message }));
    await this.#state.end('Failed', 'Failed', 'Training job failed');
  }
}

/** What a job downloads before its script starts: the data of its fullest host, in File mode. */
const DOWNLOADING_DATA = 'Downloading input data';
const DOWNLOADING_IMAGE = 'Downloading the training image';

/** FastFile and Pipe stream while the script runs. */
async function downloadedBytes(request: CreateTrainingJobRequest, hosts: readonly Host[]): Promise<number> {
  const bytes = new Map<Host, number>();
  for (const channel of request.InputDataConfig ?? []) {
    if (modeOf(request, channel) !== 'File') continue;
    for (const host of channelHosts({ request, hosts }, channel))
      bytes.set(host, (bytes.get(host) ?? 0) + (await bytesBelow(channelDirectory(host, channel))));
  }
  return Math.max(0, ...bytes.values());
}

async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

// SageMaker prepares the instances of a job before it downloads anything. The bill begins with the download.

/** As botocore's model words the messages of `Starting`. */
const LAUNCHING = 'Launching requested ML instances.';
const PREPARING = 'Preparing the instances for training.';
const REPLACING = 'Launched instance was unhealthy, replacing it!';

type Prepared = 'ready' | 'reclaimed' | 'ended';
