/** One HTTP exchange over undici's dispatch: no streams, no copies, the chunks as the socket delivered them. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

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

/** Collects one answer; undici calls its methods in order. */
class Collector implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #receiver: Receiver;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(exchange: Exchange, receiver: Receiver) {
    this.#exchange = exchange;
    this.#receiver = receiver;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { cancellation } = this.#exchange;
    if (cancellation === undefined) return;
    if (cancellation.cancelled) controller.abort(new Error('the request was given up before it was sent'));
    else cancellation.abort = (reason) => controller.abort(reason);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#forget();
    const [status, headers, chunks, size] = [this.#status, this.#headers, this.#chunks, this.#size];
    this.#receiver.answered({ status, headers, chunks, size });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#forget();
    this.#receiver.failed(error);
  }

  #forget(): void {
    if (this.#exchange.cancellation !== undefined) this.#exchange.cancellation.abort = undefined;
  }
}

/** Keeps up to `connections` sockets to one origin, with one request at a time on each. */
export function openTransport(options: TransportOptions): Transport {
  const pool = new Pool(options.origin, {
    connections: options.connections,
    pipelining: 1,
    headersTimeout: options.silenceMilliseconds,
    bodyTimeout: options.silenceMilliseconds,
    keepAliveTimeout: 20_000,
    connect: { timeout: 5_000 },
  });
  return {
    dispatch: (exchange, receiver) => {
      const { method, path, headers, body = null } = exchange;
      pool.dispatch({ method, path, headers, body }, new Collector(exchange, receiver));
    },
    close: () => pool.destroy(),
  };
}
