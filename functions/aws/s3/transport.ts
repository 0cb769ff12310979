/** One HTTP exchange over undici's dispatch: no streams, no copies, the chunks as the socket delivered them. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

export interface Exchange {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Path and query, encoded. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: Uint8Array | undefined;
  /** Aborting ends the exchange with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
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

export interface Transport {
  send(exchange: Exchange): Promise<Answer>;
  close(): Promise<void>;
}

/** Collects one answer; undici calls its methods in order. */
class Collector implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #stop: (() => void) | undefined;

  constructor(exchange: Exchange, resolve: (answer: Answer) => void, reject: (error: Error) => void) {
    this.#exchange = exchange;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const signal = this.#exchange.signal;
    if (signal === undefined) return;
    const abort = () => controller.abort(new Error('the request was given up', { cause: signal.reason }));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    this.#stop = () => signal.removeEventListener('abort', abort);
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
    this.#stop?.();
    this.#resolve({ status: this.#status, headers: this.#headers, chunks: this.#chunks, size: this.#size });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#stop?.();
    this.#reject(error);
  }
}

/** Keeps up to `connections` sockets to one origin; one request at a time on each. */
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
    send: (exchange) =>
      new Promise<Answer>((resolve, reject) => {
        pool.dispatch(
          {
            method: exchange.method,
            path: exchange.path,
            headers: exchange.headers,
            body: exchange.body ?? null,
          },
          new Collector(exchange, resolve, reject),
        );
      }),
    close: () => pool.destroy(),
  };
}
