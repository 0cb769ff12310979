/** The launcher on SageMaker: training jobs in the data's own region or in another that the pipeline names. */
import type { TrainingService } from '../job/training-service.ts';
import type { Launcher, Starter } from '../launcher.ts';
import { buildTrainingJob } from './training-job.ts';

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

/** @param roleArn the execution role of training jobs; the launch function needs iam:PassRole for it */
export const makeSageMakerStarter = (services: SageMaker, roleArn: string): Starter => ({
  prepare: (input) => {
    const job = buildTrainingJob({ ...input, roleArn });
    if (job.kind === 'problems') return job;
    const { region } = input.placement.pool;
    return {
      kind: 'prepared',
      objects: job.objects,
      inputReason: `${job.input.mode}: ${job.input.reason}`,
      start: async () =>
        (await serviceIn(services, region)?.create(job.request)) ?? {
          kind: 'invalid',
          message: `region ${region} is not set up for SageMaker: remove it from compute.regions`,
        },
    };
  },
});
