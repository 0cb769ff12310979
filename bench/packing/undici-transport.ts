/** One HTTP exchange over undici's dispatch, to compare with: no streams, no copies, the chunks as the socket has them. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import type {
  Exchange,
  Receiver,
  Transport,
  TransportOptions,
} from '../../functions/aws/s3/http-transport.ts';

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
export function openUndici(options: TransportOptions): Transport {
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
