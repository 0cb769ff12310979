/** The adapters on the emulator keep the contracts that the fakes keep (test/unit/support/fakes.test.ts). */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateActivityCommand, GetActivityTaskCommand, SFNClient } from '@aws-sdk/client-sfn';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stores } from '../../../functions/records/stores.ts';
import { LARGE_DECISION } from '../../support/builders/large-decision.ts';
import { pinnedSourceContract } from '../../support/builders/pinned-source.ts';
import { AT, runOf } from '../../support/builders/records.ts';
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

it('DynamoDB returns a decision larger than an item', async () => {
  const { stores } = standing();
  await stores.placements.put('large-000001', 1, LARGE_DECISION);
  expect(await stores.placements.list('large-000001')).toEqual([{ attempt: 1, decision: LARGE_DECISION }]);
});

describe('an item of another version', () => {
  const put = (item: Readonly<Record<string, unknown>>) =>
    DynamoDBDocumentClient.from(new DynamoDBClient(clientConfiguration(emulator?.url ?? ''))).send(
      new PutCommand({ TableName: 'contract-table', Item: item }),
    );

  it.each([undefined, 2])('refuses version %s of a run with a remedy', async (version) => {
    const run = runOf('other-version', 1);
    await put({ pk: `RUN#${run.runId}`, sk: 'RUN', ...run, ...(version && { version }) });
    const read = standing().stores.runs.get(run.runId);
    await expect(read).rejects.toMatchObject({
      name: 'UnreadableRecordError',
      message: expect.stringMatching(
        /^the record RUN#other-version-000001 RUN .*reads version 1: use the release/,
      ),
    });
  });

  it('is skipped by lists, which name it', async () => {
    const { runs } = standing().stores;
    const [other, readable] = [runOf('other-list', 3), runOf('other-list', 2)];
    await put({
      pk: `RUN#${other.runId}`,
      sk: 'RUN',
      listKey: 'RUNS#other-list',
      open: 'RUN',
      ...other,
      version: 2,
    });
    await runs.create(readable);
    const named: string[] = [];
    const tell = ({ id }: { readonly id: string }): void => {
      named.push(id);
    };
    expect(await runs.list('other-list', 1, undefined, tell)).toEqual([readable]);
    const open = await runs.listOpen(tell);
    expect(open.filter(({ pipeline }) => pipeline === 'other-list')).toEqual([readable]);
    expect(named.filter((id) => id === other.runId)).toHaveLength(2);
  });

  it('counts as none when AWS tells the same again', async () => {
    const { listPrices, scoreQuestions } = standing().stores;
    await put({ pk: 'LISTPRICES', sk: 'eu-north-1', region: 'eu-north-1', version: 2 });
    await put({ pk: 'QUESTIONS', sk: 'of another version', key: 'of another version', at: AT, version: 2 });
    expect(await listPrices.get('eu-north-1')).toBeUndefined();
    const requested = await scoreQuestions.list(AT);
    expect(requested.filter(({ key }) => key === 'of another version')).toEqual([]);
  });
});
