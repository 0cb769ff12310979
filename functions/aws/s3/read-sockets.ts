/**
 * The sockets that objects are read through: one GET at a time on each. All of them read into one buffer.
 * Over undici a packed file of 10 KB took 203 us of CPU, over these sockets 145, side by side on a loaded machine:
 * `npm run bench:packing -- --only tidewheel --checksum crc64nvme` measures both. Everything but a GET
 * goes over Node's client.
 */
import net from 'node:net';
import tls from 'node:tls';
import { type Job, Line, type Owner, requestHead, SocketError } from './read-line.ts';
import type { Exchange, Receiver, Transport, TransportOptions } from './transport.ts';

const BUFFER_BYTES = 256 * 1024;

/** Reads go over sockets of our own, everything else over `others`. */
export class ReadSockets implements Transport, Owner {
  readonly buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  readonly #options: TransportOptions;
  readonly #others: Transport;
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

  constructor(options: TransportOptions, others: Transport) {
    this.#options = options;
    this.#others = others;
    this.#origin = new URL(options.origin);
  }

  dispatch(exchange: Exchange, receiver: Receiver): void {
    if (exchange.method !== 'GET' || exchange.body !== undefined)
      return this.#others.dispatch(exchange, receiver);
    let head: string;
    try {
      head = requestHead(exchange);
    } catch (error: unknown) {
      return receiver.failed(error);
    }
    this.#place({ exchange, head, receiver });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    for (const job of this.#waiting.slice(this.#nextWaiting)) this.#refuse(job);
    this.#waiting = [];
    this.#nextWaiting = 0;
    for (const line of this.#lines) line.drop();
    await this.#others.close();
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
    const every = Math.min(1_000, this.#options.silenceMilliseconds / 4);
    this.#sweptAt = Date.now();
    this.#sweeper = setInterval(() => this.#sweep(every), every).unref();
  }

  /** A late sweep means that this process was held up: then silence says nothing about the servers. */
  #sweep(every: number): void {
    const now = Date.now();
    const isLate = now - this.#sweptAt > every * 2;
    this.#sweptAt = now;
    if (isLate) return;
    for (const line of this.#lines) line.check(now, this.#options.silenceMilliseconds);
  }
}
