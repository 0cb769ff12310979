/**
 * The ports of a launcher. Every launcher can start a job and follow it. Some also have ports for their hosts and for
 * what their jobs leave behind. The attempt's record names the launcher, and the service calls no other.
 */

import type { InputMode } from '@tidewheel/catalog/data-on-hosts.ts';
import type { LauncherName } from '@tidewheel/declaration/launchers.ts';
import { ConfigurationError, type Problem } from '@tidewheel/kit/errors.ts';
import type { AttemptRecord, JobLog, StopMode } from '../records/run-records.ts';
import type { PreparedObject } from './job/job-channels.ts';
import type { JobInput } from './job/job-parts.ts';
import type { CreateOutcome, StopOutcome, TrainingJobDescription } from './job/training-service.ts';

/** Starts jobs. Only the launch function has it, because it needs the catalog and the launcher's own settings. */
export interface Starter {
  /** Pure except for the returned `start`: the same input gives the same request and job name. */
  prepare(input: JobInput): PreparedJob | JobProblems;
}

export interface PreparedJob {
  readonly kind: 'prepared';
  /** To be written to the bucket before the job starts. */
  readonly objects: readonly PreparedObject[];
  readonly inputMode: InputMode;
  /** The input mode of the shards, with its reason. */
  readonly inputReason: string;
  /** Absent if nothing keeps the job's output. */
  readonly log?: JobLog | undefined;
  /** Safe to repeat: an existing job of the name gives `alreadyExists`. */
  start(): Promise<CreateOutcome>;
}

/** Every problem of the declaration for this launcher, with paths as in the declaration. */
interface JobProblems {
  readonly kind: 'problems';
  readonly problems: readonly Problem[];
}

/** A job's name and region. */
export interface JobReference {
  readonly jobName: string;
  /** Absent in the data bucket's own region. */
  readonly region?: string | undefined;
}

/** @throws TransientError when the service cannot answer now */
export interface Launcher {
  /** undefined when the service knows no such job */
  describe(job: JobReference): Promise<TrainingJobDescription | undefined>;
  /**
   * Asks the job to save and end. A repeated call is safe and may end it at once.
   * @param mode `now` leaves no time for a save where the service can end hosts without it
   */
  stop(job: JobReference, mode?: StopMode): Promise<StopOutcome>;
  /** Absent where the service hides its hosts. */
  readonly hosts?: HostPort | undefined;
  /** Absent where the service removes what a job leaves. */
  readonly leftovers?: LeftoverPort | undefined;
}

/** For launchers whose hosts AWS reclaims one by one, and whose gangs survive the loss of some. */
export interface HostPort {
  /** The jobs of those instances that belong to this installation, by instance id. */
  jobsOf(instanceIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Asks the hosts for a checkpoint at once; they train on. Each instance in danger gets one request. */
  requestCheckpoint(jobName: string, instanceId: string): Promise<void>;
  /**
   * Replaces the lost hosts of a gang and restarts its training from the newest checkpoint. Safe to repeat at any time,
   * by any number of processes.
   * @param warned instances with an interruption notice
   */
  refill(jobName: string, warned: readonly string[]): Promise<RefillOutcome>;
}

export type RefillOutcome =
  /** No host is lost. */
  | { readonly kind: 'none' }
  /** An earlier refill has replaced hosts, and none is lost now. */
  | { readonly kind: 'whole'; readonly round: RefillRound }
  | { readonly kind: 'refilling'; readonly round: RefillRound }
  /** The run must continue with another attempt. */
  | { readonly kind: 'impossible'; readonly why: string };

/** One replacement of lost hosts. */
export interface RefillRound {
  /** 2 for the first replacement; the launch is round 1. */
  readonly round: number;
  readonly openedAt: string;
  /** Instances that continue. */
  readonly stay: readonly string[];
  /** Instances that have ended or are ending. */
  readonly lost: readonly string[];
  readonly missing: number;
}

/** For launchers whose jobs leave hosts, templates or groups behind. */
export interface LeftoverPort {
  /** Names of the jobs with leftovers, including running jobs. */
  list(): Promise<readonly string[]>;
  /** For an ended attempt. Idempotent: the next release removes what cannot be removed yet. */
  release(jobName: string): Promise<void>;
}

export type Launchers = Readonly<Record<LauncherName, Launcher>>;
export type Starters = Readonly<Record<LauncherName, Starter>>;

type LaunchedAttempt = Pick<AttemptRecord, 'jobName' | 'launcher' | 'placement'>;

/** @throws ConfigurationError if this release lacks the recorded launcher */
export function portOf<Port>(ports: Readonly<Record<LauncherName, Port>>, attempt: LaunchedAttempt): Port {
  const { launcher, jobName } = attempt;
  if (Object.hasOwn(ports, launcher)) return ports[launcher];
  throw new ConfigurationError(
    `the record of ${jobName} names the launcher "${launcher}", which this release does not have (${Object.keys(ports).join(', ')}): stop the job, then start a new run`,
  );
}

export const jobOf = ({ jobName, placement }: LaunchedAttempt): JobReference => ({
  jobName,
  region: placement.pool.region,
});
