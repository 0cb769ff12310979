/** What an agent may have runs cost together, as the API itself holds it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { DECLARATION, type Ground, ground } from '../../support/world/ground.ts';

const RUNS = 'POST /pipelines/{name}/runs';
const PUT = 'PUT /pipelines/{name}';
const LIMITS = 'PUT /runs/{runId}/limits';
const withBudget = (usd: number): string => `${DECLARATION}\nlimits: { budgetUsd: ${usd} }`;
const budget = (budgetUsd: number) => ({ limits: { budgetUsd } });
const SINCE = '2026-01-01T00:00:00Z';

let at: Ground;
beforeEach(() => {
  at = ground();
  at.declare(withBudget(5));
});

interface Call {
  readonly maxUsd?: string;
  readonly since?: string;
  readonly body?: unknown;
  readonly parameters?: Readonly<Record<string, string>>;
}

async function call(
  route: string,
  { maxUsd = '20', since, body = '', parameters = { name: 'digits' } }: Call = {},
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = {
    'tidewheel-max-usd': maxUsd,
    ...(since !== undefined && { 'tidewheel-max-usd-since': since }),
  };
  const response = await answer(at, { route, parameters, query: {}, body: text, caller: 'agent', headers });
  expectAsDescribed(route, response);
  return response;
}

function opened(pipeline: string, budgetUsd: number | undefined) {
  const declared = declarationOf(pipeline);
  const declaration = { ...declared, limits: { ...declared.limits, budgetUsd } };
  return at.runs.create(runOf(pipeline, 1, { status: 'training', declaration }));
}
const ofRun = { parameters: { runId: 'other-000001' } };

describe('a run', () => {
  it('starts while its budget fits beside open ones', async () => {
    await opened('other', 15);
    expect(await call(RUNS)).toMatchObject({ status: 202 });
    // The same run: nothing more is committed.
    expect(await call(RUNS)).toMatchObject({ status: 202, body: { kind: 'running' } });
  });

  it('is refused with what is left, and nothing starts', async () => {
    await opened('other', 16);
    expect(await call(RUNS)).toMatchObject({
      status: 409,
      body: {
        message: expect.stringContaining(
          'digits-000001 may cost $5.00, and the fence of $20.00 leaves $4.00 (other-000001 $16.00)',
        ),
      },
    });
    expect(await at.runs.get('digits-000001')).toBeUndefined();
    expect(await call(RUNS, { body: budget(4) })).toMatchObject({ status: 202 });
  });

  it('is refused without a budget, or beside another without', async () => {
    expect(await call(RUNS, { body: { limits: { budgetUsd: null } } })).toMatchObject({ status: 409 });
    await opened('other', undefined);
    expect(await call(RUNS)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('other-000001 may cost any amount') },
    });
  });

  it('that settles counts as it was requested', async () => {
    expect(await call(RUNS, { body: budget(18) })).toMatchObject({ status: 202 });
    at.store.put('pipelines/other.yaml', withBudget(3).replace('digits', 'other'));
    expect(await call(RUNS, { parameters: { name: 'other' } })).toMatchObject({ status: 409 });
    expect(await call(RUNS, { parameters: { name: 'other' }, body: budget(2) })).toMatchObject({
      status: 202,
    });
  });

  it('that ended since then counts by its cost', async () => {
    const ended = { finishedAt: at.clock.now().toISOString(), attempts: 1, interruptions: 0, lostSeconds: 0 };
    const result = { ...ended, costUsd: 16, onDemandUsd: 20, isDeadlineMet: null };
    await at.runs.create(runOf('other', 1, { status: 'failed', updatedAt: ended.finishedAt, result }));
    expect(await call(RUNS, { since: SINCE })).toMatchObject({ status: 409 });
    expect(await call(RUNS, { since: '2999-01-01T00:00:00Z' })).toMatchObject({ status: 202 });
    const retry = { ...ofRun, body: budget(20), since: SINCE };
    expect(await call('POST /runs/{runId}/retry', retry)).toMatchObject({ status: 409 });
  });
});

it('a probe is refused beyond the fence', async () => {
  const probe = { body: { number: 1, steps: 9, change: budget(21) } };
  expect(await call('POST /pipelines/{name}/probes', probe)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('digits-probe-000001 may cost $21.00') },
  });
});

describe('limits of an open run', () => {
  it('may fall below any fence, and rise within it', async () => {
    await opened('other', 30);
    expect(await call(LIMITS, { ...ofRun, body: { budgetUsd: 25 } })).toMatchObject({ status: 200 });
    expect(await call(LIMITS, { ...ofRun, body: { budgetUsd: 26 } })).toMatchObject({ status: 409 });
    expect(await call(LIMITS, { ...ofRun, body: { budgetUsd: null } })).toMatchObject({ status: 409 });
    expect(await call(LIMITS, { ...ofRun, body: { deadlineHours: 9 } })).toMatchObject({ status: 200 });
    expect((await at.runs.get('other-000001'))?.declaration?.limits).toMatchObject({ budgetUsd: 25 });
  });

  it('gets its first budget beside another without', async () => {
    await opened('other', undefined);
    await opened('third', undefined);
    expect(await call(LIMITS, { ...ofRun, maxUsd: '0', body: { budgetUsd: 3 } })).toMatchObject({
      status: 200,
    });
  });
});

describe('a declaration', () => {
  it('is corrected without more money at $0', async () => {
    const corrected = withBudget(5).replace('nodes: 2', 'nodes: 1');
    expect(await call(PUT, { maxUsd: '0', body: corrected })).toMatchObject({ status: 200 });
    expect(await call(PUT, { maxUsd: '0', body: withBudget(6) })).toMatchObject({ status: 409 });
    expect(await call(PUT, { maxUsd: '0', body: DECLARATION })).toMatchObject({ status: 409 });
    expect((await at.store.readText('pipelines/digits.yaml'))?.text).toBe(corrected);
  });

  it('gets no schedule, which starts runs without end', async () => {
    const body = `${withBudget(5)}\nschedule: rate(1 day)`;
    const { status, body: said } = await call(PUT, { body });
    expect([status, (said as { message: string }).message]).toEqual([
      409,
      expect.stringContaining('a schedule starts runs without end'),
    ]);
  });
});

it.each([
  [{ maxUsd: '-1' }, 'tidewheel-max-usd'],
  [{ since: 'yesterday' }, 'tidewheel-max-usd-since'],
])('a fence that says nothing refuses the call: %j', async (fence, field) => {
  expect(await call(RUNS, fence)).toMatchObject({ status: 400, body: { problems: [{ path: field }] } });
  expect(await at.runs.get('digits-000001')).toBeUndefined();
});
