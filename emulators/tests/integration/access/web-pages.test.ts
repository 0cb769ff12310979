/** No page that is open in a browser of this machine may read or change a region. */
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { signedHeaders } from '../../../../test/support/signed-fetch.ts';
import { type Asking, ask, GOOD, SERVERS, type ServerName, type Servers, startServers } from './servers.ts';

const BUCKET = 'data';

let servers: Servers;
let s3: S3Client;

beforeAll(async () => {
  servers = await startServers();
  s3 = new S3Client({ ...clientConfiguration(servers.urls.aws), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
}, 60_000);

afterAll(async () => {
  s3?.destroy();
  await servers?.stop();
});

const keys = async () => {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }));
  return Contents.map(({ Key }) => Key);
};

/** Signed by the region's key, as only a program can; what a browser adds comes on top. */
async function signed(server: ServerName, more: Record<string, string> = {}): Promise<Asking> {
  const { service, method, body, headers } = GOOD[server];
  const all = await signedHeaders(`${servers.urls[server]}/`, {
    service,
    method,
    headers: { ...headers, ...(more['host'] !== undefined && { host: more['host'] }) },
    ...(body !== undefined && { body }),
  });
  return { method, headers: { ...all, ...more }, ...(body !== undefined && { body }) };
}

const portOf = (server: ServerName): string => new URL(servers.urls[server]).port;

/** What a browser sends for the page that a link leads to. */
const VISIT = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

it('lets a link lead to an API alone', async () => {
  const visit = (path: string, more: Asking = {}) =>
    ask(`${servers.urls.aws}${path}`, { ...more, headers: { ...VISIT, ...more.headers } });
  const api = '/_aws/execute-api/none/';
  // There is no such API.
  expect(await visit(api)).toMatchObject({ status: 404 });
  const refused = await Promise.all([
    visit(`/${BUCKET}`),
    visit('/?Action=ListQueues'),
    visit(api, { method: 'POST' }),
    visit(api, { headers: { 'sec-fetch-dest': 'iframe' } }),
    visit(api, { headers: { origin: 'http://evil.example' } }),
    visit(api, { headers: { host: 'evil.example' } }),
  ]);
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
});

describe.each(SERVERS)('%s', (server) => {
  const answer = async (more: Record<string, string> = {}) =>
    ask(`${servers.urls[server]}/`, await signed(server, more));

  it('answers a program', async () => {
    expect(await answer()).toMatchObject({ status: 200 });
  });

  it.each([
    { origin: 'http://evil.example' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { origin: 'http://localhost' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'anything new' },
  ])('refuses a page that sends %j', async (headers) => {
    expect(await answer(headers)).toMatchObject({
      status: 403,
      text: 'The local region answers programs on this machine, not web pages of other origins.\n',
    });
  });

  it.each([
    'evil.example',
    'evil.example:4566',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil-localhost',
    '192.168.0.7:4566',
    '0.0.0.0:4566',
    '169.254.169.254',
    '[::ffff:127.0.0.1]:4566',
  ])('refuses a page that has rebound %s', async (host) => {
    expect(await answer({ host })).toMatchObject({
      status: 403,
      text: 'The local region answers at 127.0.0.1 and localhost, under no other name.\n',
    });
  });

  it.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]', 'any.name.localhost'])(
    'answers as %s with and without its port',
    async (name) => {
      for (const host of [name, `${name}:${portOf(server)}`])
        expect({ host, status: (await answer({ host })).status }).not.toEqual({ host, status: 403 });
    },
  );

  it('answers a page of its own', async () => {
    const own = { origin: servers.urls[server], 'sec-fetch-site': 'same-origin' };
    expect(await answer(own)).toMatchObject({ status: 200 });
    expect(await answer({ 'sec-fetch-site': 'none' })).toMatchObject({ status: 200 });
  });

  it('refuses a preflight', async () => {
    const preflight = {
      origin: 'http://evil.example',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization',
      'access-control-request-private-network': 'true',
    };
    expect(await ask(servers.urls[server], { method: 'OPTIONS', headers: preflight })).toMatchObject({
      status: 403,
    });
  });

  it('sends no CORS header to anybody', async () => {
    const answers = [
      await answer(),
      await answer({ origin: 'http://evil.example' }),
      await answer({ origin: servers.urls[server] }),
      await ask(servers.urls[server]),
      await ask(servers.urls[server], { method: 'OPTIONS' }),
      await ask(`${servers.urls.aws}/_ministack/ready`),
    ];
    for (const { headers } of answers)
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });
});

it.each([
  { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' },
  { origin: 'http://evil.example' },
  // A browser that sends neither: the request is not signed.
  {},
])('a page that sends %j writes no object', async (page: Record<string, string>) => {
  const boundary = 'form';
  const part = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const form = `${part('key', 'pipelines/evil.yaml')}${part('file', 'name: evil')}--${boundary}--\r\n`;
  const attempts: readonly [string, Asking][] = [
    ['/data/pipelines/pwn.yaml', { method: 'PUT', headers: page, body: 'name: pwn' }],
    ['/data/pwn/source/train.py', { method: 'PUT', headers: page, body: 'print()' }],
    [
      '/data',
      {
        method: 'POST',
        headers: { ...page, 'content-type': `multipart/form-data; boundary=${boundary}` },
        body: form,
      },
    ],
    [
      '/data/pipelines/plain.yaml',
      { method: 'POST', headers: { ...page, 'content-type': 'text/plain' }, body: 'x' },
    ],
    ['/_ministack/reset', { method: 'POST', headers: page }],
    ['/_ministack/config', { method: 'POST', headers: page, body: '{}' }],
  ];
  for (const [place, attempt] of attempts)
    expect({ place, status: (await ask(servers.urls.aws + place, attempt)).status }).toEqual({
      place,
      status: 403,
    });
  for (const place of ['/', '/data', '/data?list-type=2', '/_ministack/sqs/messages'])
    expect(`${place}: ${(await ask(servers.urls.aws + place, { headers: page })).text}`).not.toContain(
      '<Name>',
    );
  expect(await keys()).toEqual([]);
});

it('a page opens no socket', async () => {
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    host: `deadbeef.execute-api.localhost:${portOf('aws')}`,
    origin: 'http://evil.example',
  };
  expect(await ask(servers.urls.aws, { headers: upgrade })).toMatchObject({ status: 403 });
});
