/** What the hosts of a job share on this machine: ports, the watch over their checkpoints, their part in the clock. */

import { json } from 'node:stream/consumers';
import type { S3Client } from '@aws-sdk/client-s3';
import { DOCUMENT_FILES } from '@tidewheel/contract/files.ts';
import * as z from 'zod';
import type { LocalClock } from '../clock/clock.ts';
import { type AddressBook, makeAddressBook } from '../sagemaker/hosts/addresses.ts';
import { listObjects, openObject, parseS3Uri } from '../sagemaker/hosts/objects.ts';
import type { CapacityLease } from '../spot-market/model/capacity-source.ts';
import { GangPresence } from './gang-presence.ts';
import type { LocalInstance } from './instances.ts';

interface Job {
  readonly members: Map<string, CapacityLease>;
  readonly firstPort: Promise<number>;
  readonly checkpoints: Promise<CheckpointWatch>;
}

export class Jobs {
  readonly #jobs = new Map<string, Job>();
  readonly #addresses: AddressBook = makeAddressBook(Math.random);
  readonly #presences = new Map<string, GangPresence>();
  readonly #s3: S3Client;
  readonly #clock: LocalClock;

  constructor(s3: S3Client, clock: LocalClock) {
    this.#s3 = s3;
    this.#clock = clock;
  }

  presenceOf({ jobName }: LocalInstance): GangPresence {
    const presence = this.#presences.get(jobName) ?? new GangPresence(this.#clock, jobName);
    this.#presences.set(jobName, presence);
    return presence;
  }

  /** The end of a host has reached EC2. */
  forget({ instanceId, jobName }: LocalInstance): void {
    if (this.#presences.get(jobName)?.leave(instanceId)) this.#presences.delete(jobName);
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

const jobDocument = z.object({ CheckpointConfig: z.object({ S3Uri: z.string() }) });

/** Tells the market when a checkpoint of a job on EC2 has reached S3: some of its scripts reclaim after that. */
interface CheckpointWatch {
  /** @returns checkpoints that came since the last call */
  look(): Promise<number>;
}

/** @param jobUri s3://… of the job.json that the user data names */
async function watchCheckpoints(s3: S3Client, jobUri: string): Promise<CheckpointWatch> {
  const job = jobDocument.parse(await json(await openObject(s3, parseS3Uri(jobUri))));
  const place = parseS3Uri(job.CheckpointConfig.S3Uri);
  const seen = async () => {
    const objects = await listObjects(s3, place);
    return {
      whole: objects.filter(({ key }) => key.endsWith(`/${DOCUMENT_FILES.completion}`)).length,
      // Scripts that write no marker have the agent's note alone.
      note: objects.find(({ key }) => key.endsWith(`/${DOCUMENT_FILES.progress}`))?.etag,
    };
  };
  let known = await seen();
  return {
    look: async () => {
      const before = known;
      known = await seen();
      return Math.max(known.note === before.note ? 0 : 1, known.whole - before.whole);
    },
  };
}
