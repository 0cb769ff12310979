/** One record that this release cannot read keeps no other from its lists, its sweep or its expiry, and is named. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import type { ApiRequest } from '../../../functions/api/shared/answers.ts';
import type { Item } from '../../../functions/records/stored-records.ts';
import { expireRuns } from '../../../functions/run/attempts/expire-runs.ts';
import { reconcile } from '../../../functions/run/attempts/reconcile.ts';
import { settleRun } from '../../../functions/run/ingest/settle-run.ts';
import { AT, attemptOf, declarationOf, outcomeOf, runOf } from '../../support/builders/records.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
const BAD = 'digits-000001';
const GOOD = 'letters-000001';

/** Ways in which a record cannot be read, and what a person reads of each. */
const WAYS: readonly (readonly [name: string, change: (item: Item) => Item, why: RegExp])[] = [
  [
    'is of a newer version',
    (item) => ({ ...item, version: 2 }),
    /RUN#digits-000001 \w+ has version 2, and release 0\.2\.0 reads version 1: use the release that wrote it, which is newer/,
  ],
  [
    'has another kind of field',
    (item) => ({ ...item, createdAt: 7 }),
    /RUN#digits-000001 \w+ is of another release, or damaged \(createdAt: /,
  ],
  [
    'has a word of its own',
    (item) => ({ ...item, status: 'paused' }),
    /RUN#digits-000001 \w+ is of another release, or damaged \(status: has a value that this release does not know\)/,
  ],
  [
    'lacks a field',
    ({ pk, sk, version }) => ({ pk, sk, version }),
    /RUN#digits-000001 \w+ is of another release, or damaged \(.*pipeline: is missing/,
  ],
];

async function add(pipeline: string, ended: boolean): Promise<void> {
  const runId = `${pipeline}-000001`;
  const declaration = declarationOf(pipeline, { retention: { workDays: 1 } });
  at.store.put(bucketKeys.pipeline(pipeline), JSON.stringify(declaration));
  await at.pipelines.ensure(pipeline, { firstBatch: 2, at: AT });
  await at.runs.create(runOf(pipeline, 1, { status: 'training', declaration, closedAt: AT, source: 'abc' }));
  await at.attempts.create(attemptOf(runId, 1));
  if (!ended) return;
  await at.attempts.update(runId, 1, { outcome: outcomeOf('completed'), status: 'done', updatedAt: AT });
  await at.runs.update(runId, { status: 'succeeded', updatedAt: AT });
}

beforeEach(() => {
  at = ground();
});

const ask = (route: string, over: Partial<ApiRequest> = {}) =>
  answer(at, { route, parameters: {}, query: {}, body: '', ...over });

describe.each(WAYS)('a run whose record %s', (_name, change, why) => {
  it('is left out of lists, which name it', async () => {
    await add('digits', true);
    await add('letters', true);
    at.rewrite('runs', BAD, change);
    const named = { unreadable: expect.arrayContaining([expect.stringMatching(why)]) };
    expect(await ask('GET /runs')).toMatchObject({
      status: 200,
      body: { runs: [{ runId: GOOD }], ...named },
    });
    expect(await ask('GET /money', { query: { month: AT.slice(0, 7) } })).toMatchObject({
      status: 200,
      body: named,
    });
    expect(await ask('GET /pipelines/{name}/runs', { parameters: { name: 'digits' } })).toMatchObject({
      status: 200,
      body: { runs: [], ...named },
    });
    expect(await ask('GET /runs/{runId}', { parameters: { runId: BAD } })).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(why) },
    });
  });

  it('is held and named by reconcile, which goes on', async () => {
    await add('digits', false);
    await add('letters', false);
    at.rewrite('runs', BAD, change);
    at.clock.advance(60);
    const first = await reconcile(at, { sweep: true });
    expect(first.failures).toEqual(expect.arrayContaining([expect.stringMatching(why)]));
    expect(first.resumed).toEqual([GOOD]);
    expect(await at.timeline.list(BAD)).toEqual([]);
  });

  it('keeps its files while others expire', async () => {
    await add('digits', true);
    await add('letters', true);
    const twin = runOf('digits', 2, { source: 'abc', declaration: declarationOf('digits'), closedAt: AT });
    await at.runs.create(twin);
    await at.runs.update(twin.runId, { status: 'succeeded', updatedAt: AT });
    at.rewrite('runs', BAD, change);
    const store = new MemoryBlobStore();
    const source = `${bucketKeys.packedSource('digits', 'abc')}source.tar.gz`;
    for (const run of [BAD, GOOD]) store.seed(`${bucketKeys.plan(run.slice(0, -7), run)}items.json`, 'x');
    store.seed(source, 'x');
    const now = new Date(Date.parse(AT) + 5 * 365 * 86_400_000);
    const clock = { now: () => now };
    const done = await expireRuns({ ...at, store, clock, isTimeUp: () => false });
    expect(done.failures).toEqual([expect.stringMatching(why)]);
    expect(done.expired).toContain(`${GOOD} work`);
    expect([...store.objects.keys()]).toEqual(
      expect.arrayContaining([source, `${bucketKeys.plan('digits', BAD)}items.json`]),
    );
  });

  it('holds the next run until it has a report', async () => {
    await add('digits', false);
    at.drop('a.png');
    await at.runs.create(runOf('digits', 2));
    at.rewrite('runs', BAD, change);
    const settle = () => settleRun(at, { runId: 'digits-000002' });
    at.clock.advance(1_000);
    expect(await settle()).toMatchObject({ kind: 'wait', observation: null });
    at.store.put(bucketKeys.report('digits', BAD), '{}');
    at.clock.advance(1_000);
    expect(await settle()).toMatchObject({ kind: 'settled' });
  });
});

describe.each(WAYS)('an attempt whose record %s', (_name, change, why) => {
  it('is named, and its run gets no verdict', async () => {
    await add('digits', false);
    await add('letters', false);
    at.rewrite('attempts', `${BAD} 1`, change);
    await at.executions.start({ runId: BAD, pipeline: 'digits', execution: 1 });
    at.executions.end(`${BAD}-x1`);
    for (let pass = 0; pass < 30; pass += 1) {
      const { failures } = await reconcile(at, { sweep: false });
      expect(failures).toEqual(expect.arrayContaining([expect.stringMatching(why)]));
    }
    expect(await at.runs.get(BAD)).toMatchObject({ status: 'training', execution: 1 });
    expect(await at.timeline.list(BAD)).toEqual([]);
  });
});

describe('a pipeline whose record is of a newer version', () => {
  it('is left out while others are swept', async () => {
    await add('digits', true);
    await add('letters', true);
    at.rewrite('pipelines', 'digits', (item) => ({ ...item, version: 2 }));
    const why = expect.stringMatching(/PIPELINE#digits PIPELINE has version 2/);
    expect(await ask('GET /pipelines')).toMatchObject({
      status: 200,
      body: { pipelines: [{ name: 'letters' }], unreadable: [why] },
    });
    expect(await ask('GET /runs')).toMatchObject({ body: { runs: [{ runId: GOOD }, { runId: BAD }] } });
    at.store.put(`${bucketKeys.incoming('letters')}a.png`, 'a');
    const done = await reconcile(at, { sweep: true });
    expect(done.failures).toEqual(expect.arrayContaining([why]));
    expect(done.woken).toEqual(['letters-000002']);
  });
});

describe('a page of a list', () => {
  it('is full although records before it cannot be read', async () => {
    await at.pipelines.ensure('digits', { firstBatch: 9, at: AT });
    for (let batch = 1; batch <= 8; batch += 1) await at.runs.create(runOf('digits', batch));
    for (const batch of [8, 6])
      at.rewrite('runs', `digits-00000${batch}`, (item) => ({ ...item, version: 2 }));
    const seen: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await ask('GET /runs', { query: { limit: '2', ...(nextToken && { nextToken }) } });
      const body = page.body as { runs: { runId: string }[]; nextToken?: string };
      seen.push(...body.runs.map(({ runId }) => runId.slice(-1)));
      ({ nextToken } = body);
    } while (nextToken !== undefined);
    expect(seen).toEqual(['7', '5', '4', '3', '2', '1']);
  });
});
