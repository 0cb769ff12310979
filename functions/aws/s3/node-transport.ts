/** The transport for everything that is no read, which is a few requests a shard: Node's own HTTP client. */
import http from 'node:http';
import https from 'node:https';
import { requestHead, SocketError } from './read-line.ts';
import type { Exchange, Receiver, Transport, TransportOptions } from './transport.ts';

const CONNECT_MILLISECONDS = 5_000;
/** S3 closes a connection that was idle for about this time. */
const IDLE_MILLISECONDS = 20_000;

/** Keeps up to `connections` sockets to one origin, with one request at a time on each. */
export class NodeTransport implements Transport {
  readonly #origin: URL;
  readonly #silenceMilliseconds: number;
  readonly #agent: http.Agent;
  readonly #open = new Set<http.ClientRequest>();
  #isClosed = false;

  constructor({ origin, connections, silenceMilliseconds }: TransportOptions) {
    this.#origin = new URL(origin);
    this.#silenceMilliseconds = silenceMilliseconds;
    const { Agent } = this.#origin.protocol === 'https:' ? https : http;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, timeout: IDLE_MILLISECONDS });
  }

  dispatch(exchange: Exchange, receiver: Receiver): void {
    if (this.#isClosed || exchange.cancellation?.cancelled === true)
      return receiver.failed(new SocketError('Cancelled', 'the request was given up before it was sent'));
    try {
      requestHead(exchange);
      this.#send(exchange, receiver);
    } catch (error: unknown) {
      receiver.failed(error);
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const sent of this.#open) sent.destroy(new SocketError('Closed', 'the transport was closed'));
    this.#agent.destroy();
    return Promise.resolve();
  }

  #send({ method, path, headers, body, cancellation }: Exchange, receiver: Receiver): void {
    const { request } = this.#origin.protocol === 'https:' ? https : http;
    const sent = request(this.#origin, { agent: this.#agent, method, path, setHost: false });
    for (let i = 0; i < headers.length; i += 2) sent.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
    this.#open.add(sent);
    if (cancellation !== undefined) cancellation.abort = (reason) => sent.destroy(reason);
    const forget = (): void => {
      this.#open.delete(sent);
      if (cancellation !== undefined) cancellation.abort = undefined;
    };
    receive(sent, {
      answered: (answer) => {
        forget();
        receiver.answered(answer);
      },
      failed: (error) => {
        forget();
        receiver.failed(error);
      },
    });
    limitSilence(sent, this.#silenceMilliseconds);
    // Body and end in one call: then Node sends its length. It would send chunks otherwise, which S3 refuses.
    sent.end(body);
  }
}

/** Calls the receiver once. */
function receive(sent: http.ClientRequest, receiver: Receiver): void {
  let isOver = false;
  const fail = (error: unknown): void => {
    if (!isOver) receiver.failed(error);
    isOver = true;
  };
  sent.on('error', fail);
  sent.on('response', (response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
    });
    response.on('error', fail);
    response.on('end', () => {
      if (isOver) return;
      isOver = true;
      receiver.answered({ status: response.statusCode ?? 0, headers: response.headers, chunks, size });
    });
  });
}

function limitSilence(sent: http.ClientRequest, milliseconds: number): void {
  const giveUp = (code: 'SilenceTimeout' | 'ConnectTimeout'): void => {
    sent.destroy(new SocketError(code, `the server was silent for ${milliseconds} ms`));
  };
  sent.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => giveUp('ConnectTimeout'), CONNECT_MILLISECONDS);
    sent.once('close', () => clearTimeout(timer));
    socket.once('connect', () => clearTimeout(timer));
  });
  sent.setTimeout(milliseconds, () => giveUp('SilenceTimeout'));
}
