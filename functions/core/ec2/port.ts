/** What the launcher asks of EC2; jobs are named as on SageMaker, and told in the same shape. */
import type { CreateOutcome, StopOutcome, TrainingJobDescription } from '../launch/port.ts';
import type { FleetPlan } from './fleet.ts';

/** @throws TransientError when EC2 or the bucket cannot be asked now (launch says `throttled`) */
export interface FleetService {
  /** All of the gang or nothing. Safe to repeat: the same plan finds the fleet that it made before. */
  launch(plan: FleetPlan): Promise<CreateOutcome>;
  /** undefined when no such fleet was launched, or when it ended so long ago that nobody remembers it */
  describe(jobName: string): Promise<TrainingJobDescription | undefined>;
  /** Asks the hosts to save and leave; asked again after the grace, ends them. */
  stop(jobName: string): Promise<StopOutcome>;
  /** Removes what outlives the hosts: launch template and placement group. Idempotent. */
  release(jobName: string): Promise<void>;
}
