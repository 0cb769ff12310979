/** One machine for a script: a folder laid out as /opt/ml, a Python environment of its own, and the agent in front. */

import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { packagesOfTraining } from '@tidewheel/catalog/images.ts';
import { entryPointOf, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { installerVariables, layEnvironment } from '@tidewheel/emulators/environments/host-environment.ts';
import { type HostProcess, startHost } from '@tidewheel/emulators/sagemaker/hosts/host-process.ts';
import { OPT_ML } from '@tidewheel/emulators/sagemaker/hosts/opt-ml.ts';
import { encodeHyperparameters, scriptParameters } from '../../functions/launch/job/hyperparameters.ts';

/** What is the same for every start of the script. */
export interface Trial {
  /** Absolute. */
  readonly folder: string;
  /** Absolute files and folders beside it. */
  readonly dependencies?: readonly string[] | undefined;
  readonly training: Pipeline['training'];
  /** Channel name to folder. */
  readonly channels: Readonly<Record<string, string>>;
  /** A private folder with a short path: sockets of data loaders lie below it. */
  readonly work: string;
  readonly agentFile: string;
  readonly pythonPath: string;
  readonly environmentsDirectory: string;
  readonly graceSeconds: number;
  readonly masterPort: number;
  /** Of the machine, as an image would set it. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface TrialHost {
  readonly base: string;
  readonly checkpoints: string;
  readonly process: HostProcess;
}

const ADDRESS = '127.0.0.1';
const INSTANCE_TYPE = 'ml.c5.large';
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** @param earlier checkpoints of the start before, which move to this machine; it may have had the same name */
export async function startOnMachine(
  trial: Trial,
  name: string,
  earlier: string | undefined,
): Promise<TrialHost> {
  const root = join(trial.work, name);
  const base = join(root, OPT_ML);
  const checkpoints = join(base, 'checkpoints');
  const kept = earlier === undefined ? undefined : `${root}-checkpoints`;
  if (earlier !== undefined && kept !== undefined) await rename(earlier, kept);
  await rm(root, { recursive: true, force: true });
  for (const folder of ['input/config', 'input/data']) await mkdir(join(base, folder), { recursive: true });
  for (const folder of ['tmp', 'root']) await mkdir(join(root, folder));
  await (kept === undefined ? mkdir(checkpoints) : rename(kept, checkpoints));
  for (const [channel, folder] of Object.entries(trial.channels))
    await symlink(resolve(folder), join(base, 'input/data', channel));
  await linkCode(trial, join(base, 'input/data/code'));
  for (const [file, content] of Object.entries(configOf(trial, ['code', ...Object.keys(trial.channels)])))
    await writeFile(join(base, 'input/config', `${file}.json`), JSON.stringify(content));
  // As on the local SageMaker.
  const packages = packagesOfTraining(trial.training);
  const python = await layEnvironment(trial.pythonPath, join(root, 'python'), trial.environmentsDirectory, {
    packages,
  });
  const environment = environmentOf(trial, root, python);
  const command = [python, trial.agentFile];
  const process = startHost(trial.pythonPath, { command, environment, directory: root, optMl: base });
  return { base, checkpoints, process };
}

async function linkCode({ folder, dependencies = [] }: Trial, code: string): Promise<void> {
  if (dependencies.length === 0) return symlink(resolve(folder), code);
  await mkdir(code);
  const own = (await readdir(folder)).map((name) => resolve(folder, name));
  for (const path of [...own, ...dependencies]) await symlink(path, join(code, basename(path)));
}

function configOf({ training }: Trial, channels: readonly string[]): Record<string, unknown> {
  const group = { instance_group_name: 'homogeneousCluster', instance_type: INSTANCE_TYPE, hosts: [ADDRESS] };
  const program = entryPointOf(training);
  return {
    resourceconfig: {
      current_host: ADDRESS,
      current_instance_type: INSTANCE_TYPE,
      current_group_name: group.instance_group_name,
      hosts: group.hosts,
      instance_groups: [group],
      network_interface_name: 'lo',
    },
    hyperparameters: encodeHyperparameters({
      ...training.hyperparameters,
      ...(program !== undefined && { sagemaker_program: program }),
      ...scriptParameters(training),
      tidewheel_strategy: training.strategy,
      tidewheel_run_id: 'try-000001',
    }),
    inputdataconfig: Object.fromEntries(
      channels.map((channel) => [
        channel,
        { TrainingInputMode: 'File', S3DistributionType: 'FullyReplicated', RecordWrapperType: 'None' },
      ]),
    ),
    checkpointconfig: { LocalPath: `${OPT_ML}/checkpoints` },
  };
}

function environmentOf(trial: Trial, root: string, python: string): Record<string, string> {
  return {
    ...installerVariables(),
    PATH: [dirname(python), dirname(trial.pythonPath), SYSTEM_PATH].join(':'),
    HOME: join(root, 'root'),
    LANG: 'C.UTF-8',
    TMPDIR: join(root, 'tmp'),
    AWS_EC2_METADATA_DISABLED: 'true',
    GLOO_SOCKET_IFNAME: 'lo',
    NCCL_SOCKET_IFNAME: 'lo',
    TRAINING_JOB_NAME: 'try-000001-a1-000000',
    SAGEMAKER_BASE_DIR: OPT_ML,
    TIDEWHEEL_SPOT: '1',
    TIDEWHEEL_MODEL: 'none',
    TIDEWHEEL_CPUS: String(availableParallelism()),
    TIDEWHEEL_GRACE_SECONDS: String(trial.graceSeconds),
    TIDEWHEEL_MASTER_PORT: String(trial.masterPort),
    ...trial.environment,
  };
}
