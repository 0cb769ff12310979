import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MILLISECONDS = 300_000;
/** Seldom enough that the questions take no CPU from what is measured. */
const PAUSE_MILLISECONDS = 1_000;

/** Asks until the answer is not undefined. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + LIMIT_MILLISECONDS;
  while (Date.now() < end) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(PAUSE_MILLISECONDS);
  }
  throw new Error(`waited ${LIMIT_MILLISECONDS / 1_000} s for ${what}`);
}
