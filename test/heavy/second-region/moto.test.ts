/** Another emulator of AWS, moto, keeps the contracts of stores and launches too: no rule leans on one emulator's ways. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { requestViolations } from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeTrainingService } from '../../../functions/aws/sagemaker/training-service.ts';
import { buildTrainingJob } from '../../../functions/launch/sagemaker/training-job.ts';
import type { Stores } from '../../../functions/records/stores.ts';
import { botocore, loadModel } from '../../contract/botocore.ts';
import { CONFIGURATIONS } from '../../contract/configurations.ts';
import { makeObjectStore } from '../../integration/control-plane/ground.ts';
import { planOf } from '../../support/builders/fleet.ts';
import { launch } from '../../support/builders/launch.ts';
import { objectStoreContract } from '../../support/contracts/object-store.ts';
import { registryContract, shownInSageMaker } from '../../support/contracts/registries.ts';
import { storesContract } from '../../support/contracts/stores.ts';
import { clientConfiguration } from '../../support/emulator.ts';
import { pythonTools } from '../../support/python-tools.ts';
import { makeStores } from '../../support/table.ts';

/**
 * One request at a time. With threads moto checks a condition and writes in two steps, so that two closes of a batch, two
 * retries of a run and two verdicts may both win: three of the contracts' races are then lost, and none of them is ours.
 */
const SERVER = `
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
run_simple("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
`;

let moto: ChildProcess;
let folder: string;
let url: string;
let store: ObjectStore;
let stores: Stores;

beforeAll(async () => {
  folder = await pythonTools({ name: 'moto', file: path.join(import.meta.dirname, 'moto.lock') });
  const started = spawn(path.join(folder, 'bin', 'python'), ['-c', SERVER], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  moto = started;
  for await (const line of createInterface({ input: started.stderr })) {
    const found = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (found === undefined) continue;
    url = found;
    break;
  }
  started.stderr.resume();
  store = await makeObjectStore(url, 'tw-data');
  stores = await makeStores(url, 'table');
}, 120_000);

afterAll(async () => {
  moto.kill();
  await once(moto, 'exit');
});

objectStoreContract('S3 of moto', () => Promise.resolve(store));
storesContract('DynamoDB of moto', () => Promise.resolve(stores));
registryContract(
  'SageMaker Model Registry of moto',
  async () => {
    const sageMaker = new SageMakerClient(clientConfiguration(url));
    return Promise.resolve({
      sageMaker,
      fetch,
      registries: { sagemaker: {} },
      show: shownInSageMaker(sageMaker),
    });
  },
  7,
);

/** What moto itself lacks: it takes a second job of one name, has other words for a missing one, and its CreateFleet fails. */
describe('a launch', () => {
  it('on moto starts a training job', async () => {
    const job = buildTrainingJob(launch());
    if (job.kind !== 'request') throw new Error('the fixture is wrong');
    const training = makeTrainingService(new SageMakerClient(clientConfiguration(url)));
    expect(await training.create(job.request)).toMatchObject({ kind: 'created' });
    expect(await training.describe(job.request.TrainingJobName)).toMatchObject({
      TrainingJobStatus: 'Completed',
    });
  });

  it("asks for nothing that moto's newer botocore refuses", () => {
    const python = path.join(folder, 'bin', 'python');
    expect(botocore(python).version).not.toBe(botocore().version);
    const sagemaker = loadModel('sagemaker/2017-07-24', python);
    const ec2 = loadModel('ec2/2016-11-15', python);
    const { fleet, launchTemplate, placementGroup } = planOf();
    const broken = CONFIGURATIONS.flatMap(([name, input]) => {
      const job = buildTrainingJob(input);
      const wrong =
        job.kind === 'request' ? requestViolations(sagemaker, 'CreateTrainingJob', job.request) : [job];
      return wrong.length > 0 ? [{ name, wrong }] : [];
    });
    expect(broken).toEqual([]);
    expect([
      ...requestViolations(ec2, 'CreateFleet', fleet),
      ...requestViolations(ec2, 'CreateLaunchTemplate', launchTemplate),
      ...requestViolations(ec2, 'CreatePlacementGroup', placementGroup),
    ]).toEqual([]);
  });
});
