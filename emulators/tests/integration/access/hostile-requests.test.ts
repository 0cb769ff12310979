/** No request ends a server of this machine, and no unsigned body fills its memory. */
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servePage } from '../../../../cli/page/page-server.ts';
import { projectPython, TEST_KEY } from '../../../../test/support/emulator.ts';
import { signedFetch, signedHeaders } from '../../../../test/support/signed-fetch.ts';
import { volley } from '../../../../test/support/volley.ts';
import { type Emulator, startEmulator } from '../../../aws/ministack.ts';
import { startMetadata } from '../../../ec2/metadata.ts';
import { startControlServer } from '../../../region/control-server.ts';
import { lockName } from '../../../shared/folder-lock.ts';
import { startLocalMarket } from '../../../spot-market/spot-market.ts';
import { ask } from './servers.ts';

const SERVERS = ['page', 'control', 'ec2', 'metadata', 'aws'] as const;
const MEGABYTE = 1_048_576;

const urls = new Map<string, string>();
const closers: (() => unknown)[] = [];
const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
let emulator: Emulator;

beforeAll(async () => {
  const stateDirectory = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-hostile-'));
  closers.push(() => rm(stateDirectory, { recursive: true, force: true }));
  const page = await servePage({
    files: new Map(),
    apiUrl: 'http://127.0.0.1:1',
    region: 'us-east-1',
    credentials: TEST_KEY,
  });
  const interruptions = { running: () => [], strike: () => ({ runId: '', hosts: [] }) } as never;
  closers.push(
    await startControlServer({ stateDirectory, credentials: TEST_KEY, interruptions, log: () => undefined }),
  );
  const market = await startLocalMarket({ credentials: TEST_KEY });
  const metadata = await startMetadata({});
  emulator = await startEmulator({ pythonPath: projectPython(), credentials: TEST_KEY, stateDirectory });
  closers.push(
    () => page.close(),
    () => market.close(),
    () => metadata.close(),
    () => emulator.stop(),
  );
  const control = JSON.parse(await readFile(path.join(stateDirectory, 'control.json'), 'utf8')) as {
    url: string;
  };
  urls.set('page', new URL(page.address).origin);
  urls.set('control', control.url);
  urls.set('ec2', market.url);
  urls.set('metadata', metadata.url);
  urls.set('aws', emulator.url);
  process.on('unhandledRejection', note).on('uncaughtException', note);
}, 60_000);

afterAll(async () => {
  process.off('unhandledRejection', note).off('uncaughtException', note);
  for (const close of closers.reverse()) await close();
});

/** Sends the bytes and leaves. @returns what was answered before */
async function sendRaw(url: string, bytes: string, leaves: boolean): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  socket.write(bytes, () => leaves && socket.destroySoon());
  return text(socket).catch(() => '');
}

const head = (line: string, ...headers: string[]) =>
  [line, 'host: 127.0.0.1', 'connection: close', ...headers, '', ''].join('\r\n');

const HOSTILE: Readonly<Record<string, string>> = {
  'a token of letters that take two bytes': head(`GET /?token=${'%C3%A9'.repeat(32)} HTTP/1.1`),
  'a cookie of letters that take two bytes': head('GET / HTTP/1.1', `cookie: tidewheel-1=${'é'.repeat(32)}`),
  'a body that is cut off': `${head('POST /api/runs/a-1/stop HTTP/1.1', 'content-length: 100')}{"a":`,
  'a chunk without a size': `${head('POST /api/runs/a-1/stop HTTP/1.1', 'transfer-encoding: chunked')}ZZ\r\n`,
  'a chunk that is cut off': `${head('PUT /x HTTP/1.1', 'transfer-encoding: chunked')}ff\r\nab`,
  'an address of another host': head('GET http://user@evil.example/?token= HTTP/1.1'),
  'two slashes': head('GET // HTTP/1.1'),
  'an address that no parser takes': head('GET //[ HTTP/1.1'),
  'an escape that stands for nothing': head('GET /%E0%A4%A/%zz?%ff=%C3 HTTP/1.1'),
  'a method that is none': head('BREW / HTTP/1.1'),
  'no HTTP': '\u0000\u0001\u0002\r\n\r\n',
};

describe.each(SERVERS)('the server %s', (server) => {
  it.each(Object.keys(HOSTILE))('goes on after %s', async (name) => {
    const url = urls.get(server) ?? '';
    await sendRaw(url, HOSTILE[name] ?? '', /cut off/.test(name));
    expect((await ask(url)).status).toBeLessThan(500);
    expect(unhandled.splice(0)).toEqual([]);
  });
});

it.each(['control', 'ec2'])('the server %s refuses false signatures everywhere', async (server) => {
  const credential = `${TEST_KEY.accessKeyId}/20261129/us-east-1/ec2/aws4_request`;
  const signed = [
    `authorization: AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=host, Signature=${'0'.repeat(64)}`,
    'x-amz-date: 20261129T000000Z',
  ];
  for (const address of ['//', '//[::bad/', '/?__proto__=x', '/?constructor=y', '*']) {
    const answer = await sendRaw(urls.get(server) ?? '', head(`POST ${address} HTTP/1.1`, ...signed), false);
    expect(`${address} ${answer}`).toMatch(/^\S+ HTTP\/1\.1 4\d\d /);
  }
});

it.each([
  'GET /_ministack/sqs/messages',
  'POST /_ministack/config',
  'POST /_ministack/reset',
  'GET /health',
  'GET /oauth2/authorize',
  'GET /v20180820/configuration/buckets',
])('the host of an API does not open %s', async (route) => {
  const [method = '', place = ''] = route.split(' ');
  const host = `deadbeef.execute-api.localhost:${emulator.port}`;
  expect(await ask(`${emulator.url}${place}`, { method, headers: { host } })).toMatchObject({ status: 403 });
});

it('broken requests pass, end and fill no server', async () => {
  const { wrong, silent, grownMegabytes } = await volley(process.pid, { count: 250, seed: 1 });
  expect({ wrong, silent }).toEqual({ wrong: [], silent: [] });
  expect(grownMegabytes).toBeLessThan(300);
});

const nameOf = (lock: string) =>
  `\0tidewheel-${createHash('sha256').update(lock).digest('hex').slice(0, 24)}`;

it('a lock survives callers that do not wait', async () => {
  const unlock = await lockName('hostile');
  const askAndLeave = () =>
    new Promise((gone) => {
      const socket = connect(nameOf('hostile'), () => socket.destroy());
      socket.on('error', () => undefined).on('close', gone);
    });
  await Promise.all(Array.from({ length: 50 }, askAndLeave));
  await expect(lockName('hostile')).rejects.toThrow(`process ${process.pid} has it`);
  unlock();
  expect(unhandled.splice(0)).toEqual([]);
});

it('a lock does not keep callers that stay', async () => {
  const unlock = await lockName('stays');
  const visitor = connect({ path: nameOf('stays'), allowHalfOpen: true }).resume();
  const refused = once(visitor, 'error');
  const writing = setInterval(() => visitor.write('still here'), 10);
  await expect(refused).resolves.toMatchObject([{ code: 'EPIPE' }]);
  clearInterval(writing);
  unlock();
});

it('a name is refused whose holder says nothing', async () => {
  const silent = createServer().listen(nameOf('silent'));
  closers.push(() => silent.close());
  await expect(lockName('silent')).rejects.toThrow('another process has it');
});

/** The most memory that the emulator has had, in bytes. */
const peakOf = async (pid: number) =>
  Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

describe('a body of 64 MB without a valid signature', () => {
  const body = 'x'.repeat(64 * MEGABYTE);
  const form = { 'content-type': 'multipart/form-data; boundary=x' };
  const unknownKey = {
    authorization: `AWS4-HMAC-SHA256 Credential=NOBODYSKEY0000000000/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=${'0'.repeat(64)}`,
    'x-amz-date': '20260101T000000Z',
  };
  const ownKey = {
    ...unknownKey,
    authorization: unknownKey.authorization.replace('NOBODYSKEY0000000000', TEST_KEY.accessKeyId),
  };
  const chunks = { ...unknownKey, 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' };
  const forged = Object.fromEntries(
    Object.entries(chunks).map(([name, value]) => [
      name,
      value.replace('NOBODYSKEY0000000000', TEST_KEY.accessKeyId).replace('/sqs/', '/s3/'),
    ]),
  );

  it.each([
    { where: 'is unsigned', place: '/data/x', method: 'PUT', headers: {}, status: 403 },
    { where: 'is a form', place: '/data', method: 'POST', headers: form, status: 403 },
    { where: 'names an unknown key', place: '/', method: 'POST', headers: unknownKey, status: 403 },
    {
      where: 'is signed in chunks by an unknown key',
      place: '/data/x',
      method: 'PUT',
      headers: chunks,
      status: 403,
    },
    {
      where: 'is signed in chunks, but not by the key',
      place: '/data/x',
      method: 'PUT',
      headers: forged,
      status: 403,
    },
    {
      where: 'goes to an API without a signature',
      place: '/_aws/execute-api/none/x',
      method: 'POST',
      headers: {},
      status: 413,
    },
    {
      where: 'goes where a token is in the address',
      place: '/_ministack/cfn-response/x',
      method: 'PUT',
      headers: {},
      status: 413,
    },
  ])('is not held by the emulator where it $where', async ({ place, method, headers, status }) => {
    const before = await peakOf(emulator.pid);
    expect(await ask(`${emulator.url}${place}`, { method, headers, body })).toMatchObject({ status });
    expect((await peakOf(emulator.pid)) - before).toBeLessThan(32 * MEGABYTE);
  });

  it.each([
    ['control', {}, 403],
    ['control', ownKey, 403],
    ['ec2', {}, 400],
    ['ec2', ownKey, 413],
  ] as const)('is refused by the server %s with %j', async (server, signing, status) => {
    const headers = { 'transfer-encoding': 'chunked', ...signing };
    expect(await ask(urls.get(server) ?? '', { method: 'POST', headers, body })).toMatchObject({ status });
  });
});

it.each([
  'GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ',
  'GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n',
  'GET /',
  'PUT /x HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ',
])('the emulator ends what never ends after %j', async (begin) => {
  const more = begin.endsWith('\n') ? 'x: y\r\n'.repeat(8_192) : 'x'.repeat(65_536);
  const before = await peakOf(emulator.pid);
  const socket = connect(emulator.port, '127.0.0.1').on('error', () => undefined);
  socket.resume().write(begin);
  const sending = setInterval(() => socket.write(more), 1);
  await new Promise((ended) => void socket.on('close', ended));
  clearInterval(sending);
  expect((await peakOf(emulator.pid)) - before).toBeLessThan(8 * MEGABYTE);
});

it('the emulator ends clients that wait for no answer', async () => {
  const before = await peakOf(emulator.pid);
  const socket = connect(emulator.port, '127.0.0.1').on('error', () => undefined);
  socket.resume().write('GET /x HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'.repeat(100_000));
  await new Promise((ended) => void socket.on('close', ended));
  expect((await peakOf(emulator.pid)) - before).toBeLessThan(16 * MEGABYTE);
  expect((await ask(emulator.url)).status).toBe(403);
});

describe('what S3 takes in signed chunks', () => {
  const STREAM = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD';
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

  /** https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html */
  async function put(data: string, sent = data): Promise<number> {
    const url = `${emulator.url}/chunked/key`;
    const length = { 'x-amz-content-sha256': STREAM, 'x-amz-decoded-content-length': String(data.length) };
    const headers = await signedHeaders(url, { service: 's3', method: 'PUT', headers: length });
    const [, day = '', seed = ''] =
      /Credential=[^/]+\/(\d+)\/.*Signature=(\w+)/.exec(headers['authorization'] ?? '') ?? [];
    const scope = [day, 'us-east-1', 's3', 'aws4_request'];
    const key = scope.reduce<string | Buffer>(hmac, `AWS4${TEST_KEY.secretAccessKey}`);
    let previous = seed;
    const chunk = (signed: string, carried: string): string => {
      const lines = ['AWS4-HMAC-SHA256-PAYLOAD', headers['x-amz-date'], scope.join('/'), previous];
      previous = hmac(key, [...lines, sha256(''), sha256(signed)].join('\n')).toString('hex');
      return `${carried.length.toString(16)};chunk-signature=${previous}\r\n${carried}\r\n`;
    };
    const body = chunk(data, sent) + chunk('', '');
    return (await ask(url, { method: 'PUT', headers, body })).status;
  }

  it('is taken at any size, as it was signed', async () => {
    await signedFetch(`${emulator.url}/chunked`, { service: 's3', method: 'PUT' });
    expect(await put('x'.repeat(82 * MEGABYTE))).toBe(200);
    expect(await put('data', 'dada')).toBe(403);
  });
});
