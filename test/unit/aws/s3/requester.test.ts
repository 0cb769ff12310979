import { describe, expect, it } from 'vitest';
import { S3BlobStore } from '../../../../functions/aws/s3/blob-store.ts';
import { crc32Of } from '../../../../functions/aws/s3/checksum.ts';
import { S3Refused, S3Throttled } from '../../../../functions/aws/s3/errors.ts';
import type { Answer, Exchange, Transport } from '../../../../functions/aws/s3/http-transport.ts';
import { Requester, type S3Request } from '../../../../functions/aws/s3/requester.ts';

type Script = (Partial<Answer> | Error)[];
const text = (body: string) => ({ chunks: [Buffer.from(body)], size: Buffer.byteLength(body) });
const error = (status: number, code: string, headers: Answer['headers'] = {}) => ({
  status,
  headers,
  ...text(`<Error><Code>${code}</Code></Error>`),
});
const GET: S3Request = { operation: 'GetObject', method: 'GET', key: 'k', accept: [200], verify: true };

/** Plays the script in order and remembers what was sent, when, and how long was slept. */
function scripted(script: Script, clock = Date.UTC(2026, 10, 21)) {
  const sent: Exchange[] = [];
  const slept: number[] = [];
  const refreshed: boolean[] = [];
  const transport: Transport = {
    dispatch: (exchange, receiver) => {
      sent.push(exchange);
      const next = script.shift() ?? { status: 200 };
      if (next instanceof Error) receiver.failed(next);
      else receiver.answered({ status: 200, headers: {}, chunks: [], size: 0, ...next });
    },
    close: () => Promise.resolve(),
  };
  const requester = new Requester({
    address: { origin: 'https://h', host: 'h', basePath: '' },
    region: 'us-east-1',
    credentials: (refresh) => {
      refreshed.push(refresh);
      return Promise.resolve({ accessKeyId: 'a', secretAccessKey: 's' });
    },
    transport,
    world: { now: () => clock, random: () => 1, sleep: (ms) => Promise.resolve(void slept.push(ms)) },
    retry: { attempts: 4, baseMilliseconds: 10, maximumMilliseconds: 1_000 },
  });
  return { requester, sent, slept, refreshed };
}

const dateOf = (exchange: Exchange | undefined): string =>
  exchange?.headers[exchange.headers.indexOf('x-amz-date') + 1] ?? '';

describe('a request', () => {
  it('is retried with growing waits', async () => {
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    const world = scripted([reset, error(500, 'InternalError'), error(503, 'SlowDown'), text('done')]);
    const answer = await world.requester.send(GET);
    expect(Buffer.concat(answer.chunks).toString()).toBe('done');
    expect(world.slept).toEqual([10, 20, 160]);
  });

  it('asks again for a body of another length', async () => {
    const world = scripted([text('short'), text('longer')]);
    const answer = await world.requester.send({ ...GET, size: 6 });
    expect(Buffer.concat(answer.chunks).toString()).toBe('longer');
  });

  it('asks again for a body that is damaged', async () => {
    const world = scripted([text('cut'), text('whole')]);
    const damage = ({ size }: Answer) => (size < 5 ? 'Cut' : undefined);
    const answer = await world.requester.send({ ...GET, damage });
    expect(Buffer.concat(answer.chunks).toString()).toBe('whole');
  });

  it('asks again for a range of another place', async () => {
    const part = (place: string, body: string) => ({
      status: 206,
      headers: { 'content-range': `bytes ${place}/9`, etag: '"e"' },
      ...text(body),
    });
    const store = new S3BlobStore('b', scripted([part('2-4', 'cde'), part('3-5', 'def')]).requester);
    const found = await store.get('k', { range: { offset: 3, length: 3 } });
    expect(found.kind === 'found' && Buffer.concat(found.chunks).toString()).toBe('def');
  });

  it('ends a listing whose token repeats', async () => {
    const page = text(
      '<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>',
    );
    const store = new S3BlobStore('b', scripted([page, page]).requester);
    const { next } = await store.listPage('p/');
    expect(next).toBe('t');
    await expect(store.listPage('p/', { next })).rejects.toThrow('RepeatedToken');
  });

  it('is sent once when S3 refuses for good', async () => {
    const world = scripted([error(403, 'AccessDenied')]);
    await expect(world.requester.send(GET)).rejects.toBeInstanceOf(S3Refused);
    expect(world.sent).toHaveLength(1);
  });

  it('gives up with the last error', async () => {
    const world = scripted(Array.from({ length: 9 }, () => error(503, 'SlowDown')));
    await expect(world.requester.send(GET)).rejects.toBeInstanceOf(S3Throttled);
    expect(world.sent).toHaveLength(4);
  });

  it('reads a truncated body again', async () => {
    const world = scripted([{ ...text('shor'), headers: { 'content-length': '5' } }, text('short')]);
    expect((await world.requester.send(GET)).size).toBe(5);
  });

  it('reads a body again whose checksum differs', async () => {
    const headers = { 'x-amz-checksum-crc32': crc32Of(Buffer.from('right')) };
    const world = scripted([
      { ...text('wrong'), headers },
      { ...text('right'), headers },
    ]);
    expect(Buffer.concat((await world.requester.send(GET)).chunks).toString()).toBe('right');
  });

  it('never passes on a body that stays damaged', async () => {
    const headers = { 'x-amz-checksum-sha256': 'AAAA' };
    const world = scripted(Array.from({ length: 9 }, () => ({ ...text('bad'), headers })));
    await expect(world.requester.send(GET)).rejects.toMatchObject({ name: 'S3Transient' });
  });

  it('adopts the clock of the service', async () => {
    const world = scripted([
      error(403, 'RequestTimeTooSkewed', { date: 'Sat, 21 Nov 2026 02:00:00 GMT' }),
      text('ok'),
    ]);
    await world.requester.send(GET);
    expect(dateOf(world.sent[0])).toBe('20261121T000000Z');
    expect(dateOf(world.sent[1])).toBe('20261121T020000Z');
  });

  it('asks for new credentials on expiry', async () => {
    const world = scripted([error(400, 'ExpiredToken'), text('ok')]);
    await world.requester.send(GET);
    expect(world.refreshed).toEqual([false, true]);
  });

  it('renews credentials once for simultaneous requests', async () => {
    let clock = Date.UTC(2026, 10, 21);
    const requested: boolean[] = [];
    let key = 'old';
    const sent: Transport = {
      dispatch: ({ headers }, receiver) =>
        void setImmediate(() => {
          const isOld = headers.join().includes('Credential=old/');
          receiver.answered({
            headers: {},
            chunks: [],
            size: 0,
            ...(isOld ? error(400, 'ExpiredToken') : { status: 200 }),
          });
        }),
      close: () => Promise.resolve(),
    };
    const requester = new Requester({
      address: { origin: 'https://h', host: 'h', basePath: '' },
      region: 'us-east-1',
      credentials: async (refresh) => {
        requested.push(refresh);
        await new Promise((resolve) => void setImmediate(resolve));
        if (refresh) key = 'new';
        return { accessKeyId: key, secretAccessKey: 's' };
      },
      transport: sent,
      world: { now: () => (clock += 1), random: () => 1, sleep: () => Promise.resolve() },
    });
    await Promise.all(Array.from({ length: 50 }, () => requester.send(GET)));
    expect(requested).toEqual([false, true]);
  });

  const HEAD: S3Request = { operation: 'HeadObject', method: 'HEAD', key: 'k', accept: [200, 404] };

  it.each([400, 403])('for a head does so once on %d', async (status) => {
    const world = scripted([{ status }, { status: 200 }]);
    expect((await world.requester.send(HEAD)).status).toBe(200);
    expect(world.refreshed).toEqual([false, true]);
  });

  it('for a head fails when new credentials fail', async () => {
    const world = scripted([{ status: 403 }, { status: 403 }]);
    await expect(world.requester.send(HEAD)).rejects.toBeInstanceOf(S3Refused);
    await expect(world.requester.send(HEAD)).resolves.toMatchObject({ status: 200 });
    expect(world.refreshed).toEqual([false, true]);
    expect(world.sent).toHaveLength(3);
  });
});
