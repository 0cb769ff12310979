/** What the API says of runs side by side. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { attemptOf, declarationOf, runOf } from '../../support/builders/records.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const ROUTE = 'GET /compare';

let at: Ground;
beforeEach(async () => {
  at = ground();
  for (const batch of [1, 2]) {
    const run = runOf('digits', batch, { status: 'training' });
    await at.runs.create(run);
    await at.attempts.create(attemptOf(run.runId, 1));
  }
});

async function compare(query: Record<string, string>) {
  const response = await answer(at, { route: ROUTE, parameters: {}, query, body: '' });
  expectAsDescribed(ROUTE, response);
  return response;
}

it('has a row for each run, as listed', async () => {
  expect(await compare({ runs: 'digits-000002,digits-000001' })).toMatchObject({
    status: 200,
    body: {
      rows: [
        { runId: 'digits-000002', status: 'training', costUsd: 0 },
        { runId: 'digits-000001', status: 'training', costUsd: 0 },
      ],
    },
  });
});

it('names fields that differ, and hides variables', async () => {
  for (const [place, lr] of [0.1, 0.2].entries()) {
    const declared = declarationOf('digits');
    const training = { ...declared.training, hyperparameters: { lr }, environment: { KEY: `${lr}` } };
    await at.runs.update(`digits-00000${place + 1}`, {
      declaration: { ...declared, training },
      updatedAt: '2026-11-30T06:00:00Z',
    });
  }
  expect(await compare({ runs: 'digits-000002,digits-000001' })).toMatchObject({
    body: {
      differing: [
        { field: 'training.environment.KEY', values: ['(hidden)', '(hidden)'] },
        { field: 'training.hyperparameters.lr', values: ['0.2', '0.1'] },
      ],
    },
  });
});

it('shows a probe by its own steps', async () => {
  const runId = 'digits-probe-000001';
  const probe = { number: 1 };
  await at.runs.create({ ...runOf('digits', 1, { status: 'succeeded' }), runId, probe });
  await at.attempts.create(attemptOf(runId, 1));
  const blocks = { blockSeconds: [0.5, 0.5, 0.5], blockSteps: [10, 10, 10], samplesPerStep: 8 };
  at.store.put(
    `${bucketKeys.evidence('digits', runId)}1-algo-1-steps.json`,
    JSON.stringify({ basis: 'hooks', steps: 50, ...blocks }),
  );
  expect(await compare({ runs: `${runId},digits-000001` })).toMatchObject({
    body: { rows: [{ runId, topology: '2 x g5.xlarge', samplesPerSecond: 16 }, { runId: 'digits-000001' }] },
  });
});

it('names a run that is not there', async () => {
  expect(await compare({ runs: 'digits-000001,digits-000009' })).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining('digits-000009') },
  });
});

it.each([
  ['one run', { runs: 'digits-000001' }],
  ['no run', {}],
  ['a path', { runs: '../x,digits-000001' }],
])('refuses %s', async (_what, query) => {
  expect((await compare(query)).status).toBe(400);
});
