/** A person tries other settings for some steps, apart from the runs of the pipeline. */

import { bucketKeys, parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { reportRun } from '../../../functions/run/attempts/report-run.ts';
import { settleRun } from '../../../functions/run/ingest/settle-run.ts';
import { attemptOf, outcomeOf, runOf } from '../../support/builders/records.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { DECLARATION, type Ground, ground } from '../../support/world/ground.ts';

const PROBE = 'digits-probe-000001';
const ADA = 'arn:aws:iam::123456789012:user/ada';
const NOTIFY = 'notify: [{ topic: "arn:aws:sns:us-east-1:123456789012:tidewheel-models" }]';
const change = { training: { hyperparameters: { lr: 0.1 } } };
const steps = 50;

let at: Ground;
beforeEach(async () => {
  at = ground();
  at.declare(`${DECLARATION}doctor: { apply: safe }\n${NOTIFY}\n`);
  await at.pipelines.ensure('digits', { firstBatch: 2, at: at.clock.now().toISOString() });
  seal('digits-000001');
});

const seal = (generation: string): void => {
  at.store.put(
    bucketKeys.datasetVersion('digits', 1),
    JSON.stringify({
      version: 1,
      number: 1,
      change: { kind: 'sealed', generation },
      generations: [generation],
      replaced: [],
      pruned: [],
      added: { [generation]: 1 },
    }),
  );
};

async function call(route: string, body?: unknown, name = 'digits') {
  const text = body === undefined ? '' : JSON.stringify(body);
  const response = await answer(at, { route, parameters: { name }, query: {}, body: text, caller: ADA });
  expectAsDescribed(route, response);
  return response;
}
const start = (body: unknown) => call('POST /pipelines/{name}/probes', body);
const list = () => call('GET /pipelines/{name}/probes');

describe('a probe', () => {
  it('trains with the change on the sealed dataset', async () => {
    expect(await start({ number: 1, steps, change })).toMatchObject({
      status: 202,
      body: { kind: 'started', runId: PROBE, number: 1, pin: 'digits-000001' },
    });
    expect(await at.runs.get(PROBE)).toMatchObject({
      pipeline: 'digits',
      batch: 1,
      status: 'placing',
      declaration: {
        dataset: { pin: 'digits-000001' },
        limits: { steps: 50 },
        training: { hyperparameters: { lr: 0.1 }, model: 'none', instrument: true },
      },
    });
  });

  it('sends no notices and takes no remedies', async () => {
    await start({ number: 1, steps, change });
    const { declaration } = (await at.runs.get(PROBE)) ?? {};
    expect(declaration?.notify).toBeUndefined();
    expect(declaration?.doctor).toBeUndefined();
  });

  it('starts once, however often it is requested', async () => {
    await start({ number: 1, steps, change });
    expect(await start({ number: 1, steps, change })).toMatchObject({
      status: 202,
      body: { kind: 'running' },
    });
    expect(await start({ number: 1, steps: 60, change })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('give another number') as string },
    });
  });

  it('takes no batch and no place among runs', async () => {
    await at.runs.create(runOf('digits', 1));
    await start({ number: 1, steps, change });
    expect((await at.pipelines.get('digits'))?.openBatch).toBe(2);
    expect((await at.runs.list('digits', 10)).map(({ runId }) => runId)).toEqual(['digits-000001']);
    expect(await list()).toMatchObject({
      body: { probes: [{ runId: PROBE, number: 1, steps, costUsd: 0 }] },
    });
  });

  it('packs nothing', async () => {
    await start({ number: 1, steps, change });
    expect(await settleRun(at, { runId: PROBE })).toEqual({ kind: 'packed', draws: false });
  });

  it('ends without a notice to anyone', async () => {
    await start({ number: 1, steps, change });
    await at.attempts.create(
      attemptOf(PROBE, 1, { pipeline: 'digits', status: 'done', outcome: outcomeOf('completed') }),
    );
    await reportRun(at, PROBE, { kind: 'done', reason: 'training completed' });
    expect((await at.runs.get(PROBE))?.status).toBe('succeeded');
    expect(at.notifier.notices).toEqual([]);
    expect((await at.pipelines.get('digits'))?.openBatch).toBe(2);
  });

  it('lists the speed that its hosts measured', async () => {
    await start({ number: 1, steps, change });
    at.store.put(
      `${bucketKeys.evidence('digits', PROBE)}1-algo-1-steps.json`,
      JSON.stringify({
        basis: 'hooks',
        steps: 50,
        samplesPerStep: 8,
        blockSeconds: [0.5, 0.5, 0.5],
        blockSteps: [10, 10, 10],
      }),
    );
    expect(await list()).toMatchObject({
      body: { probes: [{ speed: { stepSeconds: { mean: 0.5 }, samplesPerSecond: { mean: 16 } } }] },
    });
  });
});

describe('a probe that cannot be', () => {
  it.each([
    [{ number: 0, steps, change }, 'number'],
    [{ number: 1, change: {} }, 'steps'],
    [{ number: 1, steps, change: { limits: { steps } } }, 'belongs to a probe'],
    [{ number: 1, steps, change: { ...change, packing: { shardMegabytes: 1 } } }, 'packing'],
    [{ number: 1, steps, change: { ...change, dataset: { pin: 'digits-000009' } } }, 'digits-000009'],
  ])('is refused: %j', async (body, message) => {
    const response = await start(body);
    expect(response.status).toBe(400);
    expect(JSON.stringify(response.body)).toContain(message);
    expect(await at.runs.get(PROBE)).toBeUndefined();
  });

  it('has no packed data', async () => {
    await at.store.delete(bucketKeys.datasetVersion('digits', 1));
    expect(await start({ number: 1, steps, change })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('no packed data') as string },
    });
  });

  it('is of a pipeline that is not declared', async () => {
    expect((await call('POST /pipelines/{name}/probes', { number: 1, steps, change }, 'other')).status).toBe(
      404,
    );
    expect((await call('GET /pipelines/{name}/probes', undefined, 'other')).status).toBe(404);
  });

  it('may not be named by a pipeline', async () => {
    expect((await call('PUT /pipelines/{name}', {}, 'digits-probe')).status).toBe(400);
    expect(parseRunId(PROBE)).toEqual({ pipeline: 'digits', number: 1, isProbe: true });
  });
});
