/** All training jobs of the account and Region that this server stands for. */
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import { hasObjects, parseS3Uri } from '../hosts/objects.ts';
import {
  ec2Name,
  groupsOf,
  hasEnded,
  type JobRecord,
  purchaseOptionOf,
  withEachSelected,
  withPhaseEnded,
  withStatus,
} from '../model/job-record.ts';
import {
  JobFailure,
  quotaExceeded,
  resourceInUse,
  TRY_AGAIN,
  validationException,
} from '../model/refusals.ts';
import { type JobServices, LocalTrainingJob } from './training-job.ts';

const SERVER_DIED = new JobFailure(
  'InternalServerError',
  `${TRY_AGAIN} (The local SageMaker ended while the job was running.)`,
).message;

/** How exact the end of a killed job is. */
const ALIVE_EVERY_MS = 1_000;

/** Takes up the jobs on disk: what was running when the last server ended has failed. */
export async function openRegistry(services: JobServices): Promise<JobRegistry> {
  const registry = new JobRegistry(services);
  const lastAlive = await services.store.lastAlive();
  for (const record of await services.store.load(services.settings.log))
    await registry.takeUp(record, lastAlive);
  registry.noteAlive();
  return registry;
}

export class JobRegistry {
  readonly #services: JobServices;
  readonly #jobs = new Map<string, LocalTrainingJob>();
  /** Names of jobs that are being created: the checks take a while. */
  readonly #coming = new Set<string>();
  #noting: NodeJS.Timeout | undefined;

  constructor(services: JobServices) {
    this.#services = services;
  }

  /** Repeats until the server closes. The last note dates a kill; a full disk leaves an older one. */
  noteAlive(): void {
    const { store, settings } = this.#services;
    const note = (): void => {
      if (!this.records().some((record) => !hasEnded(record))) return;
      void store.noteAlive(settings.clock.now()).catch(() => {});
    };
    this.#noting = setInterval(note, ALIVE_EVERY_MS).unref();
  }

  /** @param lastAlive the hosts ended with the server, which was last alive then */
  async takeUp(record: JobRecord, lastAlive: number | undefined): Promise<void> {
    const { events, store } = this.#services;
    const { clock } = this.#services.settings;
    let current = record;
    if (!hasEnded(record)) {
      const now = Math.min(clock.now(), Math.max(record.modifiedAt, lastAlive ?? 0));
      const hasTrained = record.trainingStartedAt !== undefined;
      const change = { status: 'Failed', secondaryStatus: 'Failed', message: 'Training job failed' } as const;
      current = {
        ...withStatus(withPhaseEnded(record, now), change, now),
        failureReason: SERVER_DIED,
        ...(hasTrained ? { trainingEndedAt: now } : {}),
      };
      await store.save(current);
      await store.removeHosts(record.name);
      events.send(current);
    }
    this.#jobs.set(record.name, new LocalTrainingJob(current, undefined, this.#services));
  }

  /** Refuses with a RequestRefused; returns when the job is on disk. */
  async create(request: CreateTrainingJobRequest): Promise<JobRecord> {
    const name = request.TrainingJobName ?? '';
    const arn = this.#arnOf(name);
    if (this.#jobs.has(name) || this.#coming.has(name)) throw resourceInUse(arn);
    this.#coming.add(name);
    try {
      const zoneIds = await this.#zonesOf(request);
      await this.#requireData(request);
      this.#requireQuota(request);
      const record = newRecord(request, arn, this.#services.settings.clock.now());
      const job = new LocalTrainingJob(record, zoneIds, this.#services);
      await this.#services.store.save(record);
      this.#jobs.set(name, job);
      job.start();
      return record;
    } finally {
      this.#coming.delete(name);
    }
  }

  async #zonesOf(request: CreateTrainingJobRequest): Promise<readonly string[] | undefined> {
    const subnets = request.VpcConfig?.Subnets;
    if (!subnets) return undefined;
    const zones = await Promise.all(
      subnets.map(async (subnet) => ({ subnet, zone: await this.#services.settings.subnetZone(subnet) })),
    );
    const unknown = zones.filter(({ zone }) => zone === undefined).map(({ subnet }) => subnet);
    if (unknown.length > 0) throw validationException(`The subnets [${unknown.join(', ')}] do not exist`);
    return [...new Set(zones.flatMap(({ zone }) => zone ?? []))];
  }

  async #requireData(request: CreateTrainingJobRequest): Promise<void> {
    for (const channel of request.InputDataConfig ?? []) {
      const uri = channel.DataSource?.S3DataSource?.S3Uri;
      if (uri === undefined) continue;
      const location = parseS3Uri(uri);
      if (await hasObjects(this.#services.clients.s3, location)) continue;
      throw validationException(
        `No S3 objects found under S3 URL "${uri}" given in input data source. Please ensure that the bucket exists in the selected region (${this.#services.settings.region}), that objects exist under that S3 prefix, and that the role "${request.RoleArn ?? ''}" has "s3:ListBucket" permissions on bucket "${location.bucket}".`,
      );
    }
  }

  /** Counts instances of all jobs that have not ended, with or without capacity, as SageMaker does. */
  #requireQuota(request: CreateTrainingJobRequest): void {
    const market = purchaseOptionOf(request);
    // Every preference needs quota, whichever will be selected.
    for (const { instanceType, count } of withEachSelected(request).flatMap(groupsOf)) {
      const limit = this.#services.settings.instanceQuota(ec2Name(instanceType), market);
      const used = this.records()
        .filter((record) => !hasEnded(record) && purchaseOptionOf(record.request) === market)
        .flatMap((record) => groupsOf(record.request))
        .filter((group) => group.instanceType === instanceType)
        .reduce((sum, group) => sum + group.count, 0);
      if (used + count <= limit) continue;
      const quota = `${instanceType} for ${market === 'spot' ? 'spot ' : ''}training job usage`;
      throw quotaExceeded(quota, { limit, used, requested: count, unit: 'Instances' });
    }
    const requested = request.StoppingCondition?.MaxRuntimeInSeconds ?? 0;
    const limit = this.#services.settings.longestRunSeconds;
    if (requested > limit)
      throw quotaExceeded('Longest run time for a training job', {
        limit,
        used: 0,
        requested,
        unit: 'Seconds',
      });
  }

  #arnOf(name: string): string {
    const { region, accountId } = this.#services.settings;
    return `arn:aws:sagemaker:${region}:${accountId}:training-job/${name}`;
  }

  find(name: string): LocalTrainingJob | undefined {
    return this.#jobs.get(name);
  }

  records(): readonly JobRecord[] {
    return [...this.#jobs.values()].map((job) => job.record);
  }

  /** Jobs whose hosts are there. */
  onCapacity(): readonly LocalTrainingJob[] {
    return [...this.#jobs.values()].filter((job) => job.hostCount !== undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#noting);
    await Promise.all([...this.#jobs.values()].map((job) => job.close()));
  }
}

function newRecord(request: CreateTrainingJobRequest, arn: string, now: number): JobRecord {
  const { Tags, ...rest } = request;
  return {
    name: request.TrainingJobName ?? '',
    arn,
    request: rest,
    tags: Object.fromEntries((Tags ?? []).map(({ Key, Value }) => [Key ?? '', Value ?? ''])),
    createdAt: now,
    modifiedAt: now,
    status: 'InProgress',
    secondaryStatus: 'Starting',
    transitions: [],
    trainingSeconds: 0,
    billableSeconds: 0,
    metrics: [],
  };
}
