/** Reads over HTTP against well-behaved and misbehaving servers. */

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
import { serve, sockets } from './raw-sockets.ts';

const GET: Exchange = { method: 'GET', path: '/k', headers: ['host', 'h'] };
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

const textOf = async (transport: Transport, exchange: Exchange = { ...GET }): Promise<string> =>
  Buffer.concat((await send(transport, exchange)).chunks).toString();

describe('reads over HTTP', () => {
  it('share and reuse a few connections', async () => {
    const peer = await serve(() => OK);
    const mine = sockets(peer.port);
    const all = await Promise.all(Array.from({ length: 100 }, () => textOf(mine)));
    expect(new Set(all)).toEqual(new Set(['ok']));
    expect(peer.sockets.length).toBeLessThanOrEqual(4);
    expect(peer.requests[0]).toBe('GET /k HTTP/1.1\r\nhost: h\r\nConnection: keep-alive\r\n\r\n');
  });

  it('fail with their connection; queued reads go on', async () => {
    const peer = await serve((number, socket) => {
      if (number > 0) return OK;
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf');
      return undefined;
    });
    const mine = sockets(peer.port, { connections: 1 });
    const [first, second] = await Promise.allSettled([textOf(mine), textOf(mine)]);
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'ECONNRESET' } });
    expect(second).toEqual({ status: 'fulfilled', value: 'ok' });
  });

  it('time out before and during an answer', async () => {
    const peer = await serve((number) =>
      number === 0 ? undefined : 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf',
    );
    const mine = sockets(peer.port, { silence: 200 });
    await expect(textOf(mine)).rejects.toMatchObject({ code: 'SilenceTimeout' });
    await expect(textOf(mine)).rejects.toMatchObject({ code: 'SilenceTimeout' });
  });

  it('discard a connection with unrequested bytes', async () => {
    const peer = await serve(() => OK);
    const mine = sockets(peer.port, { connections: 1 });
    await textOf(mine);
    peer.sockets[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged');
    await sleep(50);
    expect(await textOf(mine)).toBe('ok');
    expect(peer.sockets).toHaveLength(2);
  });

  it('can be aborted in flight and while queued', async () => {
    const peer = await serve((number) => (number === 0 ? undefined : OK));
    const mine = sockets(peer.port, { connections: 1 });
    const running: Cancellation = { cancelled: false };
    const waiting: Cancellation = { cancelled: false };
    const all = Promise.allSettled([
      textOf(mine, { ...GET, cancellation: running }),
      textOf(mine, { ...GET, cancellation: waiting }),
      textOf(mine),
    ]);
    cancel(waiting, new Error('no longer wanted'));
    while (peer.requests.length === 0) await sleep(5);
    cancel(running, new Error('another was faster'));
    expect(await all).toMatchObject([
      { reason: { message: 'another was faster' } },
      { reason: { code: 'Cancelled' } },
      { value: 'ok' },
    ]);
  });

  it('copy unexpected bodies into memory of their own', async () => {
    const answers = [
      'HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nabc',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nlonger',
    ];
    const peer = await serve((number) => answers[number]);
    const mine = sockets(peer.port);
    for (const body of ['abc', 'abc', 'longer']) {
      const into = Buffer.from('xyz');
      const { chunks } = await send(mine, { ...GET, into });
      expect([Buffer.concat(chunks).toString(), into.toString()]).toEqual([body, 'xyz']);
    }
  });

  it('end with the transport, queued or in flight', async () => {
    const peer = await serve(() => undefined);
    const mine = sockets(peer.port, { connections: 1 });
    const all = Promise.allSettled([textOf(mine), textOf(mine)]);
    while (peer.requests.length === 0) await sleep(5);
    await mine.close();
    expect(await all).toMatchObject([{ reason: { code: 'Closed' } }, { reason: { code: 'Cancelled' } }]);
    await expect(textOf(mine)).rejects.toMatchObject({ code: 'Cancelled' });
  });

  it('verify the name in the TLS certificate', async () => {
    const { key, certificate } = selfSigned('localhost');
    const before = tls.getCACertificates('default');
    const peer = await serve(
      () => OK,
      (listener) => tls.createServer({ key, cert: certificate }, listener),
    );
    const strange = sockets(peer.port, { origin: `https://localhost:${peer.port}` });
    await expect(textOf(strange)).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    tls.setDefaultCACertificates([...before, certificate]);
    try {
      const mine = sockets(peer.port, { origin: `https://localhost:${peer.port}`, connections: 2 });
      const into = Buffer.alloc(2);
      const answer = await send(mine, { ...GET, into });
      expect(answer.chunks[0]).toBe(into);
      expect(into.toString()).toBe('ok');
      expect(await Promise.all([textOf(mine), textOf(mine), textOf(mine)])).toEqual(['ok', 'ok', 'ok']);
      const misnamed = sockets(peer.port, { origin: `https://127.0.0.1:${peer.port}` });
      await expect(textOf(misnamed)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    } finally {
      tls.setDefaultCACertificates(before);
    }
  });
});
