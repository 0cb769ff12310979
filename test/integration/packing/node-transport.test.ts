/** Writes to S3 over Node's client, against well-behaved and misbehaving servers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { NodeTransport } from '../../../functions/aws/s3/node-transport.ts';
import {
  type Cancellation,
  cancel,
  type Exchange,
  type Transport,
} from '../../../functions/aws/s3/transport.ts';
import { send } from '../../support/fakes/send.ts';
import { rawServer } from './raw-server.ts';

const PUT: Exchange = {
  method: 'PUT',
  path: '/k%20a',
  headers: ['host', 'bucket.example', 'x-amz-date', 'd'],
  body: Buffer.from('ab'),
};
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function serve(answer: Parameters<typeof rawServer>[0]): ReturnType<typeof rawServer> {
  const peer = await rawServer(answer);
  open.push(peer);
  return peer;
}

function transport(port: number, { connections = 4, silence = 5_000 } = {}): NodeTransport {
  const opened = new NodeTransport({
    origin: `http://127.0.0.1:${port}`,
    connections,
    silenceMilliseconds: silence,
  });
  open.push(opened);
  return opened;
}

const textOf = async (over: Transport, exchange: Exchange = { ...PUT }): Promise<string> =>
  Buffer.concat((await send(over, exchange)).chunks).toString();

describe("writes over Node's client", () => {
  it('send signed headers and a length, never chunks', async () => {
    const peer = await serve(() => OK);
    expect(await textOf(transport(peer.port))).toBe('ok');
    const [head, body] = peer.requests.join('').split('\r\n\r\n');
    expect(body).toBe('ab');
    expect(head?.toLowerCase().split('\r\n')).toEqual([
      'put /k%20a http/1.1',
      'host: bucket.example',
      'x-amz-date: d',
      'connection: keep-alive',
      'content-length: 2',
    ]);
  });

  it('give an empty POST the length zero', async () => {
    const peer = await serve(() => OK);
    await textOf(transport(peer.port), { ...PUT, method: 'POST', body: undefined });
    expect(peer.requests.join('').toLowerCase()).toContain('content-length: 0');
  });

  it('take the answer to a HEAD without body', async () => {
    const peer = await serve(
      () => 'HTTP/1.1 404 Not Found\r\ncontent-length: 500\r\nx-amz-request-id: r\r\n\r\n',
    );
    const answer = await send(transport(peer.port), { ...PUT, method: 'HEAD', body: undefined });
    expect(answer).toMatchObject({ status: 404, size: 0, headers: { 'x-amz-request-id': 'r' } });
  });

  it('share and reuse a few connections', async () => {
    const peer = await serve(() => OK);
    const mine = transport(peer.port);
    const all = await Promise.all(Array.from({ length: 50 }, () => textOf(mine)));
    expect(new Set(all)).toEqual(new Set(['ok']));
    expect(peer.sockets.length).toBeLessThanOrEqual(4);
  });

  it('fail with their connection; queued writes go on', async () => {
    let answers = 0;
    const peer = await serve((_number, socket) => {
      answers += 1;
      if (answers > 1) return OK;
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf');
      return undefined;
    });
    const mine = transport(peer.port, { connections: 1 });
    const [first, second] = await Promise.allSettled([textOf(mine), textOf(mine)]);
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'ECONNRESET' } });
    expect(second).toEqual({ status: 'fulfilled', value: 'ok' });
  });

  it('time out before and during an answer', async () => {
    const silent = await serve(() => undefined);
    await expect(textOf(transport(silent.port, { silence: 100 }))).rejects.toMatchObject({
      code: 'SilenceTimeout',
    });
    const half = await serve(() => 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf');
    await expect(textOf(transport(half.port, { silence: 100 }))).rejects.toMatchObject({
      code: 'SilenceTimeout',
    });
  });

  it('can be aborted in flight and while queued', async () => {
    const peer = await serve((number) => (number === 0 ? undefined : OK));
    const mine = transport(peer.port, { connections: 1 });
    const running: Cancellation = { cancelled: false };
    const waiting: Cancellation = { cancelled: false };
    const all = Promise.allSettled([
      textOf(mine, { ...PUT, cancellation: running }),
      textOf(mine, { ...PUT, cancellation: waiting }),
    ]);
    cancel(waiting, new Error('no longer wanted'));
    while (peer.requests.length === 0) await sleep(5);
    cancel(running, new Error('another was faster'));
    expect(await all).toMatchObject([
      { reason: { message: 'another was faster' } },
      { reason: { message: 'no longer wanted' } },
    ]);
  });

  it('refuse line breaks in headers and unencoded paths', async () => {
    const peer = await serve(() => OK);
    const mine = transport(peer.port);
    const forged = textOf(mine, { ...PUT, headers: ['if-match', '"a"\r\nx: y'] });
    await expect(forged).rejects.toMatchObject({ code: 'InvalidHeader' });
    await expect(textOf(mine, { ...PUT, path: '/a b' })).rejects.toMatchObject({ code: 'InvalidPath' });
    expect(peer.requests).toEqual([]);
  });

  it('end with the transport, queued or in flight', async () => {
    const peer = await serve(() => undefined);
    const mine = transport(peer.port, { connections: 1 });
    const all = Promise.allSettled([textOf(mine), textOf(mine)]);
    while (peer.requests.length === 0) await sleep(5);
    await mine.close();
    expect(await all).toMatchObject([{ reason: { code: 'Closed' } }, { reason: { code: 'Closed' } }]);
    await expect(textOf(mine)).rejects.toMatchObject({ code: 'Cancelled' });
  });
});
