/** The client sends what the routes take, and makes a value of every answer. */
import { expect, it } from 'vitest';
import { type ApiCall, createClient } from '../../../client/client.ts';

function replying(status: number, body: string, headers: Record<string, string> = {}) {
  const calls: ApiCall[] = [];
  const client = createClient((call) => {
    calls.push(call);
    return Promise.resolve(new Response(status === 304 ? null : body, { status, headers }));
  });
  return { client, calls };
}

it('fills the path and writes the query', async () => {
  const { client, calls } = replying(200, '{"series":[]}');
  await client.call('getSeries', { runId: 'a/b c', name: 'loss&x', points: undefined });
  expect(calls).toEqual([
    { method: 'GET', path: '/runs/a%2Fb%20c/series?name=loss%26x', headers: {}, body: undefined },
  ]);
});

it('sends JSON, and a declaration as it is written', async () => {
  const { client, calls } = replying(202, '{}');
  await client.call('stopRun', { runId: 'digits-000001', body: { mode: 'now' } });
  await client.call('putPipeline', { name: 'digits', body: { yaml: 'name: digits' } });
  expect(calls).toMatchObject([
    { headers: { 'content-type': 'application/json' }, body: '{"mode":"now"}' },
    { headers: { 'content-type': 'application/yaml' }, body: 'name: digits' },
  ]);
});

it('hands on the ETag and knows an unchanged answer', async () => {
  const first = replying(200, '{"pipelines":[]}', { etag: '"1"' });
  expect(await first.client.call('listPipelines', {})).toEqual({
    kind: 'ok',
    body: { pipelines: [] },
    etag: '"1"',
  });
  const second = replying(304, '');
  expect(await second.client.call('listPipelines', {}, { etag: '"1"' })).toEqual({ kind: 'unchanged' });
  expect(second.calls[0]?.headers).toEqual({ 'if-none-match': '"1"' });
});

it.each([
  [400, '{"message":"bad","problems":[{"path":"limit","message":"is x"}]}', 'bad', 1],
  [403, '{"Message":"User is not authorized"}', 'User is not authorized', 0],
  [502, '<html>bad gateway</html>', '<html>bad gateway</html>', 0],
  [500, '', 'no message', 0],
  [500, 'null', 'null', 0],
])('makes a refusal of %d %s', async (status, body, message, problems) => {
  const answer = await replying(status, body).client.call('listPipelines', {});
  expect(answer).toMatchObject({ kind: 'refused', status, message });
  expect(answer.kind === 'refused' && answer.problems.length).toBe(problems);
});

it('says when the same call may be made again', async () => {
  const { client } = replying(429, '{"message":"later"}', { 'retry-after': '2' });
  expect(await client.call('listPipelines', {})).toMatchObject({ kind: 'refused', retryAfterSeconds: 2 });
});

it('makes a value of a silent API', async () => {
  const cause = new Error('ECONNREFUSED');
  const client = createClient(() => Promise.reject(cause));
  expect(await client.call('getRun', { runId: 'digits-000001' })).toEqual({ kind: 'unreachable', cause });
});
