/** Models over HTTP: what is on record, and what people decide. */

import { bucketKeys, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { recordModel } from '../../../functions/run/models/decide-models.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
beforeEach(async () => {
  at = ground();
  await at.pipelines.ensure('digits', { firstBatch: 3, at: at.clock.now().toISOString() });
  for (const batch of [1, 2]) {
    const run = runOf('digits', batch, { declaration: { ...declarationOf('digits'), promote: 'always' } });
    const key = `${bucketKeys.models('digits', run.runId)}model.tar.gz`;
    at.store.put(key, `model ${batch}`);
    await recordModel(at, run, s3Uri(at.store.bucket, key));
  }
});

async function call(route: string, body = '', name = 'digits') {
  const response = await answer(at, { route, parameters: { name }, query: {}, body, caller: 'arn:ada' });
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
