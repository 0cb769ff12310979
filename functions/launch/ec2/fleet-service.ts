/** What the launcher needs of EC2. Job names and descriptions have the same form as on SageMaker. */
import type { StopMode } from '../../records/run-records.ts';
import type { CreateOutcome, StopOutcome, TrainingJobDescription } from '../job/training-service.ts';
import type { RefillOutcome } from '../launcher.ts';
import type { FleetPlan } from './fleet.ts';

/** @throws TransientError when EC2 or the bucket cannot answer now (launch returns `throttled`) */
export interface FleetService {
  /** Launches the whole gang or nothing. Safe to repeat: the same plan finds its existing fleet. */
  launch(plan: FleetPlan): Promise<CreateOutcome>;
  /** undefined when no such fleet was launched, or when EC2 and the bucket no longer hold it */
  describe(jobName: string): Promise<TrainingJobDescription | undefined>;
  /** Asks the hosts to save and leave. A call after the grace period terminates them. */
  stop(jobName: string, mode?: StopMode): Promise<StopOutcome>;
  /** Asks the hosts for a checkpoint at once; they train on. Each instance in danger gets one request. */
  requestCheckpoint(jobName: string, instanceId: string): Promise<void>;
  /**
   * Replaces the lost hosts of a gang and restarts its training from the newest checkpoint. Safe to repeat at any time,
   * by any number of processes.
   * @param warned instances with an interruption notice
   */
  refill(jobName: string, warned: readonly string[]): Promise<RefillOutcome>;
  /**
   * For an ended attempt: terminates remaining hosts and removes launch template and placement group. Idempotent: the
   * next release removes a group whose last host is still ending.
   */
  release(jobName: string): Promise<void>;
  /** Names of the jobs that still have hosts, a launch template or a placement group, including running jobs. */
  listLeftovers(): Promise<readonly string[]>;
  /** The jobs of this installation's instances, by instance id. EC2 forgets an ended instance within the hour. */
  jobsOf(instanceIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
