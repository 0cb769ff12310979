/**
 * A second try of a read that takes far longer than its like: the first answer wins, the other is dropped. In S3's long
 * tail a repeated request is usually answered in the normal time.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-guidelines.html#optimizing-performance-guidelines-retry
 */
import { type Answer, type Cancellation, cancel, type Exchange, type Transport } from './transport.ts';

export interface HedgeWorld {
  now(): number;
  /** Calls back after the time unless cancelled. */
  after(milliseconds: number, call: () => void): () => void;
}

export interface HedgeLimits {
  /** Answers that are remembered, and needed before anything is hedged. */
  readonly memory: number;
  /** Times the 95th percentile. */
  readonly factor: number;
  readonly leastMilliseconds: number;
  /** Second tries per first try, at most. */
  readonly budget: number;
}

export const DEFAULT_HEDGE: HedgeLimits = { memory: 200, factor: 3, leastMilliseconds: 100, budget: 0.02 };

/** The 95th percentile of the last answers' times, computed anew once per generation of them. */
class Latencies {
  readonly #times: Float64Array;
  #count = 0;
  #percentile: number | undefined;

  constructor(memory: number) {
    this.#times = new Float64Array(memory);
  }

  add(milliseconds: number): void {
    this.#times[this.#count % this.#times.length] = milliseconds;
    this.#count += 1;
    if (this.#count % this.#times.length !== 0) return;
    this.#percentile = this.#times.toSorted()[Math.floor(this.#times.length * 0.95)];
  }

  get percentile(): number | undefined {
    return this.#percentile;
  }
}

const isRead = (exchange: Exchange): boolean =>
  exchange.method === 'GET' && exchange.cancellation === undefined;

/** Wraps a transport; only reads are ever repeated. */
export class HedgedTransport implements Transport {
  readonly #transport: Transport;
  readonly #world: HedgeWorld;
  readonly #limits: HedgeLimits;
  readonly #latencies: Latencies;
  #firsts = 0;
  /** Second tries so far. */
  hedges = 0;

  constructor(transport: Transport, world: HedgeWorld, limits: HedgeLimits = DEFAULT_HEDGE) {
    this.#transport = transport;
    this.#world = world;
    this.#limits = limits;
    this.#latencies = new Latencies(limits.memory);
  }

  send(exchange: Exchange): Promise<Answer> {
    if (!isRead(exchange)) return this.#transport.send(exchange);
    this.#firsts += 1;
    const threshold = this.#threshold();
    return threshold === undefined ? this.#timed(exchange) : this.#race(exchange, threshold);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #threshold(): number | undefined {
    const { percentile } = this.#latencies;
    if (percentile === undefined || this.hedges >= this.#firsts * this.#limits.budget) return undefined;
    return Math.max(this.#limits.leastMilliseconds, percentile * this.#limits.factor);
  }

  async #timed(exchange: Exchange): Promise<Answer> {
    const started = this.#world.now();
    const answer = await this.#transport.send(exchange);
    this.#latencies.add(this.#world.now() - started);
    return answer;
  }

  #race(exchange: Exchange, threshold: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const tries: Cancellation[] = [];
      let open = 1;
      const finish = (settle: () => void, mine: Cancellation): void => {
        stopTimer();
        for (const other of tries) if (other !== mine) cancel(other, new Error('another try was faster'));
        settle();
      };
      const start = (): void => {
        const cancellation: Cancellation = { cancelled: false };
        tries.push(cancellation);
        this.#timed({ ...exchange, cancellation }).then(
          (answer) => finish(() => resolve(answer), cancellation),
          (error: unknown) => {
            open -= 1;
            if (open === 0)
              finish(() => reject(error instanceof Error ? error : new Error(String(error))), cancellation);
          },
        );
      };
      const stopTimer = this.#world.after(threshold, () => {
        open += 1;
        this.hedges += 1;
        start();
      });
      start();
    });
  }
}
