/**
 * The sockets to S3: one request at a time on each. All of them read into one buffer, except for large bodies.
 * Over undici a packed file of 10 KB took 203 us of CPU, over these sockets 145, side by side on a loaded machine:
 * `npm run bench:packing -- --only tidewheel --checksum crc64nvme` measures both.
 */
import net from 'node:net';
import tls from 'node:tls';
import { type Job, Line, type Owner, requestHead, SocketError } from './line.ts';
import type { Exchange, Receiver, Transport, TransportOptions } from './transport.ts';

const BUFFER_BYTES = 256 * 1024;

/** Keeps up to `connections` sockets to one origin. */
export class Sockets implements Transport, Owner {
  readonly buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  readonly silenceMilliseconds: number;
  readonly #options: TransportOptions;
  readonly #origin: URL;
  readonly #lines = new Set<Line>();
  readonly #idle: Line[] = [];
  #waiting: Job[] = [];
  #nextWaiting = 0;
  /** TLS session of the last connection, which the next one resumes. */
  #session: Buffer | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  #sweptAt = 0;
  #isClosed = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.silenceMilliseconds = options.silenceMilliseconds;
    this.#origin = new URL(options.origin);
  }

  dispatch(exchange: Exchange, receiver: Receiver): void {
    let head: string;
    try {
      head = requestHead(exchange);
    } catch (error: unknown) {
      return receiver.failed(error);
    }
    this.#place({ exchange, head, receiver });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    for (const job of this.#waiting.slice(this.#nextWaiting)) this.#refuse(job);
    this.#waiting = [];
    this.#nextWaiting = 0;
    for (const line of this.#lines) line.drop();
    return Promise.resolve();
  }

  connect(onread: net.OnReadOpts): net.Socket {
    const { hostname, port, protocol } = this.#origin;
    const host = hostname.replace(/^\[|\]$/g, '');
    if (protocol === 'http:') return net.connect({ host, port: Number(port || 80), noDelay: true, onread });
    /** The types do not know that tls.connect passes the last two on to its socket. */
    const options: tls.ConnectionOptions & { readonly onread: net.OnReadOpts; readonly noDelay: boolean } = {
      host,
      port: Number(port || 443),
      ALPNProtocols: ['http/1.1'],
      ...(net.isIP(host) === 0 && { servername: host }),
      ...(this.#session && { session: this.#session }),
      onread,
      noDelay: true,
    };
    return tls.connect(options).on('session', (session) => (this.#session = session));
  }

  free(line: Line): void {
    const job = this.#nextJob();
    if (job === undefined) this.#idle.push(line);
    else line.start(job);
  }

  gone(line: Line): void {
    this.#lines.delete(line);
    const at = this.#idle.indexOf(line);
    if (at >= 0) this.#idle.splice(at, 1);
    const job = this.#nextJob();
    if (job !== undefined) this.#place(job);
  }

  #refuse(job: Job): void {
    job.receiver.failed(new SocketError('Cancelled', 'the request was given up before it was sent'));
  }

  #nextJob(): Job | undefined {
    while (this.#nextWaiting < this.#waiting.length) {
      const job = this.#waiting[this.#nextWaiting];
      this.#nextWaiting += 1;
      if (this.#nextWaiting * 2 > this.#waiting.length) {
        this.#waiting = this.#waiting.slice(this.#nextWaiting);
        this.#nextWaiting = 0;
      }
      if (job === undefined) continue;
      if (job.exchange.cancellation?.cancelled !== true) return job;
      this.#refuse(job);
    }
    return undefined;
  }

  #place(job: Job): void {
    if (this.#isClosed || job.exchange.cancellation?.cancelled === true) return this.#refuse(job);
    let line = this.#idle.pop();
    while (line?.isStale === true) {
      line.drop();
      line = this.#idle.pop();
    }
    if (line !== undefined) line.start(job);
    else if (this.#lines.size < this.#options.connections) this.#open(job);
    else this.#waiting.push(job);
  }

  #open(job: Job): void {
    this.#lines.add(new Line(this, job));
    if (this.#sweeper !== undefined) return;
    const every = Math.min(1_000, this.silenceMilliseconds / 4);
    this.#sweptAt = Date.now();
    this.#sweeper = setInterval(() => this.#sweep(every), every).unref();
  }

  /** A late sweep means that this process was held up: then silence says nothing about the servers. */
  #sweep(every: number): void {
    const now = Date.now();
    const isLate = now - this.#sweptAt > every * 2;
    this.#sweptAt = now;
    if (isLate) return;
    for (const line of this.#lines) line.check(now);
  }
}
