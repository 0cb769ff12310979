/** One socket to S3, and the request that is on it. sockets.ts says what that saves. */
import type net from 'node:net';
import tls from 'node:tls';
import { HttpAnswer, MalformedAnswer } from './http-answer.ts';
import type { Exchange, Receiver } from './transport.ts';

/** S3 and most servers close an idle connection after some seconds, and a request sent at that moment is lost. */
const IDLE_MILLISECONDS = 4_000;
const CONNECT_MILLISECONDS = 5_000;
export class SocketError extends Error {
  override readonly name = 'SocketError';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface Job {
  readonly exchange: Exchange;
  readonly head: string;
  readonly receiver: Receiver;
}

const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;
const PATH = /^[\x21-\x7e]+$/;

/**
 * Request line and headers, the length of the body included. It refuses a value that could end its line early, since
 * keys and ETags come from outside.
 */
export function requestHead({ method, path, headers, body }: Exchange): string {
  if (!PATH.test(path)) throw new SocketError('InvalidPath', 'the path is not percent-encoded');
  let head = `${method} ${path} HTTP/1.1\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1] ?? '';
    if (FORBIDDEN.test(value))
      throw new SocketError(
        'InvalidHeader',
        `${headers[index] ?? ''} holds a character that no header may hold`,
      );
    head += `${headers[index] ?? ''}: ${value}\r\n`;
  }
  if (body === undefined && method !== 'PUT' && method !== 'POST') return `${head}\r\n`;
  return `${head}content-length: ${body?.length ?? 0}\r\n\r\n`;
}

/** Owns the lines. */
export interface Owner {
  /** Holds the bytes of a read until its callback returns. One for all sockets stays in the processor's cache. */
  readonly buffer: Buffer;
  /** Longest silence before the headers, between two pieces of the answer, and while the body is sent. */
  readonly silenceMilliseconds: number;
  readonly connect: (onread: net.OnReadOpts) => net.Socket;
  /** The line may take the next job. */
  free(line: Line): void;
  gone(line: Line): void;
}

const silence = (milliseconds: number): SocketError =>
  new SocketError('SilenceTimeout', `nothing was heard for ${milliseconds} ms`);

/** One socket and the request that is on it. */
export class Line {
  readonly #owner: Owner;
  readonly #socket: net.Socket;
  readonly #isTls: boolean;
  #job: Job | undefined;
  #answer: HttpAnswer | undefined;
  /** The next bytes of the socket go right to where the answer's body is wanted. */
  #isDirect = false;
  /** Bytes of the request's body are left, which no one else may change. */
  #isSending = false;
  #isOpen = false;
  #isGone = false;
  /** Milliseconds since 1970 of the last sign of life. */
  seen: number;

  constructor(owner: Owner, job: Job) {
    this.#owner = owner;
    this.seen = Date.now();
    this.#socket = owner.connect({
      buffer: () => this.#nextBuffer(),
      callback: (length) => this.#read(length),
    });
    this.#isTls = this.#socket instanceof tls.TLSSocket;
    this.#socket.once(this.#isTls ? 'secureConnect' : 'connect', () => {
      this.#isOpen = true;
      this.seen = Date.now();
    });
    this.#socket.on('timeout', () => this.#fail(silence(owner.silenceMilliseconds)));
    this.#socket.once('error', (error) => this.#fail(error));
    this.#socket.once('end', () => this.#ended());
    this.#socket.once('close', () => this.#ended());
    this.start(job);
  }

  get isBusy(): boolean {
    return this.#job !== undefined;
  }

  start(job: Job): void {
    const { exchange, head } = job;
    const { cancellation } = exchange;
    this.#job = job;
    this.#answer = new HttpAnswer(exchange.into, exchange.method === 'HEAD');
    this.seen = Date.now();
    if (cancellation !== undefined) cancellation.abort = (reason) => this.#fail(reason);
    if (exchange.body === undefined || exchange.body.length === 0) this.#socket.write(head, 'latin1');
    else this.#send(head, exchange.body);
  }

  /** The socket's own timer sees whether any of a large body is taken. */
  #send(head: string, body: Uint8Array): void {
    this.#isSending = true;
    this.#socket.setTimeout(this.#owner.silenceMilliseconds);
    // One call of the kernel for both. TLS would copy the body first to join them.
    if (!this.#isTls) this.#socket.cork();
    this.#socket.write(head, 'latin1');
    this.#socket.write(body, (error) => {
      if (error !== undefined && error !== null) return;
      this.#isSending = false;
      this.#socket.setTimeout(0);
      this.seen = Date.now();
    });
    if (!this.#isTls) this.#socket.uncork();
  }

  /** Gives up a line that has been silent for too long. */
  check(now: number): void {
    const silent = now - this.seen;
    const { silenceMilliseconds } = this.#owner;
    if (this.#job === undefined) {
      if (silent > IDLE_MILLISECONDS) this.drop();
    } else if (!this.#isOpen && silent > CONNECT_MILLISECONDS)
      this.#fail(new SocketError('ConnectTimeout', `no connection within ${CONNECT_MILLISECONDS} ms`));
    else if (!this.#isSending && silent > silenceMilliseconds) this.#fail(silence(silent));
  }

  get isStale(): boolean {
    return this.#isGone || Date.now() - this.seen > IDLE_MILLISECONDS;
  }

  /** Ends the line, and the request on it. */
  drop(): void {
    this.#fail(new SocketError('Closed', 'the connection was given up'));
  }

  #destroy(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#socket.destroy();
    this.#owner.gone(this);
  }

  #nextBuffer(): Uint8Array {
    const room = this.#answer?.room;
    this.#isDirect = room !== undefined;
    return room ?? this.#owner.buffer;
  }

  /** Takes the bytes before another socket can read into the buffer. */
  #read(length: number): boolean {
    const answer = this.#answer;
    if (this.#isGone) return false;
    /** Bytes without a request. */
    if (answer === undefined) {
      this.drop();
      return false;
    }
    this.seen = Date.now();
    try {
      const isComplete = this.#isDirect
        ? answer.landed(length)
        : answer.take(this.#owner.buffer.subarray(0, length));
      if (isComplete) this.#done(answer, false);
    } catch (error: unknown) {
      this.#fail(error instanceof Error ? error : new MalformedAnswer(String(error)));
    }
    return true;
  }

  /** An answer that comes before the server took the whole body ends the line: the rest must not follow it. */
  #done(answer: HttpAnswer, isOver: boolean): void {
    const isReusable = answer.keepAlive && !isOver && !this.#isSending;
    const job = this.#release();
    if (isReusable) this.#owner.free(this);
    else this.#destroy();
    job?.receiver.answered(answer.answer());
  }

  #ended(): void {
    const answer = this.#answer;
    if (answer?.close() === true) this.#done(answer, true);
    else
      this.#fail(
        new SocketError('ECONNRESET', 'the server closed the connection before its answer was complete'),
      );
  }

  #fail(error: Error): void {
    const job = this.#release();
    this.#destroy();
    job?.receiver.failed(error);
  }

  #release(): Job | undefined {
    const job = this.#job;
    this.#job = undefined;
    this.#answer = undefined;
    if (job?.exchange.cancellation !== undefined) job.exchange.cancellation.abort = undefined;
    return job;
  }
}
