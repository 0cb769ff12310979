/**
 * A clock that stands while anything is at work and jumps to the next awaited moment when nothing is: a
 * day of a region passes in the time that its work takes, and no slowness of this machine shows in what it measures.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { request } from 'undici';
import * as z from 'zod';
import type { LocalClock } from './clock.ts';

/** Another process that goes by this clock, such as the emulator. */
export interface Follower {
  readonly name: string;
  /**
   * Receives the time. Settles when nothing is at work there any more, with the moment (milliseconds since 1970) that it
   * waits for next; undefined when for none.
   */
  settle(nowMs: number, signal: AbortSignal): Promise<number | undefined>;
}

export interface VirtualClockOptions {
  /** Kept up to date with the time: one IEEE 754 double, little-endian, of milliseconds since 1970. */
  readonly file: string;
  readonly startMs: number;
  readonly log: (line: string) => void;
}

interface Timer {
  readonly momentMs: number;
  readonly action: () => void;
}

/** After standing still so long (in real time), the clock logs who holds it. */
const TELL_AFTER_MS = 20_000;
/** Nothing waits for any moment: look again after this, for something may have come from outside. */
const IDLE_LOOK_MS = 200;

export class VirtualClock implements LocalClock {
  readonly #log: (line: string) => void;
  readonly #file: number;
  readonly #holds = new Map<symbol, string>();
  readonly #timers = new Set<Timer>();
  readonly #followers: Follower[] = [];
  readonly #closing = new AbortController();
  readonly #closed = new Promise<void>((resolve) => {
    this.#closing.signal.addEventListener('abort', () => resolve());
  });
  #nowMs: number;
  /** Counts whatever could make a follower's word old. */
  #changes = 0;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor({ file, startMs, log }: VirtualClockOptions) {
    mkdirSync(dirname(file), { recursive: true });
    this.#file = openSync(file, 'w');
    this.#log = log;
    this.#nowMs = startMs;
    this.#write();
  }

  now(): number {
    return this.#nowMs;
  }

  at(momentMs: number, action: () => void): () => void {
    if (Number.isNaN(momentMs)) throw new RangeError('a moment of the virtual clock must be a number');
    // It never comes, and must not make the end of time the next moment there is.
    if (momentMs === Number.POSITIVE_INFINITY) return () => undefined;
    const timer = { momentMs, action };
    this.#timers.add(timer);
    this.#changed();
    return () => void this.#timers.delete(timer);
  }

  hold(why: string): () => void {
    const key = Symbol(why);
    this.#holds.set(key, why);
    this.#changed();
    return () => {
      if (this.#holds.delete(key)) this.#changed();
    };
  }

  follow(follower: Follower): void {
    this.#followers.push(follower);
    this.#changed();
  }

  /** From now on it moves. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** It stands from now on. */
  async stop(): Promise<void> {
    this.#closing.abort();
    this.#changed();
    await this.#running;
  }

  async close(): Promise<void> {
    await this.stop();
    closeSync(this.#file);
  }

  #changed(): void {
    this.#changes += 1;
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const changes = this.#changes;
      const wanted = await this.#settled();
      // What the followers' answers and our own callbacks set off begins before we go on.
      await turn();
      await turn();
      if (this.#closing.signal.aborted) return;
      if (this.#holds.size > 0 || this.#changes !== changes) continue;
      const moments = [...[...this.#timers].map(({ momentMs }) => momentMs), ...wanted];
      if (moments.length === 0) await this.#anyChange(changes, IDLE_LOOK_MS);
      else this.#advance(Math.max(this.#nowMs, Math.min(...moments)));
    }
  }

  /** The moments that followers wait for, once nothing works. */
  async #settled(): Promise<number[]> {
    const reminder = setInterval(() => this.#tellWhoHolds(), TELL_AFTER_MS);
    reminder.unref();
    try {
      while (this.#holds.size > 0 && !this.#closing.signal.aborted) await this.#anyChange(this.#changes);
      const { signal } = this.#closing;
      // One that answers too late for the end is not waited for.
      const settled = this.#settleAll(signal);
      const wanted = await Promise.race([settled, this.#closed.then((): undefined[] => [])]);
      return wanted.flatMap((moment) => moment ?? []);
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#log(`the virtual clock: ${String(error)}`);
      await this.#anyChange(this.#changes, IDLE_LOOK_MS);
      // A follower may be at work: nothing moves until all have answered.
      this.#changes += 1;
      return [];
    } finally {
      clearInterval(reminder);
    }
  }

  /** One after the other: the later ones see what the earlier ones have done. */
  async #settleAll(signal: AbortSignal): Promise<(number | undefined)[]> {
    const wanted: (number | undefined)[] = [];
    for (const each of this.#followers) wanted.push(await each.settle(this.#nowMs, signal));
    return wanted;
  }

  #tellWhoHolds(): void {
    const holders = [...this.#holds.values(), ...this.#followers.map(({ name }) => name)];
    this.#log(
      `the virtual clock has stood still for ${TELL_AFTER_MS / 1_000} s; at work: ${holders.join(', ')}`,
    );
  }

  async #anyChange(since: number, atMostMs?: number): Promise<void> {
    if (this.#changes !== since || this.#closing.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = atMostMs === undefined ? undefined : setTimeout(resolve, atMostMs);
    await promise;
    clearTimeout(timer);
  }

  #advance(momentMs: number): void {
    this.#nowMs = momentMs;
    this.#write();
    for (const timer of [...this.#timers].toSorted((a, b) => a.momentMs - b.momentMs)) {
      // One that an earlier one called off is called off.
      if (timer.momentMs <= momentMs && this.#timers.delete(timer)) timer.action();
    }
  }

  /** Eight bytes in one write: a reader sees the old time or the new. */
  #write(): void {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(this.#nowMs);
    writeSync(this.#file, bytes, 0, bytes.length, 0);
  }
}

const answer = z.union([
  z.object({ next: z.number().nullable() }),
  /** The emulator waited for them as long as it may. */
  z.object({ busy: z.array(z.string()) }),
]);

/** The emulator as a follower of a virtual clock; emulators/aws/virtual_time.py answers. */
export function emulatorFollower(url: string, log: (line: string) => void): Follower {
  return {
    name: 'the emulator',
    settle: async (_nowMs, signal) => {
      for (;;) {
        const reply = await request(`${url}/_tidewheel/clock`, { signal });
        const said = answer.parse(await reply.body.json());
        if ('next' in said) return said.next === null ? undefined : said.next * 1_000;
        log(`the virtual clock stands; at work in the emulator: ${said.busy.join(', ')}`);
      }
    },
  };
}
