/** A frame that a drawing fills, or in which it scrolls sideways where the page is narrower. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

const FAR = 100_000;

/** @param least below it, the frame scrolls: a phone opens at its right end, which is the newest */
export function useFrame(least: number) {
  const width = useSignal(least);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = frame.current;
    if (place === null) return undefined;
    const resized = new ResizeObserver(() => {
      width.value = Math.max(least, place.clientWidth);
      place.scrollLeft = FAR;
    });
    resized.observe(place);
    return () => resized.disconnect();
  }, []);
  return { width: width.value, frame };
}
