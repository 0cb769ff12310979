/** The launcher on SageMaker: training jobs in the data's own region or in another that the pipeline names. */
import type { CreateTrainingJobRequest } from '../job/request.ts';
import type { CreateOutcome, TrainingService } from '../job/training-service.ts';
import type { Launcher, Starter } from '../launcher.ts';
import { type PipelineRole, startUnder } from '../pipeline-role.ts';
import { buildTrainingJob, withPreferences } from './training-job.ts';

export interface SageMaker {
  /** In the data bucket's own region. */
  readonly training: TrainingService;
  /** In another region; absent if only the data's own region is set up. */
  readonly trainingIn?: ((region: string) => TrainingService) | undefined;
}

const serviceIn = ({ training, trainingIn }: SageMaker, region: string | undefined) =>
  region === undefined ? training : trainingIn?.(region);

export const makeSageMakerLauncher = (services: SageMaker): Launcher => ({
  describe: async ({ jobName, region }) => serviceIn(services, region)?.describe(jobName),
  stop: async ({ jobName, region }) => (await serviceIn(services, region)?.stop(jobName)) ?? 'notFound',
});

/** https://docs.aws.amazon.com/sagemaker/latest/dg/logging-cloudwatch.html */
const LOG_GROUP = '/aws/sagemaker/TrainingJobs';

/**
 * @param role the execution roles of training jobs
 * @param kmsKey the customer key of the data bucket, if it has one
 */
export const makeSageMakerStarter = (services: SageMaker, role: PipelineRole, kmsKey?: string): Starter => ({
  prepare: (input) => {
    const { name } = input.declaration;
    const { region } = input.placement.pool;
    const jobInput = {
      ...input,
      roleArn: role.arnOf(name),
      // A key serves its own region alone.
      kmsKey: region === undefined ? kmsKey : undefined,
    };
    const job = buildTrainingJob(jobInput);
    if (job.kind === 'problems') return job;
    const service = serviceIn(services, region);
    const several = withPreferences(jobInput, job.request);
    return {
      kind: 'prepared',
      objects: job.objects,
      inputMode: job.input.mode,
      inputReason: `${job.input.mode}: ${job.input.reason}`,
      log: { group: LOG_GROUP, streamPrefix: `${job.request.TrainingJobName}/` },
      start: async () => {
        if (service !== undefined) {
          const create: Create = (request) => startUnder(role, name, () => service.create(request));
          return createJob(create, job.request, several);
        }
        const message = `region ${region} is not set up for SageMaker: remove it from compute.regions`;
        return { kind: 'invalid', message };
      },
    };
  },
});

type Create = TrainingService['create'];

/**
 * Requests several types at once, then one of them alone if that is refused.
 * @param several the same with further types; one of them without quota, or forbidden, or unknown to the region, has all
 * refused
 */
async function createJob(
  create: Create,
  request: CreateTrainingJobRequest,
  several: CreateTrainingJobRequest | undefined,
): Promise<CreateOutcome> {
  if (several === undefined) return create(request);
  const listed = await create(several);
  switch (listed.kind) {
    case 'created':
    case 'alreadyExists':
    case 'capacity':
    case 'throttled':
      return listed;
    case 'quota':
    case 'invalid':
    case 'denied':
    case 'unknown': {
      const created = await create(request);
      return created.kind === 'created' || created.kind === 'capacity'
        ? { ...created, alone: listed.message }
        : created;
    }
  }
}
