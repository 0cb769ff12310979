/** A person has a pipeline train with changes for one run, or as an earlier run did. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { settleRun } from '../../../functions/run/ingest/settle-run.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { DECLARATION, type Ground, ground } from '../../support/world/ground.ts';

const ROUTE = 'POST /pipelines/{name}/runs';
const [FIRST, SECOND] = ['digits-000001', 'digits-000002'];
const SOURCE = 'a'.repeat(64);
const LR = { training: { hyperparameters: { lr: 0.01 } } };
let at: Ground;

beforeEach(() => {
  at = ground();
  at.declare(`${DECLARATION}\nlimits: { budgetUsd: 5 }`);
});

async function start(body: unknown = {}, caller = 'ada') {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await answer(at, {
    route: ROUTE,
    parameters: { name: 'digits' },
    query: {},
    body: text,
    caller,
  });
  expectAsDescribed(ROUTE, response);
  return response;
}
const record = async (runId = FIRST) => (await at.runs.get(runId)) ?? runOf('digits', 1);
const lrOf = async (runId = FIRST) => (await record(runId)).declaration?.training.hyperparameters['lr'];
const problemsOf = ({ body }: { readonly body: unknown }) =>
  (body as { problems: { path: string; message: string }[] }).problems;
async function settle(runId = FIRST) {
  at.clock.advance(1_000);
  expect(await settleRun(at, { runId })).toEqual({ kind: 'settled', trainAnyway: true, draws: false });
  await at.runs.update(runId, { status: 'succeeded', updatedAt: at.clock.now().toISOString() });
}

describe('a run with changes of its own', () => {
  it('trains with them, and the next one as declared', async () => {
    const change = { ...LR, compute: { instanceTypes: ['g6.xlarge'] }, limits: { budgetUsd: null } };
    expect(await start(change)).toMatchObject({
      status: 202,
      body: {
        runId: FIRST,
        changed: ['training.hyperparameters.lr', 'compute.instanceTypes', 'limits.budgetUsd'],
      },
    });
    await settle();
    expect((await record()).declaration).toMatchObject({
      training: { strategy: 'ddp', hyperparameters: { lr: 0.01 } },
      compute: { instanceTypes: ['g6.xlarge'] },
    });
    expect((await record()).declaration?.limits.budgetUsd).toBeUndefined();
    await start();
    await settle(SECOND);
    const second = await record(SECOND);
    expect(second.declaration).toMatchObject({ limits: { budgetUsd: 5 } });
    expect(await lrOf(SECOND)).toBeUndefined();
  });

  it('is on the timeline with who asked, without values', async () => {
    await start({ training: { environment: { KEY: 'secret' } } });
    await settle();
    const [entry] = await at.timeline.list(FIRST);
    expect(entry).toMatchObject({
      kind: 'RunRequested',
      text: 'requested by ada, with another training.environment.KEY',
    });
    expect((await record()).request).toMatchObject({ requestedBy: 'ada' });
    expect((await record()).request?.parts).toBeUndefined();
  });

  it('takes packing as it is declared at the close', async () => {
    await start(LR);
    at.declare(`${DECLARATION}\npacking: { shardMegabytes: 32 }`);
    await settle();
    expect((await record()).declaration).toMatchObject({ packing: { shardMegabytes: 32 } });
    expect(await lrOf()).toBe(0.01);
  });

  it('is refused with all mistakes at once', async () => {
    const response = await start({
      compute: { nodes: -1 },
      limits: { deadlineHour: 2 },
      packing: { shardMegabytes: 1 },
      dataset: { onChange: 'keep' },
      source: 'pinned',
    });
    expect(response.status).toBe(400);
    expect(problemsOf(response).map(({ path }) => path)).toEqual(
      expect.arrayContaining(['compute.nodes', 'limits', 'packing', 'dataset.onChange', 'source']),
    );
    expect(await at.runs.get(FIRST)).toBeUndefined();
  });

  it('is refused where its data is not there', async () => {
    const response = await start({ dataset: { pin: 'digits-000007' } });
    expect(response).toMatchObject({ status: 400, body: { problems: [{ path: 'dataset.pin' }] } });
  });

  it('is not one with a run asked for otherwise', async () => {
    await start(LR);
    const other = await start({}, 'grace');
    expect(other).toMatchObject({ status: 409 });
    expect((other.body as { message: string }).message).toContain(
      'ada asked for it with another training.hyperparameters.lr',
    );
    expect(await start({ training: { hyperparameters: { lr: 0.5 } } }, 'grace')).toMatchObject({
      status: 409,
    });
    await settle();
    expect(await lrOf()).toBe(0.01);
    expect(await start({}, 'grace')).toMatchObject({ status: 202, body: { runId: SECOND } });
  });

  it('is not one that is being stopped', async () => {
    await start();
    const { execution } = await record();
    await at.runs.requestStop(FIRST, { mode: 'now', at: at.clock.now().toISOString(), requestedBy: 'x' });
    expect(execution).toBe(1);
    expect(await start(LR)).toMatchObject({ status: 409 });
  });
});

describe('a call that is made again', () => {
  it('is answered with the same run, however late', async () => {
    const body = { ...LR, clientToken: 'once' };
    await start(body);
    await settle();
    await start({ clientToken: 'other' });
    await settle(SECOND);
    expect(await start(body)).toMatchObject({ status: 202, body: { kind: 'running', runId: FIRST } });
    expect(await at.runs.get('digits-000003')).toBeUndefined();
  });

  it('joins a run that another call asked for alike', async () => {
    await start({ ...LR, clientToken: 'one' });
    await start({ ...LR, clientToken: 'two' });
    await settle();
    expect(await start({ ...LR, clientToken: 'two' })).toMatchObject({ body: { runId: FIRST } });
    expect((await record()).request?.tokens).toEqual(['one', 'two']);
  });

  it('without a token starts another run after the close', async () => {
    await start(LR);
    expect(await start(LR)).toMatchObject({ body: { runId: FIRST, kind: 'running' } });
    await settle();
    expect(await start(LR)).toMatchObject({ body: { runId: SECOND, kind: 'started' } });
  });

  it('starts the execution that a crash prevented', async () => {
    const { executions } = at;
    at = { ...at, executions: { ...executions, start: () => Promise.reject(new Error('lost')) } };
    await expect(start({ ...LR, clientToken: 'once' })).rejects.toThrow('lost');
    at = { ...at, executions };
    expect(await start({ ...LR, clientToken: 'once' })).toMatchObject({ body: { kind: 'started' } });
    await settle();
    expect(await lrOf()).toBe(0.01);
  });
});

describe('a run that is done again', () => {
  beforeEach(async () => {
    await at.store.writeText(`${bucketKeys.packedSource('digits', SOURCE)}source.zip`, 'packed');
    await at.runs.create(
      runOf('digits', 1, {
        status: 'succeeded',
        closedAt: at.clock.now().toISOString(),
        source: SOURCE,
        declaration: declarationOf('digits', { training: { strategy: 'mpi', hyperparameters: { lr: 1 } } }),
      }),
    );
    await at.pipelines.ensure('digits', { firstBatch: 2, at: at.clock.now().toISOString() });
  });

  it('trains with the declaration and source of then', async () => {
    const change = { again: FIRST, training: { hyperparameters: { epochs: 2 } } };
    expect(await start(change)).toMatchObject({ status: 202, body: { runId: SECOND, again: FIRST } });
    await settle(SECOND);
    expect(await record(SECOND)).toMatchObject({
      source: SOURCE,
      request: { again: FIRST, changed: ['training.hyperparameters.epochs'] },
      declaration: { training: { strategy: 'mpi', hyperparameters: { lr: 1, epochs: 2 } } },
    });
  });

  it('trains with the source of now on request', async () => {
    await start({ again: FIRST, source: 'current' });
    await settle(SECOND);
    expect((await record(SECOND)).source).toBeUndefined();
  });

  it.each([
    ['is refused where it is not there', 'digits-000099', 'there is no run'],
    ['is refused in another pipeline', 'letters-000001', 'POST /pipelines/letters/runs'],
    ['is refused before it has settled', 'digits-000003', 'has not settled'],
    ['is refused where it is a probe', 'digits-000004', 'is a probe'],
  ])('%s', async (_, again, message) => {
    await at.runs.create(runOf('letters', 1));
    await at.runs.create(runOf('digits', 3));
    const declaration = declarationOf('digits');
    await at.runs.create(runOf('digits', 4, { probe: { number: 1 }, declaration }));
    const response = await start({ again });
    expect(response.status).toBe(400);
    expect(problemsOf(response)).toMatchObject([
      { path: 'again', message: expect.stringContaining(message) as string },
    ]);
  });

  it('is refused where its source was deleted', async () => {
    at.store.remove(`${bucketKeys.packedSource('digits', SOURCE)}source.zip`);
    expect(problemsOf(await start({ again: FIRST }))).toMatchObject([{ path: 'source' }]);
    expect(await start({ again: FIRST, source: 'current' })).toMatchObject({ status: 202 });
  });
});
