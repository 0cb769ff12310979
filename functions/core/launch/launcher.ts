/** One word in the pipeline decides where an attempt runs; what follows it, stops it and judges it is the same. */

import type { Problem } from '../shared/errors.ts';
import { buildFleet, type FleetPlan } from './ec2/fleet.ts';
import type { FleetService } from './ec2/fleet-service.ts';
import type { PreparedObject } from './job/channels.ts';
import type { TrainingJobInput } from './job/job-parts.ts';
import type { CreateTrainingJobRequest } from './job/request.ts';
import type {
  CreateOutcome,
  StopOutcome,
  TrainingJobDescription,
  TrainingService,
} from './job/training-service.ts';
import { buildTrainingJob } from './sagemaker/training-job.ts';

export type AttemptRequest =
  | {
      readonly kind: 'sagemaker';
      readonly request: CreateTrainingJobRequest;
      /** Absent in the data's own. */
      readonly region?: string | undefined;
      /** To be written to the bucket before the attempt is started. */
      readonly objects: readonly PreparedObject[];
      /** How the shards reach the script, and why. */
      readonly inputReason: string;
    }
  | {
      readonly kind: 'ec2';
      readonly plan: FleetPlan;
      readonly objects: readonly PreparedObject[];
      readonly inputReason: string;
    };

export type AttemptResult =
  | AttemptRequest
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

export function buildAttempt(input: TrainingJobInput): AttemptResult {
  if (input.placement.pool.launcher === 'ec2') {
    const plan = buildFleet(input);
    if (plan.kind === 'problems') return plan;
    return {
      kind: 'ec2',
      plan,
      objects: plan.objects,
      inputReason: 'File: hosts on EC2 download their shards',
    };
  }
  const job = buildTrainingJob(input);
  if (job.kind === 'problems') return job;
  const { request, objects, input: chosen } = job;
  const { region } = input.placement.pool;
  const inputReason = `${chosen.mode}: ${chosen.reason}`;
  return { kind: 'sagemaker', request, objects, inputReason, ...(region !== undefined && { region }) };
}

/** What follows an attempt needs to know of it only its name. What only EC2 has does nothing for a job on SageMaker. */
export interface Launcher
  extends Pick<FleetService, 'askToSave' | 'refill' | 'release' | 'remains' | 'jobsOf'> {
  start(request: AttemptRequest): Promise<CreateOutcome>;
  /** undefined when neither service knows the job */
  describe(jobName: string): Promise<TrainingJobDescription | undefined>;
  stop(jobName: string): Promise<StopOutcome>;
}

export interface Services {
  readonly training: TrainingService;
  readonly fleets: FleetService;
  readonly elsewhere?: Elsewhere | undefined;
}

/** SageMaker in other regions, and where a job was started that the own region does not know. */
interface Elsewhere {
  training(region: string): TrainingService;
  /** undefined for the data's own region and for a job that is not on record */
  regionOf(jobName: string): Promise<string | undefined>;
}

/** Names do not say where a job runs: SageMaker is asked first, because most jobs are there. */
export function makeLauncher({ training, fleets, elsewhere }: Services): Launcher {
  const away = async (jobName: string): Promise<TrainingService | undefined> => {
    const region = await elsewhere?.regionOf(jobName);
    return region === undefined ? undefined : elsewhere?.training(region);
  };
  const create = ({ request, region }: Extract<AttemptRequest, { kind: 'sagemaker' }>) => {
    const service = region === undefined ? training : elsewhere?.training(region);
    if (service !== undefined) return service.create(request);
    const message = `no SageMaker is set up for ${region}`;
    return Promise.resolve<CreateOutcome>({ kind: 'invalid', message });
  };
  return {
    start: (request) => (request.kind === 'ec2' ? fleets.launch(request.plan) : create(request)),
    describe: async (jobName) =>
      (await training.describe(jobName)) ??
      (await (await away(jobName))?.describe(jobName)) ??
      (await fleets.describe(jobName)),
    stop: async (jobName) => {
      const stopped = await training.stop(jobName);
      if (stopped !== 'notFound') return stopped;
      const there = await away(jobName);
      return there === undefined ? fleets.stop(jobName) : there.stop(jobName);
    },
    askToSave: (jobName, instanceId) => fleets.askToSave(jobName, instanceId),
    refill: (jobName, warned) => fleets.refill(jobName, warned),
    // SageMaker clears its own instances away.
    release: (jobName) => fleets.release(jobName),
    remains: () => fleets.remains(),
    jobsOf: (instanceIds) => fleets.jobsOf(instanceIds),
  };
}
