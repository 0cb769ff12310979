/**
 * Exchanges over Node's own HTTP client: one request at a time on each of a few connections that stay open. Decision 65
 * says what that costs.
 */

import type { IncomingHttpHeaders } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import { urlToHttpOptions } from 'node:url';

/** The transport sets `abort` when it sends the request. */
export interface Cancellation {
  cancelled: boolean;
  abort?: ((reason: Error) => void) | undefined;
}

/** Drops an exchange, sent or not. It does nothing to one that has ended. */
export function cancel(cancellation: Cancellation, reason: Error): void {
  cancellation.cancelled = true;
  cancellation.abort?.(reason);
}

export interface Exchange {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Path and query, encoded. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: Uint8Array | undefined;
  /** Memory for a body of exactly this length. Until the answer is there, only the transport may use it. */
  readonly into?: Uint8Array | undefined;
  /** An object that is longer is not read. */
  readonly mostBytes?: number | undefined;
  /** Lets the sender drop the exchange. One AbortSignal a request would cost more. */
  cancellation?: Cancellation | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: readonly Uint8Array[];
  /** Bytes of all chunks. */
  readonly size: number;
}

export const bodyText = (answer: Answer): string => Buffer.concat(answer.chunks).toString('utf8');

export function headerOf(answer: Answer, name: string): string {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

export const etagOf = (answer: Answer): string => headerOf(answer, 'etag').replaceAll('"', '');

export interface TransportOptions {
  readonly origin: string;
  /** Sockets kept open. */
  readonly connections: number;
  /** Longest silence before the headers and between two pieces of the body. */
  readonly silenceMilliseconds: number;
}

/** Gets the answer: the transport calls exactly one of the two. A promise at every level would cost more. */
export interface Receiver {
  answered(answer: Answer): void;
  failed(error: unknown): void;
}

export interface Transport {
  dispatch(exchange: Exchange, receiver: Receiver): void;
  close(): Promise<void>;
}

/** S3 and most servers close an idle connection after some seconds, and a request sent at that moment is lost. */
const IDLE_MILLISECONDS = 4_000;
const CONNECT_MILLISECONDS = 5_000;
const LARGEST_BODY_BYTES = 2 ** 30;

class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const silence = (milliseconds: number): TransportError =>
  new TransportError('SilenceTimeout', `nothing was heard for ${milliseconds} ms`);

const tooLong = (bytes: number): TransportError =>
  new TransportError('BodyTooLong', `the answer has more than ${bytes} bytes`);

/** The length is in the head, since a body without one would be sent in chunks, which S3 refuses. */
function headersOf({ method, headers, body }: Exchange): readonly string[] {
  if (body === undefined && method !== 'PUT' && method !== 'POST') return headers;
  return [...headers, 'content-length', String(body?.length ?? 0)];
}

/** Collects the body of one answer. */
class Body {
  readonly #response: http.IncomingMessage;
  /** Memory that the caller gave for exactly this body. */
  readonly #into: Uint8Array | undefined;
  readonly #chunks: Uint8Array[] = [];
  readonly mostBytes: number;
  #size = 0;

  constructor(
    response: http.IncomingMessage,
    { into, mostBytes = LARGEST_BODY_BYTES }: Pick<Exchange, 'into' | 'mostBytes'>,
  ) {
    const { statusCode, headers } = response;
    const isWanted = statusCode === 200 || statusCode === 206;
    this.#response = response;
    // A refusal may be longer than the object would be.
    this.mostBytes = isWanted ? Math.min(mostBytes, LARGEST_BODY_BYTES) : LARGEST_BODY_BYTES;
    this.#into = isWanted && Number(headers['content-length']) === into?.length ? into : undefined;
  }

  /** False if the body is longer than the caller takes, or any that S3 sends. */
  add(chunk: Buffer): boolean {
    if (this.#into === undefined) this.#chunks.push(chunk);
    else this.#into.set(chunk, this.#size);
    this.#size += chunk.length;
    return this.#size <= this.mostBytes;
  }

  answer(): Answer {
    const { statusCode: status = 0, headers } = this.#response;
    const chunks = this.#into === undefined || this.#size === 0 ? this.#chunks : [this.#into];
    return { status, headers, chunks, size: this.#size };
  }
}

interface Owner {
  readonly silenceMilliseconds: number;
  open(exchange: Exchange): http.ClientRequest;
  isConnecting(socket: net.Socket): boolean;
  ended(call: Call): void;
}

/** One request, from its dispatch to its end. */
class Call {
  readonly #owner: Owner;
  readonly #exchange: Exchange;
  readonly #receiver: Receiver;
  readonly #request: http.ClientRequest;
  #isOver = false;
  /** Milliseconds since 1970 of the last sign of life. */
  #seen = Date.now();

  constructor(owner: Owner, exchange: Exchange, receiver: Receiver) {
    const { cancellation, body } = exchange;
    this.#owner = owner;
    this.#exchange = exchange;
    this.#receiver = receiver;
    const request = owner.open(exchange);
    this.#request = request;
    if (cancellation !== undefined) cancellation.abort = (reason) => this.fail(reason);
    request.on('error', (error) => this.fail(error));
    request.on('response', (response) => this.#receive(response));
    if (this.#hasBody) this.#watchSending();
    request.end(body);
  }

  get #hasBody(): boolean {
    return this.#exchange.body !== undefined && this.#exchange.body.length > 0;
  }

  /** The socket's own timer sees whether any of a large body is taken. */
  #watchSending(): void {
    const request = this.#request;
    const { silenceMilliseconds } = this.#owner;
    request.setTimeout(silenceMilliseconds, () => {
      if (!request.writableFinished) this.fail(silence(silenceMilliseconds));
    });
    request.once('finish', () => (this.#seen = Date.now()));
  }

  #receive(response: http.IncomingMessage): void {
    const { mostBytes = Number.POSITIVE_INFINITY } = this.#exchange;
    const isLonger = Number(response.headers['content-length']) > mostBytes;
    if (isLonger && response.statusCode === 200) return this.fail(tooLong(mostBytes));
    const body = new Body(response, this.#exchange);
    this.#seen = Date.now();
    response.on('data', (chunk: Buffer) => {
      // The memory belongs to its owner again.
      if (this.#isOver) return;
      this.#seen = Date.now();
      if (!body.add(chunk)) this.fail(tooLong(body.mostBytes));
    });
    response.on('end', () => this.#complete(body));
    response.on('error', (error) => this.fail(error));
  }

  /** An answer that comes before the server took the whole body ends the connection: the rest must not follow it. */
  #complete(body: Body): void {
    if (!this.#release()) return;
    if (!this.#request.writableFinished) this.#request.destroy();
    this.#receiver.answered(body.answer());
  }

  fail(error: unknown): void {
    if (!this.#release()) return;
    this.#request.destroy();
    this.#receiver.failed(error);
  }

  /** Gives up a request that has been silent for too long. */
  check(now: number): void {
    const { socket, writableFinished } = this.#request;
    const isSending = this.#hasBody && !writableFinished;
    if (socket === null || this.#owner.isConnecting(socket) || isSending) this.#seen = now;
    const silent = now - this.#seen;
    if (silent > this.#owner.silenceMilliseconds) this.fail(silence(silent));
  }

  /** True once. */
  #release(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    if (this.#exchange.cancellation !== undefined) this.#exchange.cancellation.abort = undefined;
    this.#owner.ended(this);
    return true;
  }
}

interface Waiting {
  readonly exchange: Exchange;
  readonly receiver: Receiver;
}

/** Keeps up to `connections` connections to one origin. */
export class HttpTransport implements Transport, Owner {
  readonly silenceMilliseconds: number;
  readonly #connections: number;
  readonly #agent: http.Agent;
  readonly #origin: http.RequestOptions;
  readonly #calls = new Set<Call>();
  readonly #waiting: Waiting[] = [];
  /** Since when each of them connects. */
  readonly #connecting = new Map<net.Socket, number>();
  #sweeper: NodeJS.Timeout | undefined;
  #sweptAt = 0;
  #endedAt = 0;
  #isClosed = false;

  constructor({ origin, connections, silenceMilliseconds }: TransportOptions) {
    const url = new URL(origin);
    const { protocol, hostname, port } = urlToHttpOptions(url);
    const kept = { keepAlive: true, maxSockets: connections, timeout: IDLE_MILLISECONDS };
    this.silenceMilliseconds = silenceMilliseconds;
    this.#connections = connections;
    this.#agent = protocol === 'https:' ? new https.Agent(kept) : new http.Agent(kept);
    // Node asks for the name several times a request, and builds it from all options each time.
    this.#agent.getName = () => origin;
    this.#noteConnecting(this.#agent);
    this.#origin = { protocol, hostname, port, agent: this.#agent };
  }

  #noteConnecting(agent: http.Agent): void {
    const connect = agent.createConnection.bind(agent);
    agent.createConnection = (options, callback) => {
      const socket = connect(options, callback);
      if (!(socket instanceof net.Socket)) return socket;
      this.#connecting.set(socket, Date.now());
      const connected = (): boolean => this.#connecting.delete(socket);
      socket.once(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', connected);
      return socket.once('close', connected);
    };
  }

  dispatch(exchange: Exchange, receiver: Receiver): void {
    if (this.#isClosed || exchange.cancellation?.cancelled === true) refuse(receiver);
    else if (this.#calls.size < this.#connections) this.#start(exchange, receiver);
    else this.#waiting.push({ exchange, receiver });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    for (const { receiver } of this.#waiting.splice(0)) refuse(receiver);
    for (const call of this.#calls) call.fail(new TransportError('Closed', 'the connection was given up'));
    this.#agent.destroy();
    return Promise.resolve();
  }

  open(exchange: Exchange): http.ClientRequest {
    const { method, path } = exchange;
    return http.request({ ...this.#origin, method, path, headers: headersOf(exchange) });
  }

  isConnecting(socket: net.Socket): boolean {
    return this.#connecting.has(socket);
  }

  ended(call: Call): void {
    this.#endedAt = Date.now();
    this.#calls.delete(call);
    while (this.#calls.size < this.#connections) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.dispatch(next.exchange, next.receiver);
    }
  }

  #start(exchange: Exchange, receiver: Receiver): void {
    if (this.#calls.size === 0) this.#dropStale();
    try {
      this.#calls.add(new Call(this, exchange, receiver));
    } catch (error: unknown) {
      return receiver.failed(error);
    }
    if (this.#sweeper !== undefined) return;
    const every = Math.min(1_000, this.silenceMilliseconds / 4);
    this.#sweptAt = Date.now();
    this.#sweeper = setInterval(() => this.#sweep(every), every).unref();
  }

  /** A process that stood still, as a Lambda does between invocations, has not seen its connections end. */
  #dropStale(): void {
    if (Date.now() - this.#endedAt <= IDLE_MILLISECONDS) return;
    for (const sockets of Object.values(this.#agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }

  /** A late sweep means that this process was held up: then silence says nothing about the servers. */
  #sweep(every: number): void {
    const now = Date.now();
    const isLate = now - this.#sweptAt > every * 2;
    this.#sweptAt = now;
    if (isLate) return;
    for (const call of this.#calls) call.check(now);
    for (const [socket, since] of this.#connecting)
      if (now - since > CONNECT_MILLISECONDS) socket.destroy(noConnection());
  }
}

const noConnection = (): TransportError =>
  new TransportError('ConnectTimeout', `no connection within ${CONNECT_MILLISECONDS} ms`);

function refuse(receiver: Receiver): void {
  receiver.failed(new TransportError('Cancelled', 'the request was given up before it was sent'));
}
