/** The life of one training job, from waiting for capacity to its end, through interruptions. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SecondaryStatus, TrainingJobStatus } from '@aws-sdk/client-sagemaker';
import type { CapacityLease } from '../market/port.ts';
import type { AddressBook } from './addresses.ts';
import { uploadArtifact } from './artifacts.ts';
import { waitForCapacity } from './capacity.ts';
import type { Clients } from './clients.ts';
import { after } from './concurrency.ts';
import { planHosts } from './container.ts';
import { JobFailure, messageOf } from './errors.ts';
import type { EventSender } from './events.ts';
import { failureText, type Gang, type GangOutcome, makeGang } from './gang.ts';
import {
  ec2Name,
  groupsOf,
  hasEnded,
  type JobRecord,
  marketOf,
  secondsUntil,
  withPhaseEnded,
  withPhaseStarted,
  withStatus,
} from './job-record.ts';
import type { JobStore } from './job-store.ts';
import type { Settings } from './options.ts';

export interface JobServices {
  readonly settings: Settings;
  readonly clients: Clients;
  readonly store: JobStore;
  readonly events: EventSender;
  readonly addresses: AddressBook;
}

/** Why a job ends before its program does. */
type Ending = 'stopped' | 'maxRuntime' | 'maxWait' | 'maxPending' | 'noCapacity' | 'serverCloses';

const ENDINGS: Readonly<
  Record<Exclude<Ending, 'noCapacity' | 'serverCloses'>, readonly [SecondaryStatus, string]>
> = {
  stopped: ['Stopped', 'Training job stopped'],
  maxPending: ['Stopped', 'Training job stopped: MaxPendingTimeInSeconds passed without capacity'],
  maxRuntime: ['MaxRuntimeExceeded', 'Training job runtime exceeded MaxRuntimeInSeconds provided'],
  maxWait: ['MaxWaitTimeExceeded', 'Training job exceeded MaxWaitTimeInSeconds provided'],
};

const NO_CAPACITY =
  'Unable to provision requested ML compute capacity. Please retry using a different ML instance type.';
const STARVED = 'Insufficient capacity error from EC2 while launching instances, retrying!';
/** How long (in job seconds) an On-Demand job without accelerators is retried here before it fails; AWS tells no figure. */
const ON_DEMAND_PATIENCE_SECONDS = 900;
/** Peers of a failed host are of no more use; what they may still save they save in this time. */
const PEER_GRACE_SECONDS = 10;
const CLOSE_GRACE_SECONDS = 5;
const ACCELERATED = /^ml\.(p|g|trn)\d/;

export class TrainingJob {
  readonly #services: JobServices;
  readonly #zoneIds: readonly string[] | undefined;
  readonly #ending = new AbortController();
  #record: JobRecord;
  #timers: (() => void)[] = [];
  #done: Promise<void> = Promise.resolve();

  /** zoneIds: those of the job's subnets; undefined when it names none. */
  constructor(record: JobRecord, zoneIds: readonly string[] | undefined, services: JobServices) {
    this.#record = record;
    this.#zoneIds = zoneIds;
    this.#services = services;
  }

  get record(): JobRecord {
    return this.#record;
  }

  /** Replaces what the API may change of a job without changing its course. */
  async amend(change: (record: JobRecord) => JobRecord): Promise<void> {
    this.#record = change(this.#record);
    await this.#services.store.save(this.#record);
  }

  start(): void {
    this.#done = this.#run();
  }

  /** StopTrainingJob of a job that has not ended; asking twice is asking once. */
  async stop(): Promise<void> {
    if (this.#ending.signal.aborted) return;
    await this.#change('Stopping', 'Stopping', 'Stopping the training job');
    this.#ending.abort('stopped' satisfies Ending);
  }

  /** The server goes: hosts are stopped and checkpoints saved, the record stays as one that was running. */
  async close(): Promise<void> {
    this.#ending.abort('serverCloses' satisfies Ending);
    await this.#done;
  }

  async #run(): Promise<void> {
    try {
      await this.#change('InProgress', 'Starting', 'Starting the training job.');
      this.#startLimits();
      while (await this.#stay());
    } catch (error) {
      await this.#fail(error);
    } finally {
      for (const cancel of this.#timers) cancel();
      if (!this.#services.settings.keepHostFolders) await this.#removeFolders();
    }
  }

  #limit(ending: Ending, seconds: number | undefined): () => void {
    if (seconds === undefined) return () => {};
    const cancel = after(
      (seconds / this.#services.settings.timeScale) * 1000,
      () => void this.#endEarly(ending),
    );
    this.#timers.push(cancel);
    return cancel;
  }

  async #endEarly(ending: Ending): Promise<void> {
    if (this.#ending.signal.aborted) return;
    if (ending !== 'noCapacity') await this.#change('Stopping', 'Stopping', 'Stopping the training job');
    this.#ending.abort(ending);
  }

  /** MaxWait counts waiting and running together. */
  #startLimits(): void {
    const condition = this.#record.request.StoppingCondition;
    if (marketOf(this.#record.request) === 'spot') this.#limit('maxWait', condition?.MaxWaitTimeInSeconds);
  }

  /** One stay on capacity; true when it was interrupted and another is due. */
  async #stay(): Promise<boolean> {
    const lease = await this.#acquire();
    if (!lease) {
      await this.#finishEarly(undefined);
      return false;
    }
    const { addresses } = this.#services;
    const slot = addresses.takeSlot();
    let port: number | undefined;
    try {
      port = await addresses.takePort();
      return await this.#useCapacity(lease, this.#makeGang(lease, slot, port));
    } finally {
      addresses.release(slot, port);
      lease.release();
    }
  }

  async #acquire(): Promise<CapacityLease | undefined> {
    const { request, name } = this.#record;
    const market = marketOf(request);
    const groups = groupsOf(request);
    const pends = market === 'on-demand' && groups.some((group) => ACCELERATED.test(group.instanceType));
    let cancelPatience = (): void => {};
    const onStarved = (): void => {
      void this.#change('InProgress', pends ? 'Pending' : 'Starting', STARVED);
      if (pends)
        cancelPatience = this.#limit('maxPending', request.StoppingCondition?.MaxPendingTimeInSeconds);
      else if (market === 'on-demand') cancelPatience = this.#limit('noCapacity', ON_DEMAND_PATIENCE_SECONDS);
    };
    const lease = await waitForCapacity(
      this.#services.settings.market,
      {
        owner: name,
        groups: groups.map((group) => ({ instanceType: ec2Name(group.instanceType), count: group.count })),
        zoneIds: this.#zoneIds,
        market,
      },
      this.#ending.signal,
      onStarved,
    );
    cancelPatience();
    return lease;
  }

  #makeGang(lease: CapacityLease, slot: number, masterPort: number): Gang {
    const { clients, settings } = this.#services;
    const { request, arn } = this.#record;
    return makeGang({
      settings,
      clients,
      request,
      jobArn: arn,
      hosts: planHosts(request, this.#directory, slot),
      masterPort,
      scratchDirectory: join(this.#directory, 'scratch'),
      onCheckpointSynced: () => lease.checkpointSynced(),
      onLine: () => {},
    });
  }

  async #useCapacity(lease: CapacityLease, gang: Gang): Promise<boolean> {
    const reclaim = new AbortController();
    lease.onReclaim((notice) => reclaim.abort(notice.graceSeconds));
    const cut = AbortSignal.any([reclaim.signal, this.#ending.signal]);
    this.#record = withPhaseStarted(this.#record, this.#billingRate(lease.zoneId), Date.now());
    const spent = secondsUntil(this.#record, this.#services.settings.timeScale, Date.now()).trainingSeconds;
    const runtime = this.#record.request.StoppingCondition?.MaxRuntimeInSeconds ?? 86_400;
    const cancelRuntime = this.#limit('maxRuntime', Math.max(0, runtime - spent));
    try {
      const outcome = await this.#prepareAndRun(gang, cut);
      if (outcome) {
        cancelRuntime();
        await this.#conclude(outcome, gang);
        return false;
      }
      if (this.#ending.signal.aborted) {
        await this.#finishEarly(gang);
        return false;
      }
      await this.#interrupt(gang, Number(reclaim.signal.reason));
      return true;
    } finally {
      cancelRuntime();
      // Whatever went wrong on the way: no process stays.
      await gang.stop(0);
      this.#record = withPhaseEnded(this.#record, this.#services.settings.timeScale, Date.now());
    }
  }

  /** undefined when something cut it short. */
  async #prepareAndRun(gang: Gang, cut: AbortSignal): Promise<GangOutcome | undefined> {
    await this.#change('InProgress', 'Downloading', 'Downloading input data');
    try {
      await gang.prepare(cut);
    } catch (error) {
      if (cut.aborted) return undefined;
      throw error;
    }
    if (cut.aborted) return undefined;
    await this.#change('InProgress', 'Training', 'Training image download completed. Training in progress.');
    const { promise: isCut, resolve } = Promise.withResolvers<undefined>();
    cut.addEventListener('abort', () => resolve(undefined), { once: true });
    if (cut.aborted) resolve(undefined);
    return await Promise.race([gang.run(), isCut]);
  }

  async #interrupt(gang: Gang, graceSeconds: number): Promise<void> {
    await this.#change('InProgress', 'Interrupted', 'Training job interrupted');
    await gang.stop(Math.min(graceSeconds, this.#services.settings.graceSeconds));
    await gang.finish();
    this.#record = withPhaseEnded(this.#record, this.#services.settings.timeScale, Date.now());
    await this.#change('InProgress', 'Starting', 'Launching requested ML instances.');
  }

  /** The program ended by itself. */
  async #conclude(outcome: GangOutcome, gang: Gang): Promise<void> {
    await gang.stop(outcome.kind === 'failed' ? PEER_GRACE_SECONDS : 0);
    await gang.finish();
    await this.#change('InProgress', 'Uploading', 'Uploading generated training model');
    await this.#upload(outcome.kind === 'completed' ? ['model', 'output'] : ['output'], gang);
    if (outcome.kind === 'failed') throw await failureOf(outcome);
    await this.#end('Completed', 'Completed', 'Training job completed');
  }

  /** Stopped by a client or a limit, with or without hosts. */
  async #finishEarly(gang: Gang | undefined): Promise<void> {
    const ending = this.#ending.signal.reason as Ending;
    if (ending === 'noCapacity') throw new JobFailure('CapacityError', NO_CAPACITY);
    const { graceSeconds } = this.#services.settings;
    if (gang) {
      await gang.stop(ending === 'serverCloses' ? Math.min(CLOSE_GRACE_SECONDS, graceSeconds) : graceSeconds);
      await gang.finish();
    }
    if (ending === 'serverCloses') return;
    if (gang) {
      await this.#change('Stopping', 'Uploading', 'Uploading generated training model');
      await this.#upload(['model', 'output'], gang);
    }
    await this.#end('Stopped', ...ENDINGS[ending]);
  }

  async #upload(kinds: readonly ('model' | 'output')[], gang: Gang): Promise<void> {
    const { OutputDataConfig: output } = this.#record.request;
    try {
      for (const kind of kinds) {
        const uri = await uploadArtifact(
          {
            s3: this.#services.clients.s3,
            jobName: this.#record.name,
            outputPath: output?.S3OutputPath ?? '',
            compression: output?.CompressionType ?? 'GZIP',
            hosts: gang.hosts,
            scratchDirectory: join(this.#directory, 'scratch'),
          },
          kind,
        );
        if (kind === 'model') this.#record = { ...this.#record, modelUri: uri };
      }
    } catch (error) {
      throw new JobFailure('ClientError', `Artifact upload failed: ${messageOf(error)}`, error);
    }
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#ending.signal.reason === ('serverCloses' satisfies Ending)) return;
    const failure =
      error instanceof JobFailure
        ? error
        : new JobFailure('InternalServerError', 'We encountered an internal error. Please try again.', error);
    if (failure !== error) this.#services.settings.log(`${this.#record.name}: ${messageOf(error)}`);
    this.#record = { ...this.#record, failureReason: failure.message };
    await this.#end('Failed', 'Failed', 'Training job failed');
  }

  async #end(status: TrainingJobStatus, secondaryStatus: SecondaryStatus, message: string): Promise<void> {
    const now = Date.now();
    const record = withPhaseEnded(this.#record, this.#services.settings.timeScale, now);
    const hasTrained = record.trainingStartedAt !== undefined;
    this.#record = { ...record, ...(hasTrained ? { trainingEndedAt: now } : {}) };
    await this.#change(status, secondaryStatus, message);
  }

  /** Kept first, told afterwards. */
  async #change(status: TrainingJobStatus, secondaryStatus: SecondaryStatus, message: string): Promise<void> {
    // A stop that came meanwhile is not taken back by what was under way.
    const isStopping = this.#record.status === 'Stopping' && status === 'InProgress';
    const change = { status: isStopping ? 'Stopping' : status, secondaryStatus, message } as const;
    if (isStopping && secondaryStatus !== 'Uploading') return;
    this.#record = withStatus(this.#record, change, Date.now());
    const { store, events, settings } = this.#services;
    const { record } = this;
    settings.log(
      `${record.name} ${record.status}/${record.secondaryStatus}${record.failureReason ? `: ${record.failureReason}` : ''}`,
    );
    try {
      await store.save(record);
    } catch (error) {
      settings.log(`${record.name} could not be saved: ${messageOf(error)}`);
    }
    events.send(record);
  }

  #billingRate(zoneId: string): number {
    const { request } = this.#record;
    if (marketOf(request) === 'on-demand') return 1;
    const groups = groupsOf(request);
    const total = groups.reduce((sum, group) => sum + group.count, 0);
    const { spotDiscount } = this.#services.settings;
    return groups.reduce(
      (sum, group) => sum + (group.count / total) * spotDiscount(ec2Name(group.instanceType), zoneId),
      0,
    );
  }

  get #directory(): string {
    return this.#services.store.directoryOf(this.#record.name);
  }

  async #removeFolders(): Promise<void> {
    for (const folder of ['hosts', 'scratch']) {
      await rm(join(this.#directory, folder), { recursive: true, force: true }).catch(() => {});
    }
  }
}

async function failureOf(outcome: GangOutcome & { kind: 'failed' }): Promise<JobFailure> {
  const { exit, host } = outcome;
  const text = exit.refusal
    ? `the program could not be started: ${exit.refusal}. Name one that is there in ContainerEntrypoint`
    : await failureText(host);
  const suffix = `, exit code: ${exit.exitCode}`;
  const room = 1024 - 'AlgorithmError: '.length - suffix.length;
  return new JobFailure('AlgorithmError', `${text.slice(0, room)}${suffix}`);
}

export const isOver = (job: TrainingJob): boolean => hasEnded(job.record);
