/** What a plan says of data, place, money and the account, and that it starts nothing. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { OfferQuestion, OfferSource } from '@tidewheel/placement/market.ts';
import { beforeEach, expect, it } from 'vitest';
import { answerPlan, type PlanDeps } from '../../../../functions/api/plan/answer-plan.ts';
import type { RunPlan } from '../../../../functions/api/plan/plan-run.ts';
import { account, denied, seen } from '../../../support/builders/account.ts';
import { packAll, settings } from '../../../support/builders/packing.ts';
import { hoursLater, vpc } from '../../../support/builders/placement.ts';
import {
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
} from '../../../support/builders/records.ts';
import { expectAsDescribed } from '../../../support/described.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';
import { planDeps } from '../../../support/world/plan.ts';

const ROUTE = 'POST /plan';
const COMPUTE = { instanceTypes: ['g5.xlarge', 'g6.xlarge'], nodes: 2, vpc };
const DECLARED = JSON.stringify({ name: 'digits', training: { strategy: 'ddp' }, compute: COMPUTE });

let at: Ground;
let deps: PlanDeps;
beforeEach(() => {
  at = ground();
  at.declare(DECLARED);
  deps = planDeps(at);
});

async function ask(body: Record<string, unknown> = {}, over: Partial<PlanDeps> = {}) {
  const request = {
    route: ROUTE,
    parameters: {},
    query: {},
    body: JSON.stringify({ pipeline: 'digits', ...body }),
  };
  const response = await answerPlan({ ...deps, ...over }, request);
  expectAsDescribed(ROUTE, response);
  return response;
}
const plan = async (...given: Parameters<typeof ask>) => (await ask(...given)).body as RunPlan;
const DATA = { files: 10_000, bytes: 4e9 };

it('counts what no generation holds yet', async () => {
  const incoming = bucketKeys.incoming('digits');
  for (const name of ['a', 'b']) await at.blobStore.put(`${incoming}${name}.bin`, Buffer.from(name));
  await packAll(at.blobStore, settings());
  await at.blobStore.put(`${incoming}c.bin`, Buffer.from('new'));
  expect((await plan()).packing).toMatchObject({ basis: 'counted', files: 1, bytes: 3, shards: 1, items: 1 });
});

it('counts all files where none is packed', async () => {
  const declaration = { ...JSON.parse(DECLARED), packing: 'none', dataset: { keep: 'versions' } };
  at.declare(JSON.stringify(declaration));
  const incoming = bucketKeys.incoming('digits');
  for (const name of ['a', 'b']) await at.blobStore.put(`${incoming}${name}.csv`, Buffer.from(name));
  const { packing, dataset, notes } = await plan();
  expect(packing).toMatchObject({ files: 2, samples: 2, shards: 0, items: 0 });
  expect(dataset).toEqual({ generations: 1, shards: 2, bytes: 2, isUnpacked: true });
  expect(notes.join()).toContain('dataset.keep: versions copies what is new of 2 files');
});

it('plans data that is not there', async () => {
  const { packing, dataset, decision, training } = await plan({ data: DATA });
  expect(packing).toMatchObject({ basis: 'given', files: 10_000, bytes: 4e9 });
  expect(packing.shards).toBeGreaterThan(4e9 / 256e6 - 1);
  expect(dataset).toEqual({ generations: 1, shards: packing.shards, bytes: 4e9 });
  expect(decision?.kind).toBe('launch');
  expect(training).toBeUndefined();
});

it('counts the shards of each split', async () => {
  const split = { train: 0.8, test: 0.2 };
  const declaration = JSON.stringify({ ...JSON.parse(DECLARED), packing: { split } });
  const whole = await plan({ data: DATA });
  const { packing } = await plan({ data: DATA, declaration });
  expect(packing.files).toBe(DATA.files);
  expect(packing.shards).toBeGreaterThan(whole.packing.shards);
});

it('refuses a split that earlier data does not have', async () => {
  await at.blobStore.put(`${bucketKeys.incoming('digits')}a.bin`, Buffer.from('a'));
  await packAll(at.blobStore, settings());
  const packing = { split: { train: 0.8, test: 0.2 } };
  const declaration = JSON.stringify({ ...JSON.parse(DECLARED), packing });
  expect(await ask({ declaration })).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('packing.split is') as string },
  });
});

it('says that nothing is known of a first training', async () => {
  const { training, bounds, notes } = await plan({ data: DATA });
  expect(training).toBeUndefined();
  expect(bounds?.probeUsd).toBeGreaterThan(0);
  expect(bounds?.mostUsd).toBeGreaterThan(bounds?.probeUsd ?? 0);
  expect(notes.join()).toContain('nothing is known of the pace of this pipeline');
});

it('bounds a first training by its budget', async () => {
  const { bounds } = await plan({ data: DATA, change: { limits: { budgetUsd: 3 } } });
  expect(bounds?.mostUsd).toBe(3);
});

it('says how likely the budget ends a run', async () => {
  await trainedBefore(7_200);
  const { usd } = (await plan({ data: DATA })).training ?? {};
  const budgetUsd = ((usd?.expected ?? 0) + (usd?.high ?? 0)) / 2;
  const { training, notes } = await plan({ data: DATA, change: { limits: { budgetUsd } } });
  expect(training?.overBudgetChance).toBeGreaterThan(0.05);
  expect(notes.join()).toContain(`the cost passes limits.budgetUsd of ${budgetUsd} with a chance of`);
});

async function trainedBefore(trainingSeconds: number): Promise<void> {
  const done = runOf('digits', 1, {
    status: 'succeeded',
    closedAt: hoursLater(-9),
    sealedAt: hoursLater(-8),
    declaration: declarationOf('digits', { compute: COMPUTE }),
  });
  await at.pipelines.ensure('digits', { firstBatch: 2, at: hoursLater(-9) });
  await at.runs.create(done);
  await at.attempts.create(
    attemptOf(done.runId, 1, {
      placement: placementOf({ topology: { nodes: 2, acceleratorsPerNode: 1 } }),
      outcome: outcomeOf('completed', { trainingSeconds }),
      progressAfter: progressOf(100, { totalSteps: 100, trainingSeconds }),
    }),
  );
}

it('expects what former runs took', async () => {
  await trainedBefore(7_200);
  const { training, asOf } = await plan({ data: DATA });
  expect(training?.basis).toBe('declared');
  const finish = Date.parse(training?.finishAt.expected ?? '') - Date.parse(asOf);
  // An hour of packing, two of training.
  expect(finish / 3_600_000).toBeGreaterThan(3);
});

it('names an offer that would pay', async () => {
  await trainedBefore(36_000);
  const asked: OfferQuestion[] = [];
  const offers: OfferSource = (question) => {
    asked.push(question);
    const { instanceType, instances, endsBefore } = question;
    const startsAt = new Date(endsBefore.getTime() - 25 * 3_600_000).toISOString();
    const windows = [{ startsAt, endsAt: new Date(endsBefore.getTime() - 3_600_000).toISOString() }];
    const value = [
      { id: 'tpo-1', kind: 'training-plan' as const, instanceType, instances, windows, upfrontUsd: 1 },
    ];
    return Promise.resolve({ kind: 'known', value, notes: [] });
  };
  const { body } = await ask({ data: DATA }, { offers });
  const { notes, training } = body as RunPlan;
  expect(asked.map(({ instanceType }) => instanceType)).toEqual(['g5.xlarge', 'g6.xlarge']);
  const expected = `the run is expected to cost $${training?.usd.expected.toFixed(2)}`;
  expect(notes.filter((each) => each.includes('tpo-1'))).toEqual([expect.stringContaining(expected)]);
});

it('plans of an ended run what is left', async () => {
  await trainedBefore(36_000);
  const declaration = declarationOf('digits', { compute: COMPUTE });
  const failed = runOf('digits', 2, {
    status: 'failed',
    closedAt: hoursLater(-9),
    sealedAt: hoursLater(-8),
    declaration,
  });
  await at.runs.create(failed);
  const half = {
    progressAfter: progressOf(50, { trainingSeconds: 18_000 }),
    outcome: outcomeOf('userError'),
  };
  await at.attempts.create(attemptOf(failed.runId, 1, { ...half, placement: placementOf() }));
  const whole = await plan({ data: DATA });
  const rest = await plan({ retryOf: failed.runId });
  expect(rest).toMatchObject({ runId: failed.runId, packing: { files: 0 } });
  expect(rest.training?.usd.expected).toBeLessThan(0.7 * (whole.training?.usd.expected ?? 0));
  expect(rest.training?.usd.expected).toBeGreaterThan(0);
});

it('plans the rest of no other run', async () => {
  expect((await ask({ retryOf: 'digits-000009' })).status).toBe(404);
});

it('says what no retry takes', async () => {
  const open = runOf('digits', 2, { status: 'training', declaration: declarationOf('digits') });
  await at.runs.create(open);
  const both = await ask({ retryOf: open.runId, declaration: DECLARED, data: DATA });
  const message = 'is that of the run: leave it out beside retryOf';
  const problems = ['declaration', 'data'].map((path) => ({ path, message }));
  expect(both).toMatchObject({ status: 400, body: { problems } });
  expect(await ask({ retryOf: open.runId })).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('stop it first') as string },
  });
});

it('a valued hour makes no bill smaller', async () => {
  await trainedBefore(36_000);
  const priced = async (limits: object) => {
    const declaration = JSON.stringify({ ...JSON.parse(DECLARED), tuning: { limits } });
    return (await plan({ data: DATA, declaration })).training?.usd;
  };
  const [without, valued] = [await priced({}), await priced({ valueOfTimeUsdPerHour: 5 })];
  expect(valued?.expected).toBeGreaterThan((without?.expected ?? 0) / 3);
  expect(valued?.expected).toBeGreaterThan(valued?.low ?? 0);
});

it.each([1, 18, 300])('expects no bill below that of %i s', async (trainingSeconds) => {
  await trainedBefore(trainingSeconds);
  const { training } = await plan({ data: DATA });
  const { low, expected, high } = training?.usd ?? { low: 0, expected: 0, high: 0 };
  expect(low).toBeGreaterThan(0);
  expect(expected).toBeGreaterThanOrEqual(low);
  expect(high).toBeGreaterThanOrEqual(expected);
});

it('pays the On-Demand price where Spot is refused', async () => {
  await trainedBefore(7_200);
  const { training, decision } = await plan({
    data: DATA,
    change: { compute: { purchaseOption: 'on-demand' } },
  });
  expect(decision).toMatchObject({ placement: { pool: { purchaseOption: 'on-demand' } } });
  expect((training?.usd.expected ?? 0) / (training?.onDemandUsd ?? 0)).toBeCloseTo(1, 1);
});

it('plans a run that is started without data', async () => {
  const { decision, notes } = await plan();
  expect(decision).toMatchObject({ kind: 'launch' });
  expect(notes).toContain(
    'nothing is packed: a run that you start trains without a dataset, and any other ends as empty',
  );
});

it('says that a pin is not there', async () => {
  const { decision, notes } = await plan({ data: DATA, change: { dataset: { pin: 'digits-000009' } } });
  expect(decision).toBeUndefined();
  expect(notes.join()).toContain('dataset.pin names digits-000009');
});

it('names what of the account is in the way', async () => {
  const poor = account({
    quotas: async () => seen([]),
    decisions: async () => denied('iam:SimulatePrincipalPolicy'),
  });
  const { findings } = await plan({ data: DATA }, { viewIn: () => poor });
  expect(findings.filter(({ kind }) => kind === 'notSeen').map(({ check }) => check)).toEqual(
    expect.arrayContaining(['roles', 'training quotas']),
  );
});

it('does not wait for an account that is silent', async () => {
  const silent = account({ quotas: () => new Promise(() => {}) });
  const { findings, decision } = await plan(
    { data: DATA },
    { viewIn: () => silent, tooLate: () => Promise.resolve() },
  );
  expect(findings).toMatchObject([{ kind: 'notSeen', message: 'AWS did not answer in time' }]);
  expect(decision?.kind).toBe('launch');
});

it('starts and stores nothing', async () => {
  const before = structuredClone([...at.blobStore.keys()]);
  await ask({ data: DATA });
  expect([...at.blobStore.keys()]).toEqual(before);
  expect(await at.runs.list('digits', 10)).toEqual([]);
  expect([...at.executions.started]).toEqual([]);
});

it('takes a declaration that is not stored', async () => {
  await at.store.delete(bucketKeys.pipeline('digits'));
  expect((await ask({ data: DATA })).status).toBe(404);
  expect((await ask({ data: DATA, declaration: DECLARED })).status).toBe(200);
});

it.each([
  ['a name that is none', { pipeline: '../x' }],
  ['a field that is none', { files: 3 }],
  ['no bytes', { data: { files: 3, bytes: 0 } }],
  ['a broken declaration', { declaration: 'name: [' }],
  ['a wrong change', { change: { limits: { budgetUsd: -1 } } }],
])('refuses %s', async (_what, body) => {
  expect((await ask(body)).status).toBe(400);
});
