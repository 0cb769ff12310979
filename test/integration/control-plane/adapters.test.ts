/** The adapters on the emulator keep the contracts that the fakes keep (test/unit/support/fakes.test.ts). */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateActivityCommand, GetActivityTaskCommand, SFNClient } from '@aws-sdk/client-sfn';
import { DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { runStore } from '../../../functions/aws/dynamodb/run-store.ts';
import { storedTable } from '../../../functions/aws/dynamodb/table.ts';
import { documentClient } from '../../../functions/aws/shared/clients.ts';
import type { RunStore, Stores, Tell } from '../../../functions/records/stores.ts';
import { LARGE_DECISION } from '../../support/builders/large-decision.ts';
import { pinnedSourceContract } from '../../support/builders/pinned-source.ts';
import { AT, runOf, secondsAfter } from '../../support/builders/records.ts';
import { type ExecutionsGround, executionsContract } from '../../support/contracts/executions.ts';
import { objectStoreContract } from '../../support/contracts/object-store.ts';
import { type SchedulesGround, schedulesContract } from '../../support/contracts/schedules.ts';
import { storesContract } from '../../support/contracts/stores.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { makeStores } from '../../support/table.ts';
import { makeExecutions, makeObjectStore, makeSchedules } from './ground.ts';

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

describe('the list of all runs', () => {
  const run = (batch: number) => runOf('begun-before', batch, { createdAt: secondsAfter(batch) });
  const documents = () => documentClient(new DynamoDBClient(clientConfiguration(emulator?.url ?? '')));
  const idsIn = async (runs: Pick<RunStore, 'listBegun'>, tell?: Tell) =>
    (await runs.listBegun({ limit: 20, tell })).runs.map(({ runId }) => runId.slice(-1)).join('');

  it('takes in runs of an earlier release under kills', async () => {
    const { url } = emulator ?? { url: '' };
    const { runs } = await makeStores(url, 'earlier-release');
    const dynamo = documents();
    for (let batch = 1; batch <= 7; batch += 1) {
      await runs.create(run(batch));
      const [pk, REMOVE] = [`RUN#${run(batch).runId}`, 'REMOVE begunIn, begunAt, listed'];
      const item = { TableName: 'earlier-release', Key: { pk, sk: 'RUN' } };
      await dynamo.send(new UpdateCommand({ ...item, UpdateExpression: REMOVE }));
    }
    const table = storedTable(dynamo, 'earlier-release');
    let writes = 0;
    const cutShort = runStore({
      ...table,
      scanPage: (input) => table.scanPage({ ...input, Limit: 2 }),
      update: (...change) => {
        writes += 1;
        if (writes % 3 === 0) throw new Error('the process was ended');
        return table.update(...change);
      },
    });
    expect(await idsIn(runs)).toBe('');
    const said: string[] = [];
    let isWhole = false;
    for (let pass = 0; pass < 40 && !isWhole; pass += 1) {
      isWhole = await cutShort.indexBegun(1).catch(() => false);
      await idsIn(runs, ({ why }) => said.push(why));
    }
    expect(isWhole).toBe(true);
    expect(said[0]).toMatch(/an earlier release are still being brought into this list/);
    said.length = 0;
    expect(await idsIn(runs, ({ why }) => said.push(why))).toBe('7654321');
    expect(said).toEqual([]);
    const [before] = [writes];
    expect(await cutShort.indexBegun(1)).toBe(true);
    expect(writes).toBe(before);
  });

  it('ends a search after five reads', async () => {
    const { runs } = standing().stores;
    const at = (year: number, month: number) => new Date(Date.UTC(year, month, 3)).toISOString();
    for (let month = 0; month < 9; month += 1)
      await runs.create(runOf('begun-long', month + 1, { createdAt: at(2010, month) }));
    const wanted = { limit: 5, statuses: ['failed'], since: at(2009, 1) } as const;
    const first = await runs.listBegun({ ...wanted, before: at(2011, 0) });
    expect(first).toEqual({ runs: [], searchedTo: '2010-05-01T00:00:00.000Z' });
    expect(await runs.listBegun({ ...wanted, before: first.searchedTo })).toEqual({ runs: [] });
  });

  it('says that its index is still being built', async () => {
    const table = storedTable(documents(), 'contract-table');
    const building = Object.assign(new Error('Cannot read from backfilling global secondary index: begun'), {
      name: 'ValidationException',
    });
    const runs = runStore({ ...table, readPage: () => Promise.reject(building) });
    const said: string[] = [];
    expect(await runs.listBegun({ limit: 1, tell: ({ why }) => said.push(why) })).toEqual({ runs: [] });
    expect(said[0]).toMatch(/the index of all runs is being built/);
  });
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

  /** The version before had minutes. */
  const clientOf = () => documentClient(new DynamoDBClient(clientConfiguration(emulator?.url ?? '')));
  const raisedTable = (client = clientOf()) =>
    storedTable(client, 'contract-table', {
      version: 2,
      upgrade: ({ minutes, ...item }) => ({ ...item, seconds: Number(minutes) * 60 }),
    });
  const LAST = { pk: 'OLD', sk: 'OLD', version: 1, minutes: 2, updatedAt: AT };
  const key = { pk: 'OLD', sk: 'OLD' };

  it('is upgraded when it is read', async () => {
    await put(LAST);
    const table = raisedTable();
    expect(await table.get(key)).toMatchObject({ version: 2, seconds: 120 });
    const schema = z.object({ seconds: z.number() });
    expect(await table.queryPrefix(schema, 'OLD', 'O')).toEqual([{ seconds: 120 }]);
    expect(await storedTable(clientOf(), 'contract-table').get(key)).toEqual(LAST);
  });

  it('is raised before it is changed, once', async () => {
    await put(LAST);
    const table = raisedTable();
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const changes = await Promise.all(
      names.map((name) => table.update(key, { [name]: 1 }, { updatedAt: AT })),
    );
    expect(changes.every((item) => item?.['version'] === 2)).toBe(true);
    const { minutes: _, ...rest } = LAST;
    const changed = Object.fromEntries(names.map((name) => [name, 1]));
    expect(await table.get(key)).toEqual({ ...rest, version: 2, seconds: 120, ...changed });
    expect(await table.update(key, { z: 1 }, { updatedAt: 'another time' })).toBeUndefined();
  });

  it('is changed though another writer raises it meanwhile', async () => {
    await put(LAST);
    const client = clientOf();
    let isRaised = false;
    client.middlewareStack.add(
      (next) => async (args) => {
        try {
          return await next(args);
        } finally {
          if (!isRaised) isRaised = await raisedTable().raise(key);
        }
      },
      { step: 'initialize' },
    );
    expect(await raisedTable(client).update(key, { a: 1 })).toMatchObject({ version: 2, a: 1 });
  });

  it('is left as it is if it is newer', async () => {
    const newer = { ...LAST, version: 3 };
    await put(newer);
    await expect(raisedTable().update(key, { a: 1 })).rejects.toThrow(
      /^the record OLD OLD has version 3, and release .* reads versions 1 and 2: use the release that wrote it/,
    );
    expect(await raisedTable().get(key)).toEqual(newer);
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
