/** Simulated time: events in order, and servers (cores, a network card) that jobs queue for. */

export class Clock {
  now = 0;
  readonly #heap: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  #order = 0;

  after(seconds: number, run: () => void): void {
    this.#order += 1;
    this.#heap.push({ at: this.now + seconds, order: this.#order, run });
    this.#rise(this.#heap.length - 1);
  }

  run(): void {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined) return;
      const last = this.#heap.pop();
      if (last !== undefined && this.#heap.length > 0) {
        this.#heap[0] = last;
        this.#sink(0);
      }
      this.now = next.at;
      next.run();
    }
  }

  #before(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return false;
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }

  #rise(from: number): void {
    for (let place = from; place > 0; ) {
      const parent = (place - 1) >> 1;
      if (!this.#before(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(from: number): void {
    for (let place = from; ; ) {
      const [left, right] = [2 * place + 1, 2 * place + 2];
      const child = this.#before(right, left) ? right : left;
      if (!this.#before(child, place)) return;
      this.#swap(place, child);
      place = child;
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
