/** What a real browser lets a foreign page send, and what such a page gets from a region. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startBrowser, type TestBrowser } from '../../../../test/support/browser.ts';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { SERVERS, type Servers, startServers } from './servers.ts';

const BUCKET = 'data';
const SECRET = 'a secret of the region';
/** A name of the attacker's that resolves to this machine, as after DNS rebinding. */
const REBOUND = 'rebound.example';

let servers: Servers;
let s3: S3Client;
let attacker: Server;
let chromium: TestBrowser;
let page: Page;

beforeAll(async () => {
  servers = await startServers();
  s3 = new S3Client({ ...clientConfiguration(servers.urls.aws), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'kept', Body: SECRET }));
  attacker = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<title>evil</title>');
  }).listen(0, '127.0.0.1');
  await once(attacker, 'listening');
  chromium = await startBrowser([`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`]);
}, 90_000);

afterAll(async () => {
  await chromium?.stop();
  attacker?.close();
  s3?.destroy();
  await servers?.stop();
});

const attackerUrl = (): string => {
  const address = attacker.address();
  if (address === null || typeof address === 'string') throw new Error('the attacker does not listen');
  return `http://127.0.0.1:${address.port}/`;
};

beforeEach(async () => {
  page = await chromium.browser.newPage();
  await page.goto(attackerUrl());
  return () => page.close();
});

const keys = async () => {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }));
  return Contents.map(({ Key }) => Key);
};

type Attempt = readonly [url: string, init: { method?: string; body?: string; mode?: 'no-cors' }];

/** What the page's script may see of each answer; 'blocked' where the browser shows it nothing. */
const fetchFromPage = (attempts: readonly Attempt[]): Promise<string[]> =>
  page.evaluate(
    (all) =>
      Promise.all(
        all.map(([url, init]) =>
          fetch(url, init).then(
            async (answer) => `${answer.type} ${answer.status} ${await answer.text()}`,
            () => 'blocked',
          ),
        ),
      ),
    attempts,
  );

describe.each(SERVERS)('a foreign page at %s', (server) => {
  it('reads no answer', async () => {
    const url = `${servers.urls[server]}/`;
    expect(
      await fetchFromPage([
        [url, {}],
        [url, { method: 'POST', body: '{}' }],
      ]),
    ).toEqual(['blocked', 'blocked']);
  });

  it('is refused what the browser sends blindly', async () => {
    const answered = page.waitForResponse((response) => response.url().startsWith(servers.urls[server]));
    expect(await fetchFromPage([[`${servers.urls[server]}/`, { mode: 'no-cors' }]])).toEqual(['opaque 0 ']);
    expect((await answered).status()).toBe(403);
  });
});

it('a foreign page writes no object', async () => {
  const bucket = `${servers.urls.aws}/${BUCKET}`;
  const form = 'name: pwn';
  await fetchFromPage([
    [`${bucket}/pipelines/pwn.yaml`, { method: 'PUT', body: form }],
    [`${bucket}/pipelines/pwn.yaml`, { method: 'PUT', body: form, mode: 'no-cors' }],
    [`${bucket}/pipelines/pwn.yaml`, { method: 'POST', body: form, mode: 'no-cors' }],
    [`${bucket}/kept`, { method: 'DELETE' }],
  ]);
  expect(await keys()).toEqual(['kept']);
});

it('a self-submitting form writes no object', async () => {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.setContent(`
    <form method="post" enctype="multipart/form-data" action="${servers.urls.aws}/${BUCKET}">
      <input name="key" value="pipelines/pwn.yaml"><input name="file" value="name: pwn">
    </form>
    <script>document.forms[0].submit()</script>`);
  expect((await answered).status()).toBe(403);
  expect(await keys()).toEqual(['kept']);
});

it('a link from a foreign page shows no object', async () => {
  await page.setContent(`<a href="${servers.urls.aws}/${BUCKET}/kept">read</a>`);
  const answered = page.waitForResponse((response) => response.url().endsWith('/kept'));
  await page.click('a');
  expect((await answered).status()).toBe(403);
  expect(await page.content()).not.toContain(SECRET);
});

it('a rebound name reads and writes nothing', async () => {
  const rebound = servers.urls.aws.replace('127.0.0.1', REBOUND);
  // The page has the region's own origin in the browser's eyes: no rule of CORS holds it back.
  const answer = await page.goto(`${rebound}/${BUCKET}/kept`);
  expect(answer?.status()).toBe(403);
  const [read, write] = await fetchFromPage([
    [`${rebound}/${BUCKET}/kept`, {}],
    [`${rebound}/${BUCKET}/pipelines/pwn.yaml`, { method: 'PUT', body: 'name: pwn' }],
  ]);
  expect(read).toMatch(/^basic 403 /);
  expect(write).toMatch(/^basic 403 /);
  expect(await keys()).toEqual(['kept']);
});

it('a foreign page opens no socket', async () => {
  const url = servers.urls.aws.replace('http:', 'ws:');
  const outcome = await page.evaluate(
    (address) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(address);
        socket.onopen = () => resolve('open');
        socket.onerror = () => resolve('refused');
      }),
    url,
  );
  expect(outcome).toBe('refused');
});
