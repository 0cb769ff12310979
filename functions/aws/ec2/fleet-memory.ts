/** The bucket's record of an attempt on EC2: its job, its hosts' reports, and the requests to them. */

import type { EC2Client } from '@aws-sdk/client-ec2';
import { bucketKeys, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { kindOf, storedOrThrow } from '@tidewheel/kit/stored.ts';
import type { FleetInstance } from '../../launch/ec2/fleet-view.ts';
import { hostRequests, membersSchema, type RoundState, roundSchema } from '../../launch/ec2/host-requests.ts';
import {
  HOSTS_FOLDER,
  type HostReport,
  hostReportSchema,
  JOB_DOCUMENT,
  jobDocumentSchema,
  type StoredJob,
} from '../../launch/job/job-document.ts';
import { jobSaltOf, parseJobName } from '../../launch/job/job-name.ts';
import { readHostFiles } from '../../records/host-files.ts';
import { fleetHosts } from './fleet-hosts.ts';

export interface FleetMemory {
  /** The attempt's folder in the bucket. */
  readonly folder: string;
  readonly document: StoredJob;
  readonly reports: readonly HostReport[];
  readonly rounds?: RoundState | undefined;
  readonly stopRequestedAt?: Date | undefined;
}

/** Dependencies of every step of a fleet. */
export interface FleetDeps {
  readonly ec2: EC2Client;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** @returns undefined for a job of another installation, or one that was never launched */
export async function readFleetMemory(store: ObjectStore, jobName: string): Promise<FleetMemory | undefined> {
  const folder = fleetFolderOf(store, jobName);
  const stored = folder === undefined ? undefined : await store.readText(folder + JOB_DOCUMENT);
  if (folder === undefined || stored === undefined) return undefined;
  return {
    folder,
    document: storedOrThrow(folder + JOB_DOCUMENT, kindOf(jobDocumentSchema), parseJson(stored.text)),
    reports: await reportsOf(store, folder),
    rounds: await newestRound(store, folder),
    stopRequestedAt: await stopRequestedAt(store, folder),
  };
}

export interface Fleet {
  readonly instances: readonly FleetInstance[];
  readonly memory: FleetMemory;
}

/**
 * EC2 is read first: a host writes its last report before it ends, so the reports of those that are gone are whole. The
 * other way round, a host that leaves between the two would have ended without a report.
 */
export async function readFleet({ ec2, store }: FleetDeps, jobName: string): Promise<Fleet | undefined> {
  if (fleetFolderOf(store, jobName) === undefined) return undefined;
  const instances = await fleetHosts(ec2, jobName);
  const memory = await readFleetMemory(store, jobName);
  return memory && { instances, memory };
}

/** The attempt's folder in the bucket, or undefined when the name is no job of this installation. */
export function fleetFolderOf(store: ObjectStore, jobName: string): string | undefined {
  const job = parseJobName(jobName, jobSaltOf(store.bucket));
  const run = job && parseRunId(job.runId);
  return job && run && bucketKeys.attempt(run.pipeline, job.runId, job.attempt);
}

/** An unreadable report counts as none: a host may die while it writes one. */
async function reportsOf(store: ObjectStore, folder: string): Promise<HostReport[]> {
  const files = await readHostFiles(store, folder + HOSTS_FOLDER, (key) => key);
  return files.flatMap(({ text }) => hostReportSchema.safeParse(parseJson(text)).data ?? []);
}

/** Rounds are numbered without gaps, and most attempts have none: one read that finds nothing. */
async function newestRound(store: ObjectStore, folder: string): Promise<RoundState | undefined> {
  let newest: RoundState | undefined;
  for (let number = 2; ; number += 1) {
    const stored = await store.readText(folder + hostRequests.round(number));
    if (stored === undefined) return newest;
    const members = await store.readText(folder + hostRequests.members(number));
    newest = {
      round: roundSchema.parse(JSON.parse(stored.text)),
      members: members && membersSchema.parse(JSON.parse(members.text)).members,
    };
  }
}

async function stopRequestedAt(store: ObjectStore, folder: string): Promise<Date | undefined> {
  const stored = await store.readText(folder + hostRequests.stop);
  const at = stored && new Date(stored.text);
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at;
}
