/** Records of runs and attempts. Times are ISO 8601 in UTC, durations are seconds, and money is USD. */
import type { Change } from '../doctor/verdict.ts';
import type { LauncherName } from '../pipeline/launchers.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { RunParts } from '../pipeline/run-parts.ts';
import type { AttemptInput, Diagnosis, StartUp } from './diagnosis.ts';
import type { Placement } from './placement-records.ts';

/** Work that a checkpoint proves. The agent writes it and the service judges by it. */
export interface Progress {
  readonly step: number;
  readonly totalSteps: number;
  /** Training seconds of all attempts at the time of the checkpoint. */
  readonly trainingSeconds?: number | undefined;
  /** The measured interruption of training by a save. */
  readonly saveSeconds?: number | undefined;
  /** Means over the attempt, on the first training host. */
  readonly usage?:
    | { readonly cpuPercent?: number | undefined; readonly gpuPercent?: number | undefined }
    | undefined;
  /** Since the note before, on the first training host; samples of all its processes. */
  readonly pace?:
    | {
        readonly stepsPerSecond: number;
        readonly samplesPerSecond?: number | undefined;
        /** Median and 95th percentile. */
        readonly stepSeconds?: number | undefined;
        readonly stepSecondsP95?: number | undefined;
      }
    | undefined;
  /** Size of the checkpoint, if its marker lists its files. */
  readonly checkpointBytes?: number | undefined;
  readonly metrics?: Readonly<Record<string, number>> | undefined;
  /** What the step counts, if it is not steps: epochs, or saves where the position is unknown. */
  readonly unit?: 'step' | 'epoch' | 'saves' | undefined;
  /** quiet: the format is unknown, and no file changed for a while; otherwise its content proves it whole. */
  readonly proof?: 'whole' | 'quiet' | undefined;
  /** How its objects in the bucket were compared with the host's files; absent where the note lists none. */
  readonly comparedBy?: 'checksums' | 'sizes' | undefined;
  /** Folder of the complete checkpoint, relative to the checkpoint prefix. */
  readonly checkpoint: string;
  readonly updatedAt: string;
}

/** How the script of an attempt went on from what earlier ones had saved, as the agent saw it. */
export interface Resume {
  /** What was there; absent where the agent knew no checkpoint. */
  readonly checkpoint?:
    | {
        readonly name: string;
        readonly step: number;
        readonly unit?: Progress['unit'];
        readonly format?: string | undefined;
      }
    | undefined;
  /** Damaged checkpoints, and what took their place. */
  readonly repairs: readonly {
    readonly name: string;
    readonly problem: string;
    readonly instead: string;
    readonly step?: number | undefined;
  }[];
  /** Absent while nothing shows it. */
  readonly verdict?:
    | {
        readonly kind: 'resumed' | 'beganAgain';
        readonly evidence: 'log' | 'checkpoint';
        /** The first that the script printed or saved. */
        readonly position: number;
        /** In the unit of the checkpoint. */
        readonly beganAt: number;
      }
    | undefined;
}

export type RunStatus =
  | 'settling'
  | 'packing'
  | 'placing'
  | 'training'
  | 'succeeded'
  | 'failed'
  | 'stopped'
  | 'empty';
export const FINISHED: readonly RunStatus[] = ['succeeded', 'failed', 'stopped', 'empty'];

/** now: hosts on EC2 end without a last save. SageMaker has one way to stop, which leaves 120 seconds for a save. */
export const STOP_MODES = ['afterSave', 'now'] as const;
export type StopMode = (typeof STOP_MODES)[number];

/** A person's request to end the run. */
export interface StopRequest {
  readonly mode: StopMode;
  readonly at: string;
  /** ARN of the caller. */
  readonly requestedBy: string;
  /** The execution at the time of the first request, which is ended for it. */
  readonly execution: number;
}

/** work: plans, map results and notes of reads; source: the packed source, which several runs may share. */
export const EXPIRING = ['work', 'checkpoints', 'source'] as const;
export type Expiring = (typeof EXPIRING)[number];

/** A person had the ended run go on. */
export interface Retry {
  /** 1 for the first one. */
  readonly number: number;
  readonly at: string;
  /** ARN of the caller. */
  readonly requestedBy: string;
  /** How many attempts there were. They are not judged again, and do not count against `limits.attempts`. */
  readonly attempts: number;
}

/** A person asked for the run. */
export interface RunRequest {
  readonly at: string;
  /** ARN of the caller. */
  readonly requestedBy: string;
  /** Clients' own names of the calls that this run answers. */
  readonly tokens: readonly string[];
  /** Names of the fields that differ from the declaration, or from `again`. */
  readonly changed: readonly string[];
  /** The run that this one does again. */
  readonly again?: string | undefined;
  /** SHA-256 of the packed source to train with; absent: the source as it is at the launch. */
  readonly source?: string | undefined;
  /** Until the close, which pins them on the run; absent where the run trains as declared. */
  readonly parts?: RunParts | undefined;
}

export interface RunRecord {
  readonly runId: string;
  readonly pipeline: string;
  readonly batch: number;
  readonly status: RunStatus;
  readonly trigger: 'arrival' | 'schedule' | 'api';
  /** A short trial of other settings. It takes no batch: `batch` is the newest that was closed before it. */
  readonly probe?: { readonly number: number } | undefined;
  /** 1 for the first execution of the state machine; later executions count up. */
  readonly execution: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** S3's time of the newest arrival that woke the open batch, to the millisecond. It may lag behind the bucket. */
  readonly newestEventAt?: string | undefined;
  /** Absent where data or a schedule started the run. Until the close of the batch, persons may ask for it. */
  readonly request?: RunRequest | undefined;
  /** The declaration at the close of the batch, with what persons changed for this run. It does not change while the run is open. */
  readonly declaration?: Pipeline | undefined;
  readonly closedAt?: string | undefined;
  /** Its plan lists only around the keys of notifications, which are noted since this time. */
  readonly notifiedSince?: string | undefined;
  /** Time of the seal; absent without new data. */
  readonly sealedAt?: string | undefined;
  readonly generation?: string | undefined;
  /** Rejected arrivals of the batch: their count, by reason, with examples. */
  readonly rejected?: RejectedArrivals | undefined;
  /** Generations this run trains on, oldest first. */
  readonly generations?: readonly string[] | undefined;
  /** SHA-256 of the packed source of all its attempts. */
  readonly source?: string | undefined;
  readonly failure?: string | undefined;
  readonly stop?: StopRequest | undefined;
  /** The last one. */
  readonly retry?: Retry | undefined;
  readonly modelUri?: string | undefined;
  /** Of the report; absent while it goes on, and in records of earlier releases. */
  readonly result?: RunResult | undefined;
  /** A person has its checkpoints deleted before their time. It counts only while the run stays ended. */
  readonly checkpointDeletion?: CheckpointDeletion | undefined;
  /** What was deleted after the end of the run, by the declaration's retention. */
  readonly expired?: readonly Expiring[] | undefined;
}

interface CheckpointDeletion {
  readonly at: string;
  /** ARN of the caller. */
  readonly requestedBy: string;
}

/** What a list of runs says of an ended one. */
interface RunResult {
  readonly finishedAt: string;
  readonly attempts: number;
  readonly interruptions: number;
  readonly lostSeconds: number;
  readonly costUsd: number;
  readonly onDemandUsd: number;
  readonly isDeadlineMet: boolean | null;
}

export interface RejectedArrivals {
  readonly count: number;
  readonly byReason: Readonly<Record<string, number>>;
  readonly examples: readonly { readonly key: string; readonly reason: string }[];
}

/**
 * waitingForCapacity: the job exists and holds no instance; recalled: stopped by Tidewheel after a save, although the attempt had capacity.
 */
type AttemptStatus =
  | 'starting'
  | 'waitingForCapacity'
  | 'running'
  | 'done'
  | 'interrupted'
  | 'recalled'
  | 'failed';

/**
 * capacity: its pool has none; budget: it would exceed the budget; deadline: it is too slow to stay on Spot; spot: Spot is
 * expected to be cheaper than its pool; time: its end was not reported within its time limit; request: a person stops
 * the run.
 */
type RecallCause = 'capacity' | 'budget' | 'deadline' | 'spot' | 'time' | 'request';

/** A stop by Tidewheel, so that the run continues in another pool. */
interface Recall extends NonNullable<StopReason> {
  readonly at: string;
}

/** Why to recall an attempt, or undefined to leave it alone. `why` completes the sentence "attempt 2 ...". */
export type StopReason = { readonly cause: RecallCause; readonly why: string } | undefined;

/** In CloudWatch Logs, of the job's region. */
export interface JobLog {
  readonly group: string;
  /** One stream a host begins so. */
  readonly streamPrefix: string;
}

export interface AttemptRecord {
  readonly runId: string;
  readonly pipeline: string;
  readonly attempt: number;
  readonly jobName: string;
  readonly placement: Placement;
  /** The launcher that starts, follows and stops the job. */
  readonly launcher: LauncherName;
  readonly status: AttemptStatus;
  /** When its hosts were there, once a look has seen them. */
  readonly startedAt?: string | undefined;
  /** Once its script has started, as the last look saw it. */
  readonly startUp?: StartUp | undefined;
  readonly taskToken?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly progressBefore?: Progress | undefined;
  readonly progressAfter?: Progress | undefined;
  /** Absent in the run's first attempt. */
  readonly resume?: Resume | undefined;
  /** Set before Tidewheel stops the job. */
  readonly recall?: Recall | undefined;
  readonly outcome?: AttemptOutcome | undefined;
  /** Where the job's output is. */
  readonly log?: JobLog | undefined;
  readonly input?: AttemptInput | undefined;
  /** The doctor's remedies that it started with. */
  readonly applied?: readonly Change[] | undefined;
  readonly diagnosis?: Diagnosis | undefined;
  /** When the record was lost and written again from its copy. The copy knows no recall. */
  readonly restoredAt?: string | undefined;
}

/**
 * silent: launched hosts wrote no report; storage: S3 could not be reached, or refused; disk: a host's disk is full;
 * packages: the package index did not answer.
 */
export type PlatformFault = 'silent' | 'storage' | 'disk' | 'packages';

/** The outcome of an ended job, from DescribeTrainingJob. */
export interface AttemptOutcome {
  readonly kind:
    | 'completed'
    | 'interrupted'
    | 'capacity'
    | 'timeLimit'
    | 'serviceError'
    | 'userError'
    | 'recalled'
    | 'stopped';
  readonly message: string;
  readonly startedAt?: string | undefined;
  /** Start of the script, after the download of shards and image. */
  readonly scriptStartedAt?: string | undefined;
  /** From the launch of the hosts to the start of the script, where the launcher tells. */
  readonly startUp?: StartUp | undefined;
  /** It held instances and ended before its script started. */
  readonly endedBeforeScript?: true | undefined;
  readonly endedAt?: string | undefined;
  readonly trainingSeconds: number;
  readonly billableSeconds: number;
  /** With kind `capacity`: the error was a quota of the account, which holds in every zone. */
  readonly quota?: true | undefined;
  /** With kind `serviceError`: the part of the platform that failed, where it is known. */
  readonly fault?: PlatformFault | undefined;
  /** Restarts in place by managed Spot inside the job. */
  readonly interruptions: number;
  readonly modelUri?: string | undefined;
}
