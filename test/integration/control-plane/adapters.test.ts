/** The adapters on the emulator keep the contracts that the fakes keep (test/unit/support/fakes.test.ts). */
import { CreateActivityCommand, GetActivityTaskCommand, SFNClient } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Stores } from '../../../functions/core/runs/stores.ts';
import type { ObjectStore } from '../../../functions/core/shared/ports.ts';
import { LARGE_DECISION } from '../../support/builders/large-decision.ts';
import { pinnedSourceContract } from '../../support/builders/pinned-source.ts';
import { type ExecutionsGround, executionsContract } from '../../support/contracts/executions.ts';
import { objectStoreContract } from '../../support/contracts/object-store.ts';
import { type SchedulesGround, schedulesContract } from '../../support/contracts/schedules.ts';
import { storesContract } from '../../support/contracts/stores.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { makeExecutions, makeObjectStore, makeSchedules, makeStores } from './ground.ts';

interface Ground {
  readonly objects: ObjectStore;
  readonly stores: Stores;
  readonly schedules: SchedulesGround;
  readonly executions: ExecutionsGround;
}

let emulator: TestEmulator | undefined;
let ground: Ground | undefined;

beforeAll(async () => {
  emulator = await startTestEmulator();
  const { url } = emulator;
  ground = {
    objects: await makeObjectStore(url, 'contract-bucket'),
    stores: await makeStores(url, 'contract-table'),
    schedules: await makeSchedules(url),
    executions: await makeTokens(url),
  };
}, 60_000);

afterAll(async () => {
  await emulator?.stop();
}, 60_000);

async function makeTokens(url: string): Promise<ExecutionsGround> {
  const sfn = new SFNClient(clientConfiguration(url));
  const { activityArn } = await sfn.send(new CreateActivityCommand({ name: 'answers' }));
  if (activityArn === undefined) throw new Error('the emulator made no activity');
  return makeExecutions(url, activityArn, async () => {
    const { taskToken } = await sfn.send(new GetActivityTaskCommand({ activityArn, workerName: 'contract' }));
    if (taskToken === undefined) throw new Error('no execution waits');
    return taskToken;
  });
}

function standing(): Ground {
  if (ground === undefined) throw new Error('the emulator did not start');
  return ground;
}

storesContract('DynamoDB', () => Promise.resolve(standing().stores));
objectStoreContract('S3', () => Promise.resolve(standing().objects));
pinnedSourceContract('S3', () => Promise.resolve(standing().objects));
schedulesContract('EventBridge Scheduler', () => Promise.resolve(standing().schedules));
executionsContract('Step Functions', () => Promise.resolve(standing().executions));

it('DynamoDB gives a decision back whose market is larger than an item may be', async () => {
  const { stores } = standing();
  await stores.placements.put('large-000001', 1, LARGE_DECISION);
  expect(await stores.placements.list('large-000001')).toEqual([{ attempt: 1, decision: LARGE_DECISION }]);
});
