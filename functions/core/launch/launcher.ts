/**
 * What every launcher gives: two ports that it must have (start a job, follow it) and two that it may have (its hosts,
 * what its jobs leave behind). The attempt's record says which launcher is asked; no other is.
 */
import type { LauncherName } from '../pipeline/launchers.ts';
import type { AttemptRecord } from '../runs/run-records.ts';
import { ConfigurationError, type Problem } from '../shared/errors.ts';
import type { PreparedObject } from './job/channels.ts';
import type { JobInput } from './job/job-parts.ts';
import type { CreateOutcome, StopOutcome, TrainingJobDescription } from './job/training-service.ts';

/** Starts jobs; only the launch function has it, because it needs the catalog and the launcher's own settings. */
export interface Starter {
  /** Pure but for the `start` in its answer: the same input gives the same request, and names the same job. */
  prepare(input: JobInput): PreparedJob | JobProblems;
}

export interface PreparedJob {
  readonly kind: 'prepared';
  /** To be written to the bucket before the job starts. */
  readonly objects: readonly PreparedObject[];
  /** How the shards reach the script, and why. */
  readonly inputReason: string;
  /** Where the log of the job is, for the timeline; absent where it is in the service's usual place. */
  readonly log?: string | undefined;
  /** Safe to repeat: a job of the name that exists is `alreadyExists`. */
  start(): Promise<CreateOutcome>;
}

/** Everything that is wrong with the declaration for this launcher; paths as in the declaration. */
interface JobProblems {
  readonly kind: 'problems';
  readonly problems: readonly Problem[];
}

/** A job by its name, and where it was started. */
export interface JobReference {
  readonly jobName: string;
  /** Absent in the data bucket's own region. */
  readonly region?: string | undefined;
}

/** @throws TransientError when the service cannot be asked now */
export interface Launcher {
  /** undefined when the service knows no such job */
  describe(job: JobReference): Promise<TrainingJobDescription | undefined>;
  /** Asks the job to save and end; asking again is safe, and may end it for good. */
  stop(job: JobReference): Promise<StopOutcome>;
  /** Absent where the service hides its hosts. */
  readonly hosts?: HostPort | undefined;
  /** Absent where the service removes what a job leaves. */
  readonly leftovers?: LeftoverPort | undefined;
}

/** For launchers whose hosts AWS takes back one by one, and whose gangs outlive the loss of some. */
interface HostPort {
  /** The jobs of those instances that are ours, by instance id. */
  jobsOf(instanceIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Asks the hosts for a checkpoint at once; they train on. One request for each instance that is in danger. */
  requestCheckpoint(jobName: string, instanceId: string): Promise<void>;
  /**
   * Keeps what is left of a gang that has lost hosts, asks for the missing ones again and has it begin anew. Safe to
   * repeat at any time, by any number of processes.
   * @param warned instances that AWS has announced to take back
   */
  refill(jobName: string, warned: readonly string[]): Promise<RefillOutcome>;
}

export type RefillOutcome =
  /** No host is lost. */
  | { readonly kind: 'none' }
  /** Hosts were replaced before, and none is lost now. */
  | { readonly kind: 'whole'; readonly round: RefillRound }
  | { readonly kind: 'refilling'; readonly round: RefillRound }
  /** The attempt has to continue elsewhere. */
  | { readonly kind: 'impossible'; readonly why: string };

/** One replacement of lost hosts. */
export interface RefillRound {
  /** 2 for the first replacement; the launch is round 1. */
  readonly round: number;
  readonly openedAt: string;
  /** Instances that go on. */
  readonly stay: readonly string[];
  /** Instances that are gone or going. */
  readonly lost: readonly string[];
  readonly missing: number;
}

/** For launchers whose jobs leave hosts, templates or groups behind. */
export interface LeftoverPort {
  /** Names of the jobs that have left something, running ones among them. */
  list(): Promise<readonly string[]>;
  /** For an attempt that has ended. Idempotent; what cannot go yet is left to the next release. */
  release(jobName: string): Promise<void>;
}

export type Launchers = Readonly<Record<LauncherName, Launcher>>;
export type Starters = Readonly<Record<LauncherName, Starter>>;

type LaunchedAttempt = Pick<AttemptRecord, 'jobName' | 'launcher' | 'placement'>;

/** @throws ConfigurationError for a record of a launcher that this release does not have */
export function portOf<Port>(ports: Readonly<Record<LauncherName, Port>>, attempt: LaunchedAttempt): Port {
  const { launcher, jobName } = attempt;
  if (Object.hasOwn(ports, launcher)) return ports[launcher];
  throw new ConfigurationError(
    `${jobName} is on record with the launcher "${launcher}", which this release does not have (${Object.keys(ports).join(', ')}): stop the job, then start a new run`,
  );
}

export const jobOf = ({ jobName, placement }: LaunchedAttempt): JobReference => ({
  jobName,
  region: placement.pool.region,
});
