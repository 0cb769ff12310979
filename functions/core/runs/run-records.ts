/** What is remembered of pipelines, runs and attempts. Times are ISO 8601 in UTC, durations seconds, money USD. */
import type { LauncherName } from '../pipeline/launchers.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** pool = instance type x availability zone x market x launcher */
export interface Pool {
  /** EC2 name, without `ml.` */
  readonly instanceType: string;
  /** Zone id such as use1-az4, or undefined where SageMaker chooses (no VPC named). */
  readonly zoneId?: string | undefined;
  readonly purchaseOption: 'spot' | 'on-demand';
  /** Absent in the data bucket's own region. */
  readonly region?: string | undefined;
  readonly launcher: LauncherName;
}

export const samePool = (a: Pool, b: Pool): boolean =>
  a.instanceType === b.instanceType &&
  a.zoneId === b.zoneId &&
  a.purchaseOption === b.purchaseOption &&
  a.region === b.region &&
  a.launcher === b.launcher;

/** As sentences name it. */
export const nameOfPool = ({ instanceType, zoneId }: Pool): string =>
  zoneId === undefined ? instanceType : `${instanceType} in ${zoneId}`;

export interface Topology {
  readonly nodes: number;
  readonly acceleratorsPerNode: number;
  /** CPU nodes that placement added by itself; absent where the pipeline names its groups or has none. */
  readonly helpers?: readonly HelperNodes[] | undefined;
}

export interface HelperNodes {
  /** Of the instance group. */
  readonly name: string;
  readonly instanceType: string;
  readonly nodes: number;
}

/** One row of the table that explains a placement. */
export interface PoolAssessment {
  readonly pool: Pool;
  /** Spot placement score 1-10 for the whole gang; undefined when it could not be had. */
  readonly score?: number | undefined;
  /** Price of one node. */
  readonly hourlyUsd: number;
  readonly expectedCostUsd: number;
  readonly expectedSeconds: number;
  /** Mean time until capacity comes, and from then until an interruption; undefined when not expected. */
  readonly expectedWaitSeconds?: number | undefined;
  readonly expectedUpSeconds?: number | undefined;
  /** Of the gang. */
  readonly topology: Topology;
  /** Nine times out of ten the work takes between these; absent where nothing is extrapolated. */
  readonly expectedSecondsBetween?: readonly [number, number] | undefined;
  /** Moving shards and checkpoints to another region, in the costs and times above. */
  readonly transfer?: Transfer | undefined;
  /** Why it is the chosen one, or why it lost. */
  readonly verdict: string;
}

export interface Transfer {
  readonly gigabytes: number;
  readonly usd: number;
  readonly seconds: number;
  /** How the price of a gigabyte is known. */
  readonly priceNote: string;
}

/** The choice of topology and pool for the next attempt, with the reasons. */
export interface Placement {
  readonly pool: Pool;
  readonly topology: Topology;
  readonly subnetId?: string | undefined;
  /** On-Demand price of one node, for the counterfactual. */
  readonly onDemandHourlyUsd: number;
  /** On-Demand price of all nodes of all helper groups together. */
  readonly helpersHourlyUsd?: number | undefined;
  /** Of shards and checkpoints, to another region and back; in the attempt's cost. */
  readonly transfer?: Transfer | undefined;
  /** Training seconds of the whole run as former runs took, where that was known. */
  readonly expectedSeconds?: number | undefined;
  readonly maximumRunSeconds: number;
  /** Spot only: how long the job may wait for capacity and run, together. */
  readonly maximumWaitSeconds?: number | undefined;
  /** Spot only: until when the job may wait for capacity; later On-Demand could not keep the deadline. */
  readonly spotUntil?: string | undefined;
  readonly reason: string;
  readonly considered: readonly PoolAssessment[];
  readonly decidedAt: string;
}

export type PlacementDecision =
  | { readonly kind: 'launch'; readonly placement: Placement }
  | {
      readonly kind: 'wait';
      readonly seconds: number;
      readonly reason: string;
      readonly considered: readonly PoolAssessment[];
    }
  | { readonly kind: 'giveUp'; readonly reason: string; readonly considered: readonly PoolAssessment[] };

/** A decision with the document that it was made from; `storedQuestion` of placement reads the document. */
export type StoredDecision = PlacementDecision & { readonly question: unknown };

/** Work that a checkpoint proves done. Written by the agent, judged by the service. */
export interface Progress {
  readonly step: number;
  readonly totalSteps: number;
  /** Training seconds spent when the checkpoint was written, over all attempts. */
  readonly trainingSeconds?: number | undefined;
  /** How long a save holds training up, as the agent measured it. */
  readonly saveSeconds?: number | undefined;
  /** Means over the attempt, of the first host that trains. */
  readonly usage?:
    | { readonly cpuPercent?: number | undefined; readonly gpuPercent?: number | undefined }
    | undefined;
  /** What the checkpoint weighs, where its marker lists its files. */
  readonly checkpointBytes?: number | undefined;
  readonly metrics?: Readonly<Record<string, number>> | undefined;
  /** Folder of the complete checkpoint that proves it, relative to the checkpoint prefix. */
  readonly checkpoint: string;
  readonly updatedAt: string;
}

export type RunStatus = 'settling' | 'packing' | 'placing' | 'training' | 'succeeded' | 'failed' | 'empty';
export const FINISHED: readonly RunStatus[] = ['succeeded', 'failed', 'empty'];

export interface RunRecord {
  readonly runId: string;
  readonly pipeline: string;
  readonly batch: number;
  readonly status: RunStatus;
  readonly trigger: 'arrival' | 'schedule' | 'api';
  /** 1 for the first execution of the state machine; reconcile counts on. */
  readonly execution: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The declaration as it was when the batch was closed: a run never changes under way. */
  readonly declaration?: Pipeline | undefined;
  readonly closedAt?: string | undefined;
  /** When its data was packed, where there was any to pack. */
  readonly sealedAt?: string | undefined;
  readonly generation?: string | undefined;
  /** What of its batch could not be packed: how many, by reason, and a few of them. */
  readonly rejected?: RejectedArrivals | undefined;
  /** Generations this run trains on, oldest first. */
  readonly generations?: readonly string[] | undefined;
  /** SHA-256 of the packed source that all its attempts train with. */
  readonly source?: string | undefined;
  readonly failure?: string | undefined;
  readonly modelUri?: string | undefined;
}

export interface RejectedArrivals {
  readonly count: number;
  readonly byReason: Readonly<Record<string, number>>;
  readonly examples: readonly { readonly key: string; readonly reason: string }[];
}

/** recalled: stopped by Tidewheel itself, after a save, although it had its capacity. */
type AttemptStatus = 'starting' | 'running' | 'done' | 'interrupted' | 'recalled' | 'failed';

/**
 * capacity: its pool went bad; budget: it would have passed the budget; deadline: it turned out too slow to stay on Spot;
 * spot: Spot is expected to be cheaper than going on where it was; time: nobody told its end in the time it was given.
 */
type RecallCause = 'capacity' | 'budget' | 'deadline' | 'spot' | 'time';

/** A stop by Tidewheel, so that the run goes on elsewhere. */
interface Recall extends NonNullable<StopReason> {
  readonly at: string;
}

/** Why to stop an attempt, `why` as it goes on after "attempt 2 ...", or undefined: leave it alone. */
export type StopReason = { readonly cause: RecallCause; readonly why: string } | undefined;

export interface AttemptRecord {
  readonly runId: string;
  readonly pipeline: string;
  readonly attempt: number;
  readonly jobName: string;
  readonly placement: Placement;
  /** Which service was asked for the job, and is asked about it from then on. */
  readonly launcher: LauncherName;
  readonly status: AttemptStatus;
  readonly taskToken?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly progressBefore?: Progress | undefined;
  readonly progressAfter?: Progress | undefined;
  /** Set before Tidewheel stops the job itself. */
  readonly recall?: Recall | undefined;
  readonly outcome?: AttemptOutcome | undefined;
}

/** What DescribeTrainingJob says of a job that ended, in our words. */
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
  readonly endedAt?: string | undefined;
  readonly trainingSeconds: number;
  readonly billableSeconds: number;
  /** Of kind `capacity`: an account's limit was in the way, which is the same in every zone. */
  readonly quota?: true | undefined;
  /** In-place restarts of managed Spot that SageMaker did inside the job. */
  readonly interruptions: number;
  readonly modelUri?: string | undefined;
}
