import { setTimeout as delay } from 'node:timers/promises';
import { TransientError } from '@tidewheel/kit/errors.ts';

/** Goes on without work that takes too long. The work itself cannot be stopped, and has to bear a repetition. */
export const withinLimit = <T>(work: Promise<T>, seconds: number): Promise<T> =>
  Promise.race([
    work,
    delay(seconds * 1_000, undefined, { ref: false }).then(() => {
      throw new TransientError(`took longer than ${seconds} s: the next round tries again`);
    }),
  ]);
