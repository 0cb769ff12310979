/** What the launcher needs of EC2. Job names and descriptions have the same form as on SageMaker. */
import type { StopMode } from '../../records/run-records.ts';
import type { CreateOutcome, StopOutcome, TrainingJobDescription } from '../job/training-service.ts';
import type { HostPort, LeftoverPort } from '../launcher.ts';
import type { FleetPlan } from './fleet.ts';

/** @throws TransientError when EC2 or the bucket cannot answer now (launch returns `throttled`) */
export interface FleetService extends HostPort {
  /** Launches the whole gang or nothing. Safe to repeat: the same plan finds its existing fleet. */
  launch(plan: FleetPlan): Promise<CreateOutcome>;
  /** undefined when no such fleet was launched, or when EC2 and the bucket no longer hold it */
  describe(jobName: string): Promise<TrainingJobDescription | undefined>;
  /** Asks the hosts to save and leave. A call after the grace period terminates them. */
  stop(jobName: string, mode?: StopMode): Promise<StopOutcome>;
  readonly release: LeftoverPort['release'];
  readonly listLeftovers: LeftoverPort['list'];
}
