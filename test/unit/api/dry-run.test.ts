/** A dry run says whether a call would be refused, and changes nothing. */
import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import { recordModel } from '../../../functions/run/models/decide-models.ts';
import { AT, attemptOf, declarationOf, progressOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { DECLARATION, ground } from '../../support/world/ground.ts';

const SHARED = { query: {}, body: '', caller: 'arn:ada' };
const ofPipeline = { name: 'digits' };
const ofRun = (batch: number) => ({ runId: `digits-00000${batch}` });

const CALLS = [
  { route: 'PUT /pipelines/{name}', parameters: ofPipeline, body: DECLARATION },
  { route: 'DELETE /pipelines/{name}', parameters: ofPipeline },
  { route: 'POST /pipelines/{name}/runs', parameters: ofPipeline },
  {
    route: 'POST /pipelines/{name}/probes',
    parameters: ofPipeline,
    body: '{"number":1,"steps":50,"change":{"training":{"hyperparameters":{"lr":0.1}}}}',
  },
  { route: 'POST /runs/{runId}/stop', parameters: ofRun(2) },
  { route: 'POST /runs/{runId}/retry', parameters: ofRun(3) },
  { route: 'PUT /runs/{runId}/limits', parameters: ofRun(2), body: '{"budgetUsd":9}' },
  { route: 'DELETE /runs/{runId}/checkpoints', parameters: ofRun(1) },
  {
    route: 'POST /pipelines/{name}/models',
    parameters: ofPipeline,
    body: '{"decision":"reject","runId":"digits-000001","reason":"labels of May are wrong"}',
  },
  { route: 'POST /pipelines/{name}/evaluations', parameters: ofPipeline, body: '{"runId":"digits-000001"}' },
];

async function world() {
  const at = ground();
  at.declare(DECLARED);
  await at.pipelines.ensure('digits', { firstBatch: 4, at: at.clock.now().toISOString() });
  await sealGeneration(at.store, 'digits-000001');
  const declaration = { ...declarationOf('digits'), promote: 'always' as const };
  for (const [batch, status] of (['succeeded', 'training', 'failed'] as const).entries())
    await at.runs.create(runOf('digits', batch + 1, { status, declaration, sealedAt: AT }));
  for (const batch of [1, 4]) {
    const run = runOf('digits', batch, { declaration });
    const key = `${bucketKeys.models('digits', run.runId)}model.tar.gz`;
    at.store.put(key, `model ${batch}`);
    await recordModel(at, run, s3Uri(at.store.bucket, key));
  }
  return at;
}
const DECLARED = `
name: digits
packing: { split: { train: 0.8, validation: 0.2 } }
training: { strategy: ddp, objective: { metric: accuracy, mode: max } }
compute: { instanceTypes: [g5.xlarge], nodes: 2 }
evaluation: { entryPoint: evaluate.py }
promote: { whenBetterBy: 0 }
`;

it.each(CALLS)('$route changes nothing in a dry run', async (call) => {
  const at = await world();
  const request = { ...SHARED, ...call };
  const headers = { 'tidewheel-dry-run': 'true' };
  for (let time = 0; time < 2; time += 1) {
    const dry = await answer(at, { ...request, headers });
    expectAsDescribed(call.route, dry);
    expect(dry).toMatchObject({ status: 412, body: { message: expect.stringMatching(/^nothing is done/) } });
  }
  const [here, elsewhere] = [await answer(at, request), await answer(await world(), request)];
  expect(here).toEqual(elsewhere);
  expect([200, 202]).toContain(here.status);
});

it('every call at a risk is in the list', () => {
  const risks = OPERATIONS.filter((each) => 'risk' in each).map(({ route }) => route);
  expect(CALLS.map(({ route }) => route).sort()).toEqual([...risks].sort());
});

it('says the refusal of the call itself', async () => {
  const at = await world();
  const request = { ...SHARED, route: 'POST /pipelines/{name}/runs', parameters: ofPipeline };
  const fence = { 'tidewheel-max-usd': '1' };
  const dry = await answer(at, { ...request, headers: { ...fence, 'tidewheel-dry-run': 'true' } });
  expect(dry).toMatchObject({ status: 409, body: { message: expect.stringContaining('budgetUsd') } });
  expect(dry).toEqual(await answer(at, { ...request, headers: fence }));
});

it.each([
  ['the stop of an ended run', 'POST /runs/{runId}/stop', ofRun(1), ''],
  [
    'a probe of other settings',
    'POST /pipelines/{name}/probes',
    ofPipeline,
    '{"number":1,"steps":60,"change":{}}',
  ],
  [
    'another start of the open run',
    'POST /pipelines/{name}/runs',
    ofPipeline,
    '{"training":{"hyperparameters":{"lr":0.2}}}',
  ],
])('foresees that %s is refused', async (_, route, parameters, body) => {
  const at = await world();
  const call = { ...SHARED, route, parameters, body };
  const probe = '{"number":1,"steps":50,"change":{"training":{"hyperparameters":{"lr":0.1}}}}';
  await answer(at, {
    ...SHARED,
    route: 'POST /pipelines/{name}/probes',
    parameters: ofPipeline,
    body: probe,
  });
  await answer(at, { ...SHARED, route: 'POST /pipelines/{name}/runs', parameters: ofPipeline });
  const dry = await answer(at, { ...call, headers: { 'tidewheel-dry-run': 'true' } });
  expect(dry).toMatchObject({ status: 409 });
  expect(dry).toEqual(await answer(at, call));
});

it('is no other word than true', async () => {
  const request = { ...SHARED, route: 'POST /pipelines/{name}/runs', parameters: ofPipeline };
  const dry = await answer(await world(), { ...request, headers: { 'tidewheel-dry-run': 'yes' } });
  expect(dry).toMatchObject({ status: 400 });
});

const save = (at: Awaited<ReturnType<typeof world>>, runId: string, updatedAt: string) => {
  const folder = `${bucketKeys.checkpoints('digits', runId)}step-40/`;
  at.store.put(`${folder}state.pt`, 'weights');
  at.store.put(`${folder}COMPLETE.json`, '{"files":{"state.pt":{"bytes":7}}}');
  at.store.put(bucketKeys.progress('digits', runId), JSON.stringify(progressOf(40, { updatedAt })));
};

const saysOf = async (at: Awaited<ReturnType<typeof world>>, call: object) => {
  const headers = { 'tidewheel-dry-run': 'true' };
  const { body } = await answer(at, { ...SHARED, route: '', parameters: {}, ...call, headers });
  return (body as { readonly message: string }).message;
};

it('a stop says what no checkpoint covers', async () => {
  const at = await world();
  const call = { route: 'POST /runs/{runId}/stop', parameters: ofRun(2) };
  expect(await saysOf(at, call)).toMatch(/Nothing trains now$/);
  const { runId } = ofRun(2);
  const startedAt = new Date(at.clock.now().getTime() - 600_000).toISOString();
  await at.attempts.create(attemptOf(runId, 1, { status: 'running', startedAt }));
  expect(await saysOf(at, call)).toMatch(/loses 600 s \(\$\d+\.\d\d\), all that it trained$/);
  save(at, runId, new Date(at.clock.now().getTime() - 60_000).toISOString());
  expect(await saysOf(at, call)).toMatch(/loses 60 s \(\$\d+\.\d\d\), since step 40$/);
});

it('a retry says from which step it goes on', async () => {
  const at = await world();
  const call = { route: 'POST /runs/{runId}/retry', parameters: ofRun(3) };
  expect(await saysOf(at, call)).toMatch(/It has no checkpoint, and trains from the start$/);
  save(at, ofRun(3).runId, AT);
  expect(await saysOf(at, call)).toMatch(/It goes on from step 40 of 100: 60 are left$/);
});
