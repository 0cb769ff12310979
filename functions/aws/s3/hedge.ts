/**
 * Sends a read a second time if it takes far longer than most. The first answer wins, and the other request is dropped.
 * In S3's long tail a repeated request usually takes the normal time.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-guidelines.html#optimizing-performance-guidelines-retry
 */
import {
  type Answer,
  type Cancellation,
  cancel,
  type Exchange,
  type Receiver,
  type Transport,
} from './http-transport.ts';

export interface HedgeWorld {
  now(): number;
  /** Calls back after the time unless cancelled. */
  after(milliseconds: number, call: () => void): () => void;
}

export interface HedgeLimits {
  /** Number of latencies that are kept. No read is hedged before so many answers came. */
  readonly memory: number;
  /** Times the 95th percentile. */
  readonly factor: number;
  readonly leastMilliseconds: number;
  /** Second tries per first try, at most. */
  readonly budget: number;
}

const DEFAULT_HEDGE: HedgeLimits = { memory: 200, factor: 3, leastMilliseconds: 100, budget: 0.02 };

const isRead = (exchange: Exchange): boolean =>
  exchange.method === 'GET' && exchange.cancellation === undefined;

/** The 95th percentile of the last latencies, computed each time that the memory is full. */
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

/** A read that a second try may overtake. */
class Race {
  readonly exchange: Exchange;
  /** The time from which it takes far longer than most. */
  readonly lateAt: number;
  readonly #receiver: Receiver;
  readonly #tries: Cancellation[] = [];
  #open = 0;
  /** Is among the OpenRaces. */
  isOpen = false;

  constructor(exchange: Exchange, receiver: Receiver, lateAt: number) {
    this.exchange = exchange;
    this.#receiver = receiver;
    this.lateAt = lateAt;
  }

  get isHedged(): boolean {
    return this.#tries.length > 1;
  }

  enter(cancellation: Cancellation): void {
    this.#tries.push(cancellation);
    this.#open += 1;
  }

  won(mine: Cancellation, answer: Answer): void {
    for (const other of this.#tries) if (other !== mine) cancel(other, new Error('another try was faster'));
    this.#receiver.answered(answer);
  }

  /** True when no other try is left. */
  lost(error: unknown): boolean {
    this.#open -= 1;
    if (this.#open > 0) return false;
    this.#receiver.failed(error);
    return true;
  }
}

/**
 * Races in progress, oldest first. V8 replaces the table of a Set that changes so often again and again. Each old table
 * points to the next, so one in the old heap keeps all later ones alive with their contents.
 */
class OpenRaces {
  readonly #races: Race[] = [];
  #over = 0;

  add(race: Race): void {
    race.isOpen = true;
    this.#races.push(race);
  }

  end(race: Race): void {
    if (!race.isOpen) return;
    race.isOpen = false;
    this.#over += 1;
    if (this.#over >= SWEPT_AT_ONCE && this.#over * 2 >= this.#races.length) this.#sweep();
  }

  all(): readonly Race[] {
    return this.#races.filter(({ isOpen }) => isOpen);
  }

  #sweep(): void {
    let kept = 0;
    for (const race of this.#races) {
      if (!race.isOpen) continue;
      this.#races[kept] = race;
      kept += 1;
    }
    this.#races.length = kept;
    this.#over = 0;
  }
}
const SWEPT_AT_ONCE = 64;

interface Referee {
  answered(one: Try): void;
  /** No try is left. */
  over(race: Race): void;
}

/** One request of a race. It is a small object, since there is one for every read. */
class Try implements Receiver, Cancellation {
  readonly #referee: Referee;
  readonly race: Race;
  readonly startedAt: number;
  cancelled = false;
  abort: Cancellation['abort'] = undefined;

  constructor(referee: Referee, race: Race, startedAt: number) {
    this.#referee = referee;
    this.race = race;
    this.startedAt = startedAt;
  }

  answered(answer: Answer): void {
    this.#referee.answered(this);
    this.race.won(this, answer);
  }

  failed(error: unknown): void {
    if (this.race.lost(error)) this.#referee.over(this.race);
  }
}

/** Wraps a transport. It repeats only reads. */
export class HedgedTransport implements Transport, Referee {
  readonly #transport: Transport;
  readonly #world: HedgeWorld;
  readonly #limits: HedgeLimits;
  readonly #latencies: Latencies;
  /** One timer serves all of them: a timer for each would cost as much as signing. */
  readonly #races = new OpenRaces();
  #isWatching = false;
  #stopWatching: (() => void) | undefined;
  #firsts = 0;
  /** Second tries so far. */
  hedges = 0;

  constructor(transport: Transport, world: HedgeWorld, limits: HedgeLimits = DEFAULT_HEDGE) {
    this.#transport = transport;
    this.#world = world;
    this.#limits = limits;
    this.#latencies = new Latencies(limits.memory);
  }

  dispatch(exchange: Exchange, receiver: Receiver): void {
    if (!isRead(exchange)) return this.#transport.dispatch(exchange, receiver);
    this.#firsts += 1;
    const startedAt = this.#world.now();
    const threshold = this.#threshold();
    const race = new Race(exchange, receiver, startedAt + (threshold ?? Number.POSITIVE_INFINITY));
    if (threshold !== undefined) this.#races.add(race);
    this.#start(race, exchange, startedAt);
    if (threshold !== undefined && !this.#isWatching) this.#watch(threshold);
  }

  close(): Promise<void> {
    this.#stopWatching?.();
    return this.#transport.close();
  }

  #threshold(): number | undefined {
    const { percentile } = this.#latencies;
    if (percentile === undefined || !this.#hasBudget) return undefined;
    return Math.max(this.#limits.leastMilliseconds, percentile * this.#limits.factor);
  }

  get #hasBudget(): boolean {
    return this.hedges < this.#firsts * this.#limits.budget;
  }

  #start(race: Race, exchange: Exchange, startedAt: number): void {
    const mine = new Try(this, race, startedAt);
    exchange.cancellation = mine;
    race.enter(mine);
    this.#transport.dispatch(exchange, mine);
  }

  answered({ race, startedAt }: Try): void {
    this.#latencies.add(this.#world.now() - startedAt);
    this.#races.end(race);
  }

  over(race: Race): void {
    this.#races.end(race);
  }

  #watch(milliseconds: number): void {
    this.#isWatching = true;
    this.#stopWatching = this.#world.after(milliseconds, () => this.#look());
  }

  /** Starts the second try of every late read, and looks again when the next may be late. */
  #look(): void {
    const now = this.#world.now();
    let next: number | undefined;
    for (const race of this.#races.all()) {
      if (race.isHedged) continue;
      if (race.lateAt > now) {
        next = race.lateAt - now;
        break;
      }
      if (this.#hasBudget) this.#hedge(race, now);
    }
    this.#isWatching = false;
    if (next !== undefined) this.#watch(next);
  }

  /** The second try has memory of its own: both may be writing until one of them has won. */
  #hedge(race: Race, now: number): void {
    this.hedges += 1;
    this.#start(race, { ...race.exchange, into: undefined }, now);
  }
}
