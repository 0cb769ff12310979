/** One stream over all attempts and hosts, read by pages and followed. */
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import type { LogEntry } from '../../../functions/records/run-log.ts';
import { attemptOf, outcomeOf, progressOf, runOf, secondsAfter } from '../../support/builders/records.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const RUN = 'digits-000001';
const ROUTE = 'GET /runs/{runId}/log';
const prefixOf = (attempt: number) => `${RUN}-a${attempt}-0a1b2c/`;
const second = (seconds: number) => Date.parse(secondsAfter(seconds));

interface Page {
  readonly entries: readonly LogEntry[];
  readonly nextToken?: string;
  readonly isCurrent: boolean;
}

let at: Ground;
beforeEach(async () => {
  at = ground();
  await at.runs.create(runOf('digits', 1, { status: 'succeeded' }));
  await at.attempts.create(
    attemptOf(RUN, 1, {
      createdAt: secondsAfter(0),
      progressAfter: progressOf(20),
      outcome: outcomeOf('interrupted', { endedAt: secondsAfter(10) }),
    }),
  );
  await at.attempts.create(
    attemptOf(RUN, 2, {
      createdAt: secondsAfter(20),
      progressBefore: progressOf(20),
      outcome: outcomeOf('completed', { endedAt: secondsAfter(30) }),
    }),
  );
  at.clock.advance(3_600);
});

async function ask(query: Record<string, string> = {}) {
  const response = await answer(at, { route: ROUTE, parameters: { runId: RUN }, query, body: '' });
  expectAsDescribed(ROUTE, response);
  return response;
}
const page = async (query: Record<string, string> = {}) => (await ask(query)).body as Page;

async function whole(query: Record<string, string>): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  let nextToken: string | undefined;
  do {
    const next = await page({ ...query, ...(nextToken !== undefined && { nextToken }) });
    entries.push(...next.entries);
    nextToken = next.nextToken;
  } while (nextToken !== undefined);
  return entries;
}

it('mixes the hosts and marks the attempts', async () => {
  at.logs.print(prefixOf(1), { at: second(2), host: 'algo-1', text: 'b' });
  at.logs.print(prefixOf(1), { at: second(1), host: 'algo-2', text: 'a' });
  at.logs.print(prefixOf(2), { at: second(21), host: 'algo-1', text: 'c' });
  const entries = await whole({});
  expect(entries.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'began attempt 1 began on 2 × g5.xlarge in use1-az4',
    'line a',
    'line b',
    'ended attempt 1 ended (interrupted), saved up to step 20: interrupted, said the service',
    'began attempt 2 began on 2 × g5.xlarge in use1-az4, from step 20',
    'line c',
    'ended attempt 2 completed',
  ]);
});

it('gives every line once, whatever the page', async () => {
  const lines = fc.array(fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: 0, max: 4 })), {
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(lines, fc.integer({ min: 1, max: 7 }), async (printed, limit) => {
      const { logs } = ground();
      for (const [index, [attempt, moment]] of printed.entries())
        logs.print(prefixOf(attempt), {
          at: second((attempt - 1) * 20 + moment),
          host: `algo-${index % 2}`,
          text: String(index),
        });
      at = { ...at, logs };
      const entries = await whole({ limit: String(limit) });
      const read = entries.filter(({ kind }) => kind === 'line');
      expect(read.map(({ text }) => Number(text)).toSorted((a, b) => a - b)).toEqual([...printed.keys()]);
      expect(entries.map((entry) => entry.attempt)).toEqual(
        entries.map((entry) => entry.attempt).toSorted((a, b) => a - b),
      );
    }),
  );
});

it('follows an attempt that goes on, behind late lines', async () => {
  await at.runs.create(runOf('digits', 2, { status: 'training' }));
  const now = at.clock.now();
  await at.attempts.create(
    attemptOf('digits-000002', 1, { createdAt: now.toISOString(), status: 'running' }),
  );
  const prefix = 'digits-000002-a1-0a1b2c/';
  const read = async (nextToken?: string) =>
    (
      await answer(at, {
        route: ROUTE,
        parameters: { runId: 'digits-000002' },
        query: nextToken === undefined ? {} : { nextToken },
        body: '',
      })
    ).body as Page;
  at.logs.print(prefix, { at: now.getTime(), host: 'algo-1', text: 'first' });
  const young = await read();
  expect(young).toMatchObject({ entries: [{ kind: 'began' }], isCurrent: true });
  at.clock.advance(6);
  const first = await read(young.nextToken);
  expect(first.entries).toMatchObject([{ text: 'first' }]);
  at.logs.print(prefix, { at: now.getTime(), host: 'algo-2', text: 'late' });
  const late = await read(first.nextToken);
  expect(late.entries).toMatchObject([{ text: 'late' }]);
  expect((await read(late.nextToken)).entries).toEqual([]);
});

it('is followed from before the first attempt on', async () => {
  const runId = 'digits-000003';
  await at.runs.create(runOf('digits', 3, { status: 'placing' }));
  const read = async (query: Record<string, string> = {}) =>
    (await answer(at, { route: ROUTE, parameters: { runId }, query, body: '' })).body as Page;
  const { nextToken = '', ...early } = await read();
  expect(early).toEqual({ entries: [], isCurrent: true });
  await at.attempts.create(
    attemptOf(runId, 1, { createdAt: at.clock.now().toISOString(), status: 'running' }),
  );
  expect(await read({ nextToken })).toMatchObject({ entries: [{ kind: 'began', attempt: 1 }] });
});

it('ends where the run ended between two attempts', async () => {
  const next = Buffer.from('[3,0,0]').toString('base64url');
  expect(await page({ nextToken: next })).toEqual({ entries: [], isCurrent: true });
});

it('reads one attempt, one host, from a time on', async () => {
  for (const [moment, host] of [
    [1, 'algo-1'],
    [2, 'algo-2'],
    [3, 'algo-1'],
  ] as const)
    at.logs.print(prefixOf(1), { at: second(moment), host, text: `${moment} ${host}` });
  const query = { attempt: '1', host: 'algo-1', since: secondsAfter(2) };
  const { entries, nextToken } = await page(query);
  expect(entries.map(({ text }) => text)).toEqual(['3 algo-1', expect.stringContaining('ended') as string]);
  expect(nextToken).toBeUndefined();
});

it.each(['abc', '', Buffer.from('[0,1,2]').toString('base64url')])(
  'refuses the token %j',
  async (nextToken) => {
    expect(await ask({ nextToken })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'nextToken' }] },
    });
  },
);

it('cuts a line that would fill the answer', async () => {
  for (let moment = 0; moment < 200; moment += 1)
    at.logs.print(prefixOf(1), { at: second(moment % 10), host: 'algo-1', text: 'x'.repeat(250_000) });
  const first = await page();
  expect(JSON.stringify(first).length).toBeLessThan(1_000_000);
  expect((await whole({})).filter(({ kind }) => kind === 'line')).toHaveLength(200);
});
