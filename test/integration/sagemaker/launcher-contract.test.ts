/** The SageMaker launcher keeps the launchers' contract on the local SageMaker, which trains in real processes. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AGENT_FILES, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { afterAll, beforeAll } from 'vitest';
import { agentPublisher } from '../../../functions/aws/lambda/agent.ts';
import { makeTrainingService } from '../../../functions/aws/sagemaker/training-service.ts';
import {
  makeSageMakerLauncher,
  makeSageMakerStarter,
} from '../../../functions/launch/sagemaker/sagemaker-launcher.ts';
import { declaration, launch, placement } from '../../support/builders/launch.ts';
import { knownRole, TRAINING_ROLE } from '../../support/builders/launchers.ts';
import { type LauncherGround, launcherContract } from '../../support/contracts/launcher.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { type Ground, layGround } from '../../support/local-sagemaker.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';

const RUN = 'digits-000001';
/** Trains until a stop request, or until a file of its job's name appears. */
const SCRIPT = `
import json, os, pathlib, sys, time, tidewheel
name = json.loads(os.environ['SM_TRAINING_ENV'])['job_name']
finished = pathlib.Path(sys.argv[sys.argv.index('--finished') + 1]) / name
while not finished.exists():
    if tidewheel.stop_soon():
        raise SystemExit(143)
    time.sleep(0.05)
pathlib.Path(os.environ['SM_MODEL_DIR'], 'model').write_text('trained')
`;

const emulator = emulatorOfSuite();
let ground: Ground;
let finished: string;
let agentPrefix: string;

beforeAll(async () => {
  ground = await layGround(emulator.url);
  finished = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-finished-'));
  const store = objectStoreOf(ground.s3, ground.bucket);
  agentPrefix = await agentPublisher(store, path.join(import.meta.dirname, '../../..'))(AGENT_FILES);
  await ground.put(`${bucketKeys.source('digits')}train.py`, SCRIPT);
  await ground.put(`${bucketKeys.shards('digits', RUN)}0.tar`, 'a shard');
}, 60_000);

afterAll(async () => {
  await ground?.close();
  await rm(finished, { recursive: true, force: true });
}, 60_000);

launcherContract(
  'SageMaker on one machine',
  { hosts: false, leftovers: false, capacityErrors: false },
  (): Promise<LauncherGround> => {
    const services = { training: makeTrainingService(ground.sageMaker) };
    return Promise.resolve({
      launcher: makeSageMakerLauncher(services),
      starter: makeSageMakerStarter(services, knownRole(TRAINING_ROLE)),
      input: (attempt) =>
        launch({
          attempt,
          bucket: ground.bucket,
          agentPrefix,
          declaration: declaration({
            training: { strategy: 'single', hyperparameters: { finished } },
            compute: { instanceTypes: ['c5.xlarge'], nodes: 1 },
          }),
          placement: placement({
            pool: { instanceType: 'c5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' },
            topology: { nodes: 1, acceleratorsPerNode: 0 },
            maximumWaitSeconds: undefined,
          }),
        }),
      write: async (objects) => {
        for (const { key, text } of objects) await ground.put(key, text);
      },
      finish: async (jobName) => {
        await mkdir(finished, { recursive: true });
        await writeFile(path.join(finished, jobName), '');
      },
      pass: () => sleep(200),
    });
  },
);
