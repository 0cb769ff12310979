/** Simulated time: events in order, and servers (cores, a network card) that jobs queue for. */

export class Clock {
  now = 0;
  /** The next one last. A training has some dozens at once. */
  readonly #events: { readonly at: number; readonly run: () => void }[] = [];

  after(seconds: number, run: () => void): void {
    const at = this.now + seconds;
    // Before those of the same moment, which run first.
    const place = this.#events.findIndex((other) => other.at <= at);
    this.#events.splice(place < 0 ? this.#events.length : place, 0, { at, run });
  }

  run(): void {
    for (let next = this.#events.pop(); next !== undefined; next = this.#events.pop()) {
      this.now = next.at;
      next.run();
    }
  }
}

interface Job {
  left: number;
  readonly slice: number;
  readonly ran: (from: number, to: number) => void;
  readonly done: () => void;
}

/** `count` equal places. Jobs take turns by slices, as processes on cores do. */
export class Server {
  readonly #clock: Clock;
  readonly #queue: Job[] = [];
  #free: number;

  constructor(clock: Clock, count: number) {
    this.#clock = clock;
    this.#free = count;
  }

  request(seconds: number, slice: number, ran: Job['ran'], done: () => void): void {
    this.#queue.push({ left: seconds, slice, ran, done });
    this.#serve();
  }

  #serve(): void {
    while (this.#free > 0) {
      const job = this.#queue.shift();
      if (job === undefined) return;
      this.#free -= 1;
      const turn = Math.min(job.left, job.slice);
      const from = this.#clock.now;
      this.#clock.after(turn, () => {
        this.#free += 1;
        job.left -= turn;
        job.ran(from, this.#clock.now);
        if (job.left > 1e-9) this.#queue.push(job);
        else job.done();
        this.#serve();
      });
    }
  }
}
