/** What a screen reads of the API, read again while a person looks and something may change. */
import { batch, computed, signal, useSignal } from '@preact/signals';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import { read } from './api.ts';

export interface Reading<T> {
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
export type Interval<T> = (body: T) => number | undefined;

interface Poller {
  readonly refusal: string | undefined;
  readonly isLive: boolean;
}

/** By address of the API: the readings of the screen that is shown. */
const pollers = signal<ReadonlyMap<string, Poller>>(new Map());

/** Why the screen is not current, or undefined. */
export const refusal = computed(
  () => [...pollers.value.values()].find((each) => each.refusal !== undefined)?.refusal,
);
export const liveness = computed((): 'reading' | 'live' | 'ended' | 'not current' => {
  const all = [...pollers.value.values()];
  if (all.some((each) => each.refusal !== undefined)) return 'not current';
  if (all.length === 0) return 'reading';
  return all.some((each) => each.isLive) ? 'live' : 'ended';
});

function note(path: string, poller: Poller | undefined): void {
  const next = new Map(pollers.value);
  if (poller === undefined) next.delete(path);
  else next.set(path, poller);
  pollers.value = next;
}

/** @param path of the API; undefined: nothing is read */
export function useReading<T>(path: string | undefined, interval: Interval<T>): Reading<T> {
  const state = useSignal<State<T>>({ body: undefined, refusal: undefined });
  const restart = useRef<() => void>(() => {});
  const intervalOf = useRef(interval);
  intervalOf.current = interval;
  useEffect(() => {
    state.value = { body: undefined, refusal: undefined };
    if (path === undefined) return undefined;
    const poll = new Poll<T>(
      path,
      (body) => intervalOf.current(body),
      (next) => {
        state.value = next;
      },
    );
    restart.current = () => void poll.readNow();
    void poll.readNow();
    return () => poll.stop();
  }, [path]);
  const again = useCallback(() => restart.current(), []);
  return { ...state.value, again };
}

class Poll<T> {
  readonly #path: string;
  readonly #interval: Interval<T>;
  readonly #show: (state: State<T>) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: State<T> = { body: undefined, refusal: undefined };
  #text: string | undefined;
  #etag: string | undefined;
  #number = 0;
  #isStopped = false;
  #isDue = false;

  constructor(path: string, interval: Interval<T>, show: (state: State<T>) => void) {
    this.#path = path;
    this.#interval = interval;
    this.#show = show;
    document.addEventListener('visibilitychange', this.#seen);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#seen);
    note(this.#path, undefined);
  }

  async readNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isDue = false;
    this.#number += 1;
    const mine = this.#number;
    const answer = await read<T>(this.#path, this.#etag);
    // A later reading, or another screen, has taken over.
    if (this.#isStopped || mine !== this.#number) return;
    if (answer.kind === 'refused') {
      this.#set({ body: this.#state.body, refusal: answer.message }, true);
      this.#readIn(answer.waitSeconds);
      return;
    }
    const isNew = answer.kind === 'ok' && answer.text !== this.#text;
    if (answer.kind === 'ok') [this.#text, this.#etag] = [answer.text, answer.etag];
    const body = isNew ? answer.body : this.#state.body;
    const seconds = body === undefined ? undefined : this.#interval(body);
    this.#set({ body, refusal: undefined }, seconds !== undefined);
    if (seconds !== undefined) this.#readIn(seconds);
  }

  #set(state: State<T>, isLive: boolean): void {
    const isSame = state.body === this.#state.body && state.refusal === this.#state.refusal;
    this.#state = state;
    batch(() => {
      note(this.#path, { refusal: state.refusal, isLive });
      if (!isSame) this.#show(state);
    });
  }

  #readIn(seconds: number): void {
    this.#timer = setTimeout(() => {
      // Nothing is read while no person looks.
      this.#isDue = true;
      this.#seen();
    }, seconds * 1000);
  }

  readonly #seen = (): void => {
    if (this.#isDue && document.visibilityState === 'visible') void this.readNow();
  };
}
