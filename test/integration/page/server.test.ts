/** The server of the page on loopback: whom it answers, and which calls it passes on. */
import { once } from 'node:events';
import { glob, readFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildPage } from '../../../cli/page/page-files.ts';
import { type ServedPage, servePage } from '../../../cli/page/page-server.ts';
import { OPERATIONS } from '../../../client/operations.ts';
import { TEST_KEY } from '../../support/emulator.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { ground } from '../../support/world/ground.ts';

let api: ApiServer;
let served: ServedPage;
let origin: string;
let cookie: string;

beforeAll(async () => {
  api = await startApi(ground(), 'arn:aws:iam::123456789012:user/reader');
  const deps = { files: await buildPage(), apiUrl: api.url, region: 'us-east-1', credentials: TEST_KEY };
  served = await servePage(deps);
  ({ origin } = new URL(served.address));
  const opened = await fetch(served.address, { redirect: 'manual' });
  cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
});

afterAll(() => {
  served?.close();
  api?.stop();
});

beforeEach(() => {
  api.signatures.length = 0;
});

interface Asking {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask(
  address: string,
  { body, ...asking }: Asking & { readonly path: string },
): Promise<{ status: number; headers: IncomingMessage['headers'] }> {
  return new Promise((resolve, reject) => {
    const asked = request(address, asking, (answer) => {
      answer.resume();
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }));
    });
    asked.on('error', reject).end(body);
  });
}

const get = (path: string, { headers, ...init }: Asking = {}) =>
  fetch(`${origin}${path}`, { ...init, headers: { cookie, ...headers } });

describe("the page's server", () => {
  it('passes on every call that the page makes', async () => {
    const called = new Set<string>();
    for await (const file of glob('page/**/*.{ts,tsx}'))
      for (const [, id = ''] of (await readFile(file, 'utf8')).matchAll(
        /(?:\.call|useReading|ask)\(\s*'(\w+)'/g,
      ))
        called.add(id);
    const operations = Object.entries(OPERATIONS).filter(([id]) => called.has(id));
    expect(operations.length).toBeGreaterThan(15);
    const headers = { 'content-type': 'application/json' };
    const passed: string[] = [];
    for (const [id, { method, path }] of operations) {
      api.signatures.length = 0;
      const sent = method === 'POST' || method === 'PUT' ? { body: '{}' } : {};
      await get(`/api${path.replaceAll(/\{\w+\}/g, 'none')}`, { method, headers, ...sent });
      if (api.signatures.length === 1) passed.push(id);
    }
    expect(passed).toEqual(operations.map(([id]) => id));
  });

  it('passes on nothing but reading and steering', async () => {
    const answers = await Promise.all([
      get('/api/pipelines/digits/probes', { method: 'POST' }),
      get('/api/pipelines/digits', { method: 'DELETE' }),
      get('/api/pipelines/digits/source'),
      get('/api/runs/digits-000001/series/more'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([405, 405, 404, 404]);
    const json = { 'content-type': 'application/json' };
    const stop = (over: Asking) =>
      get('/api/runs/digits-000001/stop', { method: 'POST', headers: json, ...over });
    const refused = await Promise.all([
      stop({ headers: { ...json, cookie: '' } }),
      stop({ headers: { ...json, origin: 'http://evil.test' } }),
      stop({ headers: { 'content-type': 'text/plain' } }),
      stop({ body: 'x'.repeat(100_000) }),
      stop({ method: 'PUT' }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([401, 403, 415, 415, 405]);
    expect(api.signatures).toEqual([]);
  });

  it('refuses browsers that have not opened its address', async () => {
    const wrong = cookie.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    for (const given of ['', wrong, 'tidewheel-1=']) {
      const [file, call] = await Promise.all([
        get('/', { headers: { cookie: given } }),
        get('/api/pipelines', { headers: { cookie: given } }),
      ]);
      expect([file.status, call.status]).toEqual([401, 401]);
    }
    expect((await get('/?token=', { headers: { cookie: '' } })).status).toBe(401);
    expect(api.signatures).toEqual([]);
  });

  it('refuses pages of other origins', async () => {
    const answer = await get('/api/pipelines', { headers: { origin: 'http://evil.test' } });
    expect(answer.status).toBe(403);
    expect(api.signatures).toEqual([]);
  });

  /** The target as it is written, which fetch would clean. */
  const written = (target: string, { method = 'GET', body, headers }: Asking = {}) =>
    ask(origin, {
      method,
      path: target,
      headers: { cookie, ...headers },
      ...(body !== undefined && { body }),
    });

  it.each([
    String.raw`/api/runs/..\pipelines\evil#/limits`,
    String.raw`/api/runs/..\limits`,
    '/api/runs/digits-000001/limits#/limits',
    '/api/runs/../runs/digits-000001/limits',
    '/api/runs/%2e%2E/limits',
    '/api/runs/.%2e%2fpipelines%2Fevil/limits',
    '/api/runs/..%5Cpipelines%5cevil/limits',
    '/api//runs/digits-000001/limits',
    'http://user:word@evil.example/api/runs/digits-000001/limits',
    'api/runs/digits-000001/limits',
  ])('refuses %j, which a parser reads otherwise', async (target) => {
    const json = { 'content-type': 'application/json' };
    const answers = [
      await written(target, { method: 'PUT', headers: json, body: '{}' }),
      await written(target),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400]);
    expect(api.signatures).toEqual([]);
  });

  it.each([
    '/api/pipelines/evil?x=/dataset/pin',
    '/api/pipelines/evil?/dataset/pin',
    '/api/runs/digits-000001?x=/limits',
    '/api/runs/digits-000001/limits?x=/limits',
  ])('has no button for the query of %j', async (target) => {
    const json = { 'content-type': 'application/json' };
    const answer = await written(target, { method: 'PUT', headers: json, body: '{}' });
    expect([answer.status, api.signatures]).toEqual([405, []]);
  });

  it.each(['//evil.example/', String.raw`/\evil.example/`, '///evil.example/', '/.//evil.example/'])(
    'does not redirect to %s',
    async (target) => {
      const token = new URL(served.address).search;
      const answer = await written(`${target}${token}`, { headers: { cookie: '' } });
      expect([answer.status, answer.headers.location]).toEqual([400, undefined]);
    },
  );

  it('refuses a missing cookie before it reads the body', async () => {
    const begun = request(`${origin}/api/runs/digits-000001/stop`, { method: 'POST' });
    begun.on('error', () => undefined).write('{');
    const [answer] = (await once(begun, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(401);
    begun.destroy();
  });

  it('says that the API gives no answer', async () => {
    const deps = {
      files: new Map(),
      apiUrl: 'http://127.0.0.1:1',
      region: 'us-east-1',
      credentials: TEST_KEY,
    };
    const alone = await servePage(deps);
    const opened = await fetch(alone.address, { redirect: 'manual' });
    const own = opened.headers.get('set-cookie') ?? '';
    const answer = await fetch(new URL('/api/pipelines', alone.address), { headers: { cookie: own } });
    alone.close();
    expect(answer.status).toBe(502);
    expect(await answer.json()).toEqual({ message: expect.stringContaining('is the region up?') as string });
  });
});
