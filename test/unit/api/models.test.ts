/** Models over HTTP: what is on record, and what people decide. */

import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { recordModel } from '../../../functions/run/models/decide-models.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
const runOfModel = (batch: number) =>
  runOf('digits', batch, { declaration: { ...declarationOf('digits'), promote: 'always' } });
beforeEach(async () => {
  at = ground();
  await at.pipelines.ensure('digits', { firstBatch: 3, at: at.clock.now().toISOString() });
  for (const batch of [1, 2]) {
    const run = runOfModel(batch);
    const key = `${bucketKeys.models('digits', run.runId)}model.tar.gz`;
    at.store.put(key, `model ${batch}`);
    await recordModel(at, run, s3Uri(at.store.bucket, key));
  }
});

async function call(route: string, body = '', name = 'digits') {
  const parameters = { name, runId: name };
  const response = await answer(at, { route, parameters, query: {}, body, caller: 'arn:ada' });
  expectAsDescribed(route, response);
  return response;
}
const GET = 'GET /pipelines/{name}/models';
const POST = 'POST /pipelines/{name}/models';

it('shows what is on record and in use', async () => {
  expect(await call(GET)).toMatchObject({
    status: 200,
    body: {
      number: 2,
      current: { runId: 'digits-000002', state: 'current' },
      models: [{ runId: 'digits-000002' }, { runId: 'digits-000001', state: 'former' }],
    },
  });
  expect(await call(GET, '', 'letters')).toMatchObject({ status: 404 });
});

it('goes back once, however often it is called', async () => {
  const body = '{"decision":"rollback","runId":"digits-000002","reason":"labels of May are wrong"}';
  for (const changed of [true, false])
    expect(await call(POST, body)).toMatchObject({
      status: 200,
      body: { changed, number: 3, current: { runId: 'digits-000001', by: 'arn:ada' } },
    });
});

it.each([
  ['{"decision":"promote","runId":"digits-000001"}', 400, 'reason'],
  ['{"decision":"promote","runId":"digits-000001","reason":" "}', 400, 'say why'],
  ['{"decision":"forget","runId":"digits-000001","reason":"x"}', 400, 'decision'],
  ['{"decision":"reject","runId":"digits-000002","reason":"x"}', 409, 'is in use'],
  ['{"decision":"promote","runId":"letters-000001","reason":"x"}', 409, 'is no run of digits'],
  ['{"decision":"promote","runId":"digits-000009","reason":"x"}', 409, 'has left no model'],
])('refuses %s', async (body, status, message) => {
  expect(await call(POST, body)).toMatchObject({
    status,
    body: { message: expect.stringContaining(message) as string },
  });
});

const EVALUATE = 'POST /pipelines/{name}/evaluations';
const declaredWith = (evaluation: string) =>
  at.declare(`
name: digits
packing: { split: { train: 0.8, validation: 0.1, test: 0.1 } }
training: { strategy: ddp, arguments: [--fast], objective: { metric: accuracy, mode: max } }
compute: { instanceTypes: [g5.xlarge], nodes: 2 }
promote: { whenBetterBy: 0 }
${evaluation}
`);

it('a model is scored alone, once while that runs', async () => {
  declaredWith('evaluation: { entryPoint: evaluate.py, instanceTypes: [c7i.xlarge] }');
  await sealGeneration(at.store, 'digits-000001');
  for (const kind of ['started', 'running'])
    expect(await call(EVALUATE)).toMatchObject({
      status: 202,
      body: { kind, runId: 'digits-probe-000001', model: 'digits-000002' },
    });
  expect(await at.runs.get('digits-probe-000001')).toMatchObject({
    probe: { evaluates: { runId: 'digits-000002', decides: false } },
    startedFrom: { runId: 'digits-000002', digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    declaration: {
      dataset: { pin: 'digits-000001' },
      evaluation: { on: ['validation'] },
      training: { strategy: 'single', arguments: [] },
      compute: { instanceTypes: ['c7i.xlarge'], nodes: 1 },
    },
  });
  expect(await call(EVALUATE, '{"runId":"digits-000001","on":["test"]}')).toMatchObject({
    body: { kind: 'started', runId: 'digits-probe-000002', model: 'digits-000001' },
  });
});

it.each([
  ['', '', 'evaluation is not declared'],
  ['evaluation: { entryPoint: e.py }', '{"on":["hard"]}', 'hard is no channel of this pipeline'],
  ['evaluation: { entryPoint: e.py }', '{"runId":"digits-000009"}', 'digits-000009 has left no model'],
  ['evaluation: { entryPoint: e.py }', '{"runId":"letters-000001"}', 'is no run of digits'],
])('%s refuses an evaluation of %s', async (evaluation, body, message) => {
  declaredWith(evaluation);
  await sealGeneration(at.store, 'digits-000001');
  const { body: answered } = await call(EVALUATE, body);
  expect(JSON.stringify(answered)).toContain(message);
  expect(await at.runs.listProbes('digits', 1)).toEqual([]);
});

it('nothing is scored before anything is packed', async () => {
  declaredWith('evaluation: { entryPoint: evaluate.py }');
  expect(await call(EVALUATE)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('no packed data yet') as string },
  });
});

it('lists what is in use and what waits', async () => {
  await at.pipelines.ensure('letters', { firstBatch: 1, at: at.clock.now().toISOString() });
  const key = `${bucketKeys.models('digits', 'digits-000003')}model.tar.gz`;
  at.store.put(key, 'model 3');
  const run = { ...runOfModel(3), declaration: { ...declarationOf('digits'), promote: 'never' as const } };
  await recordModel(at, run, s3Uri(at.store.bucket, key));
  expect(await call('GET /models')).toMatchObject({
    status: 200,
    body: {
      models: [
        {
          pipeline: 'digits',
          current: { runId: 'digits-000002' },
          waiting: { runId: 'digits-000003', state: 'candidate' },
          means: [],
        },
        { pipeline: 'letters', current: undefined, waiting: undefined },
      ],
    },
  });
});

const MODEL = 'GET /runs/{runId}/model';

it('shows the model of a run with its judgement', async () => {
  const run = runOfModel(2);
  const { runId } = run;
  await at.runs.create(run);
  expect(await call(MODEL, '', runId)).toMatchObject({
    status: 200,
    body: {
      uri: expect.stringContaining(runId) as string,
      model: { state: 'current' },
      judgement: undefined,
    },
  });
  const judgement = {
    version: 1,
    runId,
    metric: 'accuracy',
    verdict: 'better',
    reasons: ['it is'],
    sides: { gained: 4, lost: 1 },
    worst: [{ key: 'a.png', candidate: 0, current: 1 }],
  };
  at.store.put(bucketKeys.judgement('digits', runId), JSON.stringify({ ...judgement, error: 0.025 }));
  expect(await call(MODEL, '', runId)).toMatchObject({ status: 200, body: { judgement } });
  at.store.put(bucketKeys.judgement('digits', runId), JSON.stringify({ ...judgement, version: 2 }));
  expect(await call(MODEL, '', runId)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining(`the judgement of ${runId} has version 2`) as string },
  });
});

it('shows what a probe has scored', async () => {
  const startedFrom = { runId: 'digits-000002', uri: 's3://bucket/digits/model.tar.gz' };
  const evaluates = { runId: 'digits-000002', decides: false };
  const runId = 'digits-probe-000001';
  await at.runs.create(runOf('digits', 2, { runId, startedFrom, probe: { number: 1, evaluates } }));
  expect(await call(MODEL, '', runId)).toMatchObject({ status: 200, body: { uri: startedFrom.uri } });
});

it('has no model of a run that left none', async () => {
  await at.runs.create(runOf('digits', 9, { status: 'failed' }));
  expect(await call(MODEL, '', 'digits-000009')).toMatchObject({
    status: 404,
    body: { message: 'digits-000009 has left no model' },
  });
});
