/** Every route of the API and every way it refuses. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type ApiRequest, answer } from '../../../functions/core/api/api.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { attemptOf, launchOf, outcomeOf, runOf } from '../../support/builders/records.ts';
import { DECLARATION, type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
/** What lies in the bucket before anybody asks. */
const THERE = ground().store.keys();
beforeEach(() => {
  at = ground();
});

const ask = (route: string, over: Partial<ApiRequest> = {}) =>
  answer(at, { route, parameters: {}, query: {}, body: '', ...over });
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
    expect(await named('GET /pipelines/{name}')).toEqual({
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
    expect(await named('GET /pipelines/{name}/runs', 'digits')).toEqual({ status: 200, body: { runs: [] } });
  });

  it.each(['0', '201', 'many', '1.5', '-3'])('refuses the limit %s', async (limit) => {
    const response = await named('GET /pipelines/{name}/runs', 'digits', { query: { limit } });
    expect(response).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(limit) as string },
    });
  });
});

describe('GET /runs/{runId}', () => {
  const show = (runId = 'digits-000001') => ask('GET /runs/{runId}', { parameters: { runId } });

  beforeEach(async () => {
    await at.runs.create(runOf('digits', 1));
    await at.attempts.create(
      attemptOf('digits-000001', 1, { taskToken: 'SECRET-TOKEN', outcome: outcomeOf('interrupted') }),
    );
    await at.attempts.create(attemptOf('digits-000001', 2, { taskToken: 'SECRET-TOKEN-2' }));
    await at.placements.put('digits-000001', 1, launchOf());
  });

  it('shows the run, its attempts, placements, timeline and report', async () => {
    at.store.put(bucketKeys.report('digits', 'digits-000001'), '{"version":1}');
    const response = await show();
    expect(response).toMatchObject({
      status: 200,
      body: {
        run: { runId: 'digits-000001' },
        attempts: [{ attempt: 1, outcome: { kind: 'interrupted' } }, { attempt: 2 }],
        placements: [{ attempt: 1 }],
        timeline: [],
        report: { version: 1 },
      },
    });
  });

  it('never lets a task token out', async () => {
    expect(JSON.stringify((await show()).body)).not.toMatch(/SECRET|taskToken/);
  });

  it.each([{}, { version: 2 }])('refuses a report of another version, such as %j', async (report) => {
    at.store.put(bucketKeys.report('digits', 'digits-000001'), JSON.stringify(report));
    expect(await show()).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/report of this run has .*reads version 1: use the release/) },
    });
  });

  it('leaves out a report that cannot be read', async () => {
    at.store.put(bucketKeys.report('digits', 'digits-000001'), '{"version"');
    expect(await show()).toMatchObject({ status: 200, body: { report: undefined } });
  });

  it.each(['unknown-000001', '', '../../etc/passwd', 'RUN#digits-000001'])(
    'answers 404 for %j',
    async (runId) => {
      expect((await show(runId)).status).toBe(404);
    },
  );
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
