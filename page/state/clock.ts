/** The time, for what grows on the screen. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const TICK_MILLISECONDS = 1_000;

/** @param isRunning false: the time stays, and nothing is drawn again */
export function useClock(isRunning: boolean): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') now.value = Date.now();
    }, TICK_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now.value;
}
