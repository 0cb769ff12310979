import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeChunked, HttpAnswer, MalformedAnswer } from '../../../../functions/aws/s3/http-answer.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const head = (status: number, ...headers: string[]): string =>
  `HTTP/1.1 ${status} Reason\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`;

/** Feeds the bytes cut at these places; true when the answer was complete with the last byte and not before. */
function feed(answer: HttpAnswer, bytes: Buffer, cuts: readonly number[]): boolean {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  let complete = false;
  for (let index = 1; index < at.length; index += 1) {
    const piece = Buffer.from(bytes.subarray(at[index - 1], at[index]));
    if (piece.length === 0) continue;
    if (complete) return false;
    complete = answer.take(piece);
    /** The socket's buffer is used again at once. */
    piece.fill(0);
  }
  return complete;
}

const chunked = (body: Buffer, sizes: readonly number[]): Buffer => {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < body.length; turn += 1) {
    const piece = body.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
    pieces.push(latin1(`${piece.length.toString(16)};x=1\r\n`), piece, latin1('\r\n'));
    at += piece.length;
  }
  return Buffer.concat([...pieces, latin1('0\r\nx-trailer: 1\r\n\r\n')]);
};

describe('an answer', () => {
  const bodies = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  const cutting = fc.array(fc.nat(2_000), { maxLength: 12 });

  it('is the same however its bytes are cut', () => {
    fc.assert(
      fc.property(bodies, cutting, fc.boolean(), (body, cuts, hasPlace) => {
        const into = Buffer.alloc(body.length);
        const answer = new HttpAnswer(hasPlace ? into : undefined);
        const bytes = Buffer.concat([latin1(head(200, `Content-Length: ${body.length}`, 'ETag: "e"')), body]);
        expect(feed(answer, bytes, cuts)).toBe(true);
        const { status, headers, chunks, size } = answer.answer();
        expect([status, headers.etag, size]).toEqual([200, '"e"', body.length]);
        expect(Buffer.concat(chunks)).toEqual(body);
        expect(chunks.some((chunk) => chunk === into)).toBe(hasPlace && body.length > 0);
      }),
    );
  });

  it('puts a large body where it is wanted', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 90_000 }), { maxLength: 8 }), (pieces) => {
        const body = Buffer.alloc(200_000, 'abcdefg');
        const into = Buffer.alloc(body.length);
        const answer = new HttpAnswer(into);
        answer.take(latin1(head(200, `content-length: ${body.length}`)));
        let at = 0;
        for (const piece of [...pieces, ...Array<number>(8).fill(90_000)]) {
          const { room } = answer;
          const sent = body.subarray(at, at + Math.min(piece, room?.length ?? piece));
          if (sent.length === 0) break;
          expect(room === undefined).toBe(body.length - at < 65_536);
          room?.set(sent);
          at += sent.length;
          const isComplete = room === undefined ? answer.take(sent) : answer.landed(sent.length);
          expect(isComplete).toBe(at === body.length);
        }
        expect(answer.answer().chunks[0]).toBe(into);
        expect(into.equals(body)).toBe(true);
      }),
    );
  });

  it('to a HEAD has no body', () => {
    const answer = new HttpAnswer(undefined, true);
    expect(answer.take(latin1(head(200, 'content-length: 500')))).toBe(true);
    expect(answer.answer().size).toBe(0);
    expect(answer.room).toBeUndefined();
  });

  it('may come in chunks, with extensions and a trailer', () => {
    fc.assert(
      fc.property(
        bodies,
        cutting,
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }),
        (body, cuts, sizes) => {
          const answer = new HttpAnswer();
          const bytes = Buffer.concat([
            latin1(head(404, 'Transfer-Encoding: chunked')),
            chunked(body, sizes),
          ]);
          expect(feed(answer, bytes, cuts)).toBe(true);
          expect(Buffer.concat(answer.answer().chunks)).toEqual(body);
        },
      ),
    );
  });

  it('without a length ends with the connection', () => {
    const open = new HttpAnswer();
    expect(open.take(latin1(`${head(200, 'Connection: close')}to the end`))).toBe(false);
    expect(open.close()).toBe(true);
    expect(Buffer.concat(open.answer().chunks).toString()).toBe('to the end');
    for (const cut of [
      '',
      'HTTP/1.1 200',
      head(200, 'content-length: 5') + 'four',
      `${head(200, 'transfer-encoding: chunked')}4\r\nfo`,
    ]) {
      const answer = new HttpAnswer();
      if (cut !== '') answer.take(latin1(cut));
      expect(answer.close()).toBe(false);
    }
  });

  it('has no body with 204', () => {
    expect(new HttpAnswer().take(latin1(head(204)))).toBe(true);
    const empty = new HttpAnswer(new Uint8Array(3));
    expect(empty.take(latin1(head(200, 'content-length: 0')))).toBe(true);
    expect(empty.answer()).toMatchObject({ chunks: [], size: 0 });
  });

  it('comes after any number of interim ones', () => {
    const answer = new HttpAnswer();
    expect(
      answer.take(latin1(`${head(100)}${head(103, 'link: x')}${head(200, 'content-length: 2')}ok`)),
    ).toBe(true);
    expect(answer.answer().status).toBe(200);
  });

  it('copies unexpected bodies into memory of their own', () => {
    for (const [status, body] of [
      [200, 'longer'],
      [404, 'abc'],
    ] as const) {
      const into = Buffer.from('xyz');
      const answer = new HttpAnswer(into);
      answer.take(latin1(`${head(status, `content-length: ${body.length}`)}${body}`));
      expect(Buffer.concat(answer.answer().chunks).toString()).toBe(body);
      expect(into.toString()).toBe('xyz');
    }
  });

  it('says whether its socket may be used again', () => {
    const kept = (version: string, ...headers: string[]): boolean => {
      const answer = new HttpAnswer();
      answer.take(latin1(head(200, 'content-length: 0', ...headers).replace('HTTP/1.1', version)));
      return answer.keepAlive;
    };
    expect([kept('HTTP/1.1'), kept('HTTP/1.1', 'Connection: Close')]).toEqual([true, false]);
    expect([kept('HTTP/1.0'), kept('HTTP/1.0', 'connection: keep-alive')]).toEqual([false, true]);
  });

  it('that breaks the rules of HTTP is refused', () => {
    const broken = [
      'SSH-2.0-OpenSSH\r\n\r\n',
      head(200, 'no colon here'),
      head(200, 'bad name : 1'),
      head(200, 'content-length: -1'),
      head(200, 'content-length: 1e3'),
      head(200, 'content-length: 3', 'content-length: 4'),
      head(200, 'content-length: 99999999999'),
      head(200, 'transfer-encoding: gzip'),
      `${head(200, 'content-length: 2')}three`,
      `${head(204)}body`,
      `${head(200, 'transfer-encoding: chunked')}zz\r\n\r\n`,
      `${head(200, 'transfer-encoding: chunked')}2\r\nabc\r\n`,
      'a'.repeat(70_000),
    ];
    for (const text of broken) expect(() => new HttpAnswer().take(latin1(text))).toThrow(MalformedAnswer);
  });

  it('in chunks ends with its last line', () => {
    const whole = latin1('5\r\nab\r\nc\r\n0\r\n\r\n');
    for (let end = 0; end < whole.length; end += 1)
      expect(decodeChunked(whole.subarray(0, end))).toBeUndefined();
    expect(decodeChunked(whole)?.toString()).toBe('ab\r\nc');
  });
});
