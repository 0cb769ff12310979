/** What the hosts of a job share on this machine: ports, and the watch over their checkpoints. */
import type { S3Client } from '@aws-sdk/client-s3';
import { type AddressBook, makeAddressBook } from '../sagemaker/hosts/addresses.ts';
import type { CapacityLease } from '../spot-market/model/capacity-source.ts';
import { type CheckpointWatch, watchCheckpoints } from './checkpoints.ts';
import type { LocalInstance } from './instances.ts';

interface Job {
  readonly members: Map<string, CapacityLease>;
  readonly firstPort: Promise<number>;
  readonly checkpoints: Promise<CheckpointWatch>;
}

export class Jobs {
  readonly #jobs = new Map<string, Job>();
  readonly #addresses: AddressBook = makeAddressBook(Math.random);
  readonly #s3: S3Client;

  constructor(s3: S3Client) {
    this.#s3 = s3;
  }

  /** @returns the first of the job's ports; jobUri: s3://… of its job.json */
  async join({ instanceId, jobName }: LocalInstance, lease: CapacityLease, jobUri: string): Promise<number> {
    const job = this.#jobs.get(jobName) ?? {
      members: new Map<string, CapacityLease>(),
      firstPort: this.#addresses.takePorts(),
      checkpoints: watchCheckpoints(this.#s3, jobUri),
    };
    this.#jobs.set(jobName, job);
    job.members.set(instanceId, lease);
    await job.checkpoints;
    return job.firstPort;
  }

  leave({ instanceId, jobName }: LocalInstance): void {
    const job = this.#jobs.get(jobName);
    job?.members.delete(instanceId);
    if (job === undefined || job.members.size > 0) return;
    this.#jobs.delete(jobName);
    job.firstPort.then(
      (port) => this.#addresses.release(undefined, port),
      () => undefined,
    );
  }

  /** Tells the market of new checkpoints. */
  async look(): Promise<void> {
    for (const { members, checkpoints } of this.#jobs.values()) {
      const [lease] = members.values();
      for (let fresh = await (await checkpoints).look(); fresh > 0; fresh -= 1) lease?.checkpointSynced();
    }
  }
}
