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
export function attend(): void {
  const wasIdle = !isAttentive();
  attended = Date.now();
  if (wasIdle) for (const wake of waiting) wake();
}

const isAttentive = (): boolean => Date.now() - attended < ATTENTIVE_MILLISECONDS;

/** @param seconds between readings while a person attends */
export const pausedFor = (seconds: number): number =>
  isAttentive() ? seconds : Math.max(IDLE_SECONDS, Math.min(60, seconds * IDLE_FACTOR));

/** @returns ends it */
export function onAttention(wake: () => void): () => void {
  waiting.add(wake);
  return () => waiting.delete(wake);
}

for (const kind of ['pointermove', 'pointerdown', 'keydown', 'wheel', 'touchstart'])
  addEventListener(kind, attend, { passive: true });
