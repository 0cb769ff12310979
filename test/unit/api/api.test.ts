/** Every route of the API and every way it refuses. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import type { ApiRequest } from '../../../functions/api/shared/answers.ts';
import { AT, attemptOf, runOf } from '../../support/builders/records.ts';
import { askDescribed } from '../../support/described.ts';
import { DECLARATION, type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
/** What lies in the bucket before anybody asks. */
const THERE = ground().store.keys();
beforeEach(() => {
  at = ground();
});

const ask = (route: string, over?: Partial<ApiRequest>) => askDescribed(at, route, over);
const named = (route: string, name = 'digits', over: Partial<ApiRequest> = {}) =>
  ask(route, { parameters: { name }, ...over });

describe('PUT /pipelines/{name}', () => {
  it('stores a valid declaration and wakes for existing data', async () => {
    at.drop('a.png');
    const response = await named('PUT /pipelines/{name}', 'digits', { body: DECLARATION });
    expect(response).toMatchObject({
      status: 200,
      body: { name: 'digits', kind: 'valid', woken: { runId: 'digits-000001' } },
    });
    expect((await at.store.readText(bucketKeys.pipeline('digits')))?.text).toBe(DECLARATION);
  });

  it('refuses a schedule that Scheduler refuses', async () => {
    const put = () => Promise.resolve({ kind: 'refused' as const, reason: 'Invalid Schedule Expression.' });
    const body = `${DECLARATION}schedule: rate(1 day)`;
    const request = { route: 'PUT /pipelines/{name}', parameters: { name: 'digits' }, query: {}, body };
    expect(await answer({ ...at, schedules: { ...at.schedules, put } }, request)).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'schedule' }] },
    });
    expect(await at.pipelines.get('digits')).toMatchObject({ valid: false });
  });

  it('stores nothing for a schedule of past dates', async () => {
    const body = `${DECLARATION}schedule: cron(0 3 * * ? 2020)`;
    expect(await named('PUT /pipelines/{name}', 'digits', { body })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'schedule', message: expect.stringContaining('starts no run') as string }] },
    });
    expect(at.store.keys()).toEqual(THERE);
  });

  it('refuses an invalid declaration with all of its problems', async () => {
    const body = 'name: letters\ntraining: { strategy: none }';
    const response = await named('PUT /pipelines/{name}', 'digits', { body });
    expect(response.status).toBe(400);
    const { problems } = response.body as { problems: { path: string }[] };
    expect(problems.map(({ path }) => path).sort()).toEqual(['compute', 'name', 'training.strategy']);
    expect(at.store.keys()).toEqual(THERE);
    expect(await at.pipelines.list()).toEqual([]);
  });
});

it.each(['pipelines', 'agent'])('refuses the taken name %s with its reason', async (name) => {
  expect(await named('PUT /pipelines/{name}', name, { body: DECLARATION })).toMatchObject({
    status: 400,
    body: {
      message: expect.stringContaining('the bucket has a folder of the service by this name') as string,
    },
  });
});

describe('DELETE /pipelines/{name}', () => {
  it('ends schedule and listing and keeps the data', async () => {
    at.drop('a.png');
    await named('PUT /pipelines/{name}', 'digits', { body: `${DECLARATION}schedule: rate(1 day)` });
    expect(await named('DELETE /pipelines/{name}')).toEqual({
      status: 200,
      body: { name: 'digits', kind: 'gone' },
    });
    expect(at.schedules.expressions.size).toBe(0);
    expect(await ask('GET /pipelines')).toMatchObject({ status: 200, body: { pipelines: [] } });
    expect(await named('GET /pipelines/{name}')).toMatchObject({ status: 404 });
    expect(at.store.keys()).toContain('digits/incoming/a.png');
    expect(await named('GET /pipelines/{name}/runs')).toMatchObject({ status: 200 });
  });

  it('ends what an earlier call left', async () => {
    await named('PUT /pipelines/{name}', 'digits', { body: `${DECLARATION}schedule: rate(1 day)` });
    const remove = () => Promise.reject(new Error('throttled'));
    const failing = { ...at, schedules: { ...at.schedules, remove } };
    const request = {
      route: 'DELETE /pipelines/{name}',
      parameters: { name: 'digits' },
      query: {},
      body: '',
    };
    await expect(answer(failing, request)).rejects.toThrow('throttled');
    expect(await answer(at, request)).toMatchObject({ status: 200 });
    expect(at.schedules.expressions.size).toBe(0);
  });

  it('answers 404 for one that is not declared', async () => {
    expect(await named('DELETE /pipelines/{name}', 'unknown')).toMatchObject({ status: 404 });
    await named('PUT /pipelines/{name}', 'digits', { body: DECLARATION });
    await named('DELETE /pipelines/{name}');
    expect(await named('DELETE /pipelines/{name}')).toMatchObject({ status: 404 });
  });
});

describe('GET /pipelines', () => {
  it('lists what is on record', async () => {
    await named('PUT /pipelines/{name}', 'digits', { body: DECLARATION });
    expect(await ask('GET /pipelines')).toMatchObject({
      status: 200,
      body: { pipelines: [{ name: 'digits' }] },
    });
  });

  it('shows one with its declaration before its record exists', async () => {
    at.declare();
    expect(await named('GET /pipelines/{name}')).toMatchObject({
      status: 200,
      body: { name: 'digits', declaration: DECLARATION },
    });
  });

  it('answers 404 for one that is not declared', async () => {
    expect(await named('GET /pipelines/{name}', 'unknown')).toMatchObject({ status: 404 });
  });
});

describe('POST /pipelines/{name}/runs', () => {
  it('starts one training run for many posts', async () => {
    at.declare();
    const posts = await Promise.all(Array.from({ length: 5 }, () => named('POST /pipelines/{name}/runs')));
    expect(posts.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    expect(new Set(posts.map(({ body }) => (body as { runId: string }).runId))).toEqual(
      new Set(['digits-000001']),
    );
    expect([...at.executions.started.keys()]).toEqual(['digits-000001-x1']);
    expect(await at.runs.get('digits-000001')).toMatchObject({ trigger: 'api' });
  });

  it('says how to declare an unknown pipeline', async () => {
    const response = await named('POST /pipelines/{name}/runs', 'unknown');
    expect(response).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining('PUT') as string },
    });
  });

  it('refuses an invalid stored declaration with its problems', async () => {
    at.declare('name: digits');
    const response = await named('POST /pipelines/{name}/runs');
    expect(response.status).toBe(409);
    expect((response.body as { problems: unknown[] }).problems).toHaveLength(2);
    expect(at.executions.started.size).toBe(0);
  });
});

describe('GET /pipelines/{name}/runs', () => {
  it('lists as many of the newest runs as requested', async () => {
    for (const batch of [1, 2, 3]) await at.runs.create(runOf('digits', batch));
    const response = await named('GET /pipelines/{name}/runs', 'digits', { query: { limit: '2' } });
    expect((response.body as { runs: { batch: number }[] }).runs.map(({ batch }) => batch)).toEqual([3, 2]);
  });

  it('knows no runs of an undeclared pipeline', async () => {
    expect(await named('GET /pipelines/{name}/runs', 'nope')).toMatchObject({
      status: 404,
      body: { message: 'there is no pipeline "nope": declare it with PUT /pipelines/nope' },
    });
  });

  it('lists no runs of a pipeline that had none', async () => {
    at.store.put(bucketKeys.pipeline('digits'), 'name: digits');
    expect(await named('GET /pipelines/{name}/runs', 'digits')).toMatchObject({
      status: 200,
      body: { runs: [] },
    });
  });

  it.each(['0', '201', 'many', '1.5', '-3'])('refuses the limit %s', async (limit) => {
    const response = await named('GET /pipelines/{name}/runs', 'digits', { query: { limit } });
    expect(response).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(limit) as string },
    });
  });
});

describe('the pages of a list', () => {
  interface Answer {
    readonly runs: readonly { readonly batch: number }[];
    readonly pipelines: readonly { readonly name: string }[];
    readonly nextToken?: string;
  }

  async function pages(
    list: (query: Record<string, string>) => Promise<{ body: unknown }>,
  ): Promise<Answer[]> {
    const seen: Answer[] = [];
    let nextToken: string | undefined;
    do {
      const { body } = await list({ limit: '2', ...(nextToken !== undefined && { nextToken }) });
      seen.push(body as Answer);
      nextToken = seen.at(-1)?.nextToken;
    } while (nextToken !== undefined);
    return seen;
  }

  it('hold every run once, newest first', async () => {
    for (const batch of [1, 2, 3, 4, 5]) await at.runs.create(runOf('digits', batch));
    const seen = await pages((query) => named('GET /pipelines/{name}/runs', 'digits', { query }));
    expect(seen.map(({ runs }) => runs.map(({ batch }) => batch))).toEqual([[5, 4], [3, 2], [1]]);
  });

  it('hold every pipeline once, by name', async () => {
    for (const name of ['d', 'a', 'c', 'b'])
      await at.pipelines.ensure(name, { firstBatch: 1, at: '2026-01-01T00:00:00.000Z' });
    const seen = await pages((query) => ask('GET /pipelines', { query }));
    expect(seen.map(({ pipelines }) => pipelines.map(({ name }) => name))).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('are refused for a token of no page', async () => {
    for (const batch of [1, 2]) await at.runs.create(runOf('digits', batch));
    const { body } = await named('GET /pipelines/{name}/runs', 'digits', { query: { limit: '1' } });
    const { nextToken = '' } = body as Answer;
    const refusals = [
      await named('GET /pipelines/{name}/runs', 'letters', { query: { nextToken } }),
      await named('GET /pipelines/{name}/runs', 'digits', { query: { nextToken: 'abc' } }),
      await ask('GET /pipelines', { query: { nextToken: '' } }),
      await ask('GET /pipelines', { query: { nextToken } }),
    ];
    for (const refusal of refusals)
      expect(refusal).toMatchObject({
        status: 400,
        body: { message: expect.stringMatching(/nextToken.*or none for the first page/) as string },
      });
  });

  it('are refused with both mistakes at once', async () => {
    const refused = await ask('GET /pipelines', { query: { limit: '0', nextToken: 'abc' } });
    expect(refused).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/: limit is "0", .*; nextToken is "abc", which/) as string },
    });
  });
});

describe('a throttled call', () => {
  it('is answered with 429 and Retry-After', async () => {
    const error = Object.assign(new Error('Rate exceeded'), {
      name: 'ProvisionedThroughputExceededException',
    });
    const pipelines = { ...at.pipelines, list: () => Promise.reject(error) };
    const request = { route: 'GET /pipelines', parameters: {}, query: {}, body: '' };
    expect(await answer({ ...at, pipelines }, request)).toEqual({
      status: 429,
      headers: { 'retry-after': '2' },
      body: { message: 'AWS throttles the service: make the same call again in 2 s' },
    });
  });
});

describe('GET /runs/{runId}/utilisation', () => {
  const show = (runId: string, query: Record<string, string> = {}) =>
    ask('GET /runs/{runId}/utilisation', { parameters: { runId }, query });

  it("shows the doctor's verdict on every attempt", async () => {
    await at.runs.create(runOf('digits', 1));
    const gain = { low: 1, expected: 2, high: 3 };
    const verdict = {
      cause: 'too-few-workers' as const,
      evidence: {},
      gain: { seconds: gain, dollars: gain },
      remedy: undefined,
      next: undefined,
    };
    await at.attempts.create(
      attemptOf('digits-000001', 1, {
        diagnosis: { at: AT, verdicts: [{ ...verdict, also: [], unknown: [] }] },
      }),
    );
    await at.attempts.create(attemptOf('digits-000001', 2));
    expect(await show('digits-000001')).toEqual(
      expect.objectContaining({
        status: 200,
        body: {
          points: [],
          hostsLeftOut: 0,
          verdicts: [{ attempt: 1, at: AT, cause: 'too-few-workers', remedy: undefined }],
          reason: 'the first figures come after a minute of steps',
        },
      }),
    );
  });

  it.each([
    [{ status: 'placing' }, 0, 'digits-000001 is placing, and no attempt of it has begun'],
    [
      { status: 'succeeded' },
      1,
      'no host measured a minute of steps, or its figures went with the checkpoints',
    ],
  ] as const)('says why nothing was measured: %j, %i attempts', async (over, attempts, reason) => {
    await at.runs.create(runOf('digits', 1, over));
    if (attempts > 0) await at.attempts.create(attemptOf('digits-000001', 1));
    expect(await show('digits-000001')).toMatchObject({ body: { points: [], reason } });
  });

  it('refuses unknown runs', async () => {
    expect(await show('digits-000009')).toMatchObject({ status: 404 });
  });
});

describe('GET /runs/{runId}/series', () => {
  const show = (query: Record<string, string> = {}, runId = 'digits-000001') =>
    ask('GET /runs/{runId}/series', { parameters: { runId }, query });
  const line = (position: number, name: string) =>
    JSON.stringify({ source: 'log', unit: 'step', position, at: position, values: { [name]: 0.5 } });

  beforeEach(async () => {
    await at.runs.create(runOf('digits', 1));
    const lines = ['{"startedAt":0}', line(1, 'loss'), line(2, 'loss'), line(3, 'loss'), line(3, 'accuracy')];
    at.store.put(`${bucketKeys.series('digits', 'digits-000001')}attempt-1.jsonl`, lines.join('\n'));
  });

  it('shows every series with its points', async () => {
    expect(await show()).toMatchObject({
      status: 200,
      body: { series: [{ name: 'loss', unit: 'step', pointCount: 3, lost: [] }, { name: 'accuracy' }] },
    });
  });

  it('shows one series with few points', async () => {
    const { body } = await show({ name: 'loss', points: '2' });
    expect(body).toMatchObject({ series: [{ pointCount: 3, points: [{ position: 1 }, { position: 3 }] }] });
    expect(await show({ name: 'other' })).toMatchObject({ status: 200, body: { series: [] } });
  });

  it('is empty for a run that has logged nothing', async () => {
    await at.runs.create(runOf('digits', 2));
    expect(await show({}, 'digits-000002')).toMatchObject({ status: 200, body: { series: [] } });
  });

  it('refuses unknown runs and impossible points', async () => {
    expect(await show({}, 'digits-000009')).toMatchObject({ status: 404 });
    for (const points of ['0', '1', 'x', '1e9', ''])
      expect(await show({ points })).toMatchObject({ status: 400 });
  });
});

describe('what is no route', () => {
  it.each(['GET /', 'DELETE /pipelines', '$default', 'constructor', '__proto__', 'toString', ''])(
    'is answered with 404: %j',
    async (route) => {
      expect(await ask(route)).toMatchObject({ status: 404 });
    },
  );

  it.each(['UPPER', 'a b', '../x', 'pipelines', 'x'.repeat(40), ''])('refuses the name %j', async (name) => {
    for (const route of ['GET /pipelines/{name}', 'PUT /pipelines/{name}', 'POST /pipelines/{name}/runs']) {
      expect(await named(route, name)).toMatchObject({ status: 400 });
    }
    expect(at.store.keys()).toEqual(THERE);
  });
});
