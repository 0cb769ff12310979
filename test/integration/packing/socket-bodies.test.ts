/** Requests with a body, and large answers, over HTTP: well-behaved and misbehaving servers. */

import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import {
  type Cancellation,
  cancel,
  type Exchange,
  type Transport,
} from '../../../functions/aws/s3/http-transport.ts';
import { send } from '../../support/fakes/send.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { closeAfterTest, serve, sockets } from './raw-sockets.ts';

/** More than the kernel keeps of what a peer does not read. */
const LARGE = randomBytes(24 * 1024 * 1024);
const PUT: Exchange = {
  method: 'PUT',
  path: '/k%20a',
  headers: ['host', 'bucket.example', 'x-amz-date', 'd'],
  body: Buffer.from('ab'),
};
const GET: Exchange = { method: 'GET', path: '/k', headers: ['host', 'h'] };
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const BUSY = 'HTTP/1.1 503 Slow Down\r\ncontent-length: 4\r\n\r\nbusy';

const textOf = async (over: Transport, exchange: Exchange = { ...PUT }): Promise<string> =>
  Buffer.concat((await send(over, exchange)).chunks).toString();

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Answers a PUT with the digest of its body, which it takes `pauseMilliseconds` a MiB, and a GET with LARGE. */
async function bodyServer(pauseMilliseconds = 0, identity?: { key: string; cert: string }): Promise<number> {
  const answer = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const digest = createHash('sha256');
    let taken = 0;
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) throw new Error('a text');
      digest.update(chunk);
      const before = Math.floor(taken / 2 ** 20);
      taken += chunk.length;
      if (pauseMilliseconds > 0 && Math.floor(taken / 2 ** 20) > before) await sleep(pauseMilliseconds);
    }
    const body = request.method === 'GET' ? LARGE : Buffer.from(digest.digest('hex'));
    response.writeHead(200, { 'content-length': body.length }).end(body);
  };
  const listener: http.RequestListener = (request, response) =>
    void answer(request, response).catch(() => {});
  const server =
    identity === undefined ? http.createServer(listener) : https.createServer(identity, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('requests with a body over HTTP', () => {
  it('send signed headers and a length, never chunks', async () => {
    const peer = await serve(() => OK);
    expect(await textOf(sockets(peer.port))).toBe('ok');
    expect(peer.requests.join('')).toBe(
      'PUT /k%20a HTTP/1.1\r\nhost: bucket.example\r\nx-amz-date: d\r\ncontent-length: 2\r\nConnection: keep-alive\r\n\r\nab',
    );
  });

  it('end an object in chunks beyond its bound', async () => {
    const answer = (status: string) =>
      `HTTP/1.1 ${status}\r\ntransfer-encoding: chunked\r\n\r\n5\r\nlarge\r\n0\r\n\r\n`;
    const [object, refusal] = await Promise.all([
      serve(() => answer('200 OK')),
      serve(() => answer('404 No')),
    ]);
    const most4 = { ...GET, mostBytes: 4 };
    await expect(textOf(sockets(object.port), most4)).rejects.toMatchObject({ code: 'BodyTooLong' });
    expect(await textOf(sockets(object.port), { ...GET, mostBytes: 5 })).toBe('large');
    expect(await textOf(sockets(refusal.port), most4)).toBe('large');
  });

  it('give an empty POST the length zero', async () => {
    const peer = await serve(() => OK);
    const mine = sockets(peer.port);
    await textOf(mine, { ...PUT, method: 'POST', body: undefined });
    await textOf(mine, { ...PUT, body: Buffer.alloc(0) });
    for (const request of peer.requests) expect(request).toMatch(/content-length: 0\r\n.*\r\n\r\n$/);
    expect(peer.requests).toHaveLength(2);
  });

  it('take the answer to a HEAD without body', async () => {
    const peer = await serve(
      () => 'HTTP/1.1 404 Not Found\r\ncontent-length: 500\r\nx-amz-request-id: r\r\n\r\n',
    );
    const mine = sockets(peer.port);
    const head: Exchange = { ...PUT, method: 'HEAD', body: undefined };
    const expected = { status: 404, size: 0, headers: { 'x-amz-request-id': 'r' } };
    expect([await send(mine, { ...head }), await send(mine, { ...head })]).toMatchObject([
      expected,
      expected,
    ]);
    expect(peer.sockets).toHaveLength(1);
  });

  it('send and receive large bodies whole', async () => {
    const { key, certificate } = selfSigned('localhost');
    const before = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...before, certificate]);
    try {
      const ports = [await bodyServer(), await bodyServer(0, { key, cert: certificate })];
      const origins = [`http://127.0.0.1:${ports[0]}`, `https://localhost:${ports[1]}`];
      for (const origin of origins) {
        const mine = sockets(0, { origin, connections: 1 });
        expect(await textOf(mine, { ...PUT, body: LARGE })).toBe(digestOf(LARGE));
        const into = Buffer.alloc(LARGE.length);
        const { chunks } = await send(mine, { ...GET, into });
        expect(chunks[0]).toBe(into);
        expect(digestOf(into)).toBe(digestOf(LARGE));
        expect(await textOf(mine)).toBe(digestOf(Buffer.from('ab')));
      }
    } finally {
      tls.setDefaultCACertificates(before);
    }
  });

  it('take an early answer and leave its connection', async () => {
    const peer = await serve((_number, socket) => {
      if (socket !== peer.sockets[0]) return OK;
      socket.pause();
      return BUSY;
    });
    const mine = sockets(peer.port, { connections: 1 });
    const early = await send(mine, { ...PUT, body: LARGE });
    expect([early.status, Buffer.concat(early.chunks).toString()]).toEqual([503, 'busy']);
    expect(await textOf(mine)).toBe('ok');
    expect(peer.sockets).toHaveLength(2);
  });

  it('are sent once, even over a closing connection', async () => {
    const peer = await serve((number, socket) => {
      if (number !== 1) return OK;
      socket.end();
      return undefined;
    });
    const mine = sockets(peer.port, { connections: 1 });
    await textOf(mine);
    await expect(textOf(mine)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(peer.requests).toHaveLength(2);
    expect(await textOf(mine)).toBe('ok');
  });

  it('time out when the server takes nothing more', async () => {
    const peer = await serve((_number, socket) => {
      socket.pause();
      return undefined;
    });
    const stuck = textOf(sockets(peer.port, { silence: 300 }), { ...PUT, body: LARGE });
    await expect(stuck).rejects.toMatchObject({ code: 'SilenceTimeout' });
  });

  it('take longer than the silence while bytes move', async () => {
    const mine = sockets(await bodyServer(80), { silence: 1_000 });
    const started = Date.now();
    expect(await textOf(mine, { ...PUT, body: LARGE })).toBe(digestOf(LARGE));
    expect(Date.now() - started).toBeGreaterThan(1_000);
  });

  it('write no more into memory once they failed', async () => {
    const rest = LARGE.toString('latin1', 0, 1_000_000);
    const peer = await serve(() => `HTTP/1.1 200 OK\r\ncontent-length: ${LARGE.length}\r\n\r\n${rest}`);
    const into = Buffer.alloc(LARGE.length);
    const cancellation: Cancellation = { cancelled: false };
    const reading = send(sockets(peer.port), { ...GET, into, cancellation });
    const outcome = Promise.allSettled([reading]);
    while (!into.subarray(0, rest.length).equals(LARGE.subarray(0, rest.length))) await sleep(5);
    cancel(cancellation, new Error('given up'));
    into.fill(0);
    peer.sockets[0]?.write(LARGE);
    expect(await outcome).toMatchObject([{ reason: { message: 'given up' } }]);
    await sleep(100);
    expect(into.every((byte) => byte === 0)).toBe(true);
  });
});
