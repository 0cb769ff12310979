/** What the launcher asks of EC2; jobs are named as on SageMaker, and told in the same shape. */
import type { CreateOutcome, StopOutcome, TrainingJobDescription } from '../job/training-service.ts';
import type { RefillOutcome } from '../launcher.ts';
import type { FleetPlan } from './fleet.ts';

/** @throws TransientError when EC2 or the bucket cannot be asked now (launch says `throttled`) */
export interface FleetService {
  /** All of the gang or nothing. Safe to repeat: the same plan finds the fleet that it made before. */
  launch(plan: FleetPlan): Promise<CreateOutcome>;
  /** undefined when no such fleet was launched, or when it ended so long ago that nobody remembers it */
  describe(jobName: string): Promise<TrainingJobDescription | undefined>;
  /** Asks the hosts to save and leave; asked again after the grace, ends them. */
  stop(jobName: string): Promise<StopOutcome>;
  /** Asks the hosts for a checkpoint at once; they train on. One request for each instance that is in danger. */
  requestCheckpoint(jobName: string, instanceId: string): Promise<void>;
  /**
   * Keeps what is left of a gang that has lost hosts, asks for the missing ones again and has it begin anew. Safe to
   * repeat at any time, by any number of processes.
   * @param warned instances that EC2 has announced to take back
   */
  refill(jobName: string, warned: readonly string[]): Promise<RefillOutcome>;
  /**
   * For an attempt that has ended: ends hosts that nobody waits for any more, removes launch template and placement
   * group. Idempotent; a group whose last host is still going is left to the next release.
   */
  release(jobName: string): Promise<void>;
  /** Names of the jobs of which hosts, a launch template or a placement group are left, running ones among them. */
  listLeftovers(): Promise<readonly string[]>;
  /** The jobs of those instances that are ours, by instance id; EC2 forgets an ended instance within the hour. */
  jobsOf(instanceIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
