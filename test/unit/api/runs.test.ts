/** What the API says of runs: the lists, one run and its parts, and how large that becomes. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PoolAssessment } from '@tidewheel/placement/records.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ApiRequest } from '../../../functions/api/shared/answers.ts';
import type { RunRecord } from '../../../functions/records/run-records.ts';
import { makeReport } from '../../../functions/run/attempts/make-report.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  launchOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
  waitOf,
} from '../../support/builders/records.ts';
import { askDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
beforeEach(() => {
  at = ground();
});

const ask = (route: string, over?: Partial<ApiRequest>) => askDescribed(at, route, over);
const of = (part = '', over: Partial<ApiRequest> & { readonly runId?: string } = {}) =>
  ask(`GET /runs/{runId}${part}`, { parameters: { runId: over.runId ?? 'digits-000001' }, ...over });

async function endedRun(over: Partial<RunRecord> = {}) {
  const run = runOf('digits', 1, { status: 'failed', ...over });
  await at.runs.create(run);
  const attempts = [
    attemptOf(run.runId, 1, { taskToken: 'SECRET-TOKEN', outcome: outcomeOf('interrupted') }),
    attemptOf(run.runId, 2, { taskToken: 'SECRET-TOKEN-2', outcome: outcomeOf('userError') }),
  ];
  for (const attempt of attempts) await at.attempts.create(attempt);
  const report = makeReport({ run, attempts, timeline: [], status: 'failed', finishedAt: AT });
  at.store.put(bucketKeys.report('digits', run.runId), JSON.stringify(report));
  return report;
}

describe('a list of runs', () => {
  it('says cost and end that only a report has', async () => {
    await endedRun();
    const { body } = await ask('GET /runs');
    expect(body).toMatchObject({
      runs: [
        { runId: 'digits-000001', result: { costUsd: expect.any(Number), finishedAt: AT, attempts: 2 } },
      ],
    });
    at.store.put(bucketKeys.report('digits', 'digits-000001'), '{"version":9}');
    expect((await ask('GET /runs')).body).toMatchObject({
      runs: [{ runId: 'digits-000001' }],
      unreadable: [expect.stringContaining('version 9')],
    });
  });

  it('has the open runs of a deleted pipeline', async () => {
    await at.pipelines.ensure('gone', { firstBatch: 2, at: AT });
    await at.runs.create(runOf('gone', 1, { status: 'training' }));
    await at.pipelines.remove('gone', AT);
    const open = { status: 'settling,packing,placing,training' };
    expect((await ask('GET /pipelines')).body).toMatchObject({ pipelines: [] });
    expect((await ask('GET /runs', { query: open })).body).toMatchObject({
      runs: [{ runId: 'gone-000001' }],
    });
  });
});

describe('GET /runs/{runId}', () => {
  it('shows an ended run with what its report says', async () => {
    await endedRun();
    expect(await of()).toMatchObject({
      status: 200,
      body: {
        run: { runId: 'digits-000001' },
        attempts: [{ attempt: 1, outcome: { kind: 'interrupted' } }, { attempt: 2 }],
        money: { usd: 0 },
        report: { version: 1, attempts: [{ attempt: 1 }, { attempt: 2 }] },
      },
    });
  });

  it('never lets a task token out', async () => {
    await endedRun();
    for (const part of ['', '/attempts', '/report', '/timeline', '/placements'])
      expect(JSON.stringify((await of(part)).body)).not.toMatch(/SECRET|taskToken/);
  });

  it.each([{}, { version: 2 }])('refuses a report of another version, such as %j', async (report) => {
    await endedRun();
    at.store.put(bucketKeys.report('digits', 'digits-000001'), JSON.stringify(report));
    for (const part of ['', '/report'])
      expect(await of(part)).toMatchObject({
        status: 409,
        body: {
          message: expect.stringMatching(/report of digits-000001 has .*reads version 1: use the release/),
        },
      });
  });

  it('leaves out a report that cannot be read', async () => {
    await endedRun();
    at.store.put(bucketKeys.report('digits', 'digits-000001'), '{"version"');
    expect(await of()).toMatchObject({ status: 200, body: { report: undefined } });
    expect(await of('/report')).toMatchObject({ status: 404 });
  });

  it.each(['unknown-000001', '', '../../etc/passwd', 'RUN#digits-000001'])(
    'answers 404 for %j, in all its parts',
    async (runId) => {
      for (const part of ['', '/attempts', '/timeline', '/placements', '/report', '/series'])
        expect((await of(part, { runId })).status).toBe(404);
    },
  );

  it('tells what has changed since an answer', async () => {
    await at.runs.create(runOf('digits', 1, { status: 'training' }));
    await at.attempts.create(attemptOf('digits-000001', 1, { updatedAt: secondsAfter(10) }));
    await at.attempts.create(attemptOf('digits-000001', 2, { updatedAt: secondsAfter(20) }));
    for (const seconds of [10, 20])
      await at.timeline.add('digits-000001', {
        id: `entry-${seconds}`,
        at: secondsAfter(seconds),
        kind: 'K',
        text: 'T',
      });
    expect(await of('', { query: { since: secondsAfter(15) } })).toMatchObject({
      body: { attempts: [{ attempt: 2 }], timeline: [{ id: 'entry-20' }], timelineCount: 2 },
    });
    expect(await of('', { query: { since: 'yesterday' } })).toMatchObject({ status: 400 });
  });

  it('is read again only if something has changed', async () => {
    await at.runs.create(runOf('digits', 1, { status: 'training' }));
    const etag = (await of()).headers?.['etag'] ?? '';
    const again = (known: string) => of('', { headers: { 'if-none-match': known } });
    expect(await again(`"other", W/${etag}`)).toMatchObject({ status: 304, body: null });
    await at.attempts.create(attemptOf('digits-000001', 1));
    expect((await again(etag)).status).toBe(200);
  });
});

describe('a run of 50 attempts and 300 pools each', () => {
  const row = placementOf().considered[0] as PoolAssessment;
  const considered = Array.from({ length: 300 }, (_, index) => ({
    ...row,
    pool: { ...row.pool, zoneId: `use1-az${index}` },
    verdict: 'dearer than the chosen pool by 12 % at the price of this hour',
  }));
  const text = 'AWS reclaimed the capacity; '.repeat(40);

  beforeEach(async () => {
    await at.runs.create(runOf('digits', 1, { status: 'training', declaration: declarationOf('digits') }));
    for (let attempt = 1; attempt <= 50; attempt += 1) {
      await at.placements.put('digits-000001', attempt, launchOf({ considered }));
      await at.attempts.create(
        attemptOf('digits-000001', attempt, {
          placement: placementOf({ considered, reason: text }),
          progressBefore: progressOf(attempt),
          progressAfter: progressOf(attempt + 1, { metrics: { loss: 0.5, accuracy: 0.9 } }),
          outcome: outcomeOf('interrupted', {
            message: text,
            startedAt: AT,
            endedAt: AT,
            scriptStartedAt: AT,
          }),
          log: { group: '/aws/sagemaker/TrainingJobs', streamPrefix: `digits-000001-a${attempt}-0a1b2c/` },
        }),
      );
      for (const id of ['started', 'ended', 'resumed', 'warned', 'waiting'])
        await at.timeline.add('digits-000001', { id: `${id}-${attempt}`, at: AT, kind: id, text });
    }
  });

  it('is answered in less than 100 KB', async () => {
    const { body } = await of();
    expect(body).toMatchObject({ attempts: { length: 50 }, timeline: { length: 100 }, timelineCount: 250 });
    expect(JSON.stringify(body).length).toBeLessThan(100_000);
  });

  it('has its tables and its timeline elsewhere', async () => {
    expect((await of('/timeline')).body).toMatchObject({ timeline: { length: 250 } });
    const list = JSON.stringify((await of('/placements')).body);
    expect(list).not.toContain('considered');
    const one = await ask('GET /runs/{runId}/placements/{attempt}', {
      parameters: { runId: 'digits-000001', attempt: '50' },
    });
    expect(one.body).toMatchObject({ decision: { placement: { considered: { length: 300 } } } });
    expect(JSON.stringify(one.body)).not.toContain('question');
  });
});

describe('the placements of a run', () => {
  it('end with what was decided for the next attempt', async () => {
    await at.runs.create(runOf('digits', 1));
    await at.attempts.create(attemptOf('digits-000001', 1));
    await at.placements.put('digits-000001', 1, launchOf());
    await at.placements.put('digits-000001', 2, waitOf());
    expect((await of('/placements')).body).toMatchObject({
      placements: [
        { attempt: 1, kind: 'launch', placement: { pool: { instanceType: 'g5.xlarge' } } },
        { attempt: 2, kind: 'wait', reason: 'no capacity' },
      ],
    });
  });

  it.each(['0', '3', 'x', '1e1', '__proto__'])('have none of the number %s', async (attempt) => {
    await at.runs.create(runOf('digits', 1));
    expect(
      await ask('GET /runs/{runId}/placements/{attempt}', {
        parameters: { runId: 'digits-000001', attempt },
      }),
    ).toMatchObject({ status: 404 });
  });
});

describe('GET /runs', () => {
  const list = async (query: Record<string, string> = {}) =>
    (await ask('GET /runs', { query })).body as { runs: RunRecord[]; nextToken?: string };

  beforeEach(async () => {
    for (const name of ['digits', 'letters']) await at.pipelines.ensure(name, { firstBatch: 1, at: AT });
    for (let batch = 1; batch <= 4; batch += 1) {
      const status = batch % 2 === 0 ? 'failed' : 'succeeded';
      await at.runs.create(runOf('digits', batch, { createdAt: secondsAfter(batch * 10), status }));
      await at.runs.create(
        runOf('letters', batch, {
          createdAt: secondsAfter(batch * 10 + 5),
          declaration: declarationOf('letters', { limits: { deadlineHours: 1 } }),
          closedAt: AT,
        }),
      );
    }
  });

  it('mixes the pipelines by time, in pages', async () => {
    const names: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await list({ limit: '3', ...(nextToken !== undefined && { nextToken }) });
      names.push(...page.runs.map(({ runId }) => runId));
      ({ nextToken } = page);
    } while (nextToken !== undefined);
    expect(names).toEqual([4, 3, 2, 1].flatMap((batch) => [`letters-00000${batch}`, `digits-00000${batch}`]));
  });

  it('filters by pipeline, status and time', async () => {
    const failed = await list({ status: 'failed,stopped' });
    expect(failed.runs.map(({ runId }) => runId)).toEqual(['digits-000004', 'digits-000002']);
    const late = await list({ pipeline: 'digits', since: secondsAfter(30) });
    expect(late.runs.map(({ runId }) => runId)).toEqual(['digits-000004', 'digits-000003']);
  });

  it('leaves out declarations and says the deadline', async () => {
    const { runs } = await list({ pipeline: 'letters', limit: '1' });
    expect(runs).toMatchObject([{ deadlineAt: secondsAfter(3_600) }]);
    expect(runs[0]).not.toHaveProperty('declaration');
  });

  it('names every mistake of a query at once', async () => {
    const refused = await ask('GET /runs', { query: { status: 'done', since: 'today', state: 'x' } });
    expect(refused).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'status' }, { path: 'since' }, { path: '' }] },
    });
  });
});
