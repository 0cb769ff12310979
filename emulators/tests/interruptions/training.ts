/** The ddp recipe on two hosts of the local SageMaker, its checkpoints in the bucket: started, struck, looked at. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { DescribeLogStreamsCommand, GetLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { CreateTrainingJobCommand, type DescribeTrainingJobResponse } from '@aws-sdk/client-sagemaker';
import { AGENT_FILE, HOOK_FILES } from '@tidewheel/contract/bucket-keys.ts';
import { filesBelow } from '@tidewheel/kit/files.ts';
import { writeAgent } from '../../../functions/aws/lambda/agent.ts';
import { AGENT_PATH } from '../../../functions/launch/job/job-parts.ts';
import { projectPython } from '../../../test/support/emulator.ts';
import { channelOf, type Ground } from '../../../test/support/local-sagemaker.ts';

const TRAINING = path.join(import.meta.dirname, '../../../training');
/** Small, so that a training is short: 88 steps. */
const SETTINGS = { epochs: 4, width: 8, warmup_steps: 4, loader_workers: 0 };
const SHARDS = 4;

/** The recipe's own, or the one that drops no save, however slow the disk is. */
type Program = 'train.py' | 'every_step.py';

/** Puts data, recipe and agent into the bucket. */
export async function provide(ground: Ground, folder: string): Promise<void> {
  const code = `from pathlib import Path; from digits import write_digits; write_digits(Path("${folder}/shards"), shards=${SHARDS})`;
  await promisify(execFile)(projectPython(), ['-c', code], {
    env: { ...process.env, PYTHONPATH: path.join(TRAINING, 'measure') },
  });
  await upload(ground, path.join(folder, 'shards'), 'data/');
  await upload(ground, path.join(TRAINING, 'recipes/ddp'), 'recipe/');
  const everyStep: Program = 'every_step.py';
  await ground.put(`recipe/${everyStep}`, await readFile(path.join(import.meta.dirname, everyStep)));
  await writeAgent(path.join(TRAINING, '..'), path.join(folder, AGENT_FILE));
  for (const file of [AGENT_FILE, HOOK_FILES.instrument])
    await ground.put(`agent/${file}`, await readFile(path.join(folder, file)));
}

async function upload(ground: Ground, folder: string, prefix: string): Promise<void> {
  for (const name of await filesBelow(folder))
    await ground.put(prefix + name, await readFile(path.join(folder, name)));
}

export interface Training {
  readonly job: string;
  readonly bases: readonly string[];
  /** The leader's. */
  readonly checkpoints: string;
}

/** What trains, and its hyperparameters. */
export interface Saving {
  readonly program: Program;
  readonly checkpoint_steps: number;
  readonly keep_checkpoints: number;
}

/** @param run names the checkpoints: jobs of one run go on from each other's. */
export async function start(
  ground: Ground,
  run: string,
  attempt: number,
  { program, ...saving }: Saving,
): Promise<Training> {
  const uri = (prefix: string): string => `s3://${ground.bucket}/${prefix}`;
  const job = `${run}-${attempt}`;
  const facts = { ...SETTINGS, ...saving, sagemaker_program: program, tidewheel_strategy: 'ddp' };
  await ground.sageMaker.send(
    new CreateTrainingJobCommand({
      TrainingJobName: job,
      RoleArn: 'arn:aws:iam::000000000000:role/training',
      AlgorithmSpecification: {
        TrainingImage: 'image',
        TrainingInputMode: 'File',
        ContainerEntrypoint: ['python3', AGENT_PATH],
      },
      HyperParameters: Object.fromEntries(
        Object.entries({ ...facts, sagemaker_job_name: job }).map(([key, value]) => [
          key,
          JSON.stringify(value),
        ]),
      ),
      InputDataConfig: [
        channelOf('train', uri('data/')),
        channelOf('code', uri('recipe/')),
        channelOf('agent', uri('agent/')),
      ],
      OutputDataConfig: { S3OutputPath: uri('models') },
      ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
      StoppingCondition: { MaxRuntimeInSeconds: 600, MaxWaitTimeInSeconds: 1_200 },
      EnableManagedSpotTraining: true,
      CheckpointConfig: { S3Uri: uri(`checkpoints/${run}`), LocalPath: '/opt/ml/checkpoints' },
      Environment: { TIDEWHEEL_SPOT: '1' },
    }),
  );
  const bases = ['algo-1', 'algo-2'].map((host) =>
    path.join(ground.stateDirectory, 'jobs', job, 'hosts', host, 'opt/ml'),
  );
  return { job, bases, checkpoints: path.join(bases[0] ?? '', 'checkpoints') };
}

export const hasEnded = ({ TrainingJobStatus: status }: DescribeTrainingJobResponse): boolean =>
  status === 'Completed' || status === 'Failed' || status === 'Stopped';

/** What the hosts of a job said, in order. */
export async function linesOf({ logs }: Ground, job: string): Promise<string[]> {
  const of = { logGroupName: '/aws/sagemaker/TrainingJobs', logStreamNamePrefix: `${job}/` };
  const { logStreams = [] } = await logs.send(new DescribeLogStreamsCommand(of));
  const all = await Promise.all(
    logStreams.map(({ logStreamName }) =>
      logs.send(
        new GetLogEventsCommand({ logGroupName: of.logGroupName, logStreamName, startFromHead: true }),
      ),
    ),
  );
  return all
    .flatMap(({ events = [] }) => events)
    .toSorted((a, b) => (a.timestamp ?? 0) - (b.timestamp ?? 0))
    .map(({ message = '' }) => message);
}

/** Steps that attempts of the job went on from; 0 for one that began again. */
export const resumedAt = (lines: readonly string[]): number[] =>
  lines.flatMap((line) => {
    if (line === 'starting at step 0') return [0];
    const step = /^resumed at step (\d+) of/.exec(line)?.[1];
    return step === undefined ? [] : [Number(step)];
  });
