/** What a screen reads of the API, read again while a person looks and something may change. */
import { batch, computed, signal, useSignal } from '@preact/signals';
import { useCallback, useEffect, useRef } from 'preact/hooks';
import { type AnswerOf, ask, type OperationId, type ParametersOf, type ShownAnswer } from './api.ts';

export interface ReadState<T> {
  /** Stays while a later reading is refused. */
  readonly body: T | undefined;
  readonly refusal: string | undefined;
}

export interface PageReading<T> extends ReadState<T> {
  /** Reads at once. */
  readonly again: () => void;
}

const UNREAD = { body: undefined, refusal: undefined };

/** Seconds until the next reading; undefined: nothing more will change. */
export type PollInterval<T> = (body: T) => number | undefined;

type Poll = Readonly<{ refusal: string | undefined; isLive: boolean }>;

/** By address of the API: the readings of the screen that is shown. */
const polls = signal<ReadonlyMap<string, Poll>>(new Map());

/** Why the screen is not current. */
export const currentRefusals = computed(
  () => new Set([...polls.value.values()].flatMap(({ refusal }) => refusal ?? [])),
);
export const liveness = computed(() => {
  if (currentRefusals.value.size > 0) return 'not current';
  if (polls.value.size === 0) return 'not live';
  return [...polls.value.values()].some(({ isLive }) => isLive) ? 'live' : 'ended';
});

function note(path: string, poll?: Poll): void {
  const next = new Map(polls.value);
  if (poll === undefined) next.delete(path);
  else next.set(path, poll);
  polls.value = next;
}

/**
 * @param parameters of path and query; undefined: nothing is read
 * @param interval absent: it is read once
 * @param news where it differs from before, something has happened that is worth a closer look. What only grows, such as
 *   a curve or a cost, is no news: a run that trains would keep the page awake all day.
 */
export function useReading<Id extends OperationId>(
  operation: Id,
  parameters: ParametersOf<Id> | undefined,
  interval: PollInterval<AnswerOf<Id>> = () => undefined,
  news: (body: AnswerOf<Id>) => string = () => '',
): PageReading<AnswerOf<Id>> {
  const state = useSignal<ReadState<AnswerOf<Id>>>(UNREAD);
  const restart = useRef<() => void>(() => {});
  const intervalOf = useRef(interval);
  intervalOf.current = interval;
  const name = parameters === undefined ? undefined : `${operation} ${JSON.stringify(parameters)}`;
  useEffect(() => {
    state.value = UNREAD;
    if (name === undefined || parameters === undefined) return undefined;
    const poll = startPoll<AnswerOf<Id>>({
      name,
      read: (etag) => ask(operation, parameters, { etag }),
      interval: (body) => intervalOf.current(body),
      news,
      show: (next) => {
        state.value = next;
      },
    });
    restart.current = poll.readNow;
    return poll.stop;
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
  readonly show: (state: ReadState<T>) => void;
}

function startPoll<T>({ name, read, interval, news, show }: Source<T>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let state: ReadState<T> = UNREAD;
  let [number, isStopped, isDue] = [0, false, false];
  let etag: string | undefined;
  let said: string | undefined;
  const set = (next: ReadState<T>, seconds: number | undefined): void => {
    const isSame = next.body === state.body && next.refusal === state.refusal;
    state = next;
    batch(() => {
      note(name, { refusal: next.refusal, isLive: seconds !== undefined });
      if (!isSame) show(next);
    });
    if (seconds === undefined) return;
    timer = setTimeout(() => {
      // Nothing is read while no person looks.
      isDue = true;
      seen();
    }, pausedFor(seconds) * 1000);
  };
  const look = async (): Promise<void> => {
    clearTimeout(timer);
    isDue = false;
    number += 1;
    const mine = number;
    const answer = await read(etag);
    // A later reading, or another screen, has taken over.
    if (isStopped || mine !== number) return;
    if (answer.kind === 'refused')
      return set({ body: state.body, refusal: answer.message }, answer.waitSeconds);
    if (answer.kind === 'ok') {
      const next = news(answer.body);
      if (said !== undefined && next !== said) attend();
      [etag, said] = [answer.etag, next];
    }
    const body = answer.kind === 'ok' ? answer.body : state.body;
    set({ body, refusal: undefined }, body && interval(body));
  };
  const readNow = (): void => void look();
  const seen = (): void => {
    if (isDue && document.visibilityState === 'visible') readNow();
  };
  waiting.add(readNow);
  document.addEventListener('visibilitychange', seen);
  readNow();
  const stop = (): void => {
    isStopped = true;
    waiting.delete(readNow);
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
    note(name);
  };
  return { readNow, stop };
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

for (const kind of ['pointermove', 'pointerdown', 'keydown', 'wheel', 'touchstart'])
  addEventListener(kind, attend, { passive: true });
