/** What a screen reads of the API, read again while a person looks and something may change. */
import { batch, computed, signal, useSignal } from '@preact/signals';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import {
  type AnswerOf,
  client,
  inWords,
  type OperationId,
  type ParametersOf,
  type ShownAnswer,
} from './api.ts';

export interface PageReading<T> {
  /** Stays while a later reading is refused. */
  readonly body: T | undefined;
  readonly refusal: string | undefined;
  /** Reads at once. */
  readonly again: () => void;
}

interface State<T> {
  readonly body: T | undefined;
  readonly refusal: string | undefined;
}

/** Seconds until the next reading; undefined: nothing more will change. */
export type PollInterval<T> = (body: T) => number | undefined;

interface Poller {
  readonly refusal: string | undefined;
  readonly isLive: boolean;
}

/** By address of the API: the readings of the screen that is shown. */
const pollers = signal<ReadonlyMap<string, Poller>>(new Map());

/** Why the screen is not current, or undefined. */
export const currentRefusal = computed(
  () => [...pollers.value.values()].find((each) => each.refusal !== undefined)?.refusal,
);
export const liveness = computed((): 'live' | 'ended' | 'not current' | 'not live' => {
  const all = [...pollers.value.values()];
  if (all.some((each) => each.refusal !== undefined)) return 'not current';
  if (all.length === 0) return 'not live';
  return all.some((each) => each.isLive) ? 'live' : 'ended';
});

function note(path: string, poller: Poller | undefined): void {
  const next = new Map(pollers.value);
  if (poller === undefined) next.delete(path);
  else next.set(path, poller);
  pollers.value = next;
}

/**
 * @param parameters of path and query; undefined: nothing is read
 * @param news where it differs from before, something has happened that is worth a closer look. What only grows, such as
 *   a curve or a cost, is no news: a run that trains would keep the page awake all day.
 */
export function useReading<Id extends OperationId>(
  operation: Id,
  parameters: ParametersOf<Id> | undefined,
  interval: PollInterval<AnswerOf<Id>>,
  news: (body: AnswerOf<Id>) => string = () => '',
): PageReading<AnswerOf<Id>> {
  const state = useSignal<State<AnswerOf<Id>>>({ body: undefined, refusal: undefined });
  const restart = useRef<() => void>(() => {});
  const intervalOf = useRef(interval);
  intervalOf.current = interval;
  const name = parameters === undefined ? undefined : `${operation} ${JSON.stringify(parameters)}`;
  useEffect(() => {
    state.value = { body: undefined, refusal: undefined };
    if (name === undefined || parameters === undefined) return undefined;
    const poll = new Poll<AnswerOf<Id>>({
      name,
      read: async (etag) => inWords(await client.call(operation, parameters, { etag })),
      interval: (body) => intervalOf.current(body),
      news,
      show: (next) => {
        state.value = next;
      },
    });
    restart.current = () => void poll.readNow();
    void poll.readNow();
    return () => poll.stop();
  }, [name]);
  const again = useCallback(() => restart.current(), []);
  return { ...state.value, again };
}

interface Source<T> {
  /** Of the operation with its parameters. */
  readonly name: string;
  readonly read: (etag: string | undefined) => Promise<ShownAnswer<T>>;
  readonly interval: PollInterval<T>;
  readonly news: (body: T) => string;
  readonly show: (state: State<T>) => void;
}

class Poll<T> {
  readonly #source: Source<T>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: State<T> = { body: undefined, refusal: undefined };
  #shown = '';
  #news: string | undefined;
  #etag: string | undefined;
  #number = 0;
  #isStopped = false;
  #isDue = false;
  readonly #endAttention: () => void;

  constructor(source: Source<T>) {
    this.#source = source;
    this.#endAttention = onAttention(() => void this.readNow());
    document.addEventListener('visibilitychange', this.#seen);
  }

  stop(): void {
    this.#isStopped = true;
    this.#endAttention();
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#seen);
    note(this.#source.name, undefined);
  }

  async readNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isDue = false;
    this.#number += 1;
    const mine = this.#number;
    const answer = await this.#source.read(this.#etag);
    // A later reading, or another screen, has taken over.
    if (this.#isStopped || mine !== this.#number) return;
    if (answer.kind === 'refused') {
      this.#set({ body: this.#state.body, refusal: answer.message }, true);
      this.#readIn(answer.waitSeconds);
      return;
    }
    const body = answer.kind === 'ok' ? this.#changed(answer.body) : this.#state.body;
    if (answer.kind === 'ok') this.#etag = answer.etag;
    const seconds = body === undefined ? undefined : this.#source.interval(body);
    this.#set({ body, refusal: undefined }, seconds !== undefined);
    if (seconds !== undefined) this.#readIn(seconds);
  }

  /** The body that is shown, where the new one says the same: nothing is drawn again. */
  #changed(body: T): T {
    const text = JSON.stringify(body);
    const isSame = text === this.#shown;
    this.#shown = text;
    const news = this.#source.news(body);
    if (this.#news !== undefined && news !== this.#news) attend();
    this.#news = news;
    return isSame ? (this.#state.body ?? body) : body;
  }

  #set(state: State<T>, isLive: boolean): void {
    const isSame = state.body === this.#state.body && state.refusal === this.#state.refusal;
    this.#state = state;
    batch(() => {
      note(this.#source.name, { refusal: state.refusal, isLive });
      if (!isSame) this.#source.show(state);
    });
  }

  #readIn(seconds: number): void {
    this.#timer = setTimeout(() => {
      // Nothing is read while no person looks.
      this.#isDue = true;
      this.#seen();
    }, pausedFor(seconds) * 1000);
  }

  readonly #seen = (): void => {
    if (this.#isDue && document.visibilityState === 'visible') void this.readNow();
  };
}

/**
 * Whether a person attends to the page. Watching costs by the call, so a page that only stands open, of a run whose
 * timeline says nothing new, is read more rarely: ten people pay for calls all day, and see by a glance what is eight
 * seconds old.
 */
const ATTENTIVE_MILLISECONDS = 120_000;
/** Between two readings of a page that only stands open. */
const IDLE_SECONDS = 8;
/** Where it is read rarely anyway, it is read still more rarely. */
const IDLE_FACTOR = 4;

let attended = Date.now();
const waiting = new Set<() => void>();

/** A touch, a key, or news. */
function attend(): void {
  const wasIdle = !isAttentive();
  attended = Date.now();
  if (wasIdle) readAll();
}

/** Reads all that the screen shows, at once. */
export function readAll(): void {
  for (const wake of waiting) wake();
}

const isAttentive = (): boolean => Date.now() - attended < ATTENTIVE_MILLISECONDS;

/** @param seconds between readings while a person attends */
const pausedFor = (seconds: number): number =>
  isAttentive() ? seconds : Math.max(IDLE_SECONDS, seconds, Math.min(60, seconds * IDLE_FACTOR));

/** @returns ends it */
function onAttention(wake: () => void): () => void {
  waiting.add(wake);
  return () => waiting.delete(wake);
}

for (const kind of ['pointermove', 'pointerdown', 'keydown', 'wheel', 'touchstart'])
  addEventListener(kind, attend, { passive: true });
