/** What the API shows of datasets, the market, money, and decisions made again. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { storedPart } from '@tidewheel/placement/choose.ts';
import { beforeEach, expect, it } from 'vitest';
import { getMoney } from '../../../functions/api/operations/get-money.ts';
import type { ApiRequest } from '../../../functions/api/shared/answers.ts';
import { makeReport, type ReportInput } from '../../../functions/run/attempts/make-report.ts';
import { packAll, settings } from '../../support/builders/packing.ts';
import { market, question, vpc } from '../../support/builders/placement.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  launchOf,
  outcomeOf,
  runOf,
  secondsAfter,
} from '../../support/builders/records.ts';
import { askDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const RUN = 'digits-000001';
const COMPUTE = { instanceTypes: ['g6.xlarge'], nodes: 2, vpc };
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let at: Ground;
beforeEach(() => {
  at = ground();
});

const ask = (route: string, over?: Partial<ApiRequest>) => askDescribed(at, route, over);
const ofDataset = (rest: string, query: Record<string, string> = {}, generation = RUN) =>
  ask(`GET /pipelines/{name}/dataset${rest}`, { parameters: { name: 'digits', generation }, query });

async function pack(): Promise<void> {
  const incoming = bucketKeys.incoming('digits');
  await at.blobStore.put(`${incoming}a.png`, PNG);
  await at.blobStore.put(`${incoming}b.png`, PNG);
  await at.blobStore.put(`${incoming}broken.png`, Buffer.from('<script>alert(1)</script>'));
  await packAll(at.blobStore, settings({ accept: ['.png'] }));
}

it('lists versions and generations, and the pin', async () => {
  await pack();
  at.declare('name: digits\ndataset: { pin: digits-000001 }');
  expect(await ofDataset('')).toMatchObject({
    status: 200,
    body: {
      pinned: RUN,
      newest: 1,
      versions: [{ number: 1, kind: 'sealed', changed: [RUN] }],
      generations: [{ name: RUN, state: 'sealed' }],
    },
  });
});

it('shows an image of a shard by its range', async () => {
  await pack();
  const { body } = await ofDataset('/{generation}');
  const { samples } = body as { samples: { shard: string; member: string; key: string }[] };
  const first = samples.find(({ member }) => member.endsWith('.png'));
  expect(first?.key).toBe('digits/incoming/a.png');
  const query = { shard: first?.shard ?? '', member: first?.member ?? '' };
  expect(await ofDataset('/{generation}/image', query)).toMatchObject({
    status: 200,
    body: { type: 'image/png', base64: PNG.toString('base64') },
  });
});

it('reads nothing but what the generation names', async () => {
  await pack();
  for (const query of [
    { rejected: 'pipelines/digits.yaml' },
    { shard: '../../x', member: 'a.png' },
    { shard: 'shard-000000.tar', member: '../manifest.json' },
    {},
  ])
    expect((await ofDataset('/{generation}/image', query)).status).toBe(404);
  expect((await ofDataset('/{generation}', {}, 'letters-000001')).status).toBe(404);
  expect((await ofDataset('/{generation}', {}, '../../x')).status).toBe(404);
  expect((await ofDataset('')).status).toBe(200);
});

it('shows prices and scores beside our own luck', async () => {
  at.declare();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  const now = at.clock.now().toISOString();
  await at.marketSamples.put({
    family: 'g5',
    zoneId: 'use1-az4',
    at: now,
    readAt: now,
    scores: { '2 x g5.xlarge': 7, '4 x g5.xlarge': 3, '2 x g5.2xlarge': 9 },
    spotUsd: { 'g5.xlarge': 0.4 },
    onDemandUsd: { 'g5.xlarge': 1 },
  });
  const outcome = {
    runId: RUN,
    attempt: 1,
    instanceType: 'g5.xlarge',
    zoneId: 'use1-az1',
    purchaseOption: 'spot' as const,
    launcher: 'sagemaker' as const,
    nodes: 2,
    requestedAt: now,
    endedAt: now,
    end: 'lost' as const,
  };
  await at.poolOutcomes.put(outcome);
  expect((await ask('GET /market')).body).toMatchObject({
    pools: [
      { instanceType: 'g5.xlarge', zoneId: 'use1-az1', luck: { kept: 0, lost: 1, refused: 0 } },
      { instanceType: 'g5.xlarge', zoneId: 'use1-az4', score: 7, spotUsd: 0.4, onDemandUsd: 1 },
    ],
  });
  expect((await ask('GET /market', { query: { days: '0' } })).status).toBe(400);
});

const finishedAt = secondsAfter(3_700);
const reportedOf = (pipeline: string): ReportInput => ({
  run: runOf(pipeline, 1, { status: 'succeeded' }),
  attempts: [
    attemptOf(`${pipeline}-000001`, 1, {
      outcome: outcomeOf('completed', { billableSeconds: 3_600, trainingSeconds: 3_600 }),
    }),
  ],
  timeline: [],
  status: 'succeeded',
  finishedAt,
});
const reported = () => makeReport(reportedOf('digits'));

it('sums up the reports of a month', async () => {
  await at.pipelines.ensure('digits', { firstBatch: 3, at: AT });
  await at.runs.create(runOf('digits', 1, { status: 'succeeded', updatedAt: finishedAt }));
  await at.runs.create(runOf('digits', 2, { status: 'failed', updatedAt: finishedAt }));
  at.store.put(bucketKeys.report('digits', RUN), JSON.stringify(reported()));
  at.store.put(bucketKeys.report('digits', 'digits-000002'), 'damaged');
  const { body } = await ask('GET /money', { query: { month: '2026-11' } });
  expect(body).toMatchObject({
    total: { runs: 1, costUsd: reported().costUsd },
    byPipeline: [{ pipeline: 'digits', runs: 1 }],
    byDay: [{ day: finishedAt.slice(0, 10) }],
    byPool: [{ instanceType: 'g5.xlarge', purchaseOption: 'spot', attempts: 1 }],
    isComplete: true,
  });
  expect((await ask('GET /money', { query: { month: '2026-10' } })).body).toMatchObject({
    total: { runs: 0 },
  });
  expect((await ask('GET /money', { query: { month: 'May' } })).status).toBe(400);
});

it('sums up by owner and by tag', async () => {
  const money = {
    digits: { owner: 'vision', tags: { team: 'a', stage: 'test' } },
    letters: { tags: { team: 'a' } },
  };
  for (const [pipeline, whose] of Object.entries(money)) {
    await at.pipelines.ensure(pipeline, { firstBatch: 2, at: AT });
    await at.runs.create(runOf(pipeline, 1, { status: 'succeeded', updatedAt: finishedAt }));
    const report = makeReport({
      ...reportedOf(pipeline),
      run: runOf(pipeline, 1, { declaration: declarationOf(pipeline, whose) }),
    });
    at.store.put(bucketKeys.report(pipeline, `${pipeline}-000001`), JSON.stringify(report));
  }
  const { body } = await ask('GET /money', { query: { month: '2026-11' } });
  const { total, byOwner, byTag } = getMoney.answer.parse(body);
  expect(new Map(byOwner.map(({ owner, runs }) => [owner, runs]))).toEqual(
    new Map([
      ['vision', 1],
      [undefined, 1],
    ]),
  );
  expect(byTag.map(({ tag, value, runs }) => [tag, value, runs])).toEqual([
    ['stage', 'test', 1],
    ['team', 'a', 2],
  ]);
  expect(byTag[1]?.costUsd).toBeCloseTo(total.costUsd, 9);
  expect(total.savedUsd).toBeCloseTo(total.onDemandUsd - total.costUsd, 9);
});

it('keeps the sum over pools equal to the total', async () => {
  for (const pipeline of ['digits', 'letters']) {
    const run = runOf(pipeline, 1, { status: 'succeeded', updatedAt: finishedAt });
    await at.pipelines.ensure(pipeline, { firstBatch: 2, at: AT });
    await at.runs.create(run);
    at.store.put(bucketKeys.report(pipeline, run.runId), JSON.stringify({ ...reported(), pipeline }));
  }
  const { body } = await ask('GET /money', { query: { month: '2026-11' } });
  const { total, byPool, byPipeline, byDay } = getMoney.answer.parse(body);
  expect(total.costUsd).toBeGreaterThan(reported().costUsd);
  const all = (items: readonly { costUsd: number }[]) => items.reduce((sum, each) => sum + each.costUsd, 0);
  for (const items of [byPool, byPipeline, byDay]) expect(all(items)).toBeCloseTo(total.costUsd, 9);
});

it('refuses a what-if of nothing or of damage', async () => {
  const route = 'GET /runs/{runId}/what-if/{attempt}';
  const parameters = { runId: RUN, attempt: '1' };
  expect((await ask(route, { parameters })).status).toBe(404);
  await at.runs.create(runOf('digits', 1, { status: 'training' }));
  expect((await ask(route, { parameters })).status).toBe(404);
  await at.placements.put(RUN, 1, launchOf());
  await at.runs.update(RUN, { updatedAt: AT, declaration: declarationOf('digits') });
  expect((await ask(route, { parameters })).status).toBe(409);
  expect((await ask(route, { parameters, query: { deadlineHours: '-1' } })).status).toBe(400);
});

it('foresees other limits by what other runs met', async () => {
  const declaration = declarationOf('digits', { compute: COMPUTE });
  await at.runs.create(runOf('digits', 1, { status: 'training', declaration, closedAt: AT }));
  await at.attempts.create(attemptOf(RUN, 1));
  const asked = question({ compute: declaration.compute, now: AT, market: market({}) });
  await at.placements.put(RUN, 1, { ...launchOf(), question: storedPart(asked) });
  for (const number of [1, 2, 3])
    await at.poolOutcomes.put({
      runId: `letters-00000${number}`,
      attempt: 1,
      instanceType: 'g6.xlarge',
      zoneId: 'use1-az1',
      purchaseOption: 'spot',
      launcher: 'sagemaker',
      nodes: 2,
      end: 'capacityError',
      requestedAt: AT,
      endedAt: AT,
    });
  const limits = { parameters: { runId: RUN }, body: '{"deadlineHours":30}' };
  const { body } = await ask('PUT /runs/{runId}/limits', limits);
  const query = { deadlineHours: '30' };
  const whatIf = { parameters: { runId: RUN, attempt: '1' }, query };
  const foreseen = await ask('GET /runs/{runId}/what-if/{attempt}', whatIf);
  expect(foreseen.body).toMatchObject({ changed: Reflect.get(Object(body), 'placement') as object });
  expect(JSON.stringify(body)).toContain('without capacity');
});
